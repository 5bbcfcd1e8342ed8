//! Accesses to registers that a product under way has: see `products`.
//!
//! Only instructions that name a register of a product, or a copy of such a one, are looked at.

use std::collections::HashSet;

use ptx::RegClass;

use super::super::super::AfterSums;
use crate::fault::{FaultKind, ProductProblem, Stop};
use crate::products::Part;
use crate::registers::Slot;
use crate::runner::{At, BlockRunner, Inst};
use crate::unset_values::facts::{Facts, RegisterUse};
use crate::warp::Warp;

/// The use that an instruction makes of rows of 32 bits that products have.
#[derive(Debug)]
pub(in super::super::super) enum Watch {
    /// Copies a row, or a number.
    Copy { from: Option<u32>, to: u32 },
    /// Reads and writes.
    Access {
        reads: Box<[u32]>,
        writes: Box<[u32]>,
    },
}

/// Has the instructions of a function looked at that name registers of products.
pub(crate) fn watch(insts: &mut [Inst], facts: &[Facts]) {
    let mut rows = HashSet::new();
    let narrow = |slot: &Slot| (slot.class == RegClass::B32).then_some(slot.row);
    let reads = |one: &Facts| -> Vec<u32> { one.reads.iter().filter_map(narrow).collect() };
    let writes =
        |one: &Facts| -> Vec<u32> { one.writes.iter().flatten().filter_map(narrow).collect() };
    for each in facts
        .iter()
        .filter(|each| each.registers == RegisterUse::Product)
    {
        rows.extend(reads(each));
        rows.extend(writes(each));
    }
    if rows.is_empty() {
        return;
    }
    let copies: Vec<(u32, u32)> = facts
        .iter()
        .filter(|each| each.registers == RegisterUse::Copy)
        .filter_map(|each| Some((*reads(each).first()?, *writes(each).first()?)))
        .collect();
    // Until no copy adds a row.
    let mut count = 0;
    while count != rows.len() {
        count = rows.len();
        for &(from, to) in &copies {
            if rows.contains(&from) || rows.contains(&to) {
                rows.extend([from, to]);
            }
        }
    }
    for (inst, each) in insts.iter_mut().zip(facts) {
        let kept = |all: Vec<u32>| -> Box<[u32]> {
            all.into_iter().filter(|row| rows.contains(row)).collect()
        };
        let (reads, writes) = (kept(reads(each)), kept(writes(each)));
        if each.registers == RegisterUse::Product || reads.is_empty() && writes.is_empty() {
            continue;
        }
        let watch = match (each.registers, writes.first()) {
            (RegisterUse::Copy, Some(&to)) => Watch::Copy {
                from: reads.first().copied(),
                to,
            },
            _ => Watch::Access { reads, writes },
        };
        AfterSums::wrap(&mut inst.op, watch);
    }
}

impl Watch {
    /// Notes what the instruction does, which must not be an access to what a product has.
    pub(in super::super::super) fn note(
        &self,
        runner: &BlockRunner,
        warp: &mut Warp,
        at: At,
    ) -> Result<(), Stop> {
        let base = warp.registers.bases.r32;
        let Some(products) = &mut warp.products else {
            return Ok(());
        };
        let (reads, writes) = match self {
            Self::Copy { from, to } => {
                products.copy(from.map(|row| base + row), base + to);
                return Ok(());
            }
            Self::Access { reads, writes } => (reads, writes),
        };
        let all = reads.iter().map(|&row| (row, false));
        let found =
            { all.chain(writes.iter().map(|&row| (row, true))) }.find_map(|(row, is_written)| {
                Some((products.under_way(base + row, is_written)?, is_written))
            });
        let Some(((part, place), is_written)) = found else {
            writes.iter().for_each(|row| products.write(base + row));
            return Ok(());
        };
        let verb = if is_written { "written" } else { "read" };
        let register = match part {
            Part::Result => "an accumulator",
            Part::Factor => "a register of matrix A",
        };
        let started = &runner.launch.code.infos[place as usize].position;
        let reason = format!(
            "{register} is {verb} while the `wgmma.mma_async` at {started} is under way: execute `wgmma.commit_group` and `wgmma.wait_group` before"
        );
        let kind = FaultKind::Product {
            problem: ProductProblem::UnderWay,
            reason,
        };
        Err(runner.fault(warp.first_thread(at.active), at.pc, kind))
    }
}
