//! Matrices held by the lanes of a warp together: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`,
//! `wmma`.
//!
//! - `element`: the types of elements;
//! - `fragment`: which lane holds which element in which register;
//! - `rows`: `ldmatrix`, `stmatrix`, `movmatrix`, whose lanes name a row each;
//! - `multiply`: products, of `mma` and of `wmma.mma`;
//! - `wmma`: loads and stores of whole matrices;
//! - `warpgroup`: products of four warps, asynchronous and from shared memory: `wgmma`.
//!
//! All lanes of a warp take part. Those that have exited hold zeros.
//!
//! # What is computed
//!
//! Products and sums of integers are exact, modulo 2^32 or cut off at its limits (`.satfinite`).
//! Those of f64 are a chain of fused operations in the order of k. Those of `wgmma` are cut off as
//! Hopper does it (`warpgroup::sums`). All other sums are made in f64, `c` first, and rounded once
//! to the type of the result. NVIDIA does not say how tensor cores round in between: results may
//! differ from a GPU's in the last bits.
//!
//! Sparse products (`mma.sp`, `wgmma.mma_async.sp`) and those of tensor memory (`tcgen05`) are not
//! modelled.

mod element;
mod fragment;
mod multiply;
mod rows;
mod warpgroup;
mod wmma;

pub(super) use multiply::mma;
pub(super) use rows::{load, move_matrix, store};
pub(crate) use warpgroup::watch;
pub(super) use warpgroup::{Watch, set_registers, wgmma};
pub(super) use wmma::wmma;

use crate::read::{Read, Reader, Width};
use crate::registers::Slot;
use ptx::{Operand, RegClass, ScalarType};

/// The mask of all lanes, as an operand of an operation that they execute together.
pub(super) fn all_lanes(r: &mut Reader) -> Slot {
    r.function.frame.bits(RegClass::B32, u32::MAX.into())
}

/// The next operand's elements: this many registers. A single one needs no braces.
fn elements<'a>(r: &mut Reader<'_, '_, 'a>, count: usize) -> Read<Vec<Operand<'a>>> {
    let operand = r.operand()?;
    let elements = match r.vector(operand)? {
        Some(elements) => elements,
        None => vec![operand.clone()],
    };
    if elements.len() == count {
        Ok(elements)
    } else {
        Err(r.unexpected(operand, NUMBER))
    }
}

/// The next operand as this many registers that are written.
fn written(r: &mut Reader, ty: ScalarType, count: usize) -> Read<Box<[Slot]>> {
    let elements = elements(r, count)?;
    let slots = elements.iter().map(|e| r.register(e, ty, Width::Exact));
    slots.collect()
}

/// The next operand as this many registers that are read.
fn read(r: &mut Reader, ty: ScalarType, count: usize) -> Read<Box<[Slot]>> {
    let elements = elements(r, count)?;
    let slots = elements.iter().map(|e| r.value(e, ty, Width::Exact));
    slots.collect()
}

const NUMBER: &str = "as many registers as the shape has";
