//! The checks of the emulated device, which finds what a GPU does not show: races, barriers that
//! not all threads reach, reads of memory that was never written, accesses outside buffers.
//!
//! On a GPU a race may give the right result by chance, in every sample. Before a GPU grades a
//! case, so that nothing is timed meanwhile, the same kernels and the same plan run on the emulated
//! device, with inputs of their own and every check on: the small and the hidden cases whole. Of a
//! large case some blocks of the first launch of each kernel and shape run, and only what does not
//! depend on the other blocks' results counts: races, barriers, and reads of a block's own memory
//! that nothing has written.
//!
//! Volatile and atomic accesses are not races, and still the result may depend on which thread is
//! first. Therefore the values of a case that ran whole are compared too. Where the GPU has them
//! wrong as well, what it says counts; where it has them right, that was chance. A plan that the
//! emulated device cannot run is reported, and costs nothing.

use std::collections::HashSet;
use std::time::Duration;

use device::{Device, NamedBuffers, run};
use device::{EmulatedDevice, Options, Order, Preparation, Sanitize};
use plan::Plan;
use plan::{Command, PlanError};
use serde::{Deserialize, Serialize};

use super::run::{Sample, Subject, run_isolated};
use crate::lab_spec::Group;
use crate::outcome::{Category, Failure, Kind, NoResult};

/// How much of a case is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// All of it.
    Whole,
    /// Some blocks of the first launch of each kernel and shape.
    Sampled,
}

/// Blocks of a launch that run if not all do.
const SAMPLED_BLOCKS: u64 = 64;
/// Commands of a plan that run if not all do.
const FIRST_COMMANDS: usize = 256;
/// Warp instructions of a block after which it counts as endless: more than one thread needs that
/// does all of a drawn case; they take seconds.
pub const FUEL: u64 = 100_000_000;
/// The most memory that the plan of a sampled case may need: the emulated device keeps twice as
/// much beside it, to know which thread accessed what.
const MAX_BYTES: u64 = 4 << 30;

impl Extent {
    /// Of a case of this group.
    pub fn of(group: Group) -> Extent {
        match group {
            Group::Small | Group::Hidden => Extent::Whole,
            Group::Large => Extent::Sampled,
        }
    }

    /// The device that does it, and gives each block as many warp instructions as this. Where it
    /// decides, approximations have errors, since no GPU's are rounded once.
    pub fn device(self, fuel: u64, decides: bool) -> EmulatedDevice {
        let is_whole = self == Extent::Whole;
        EmulatedDevice::new(Options {
            sanitize: Sanitize::ALL,
            fuel,
            most_blocks: (!is_whole).then_some(SAMPLED_BLOCKS),
            inexact: decides,
            ..Options::default()
        })
        .keeping_printed()
    }

    /// The most memory that doing it may take, in bytes: far more than an honest plan needs.
    pub fn max_memory_bytes(self) -> u64 {
        match self {
            Extent::Whole => 16 << 30,
            // The plan's own, twice as much beside it, and as much again.
            Extent::Sampled => 4 * MAX_BYTES + (16 << 30),
        }
    }

    /// Whether a fault of this kind is the submission's for sure.
    fn shows(self, kind: Kind) -> bool {
        match kind {
            // Of a sampled case, only shared and local memory can be unwritten.
            Kind::Race | Kind::Barrier | Kind::UninitializedRead => true,
            Kind::OutOfBounds | Kind::Misaligned => self == Extent::Whole,
            _ => false,
        }
    }

    /// Runs the plan, or its beginning, in this order. The sample, if all of it ran and nothing was
    /// found.
    ///
    /// # Errors
    ///
    /// [`NoResult::Failed`] for what was found, and, with [`Kind::Deadline`], of what does not end;
    /// [`NoResult::Undecided`] where it cannot be run to its end here.
    pub fn check(
        self,
        device: &dyn Device,
        subject: Subject<'_>,
        order: Order,
        inputs: &NamedBuffers,
    ) -> Result<Option<Sample>, NoResult> {
        let ran = match self {
            Extent::Whole => run_isolated(device, subject, order, inputs, Duration::ZERO).map(Some),
            Extent::Sampled => run_beginning(device, subject, order, inputs).map(|()| None),
        };
        match ran {
            // Seen on the GPU too, which decides.
            Err(NoResult::Failed(failure)) if failure.category == Category::Wrong => Ok(None),
            Err(NoResult::Failed(failure))
                if !self.shows(failure.kind) && failure.kind != Kind::Deadline =>
            {
                Err(not_to_its_end(&failure))
            }
            other => other,
        }
    }
}

/// Why a check has no result that failed in a way that a GPU may not.
pub fn not_to_its_end(failure: &Failure) -> NoResult {
    NoResult::undecided(format!(
        "the emulated device did not get to its end: {}",
        failure.message
    ))
}

fn run_beginning(
    device: &dyn Device,
    subject: Subject<'_>,
    order: Order,
    inputs: &NamedBuffers,
) -> Result<(), NoResult> {
    let bytes = subject.plan.memory_bytes().map_err(device::Error::from)?;
    if bytes > MAX_BYTES {
        return Err(NoResult::undecided(format!(
            "it needs {bytes} bytes, and cases of up to {MAX_BYTES} are looked at"
        )));
    }
    let plan = first_launches(subject.plan).map_err(device::Error::from)?;
    let how = Preparation::isolated().in_order(order);
    let mut session = device.prepare_as(subject.module, &plan, &how)?;
    run::reset(session.as_mut(), &plan, inputs)?;
    session.run()?;
    Ok(())
}

/// The plan's first launches of each kernel and shape, and what is copied and filled among the
/// first commands.
fn first_launches(plan: &Plan) -> Result<Plan, PlanError> {
    let mut seen = HashSet::new();
    let (mut position, mut kept) = (0, 0);
    plan.map(|beginning, command| {
        let is_first = match command {
            Command::Launch(launch) => seen.insert((launch.kernel_index, launch.config)),
            Command::Copy(_) | Command::Fill(_) => position < FIRST_COMMANDS,
        };
        position += 1;
        if !is_first || kept == FIRST_COMMANDS {
            return Ok(());
        }
        kept += 1;
        beginning.push(command)
    })
}

#[cfg(test)]
mod tests {
    use device::Element;
    use plan::{LaunchConfig, args};

    use super::*;

    #[test]
    fn of_a_large_case_the_first_launch_of_each_shape_is_looked_at() {
        let mut plan = Plan::new("plan");
        let [a, b] = ["a", "b"].map(|name| plan.buffer(name, Element::F32, 8));
        let config = |blocks: u32| LaunchConfig::new(blocks, 32);
        plan.fill(b, 0).unwrap();
        for step in 0..3u32 {
            plan.launch("step", config(1), args![a, b, step]).unwrap();
            plan.launch("edge", config(1), args![b, a, step]).unwrap();
        }
        plan.launch("step", config(2), args![a, b, 3u32]).unwrap();
        plan.output("b", b);
        let first = first_launches(&plan).unwrap();
        let launches = first.commands().filter_map(|command| match command {
            Command::Launch(launch) => Some((launch.kernel, launch.config.grid[0])),
            _ => None,
        });
        assert_eq!(
            launches.collect::<Vec<_>>(),
            [("step", 1), ("edge", 1), ("step", 2)]
        );
        assert_eq!(first.commands().len(), 4);
        assert_eq!(first.buffers(), plan.buffers());
        first.check().unwrap();
    }
}
