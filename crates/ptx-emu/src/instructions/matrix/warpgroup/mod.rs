//! Products of a warpgroup: `wgmma`; and `setmaxnreg`.
//!
//! - `descriptor`: where factors lie in shared memory;
//! - `product`: `wgmma.mma_async`;
//! - `sums`: how tensor cores add;
//! - `watch`: accesses to registers that a product under way has.
//!
//! A warpgroup is four warps, the first of a number that is a multiple of 4. Each computes 16 rows
//! of the 64, so they need not run at one time here.

mod descriptor;
mod product;
mod sums;
mod watch;

pub(in super::super) use watch::Watch;
pub(crate) use watch::watch;

use ptx::{Literal, OperandKind, ScalarType};

use super::super::party::{Party, Together};
use super::super::together::together;
use super::all_lanes;
use crate::counts::InstructionClass;
use crate::fault::{FaultKind, ProductProblem, Stop};
use crate::read::{Read, Reader};
use crate::registers::ALL;
use crate::runner::{BlockRunner, Op};
use crate::warp::Warp;

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// `wgmma`.
pub(in super::super) fn wgmma(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Warp;
    if r.has("mma_async") {
        return product::read(r);
    }
    let verb = r.need(
        "operation",
        &[
            ("fence", Verb::Fence),
            ("commit_group", Verb::Commit),
            ("wait_group", Verb::Wait { pending: 0 }),
        ],
    )?;
    aligned(r)?;
    let verb = match verb {
        Verb::Wait { .. } => {
            r.operands(1)?;
            let pending = r.constant()?;
            Verb::Wait { pending }
        }
        _ => {
            r.operands(0)?;
            verb
        }
    };
    let mask = all_lanes(r);
    together(verb.name(), mask, Order { verb })
}

/// Takes `.sync.aligned`.
fn aligned(r: &mut Reader) -> Read<()> {
    if r.has("sync") && r.has("aligned") {
        Ok(())
    } else {
        Err(r.missing("`.sync.aligned`"))
    }
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Fence,
    Commit,
    /// Until at most this number of groups is under way.
    Wait {
        pending: u32,
    },
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Self::Fence => "wgmma.fence",
            Self::Commit => "wgmma.commit_group",
            Self::Wait { .. } => "wgmma.wait_group",
        }
    }
}

/// `wgmma.fence`, `wgmma.commit_group`, `wgmma.wait_group`.
#[derive(Debug)]
struct Order {
    verb: Verb,
}

impl Together for Order {
    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        check_whole(runner, warp, party, self.verb.name())?;
        let products = warp.products.get_or_insert_default();
        match self.verb {
            Verb::Fence => products.fence(),
            Verb::Commit => products.commit(),
            Verb::Wait { pending } => {
                let done = products.wait(pending);
                if let Some(claims) = &mut runner.block.shared.claims {
                    claims.end_factors(warp.index, done);
                }
            }
        }
        Ok(())
    }
}

impl BlockRunner<'_> {
    /// A warp ends at a position, and what it has of products: all warps of its warpgroup must have
    /// executed each of them (PTX ISA, "wgmma.mma_async").
    pub(crate) fn end_products(&mut self, warp: &Warp, pc: u32) -> Result<(), Stop> {
        if let Some(claims) = &mut self.block.shared.claims {
            claims.end_factors(warp.index, u64::MAX);
        }
        let count = |one: &Warp| one.products.as_ref().map_or(0, |all| all.started());
        let first = warp.index / WARPS * WARPS;
        let others = self.block.warps.iter().enumerate().skip(first).take(WARPS);
        let mut ended = others
            .filter(|(index, other)| *index != warp.index && other.lanes != 0 && other.live == 0);
        let Some((index, other)) = ended.find(|(_, other)| count(other) != count(warp)) else {
            return Ok(());
        };
        if !self.launch.sanitize.barriers {
            return Ok(());
        }
        let reason = format!(
            "warp {} ends and has executed `wgmma.mma_async` {} times, warp {index} of its warpgroup {} times: all four warps execute each",
            warp.index,
            count(warp),
            count(other)
        );
        let kind = FaultKind::Product {
            problem: ProductProblem::Invalid,
            reason,
        };
        Err(self.fault(warp.thread(0), pc, kind))
    }
}

/// Checks that a warp is one of a whole warpgroup, with all its threads: by the PTX ISA (`wgmma`,
/// `setmaxnreg`) all threads of the warpgroup execute the instruction.
fn check_whole(
    runner: &BlockRunner,
    warp: &Warp,
    party: &Party,
    instruction: &str,
) -> Result<(), Stop> {
    let has_warps = warp.index / WARPS * WARPS + WARPS <= runner.launch.block_warps();
    if has_warps && party.active == ALL {
        return Ok(());
    }
    let reason = if has_warps {
        format!(
            "{instruction} by {} threads of a warp: all 128 threads of the warpgroup must execute it",
            party.active.count_ones()
        )
    } else {
        format!(
            "{instruction} by warp {} of a block of {} threads, whose last warpgroup is not whole: a warpgroup is 128 threads",
            warp.index,
            runner.launch.block_threads()
        )
    };
    Err(invalid(runner, warp, party, reason))
}

fn invalid(runner: &BlockRunner, warp: &Warp, party: &Party, reason: String) -> Stop {
    let kind = FaultKind::Product {
        problem: ProductProblem::Invalid,
        reason,
    };
    runner.fault(warp.first_thread(party.active), party.pc, kind)
}

/// `setmaxnreg`: registers are not scarce here. A number that PTX does not allow makes the text
/// wrong.
pub(in super::super) fn set_registers(r: &mut Reader) -> Read<Op> {
    // Lanes that run apart wait for each other before it.
    r.class = InstructionClass::Warp;
    let name = r.need(
        "direction",
        &[("inc", "setmaxnreg.inc"), ("dec", "setmaxnreg.dec")],
    )?;
    aligned(r)?;
    r.only_type(ScalarType::U32)?;
    r.operands(1)?;
    let operand = r.operand()?;
    let count = match operand.kind {
        OperandKind::Literal(Literal::Int(count)) => count,
        _ => 0,
    };
    if !(24..=256).contains(&count) || !count.is_multiple_of(8) {
        return Err(r.unexpected(operand, "a multiple of 8 from 24 to 256"));
    }
    let mask = all_lanes(r);
    together(name, mask, SetRegisters { name })
}

#[derive(Debug)]
struct SetRegisters {
    name: &'static str,
}

impl Together for SetRegisters {
    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        check_whole(runner, warp, party, self.name)
    }
}
