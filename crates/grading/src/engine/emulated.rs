//! The checks of the emulated device, which finds what a GPU does not show: races, barriers that
//! not all threads reach, reads of memory that was never written, accesses outside buffers.
//!
//! On a GPU a race may give the right result by chance, in every sample. Before a GPU grades a
//! case, so that nothing is timed meanwhile, the same kernels and the same plan run on the emulated
//! device, with inputs of their own and every check on: the small and the hidden cases whole. Of a
//! large case some blocks of some launches of each kernel and shape run, which the secret seed
//! chooses, and only what does not depend on the other blocks' results counts: races, barriers, and
//! reads of a block's own memory that nothing has written.
//!
//! Volatile and atomic accesses are not races, and still the result may depend on which thread is
//! first. Therefore the values of a case that ran whole are compared too. Where the GPU has them
//! wrong as well, what it says counts; where it has them right, that was chance. A block of a whole
//! case that does not end fails, as it does where the emulated device grades.
//!
//! A case that cannot be run to its end here is not a clean one: a submission could bring that
//! about where it would fail. Unless the grader says otherwise, its points are undecided.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use device::{
    Device, DeviceError, EmulatedDevice, Fault, FaultKind, Module, NamedBuffers, Options, Order,
    Preparation, Sanitize, run,
};
use plan::Plan;
use plan::{Buffer, Command, PlanError, Role};
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
    /// Some blocks of some launches of each kernel and shape.
    Sampled,
}

