//! Hints about caches, that of tensor maps too, which change no value: `prefetch`, `prefetchu`,
//! `applypriority`, `createpolicy`.

use ptx::{ScalarType, Space};

use crate::counts::InstructionClass;
use crate::fault::Stop;
use crate::read::{Read, Reader, other};
use crate::registers::Slot;
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::Warp;

/// `prefetch`, `prefetchu`: hints that move no value.
pub(super) fn prefetch(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let space = r.space().unwrap_or(Space::Generic);
    // The level is a hint, and so is the priority behind it.
    if !(r.has("L1") || r.has("L2") || r.has("tensormap")) {
        r.done()?;
    }
    r.operands(1)?;
    r.target(space)?;
    other(Prefetch)
}

/// `applypriority`: a hint, of the 128 bytes at an address.
pub(super) fn apply_priority(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let space = r.space().unwrap_or(Space::Generic);
    r.operands(2)?;
    r.target(space)?;
    r.constant()?;
    other(Prefetch)
}

/// `createpolicy`: a cache policy is a hint; every one is 0.
pub(super) fn create_policy(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let kind = r.need(
        "kind",
        &["fractional", "range", "cvt"].map(|kind| (kind, kind)),
    )?;
    r.choice(&[("L2", ()), ("global", ())]);
    let ty = r.only_type(ScalarType::B64)?;
    let count = match kind {
        "fractional" => r.operands_between(1, 2)?,
        "cvt" => r.operands_between(2, 2)?,
        _ => r.operands_between(4, 4)?,
    };
    let dst = r.dst(ty)?;
    for _ in 1..count {
        r.operand()?;
    }
    other(CreatePolicy { dst })
}

#[derive(Debug)]
struct CreatePolicy {
    dst: Slot,
}

impl Execute for CreatePolicy {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        warp.registers.fill(self.dst, at.active, 0);
        Ok(Next::Step)
    }
}

#[derive(Debug)]
struct Prefetch;

impl Execute for Prefetch {
    fn execute(&self, _: &mut BlockRunner, _: &mut Warp, _: At) -> Result<Next, Stop> {
        Ok(Next::Step)
    }
}