/// Blocks of a launch that run if not all do.
const SAMPLED_BLOCKS: u64 = 64;
/// Blocks of a launch that run where blocks wait for values of launches before theirs.
const PREPARING_BLOCKS: u64 = 1 << 20;
/// Launches of a plan that run then.
const PREPARING_LAUNCHES: usize = 16;
/// Launches of a plan that run if not all do.
const SAMPLED_LAUNCHES: usize = 128;
/// Launches of one kernel and shape that run beside the first, if not all do.
const LATER_LAUNCHES: usize = 2;
/// Of the first commands of a plan, all copies and fills run, which set memory up.
const FIRST_COMMANDS: usize = 256;
/// Warp instructions of a block after which it counts as endless: more than one thread needs that
/// does all of a drawn case; they take seconds.
pub const FUEL: u64 = 100_000_000;
/// The most memory that the plan of a sampled case may need: the emulated device keeps twice as
/// much beside it, to know which thread accessed what.
const MAX_BYTES: u64 = 6 << 30;

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
        let most_blocks = (self == Extent::Sampled).then_some(SAMPLED_BLOCKS);
        EmulatedDevice::new(Options {
            inexact: decides,
            ..checking(fuel, most_blocks)
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
            // A sample's values are not those of a whole run, and loops may depend on them.
            Kind::OutOfBounds | Kind::Misaligned | Kind::Deadline => self == Extent::Whole,
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
            Err(NoResult::Failed(failure)) if !self.shows(failure.kind) => {
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

/// With every check, this fuel of a block, and at most this many blocks of a launch.
fn checking(fuel: u64, most_blocks: Option<u64>) -> Options {
    Options {
        sanitize: Sanitize::ALL,
        fuel,
        most_blocks,
        ..Options::default()
    }
}

fn run_beginning(
    device: &dyn Device,
    subject: Subject<'_>,
    order: Order,
    inputs: &NamedBuffers,
) -> Result<(), NoResult> {
    let bytes = subject.plan.memory_bytes().map_err(device::Error::from)?;
    if bytes > MAX_BYTES {
        let why = format!("it needs {bytes} bytes, and cases of up to {MAX_BYTES} are looked at");
        let of_lab = { subject.plan.buffers().iter() }
            .filter(|buffer| buffer.role == Role::Io)
            .map(Buffer::bytes);
        // With a second buffer for each of the lab's, which most solutions have.
        let for_anyone = 2 * of_lab.sum::<u64>() > MAX_BYTES;
        return Err(if for_anyone {
            NoResult::not_graded_here(why)
        } else {
            NoResult::undecided(why)
        });
    }
    let executable = subject.module.executable().map_err(device::Error::from)?;
    let communicates = |kernel: &str| executable.depends_on_order(kernel);
    let some = sample(subject.plan, order.seed, communicates).map_err(device::Error::from)?;
    let ended = run_part(device, subject.module, &some, order, inputs);
    if !ended.as_ref().is_err_and(waits_for_others) {
        return Ok(ended?);
    }
    // They may wait for a value that blocks were to write that did not run.
    let whole = EmulatedDevice::new(checking(FUEL, Some(PREPARING_BLOCKS)));
    let whole = whole.with_devices(device.count()).keeping_printed();
    let before = prepared(subject.plan, communicates).map_err(device::Error::from)?;
    let again = run_part(&whole, subject.module, &before, order, inputs);
    let waits = again.as_ref().is_err_and(waits_for_others);
    again.map_err(|error| match NoResult::from(error) {
        NoResult::Failed(failure) if waits => not_to_its_end(&failure),
        why => why,
    })
}

/// Runs a part of a plan.
fn run_part(
    device: &dyn Device,
    module: &Module,
    plan: &Plan,
    order: Order,
    inputs: &NamedBuffers,
) -> Result<(), device::Error> {
    let how = Preparation::isolated().in_order(order);
    let mut session = device.prepare_as(module, plan, &how)?;
    run::reset(session.as_mut(), plan, inputs)?;
    session.run().map(drop)
}

/// Whether blocks wait for something that no block does that runs.
fn waits_for_others(error: &device::Error) -> bool {
    let device::Error::Device(DeviceError::Emulated { fault, .. }) = error else {
        return false;
    };
    match &**fault {
        Fault::Program(fault) => matches!(fault.kind, FaultKind::BlocksWait { .. }),
        _ => false,
    }
}

/// Of the plan's launches of each kernel, shape and device the first, and others that the seed
/// chooses, with the copies and fills among the first commands. A launch in the middle of a plan
/// finds values that are not those of a whole run. Blocks that communicate wait for values, so that
/// of their kernels the first launches run alone.
fn sample(plan: &Plan, seed: u64, communicates: impl Fn(&str) -> bool) -> Result<Plan, PlanError> {
    // The positions of launches of one kernel, shape and device.
    let mut alike: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut numbers = HashMap::new();
    for (position, command) in plan.commands().enumerate() {
        if let Command::Launch(launch) = command {
            let device = command.device(plan.buffers());
            let of = (launch.kernel_index, launch.config, device);
            let number = *numbers.entry(of).or_insert(alike.len());
            if number == alike.len() {
                alike.push((launch.kernel, Vec::new()));
            }
            alike[number].1.push(position);
        }
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let mut chosen = Vec::new();
    for (kernel, launches) in alike {
        chosen.push(launches[0]);
        if !communicates(kernel) {
            chosen.extend(random.choose_multiple(launches.into_iter().skip(1), LATER_LAUNCHES));
        }
    }
    random.shuffle(&mut chosen);
    chosen.truncate(SAMPLED_LAUNCHES);
    let chosen: HashSet<usize> = chosen.into_iter().collect();
    part(plan, |position, command| match command {
        Command::Launch(_) => chosen.contains(&position),
        Command::Copy(_) | Command::Fill(_) => position < FIRST_COMMANDS,
    })
}

/// The commands of a plan that are kept, by their positions.
fn part(
    plan: &Plan,
    mut is_kept: impl FnMut(usize, &Command<'_>) -> bool,
) -> Result<Plan, PlanError> {
    let mut positions = 0..;
    plan.map(|kept, command| match positions.next() {
        Some(position) if is_kept(position, &command) => kept.push(command),
        _ => Ok(()),
    })
}

/// The plan up to the first launch of the last kernel whose blocks communicate, if few launches are
/// before it, and otherwise the first of those launches.
fn prepared(plan: &Plan, communicates: impl Fn(&str) -> bool) -> Result<Plan, PlanError> {
    let mut seen = HashSet::new();
    let mut last = 0;
    for (position, command) in plan.commands().enumerate() {
        if let Command::Launch(launch) = command
            && seen.insert((launch.kernel_index, launch.config))
            && communicates(launch.kernel)
        {
            last = position;
        }
    }
    let mut launches = 0;
    part(plan, |position, command| {
        launches += usize::from(matches!(command, Command::Launch(_)));
        position <= last && launches <= PREPARING_LAUNCHES
    })
}

#[cfg(test)]
mod tests {
    use device::Element;
    use plan::{Arg, LaunchConfig, args};

    use super::*;

    /// A plan of 100 steps, each of them a launch of two kernels, and a last one of another shape.
    fn steps() -> Plan {
        let mut plan = Plan::new("plan");
        let [a, b] = ["a", "b"].map(|name| plan.buffer(name, Element::F32, 8));
        let config = |blocks: u32| LaunchConfig::new(blocks, 32);
        plan.fill(b, 0).unwrap();
        for step in 0..100u32 {
            plan.launch("step", config(1), args![a, b, step]).unwrap();
            plan.launch("edge", config(1), args![b, a, step]).unwrap();
        }
        plan.launch("step", config(2), args![a, b, 3u32]).unwrap();
        plan.output("b", b);
        plan
    }

    /// The launches of a sample of it: kernel, blocks, and step.
    fn launches(plan: &Plan) -> Vec<(String, u32, u32)> {
        let launches = plan.commands().filter_map(|command| match command {
            Command::Launch(launch) => {
                let Arg::U32(step) = launch.args[2] else {
                    panic!("a step")
                };
                Some((launch.kernel.to_owned(), launch.config.grid[0], step))
            }
            _ => None,
        });
        launches.collect()
    }

    #[test]
    fn of_a_large_case_the_first_launches_and_some_later_ones_are_looked_at() {
        let plan = steps();
        let mut seen = HashSet::new();
        for seed in 0..200 {
            let some = sample(&plan, seed, |kernel| kernel == "edge").unwrap();
            some.check().unwrap();
            assert_eq!(some.buffers(), plan.buffers());
            // The fill too.
            assert_eq!(some.commands().len(), 6);
            let launches = launches(&some);
            let of = |launch: usize| (launches[launch].0.as_str(), launches[launch].1);
            assert_eq!([0, 1].map(of), [("step", 1), ("edge", 1)]);
            assert_eq!([2, 3, 4].map(of), [("step", 1), ("step", 1), ("step", 2)]);
            assert_eq!([launches[0].2, launches[1].2], [0, 0]);
            seen.extend([launches[2].2, launches[3].2]);
        }
        assert!(seen.len() > 90 && !seen.contains(&0));
    }

    #[test]
    fn no_plan_has_too_many_launches_looked_at() {
        let mut plan = Plan::new("plan");
        let a = plan.buffer("a", Element::F32, 8);
        for blocks in 1..=1000u32 {
            let config = LaunchConfig::new(blocks, 32);
            plan.launch("step", config, args![a, a, blocks]).unwrap();
        }
        plan.output("a", a);
        let looked_at = |seed| launches(&sample(&plan, seed, |_| false).unwrap());
        assert_eq!(looked_at(1).len(), SAMPLED_LAUNCHES);
        assert_ne!(looked_at(1), looked_at(2));
    }
}
