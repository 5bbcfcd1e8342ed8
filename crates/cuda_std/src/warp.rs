//! The 32 threads of a warp among themselves: shuffles, votes, reductions.
//!
//! Each function takes the mask of the lanes that take part, bit i for lane i; [`FULL_MASK`] is
//! all.
//!
//! # Safety of the functions here
//!
//! They share one obligation: the calling lane is in the mask, and every lane of the mask that has
//! not exited executes the same call with the same mask. Otherwise the behaviour is undefined, as a
//! rule a hang (PTX ISA, "shfl.sync", "vote.sync"). The emulated device reports it.

use crate::llvm;

/// The number of threads in a warp, on every GPU to date.
pub const WARP_SIZE: u32 = 32;

/// All 32 lanes.
pub const FULL_MASK: u32 = u32::MAX;

/// This thread's lane: 0 to 31.
#[inline(always)]
pub fn lane_id() -> u32 {
    // SAFETY: reading a special register has no preconditions.
    unsafe { llvm::lane_id() }
}

/// The lanes that execute this call together. The mask does not include lanes that may join later.
#[inline(always)]
pub fn activemask() -> u32 {
    // SAFETY: no preconditions.
    unsafe { llvm::activemask() }
}

/// Waits for the lanes of `mask`, and orders memory accesses among them.
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's.
    unsafe { llvm::barrier_warp(mask) }
}

/// A value that shuffles move: of 8 to 128 bits.
pub trait WarpShuffleValue: Copy {
    /// Applies `shuffle` to each 32-bit part.
    #[doc(hidden)]
    fn by_parts(self, shuffle: impl Fn(u32) -> u32) -> Self;
}

macro_rules! shuffle_value {
    ($($ty:ty: $bits:ty, $into:expr, $from:expr;)*) => {$(
        impl WarpShuffleValue for $ty {
            #[inline(always)]
            fn by_parts(self, shuffle: impl Fn(u32) -> u32) -> Self {
                #[allow(clippy::redundant_closure_call)]
                let bits: $bits = ($into)(self);
                #[allow(clippy::redundant_closure_call)]
                ($from)(Parts::by_parts(bits, shuffle))
            }
        }
    )*};
}

trait Parts {
    fn by_parts(self, shuffle: impl Fn(u32) -> u32) -> Self;
}

impl Parts for u32 {
    #[inline(always)]
    fn by_parts(self, shuffle: impl Fn(u32) -> u32) -> Self {
        shuffle(self)
    }
}

impl Parts for u64 {
    #[inline(always)]
    fn by_parts(self, shuffle: impl Fn(u32) -> u32) -> Self {
        let low = shuffle(self as u32);
        let high = shuffle((self >> 32) as u32);
        u64::from(high) << 32 | u64::from(low)
    }
}

impl Parts for u128 {
    #[inline(always)]
    fn by_parts(self, shuffle: impl Fn(u32) -> u32) -> Self {
        let low = Parts::by_parts(self as u64, &shuffle);
        let high = Parts::by_parts((self >> 64) as u64, &shuffle);
        u128::from(high) << 64 | u128::from(low)
    }
}

shuffle_value! {
    u8: u32, |v: u8| u32::from(v), |b: u32| b as u8;
    i8: u32, |v: i8| v as u32, |b: u32| b as i8;
    u16: u32, |v: u16| u32::from(v), |b: u32| b as u16;
    i16: u32, |v: i16| v as u32, |b: u32| b as i16;
    u32: u32, |v: u32| v, |b: u32| b;
    i32: u32, |v: i32| v as u32, |b: u32| b as i32;
    f32: u32, f32::to_bits, f32::from_bits;
    u64: u64, |v: u64| v, |b: u64| b;
    i64: u64, |v: i64| v as u64, |b: u64| b as i64;
    f64: u64, f64::to_bits, f64::from_bits;
    u128: u128, |v: u128| v, |b: u128| b;
    i128: u128, |v: i128| v as u128, |b: u128| b as i128;
}

#[cfg(feature = "half")]
shuffle_value! {
    half::f16: u32, |v: half::f16| u32::from(v.to_bits()), |b: u32| half::f16::from_bits(b as u16);
    half::bf16: u32, |v: half::bf16| u32::from(v.to_bits()), |b: u32| half::bf16::from_bits(b as u16);
}

/// `shfl.sync`'s last operand: segments of `width` lanes, and the last lane to clamp to.
#[inline(always)]
const fn segments(width: u32, clamp: u32) -> u32 {
    ((WARP_SIZE - width) << 8) | clamp
}

/// The value of the lane `delta` above and true; if the segment of `width` lanes does not have that
/// lane, the own value and false.
///
/// `width` is a power of two, at most 32.
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    let control = segments(width, 31);
    // SAFETY: the caller's.
    let moved = value.by_parts(|v| unsafe { llvm::shuffle_down(mask, v, delta, control) });
    (moved, (lane_id() & (width - 1)) + (delta & 31) < width)
}

/// The value of the lane `delta` below and true; if the segment of `width` lanes does not have that
/// lane, the own value and false.
///
/// `width` is a power of two, at most 32.
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    let control = segments(width, 0);
    // SAFETY: the caller's.
    let moved = value.by_parts(|v| unsafe { llvm::shuffle_up(mask, v, delta, control) });
    (moved, (lane_id() & (width - 1)) >= (delta & 31))
}

/// The value of the lane whose number is this one's XOR `lanes`, and true. If that lane is above
/// the segment of `width` lanes, the result is the own value and false.
///
/// `width` is a power of two, at most 32.
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lanes: u32,
    width: u32,
) -> (T, bool) {
    let control = segments(width, 31);
    // SAFETY: the caller's.
    let moved = value.by_parts(|v| unsafe { llvm::shuffle_xor(mask, v, lanes, control) });
    (
        moved,
        (lane_id() ^ (lanes & 31)) <= (lane_id() | (width - 1)),
    )
}

/// The value of lane `lane` (modulo `width`) of this lane's segment of `width` lanes.
/// The flag is true whenever `lane < width`.
///
/// `width` is a power of two, at most 32.
///
/// # Safety
/// The module's obligation; the lane read from is in `mask`.
#[inline(always)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane: u32,
    width: u32,
) -> (T, bool) {
    let control = segments(width, 31);
    // SAFETY: the caller's.
    let moved = value.by_parts(|v| unsafe { llvm::shuffle_idx(mask, v, lane, control) });
    (moved, lane < width)
}

macro_rules! warp_functions {
    ($($(#[$doc:meta])* $name:ident($argument:ident: $ty:ty) -> $result:ty = $intrinsic:ident $order:tt;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The module's obligation.
        #[inline(always)]
        pub unsafe fn $name(mask: u32, $argument: $ty) -> $result {
            // SAFETY: the caller's.
            unsafe { warp_functions!(@call $intrinsic $order mask $argument) }
        }
    )*};
    (@call $intrinsic:ident (mask, value) $mask:ident $value:ident) => { llvm::$intrinsic($mask, $value) };
    (@call $intrinsic:ident (value, mask) $mask:ident $value:ident) => { llvm::$intrinsic($value, $mask) };
}

warp_functions! {
    /// Whether `predicate` is true in every lane of `mask`.
    warp_vote_all(predicate: bool) -> bool = vote_all(mask, value);
    /// Whether `predicate` is true in some lane of `mask`.
    warp_vote_any(predicate: bool) -> bool = vote_any(mask, value);
    /// Whether `predicate` is the same in every lane of `mask`.
    warp_vote_uniform(predicate: bool) -> bool = vote_uniform(mask, value);
    /// The lanes of `mask` in which `predicate` is true.
    warp_vote_ballot(predicate: bool) -> u32 = vote_ballot(mask, value);
    /// The lanes of `mask` that hold the same value as this one.
    warp_match_any_32(value: u32) -> u32 = match_any(mask, value);
    /// The sum over the lanes of `mask`, modulo 2^32. Before sm_80 only with [`FULL_MASK`].
    warp_reduce_add(value: u32) -> u32 = reduce_add(value, mask);
    /// The least value over the lanes of `mask`. Before sm_80 only with [`FULL_MASK`].
    warp_reduce_min(value: u32) -> u32 = reduce_min(value, mask);
    /// The greatest value over the lanes of `mask`. Before sm_80 only with [`FULL_MASK`].
    warp_reduce_max(value: u32) -> u32 = reduce_max(value, mask);
    /// The bitwise AND over the lanes of `mask`. Before sm_80 only with [`FULL_MASK`].
    warp_reduce_and(value: u32) -> u32 = reduce_and(value, mask);
    /// The bitwise OR over the lanes of `mask`. Before sm_80 only with [`FULL_MASK`].
    warp_reduce_or(value: u32) -> u32 = reduce_or(value, mask);
    /// The bitwise XOR over the lanes of `mask`. Before sm_80 only with [`FULL_MASK`].
    warp_reduce_xor(value: u32) -> u32 = reduce_xor(value, mask);
}

/// A value that [`warp_match_any`] and [`warp_match_all`] compare: 32 or 64 bits.
pub trait WarpMatchValue: Copy {
    #[doc(hidden)]
    unsafe fn match_any(self, mask: u32) -> u32;
    #[doc(hidden)]
    unsafe fn match_all(self, mask: u32) -> bool;
}

macro_rules! match_value {
    ($($ty:ty: $bits:ty, $into:expr, $intrinsic:ident;)*) => {$(
        impl WarpMatchValue for $ty {
            #[inline(always)]
            unsafe fn match_any(self, mask: u32) -> u32 {
                // SAFETY: the caller's.
                #[allow(clippy::redundant_closure_call)]
                unsafe { llvm::$intrinsic(mask, ($into)(self)) }
            }

            #[inline(always)]
            unsafe fn match_all(self, mask: u32) -> bool {
                #[allow(clippy::redundant_closure_call)]
                let bits: $bits = ($into)(self);
                let first = mask.trailing_zeros();
                // SAFETY: the caller's; the first lane is one of the mask's. (LLVM's intrinsic of
                // `match.all` has a pair as its result, for which Rust has no stable form.)
                unsafe {
                    let (of_first, _) = warp_shuffle_idx(mask, bits, first, WARP_SIZE);
                    warp_vote_all(mask, bits == of_first)
                }
            }
        }
    )*};
}

match_value! {
    u32: u32, |v: u32| v, match_any;
    i32: u32, |v: i32| v as u32, match_any;
    f32: u32, f32::to_bits, match_any;
    u64: u64, |v: u64| v, match_any_64;
    i64: u64, |v: i64| v as u64, match_any_64;
    f64: u64, f64::to_bits, match_any_64;
}

/// The lanes of `mask` that hold the same bits as this one.
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller's.
    unsafe { value.match_any(mask) }
}

/// `mask`, if all its lanes hold the same bits.
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller's.
    unsafe { value.match_all(mask) }.then_some(mask)
}

/// An operation of [`warp_reduce`] on the values of two lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// Addition, modulo 2^32.
    Add,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// Bitwise AND.
    And,
    /// Bitwise OR.
    Or,
    /// Bitwise XOR.
    Xor,
}

/// A value that [`warp_reduce`] takes.
pub trait WarpReduceValue: Copy {
    #[doc(hidden)]
    unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> Self;
}

impl WarpReduceValue for u32 {
    #[inline(always)]
    unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> u32 {
        // SAFETY: the caller's.
        unsafe {
            match op {
                WarpReductionOp::Add => warp_reduce_add(mask, self),
                WarpReductionOp::Min => warp_reduce_min(mask, self),
                WarpReductionOp::Max => warp_reduce_max(mask, self),
                WarpReductionOp::And => warp_reduce_and(mask, self),
                WarpReductionOp::Or => warp_reduce_or(mask, self),
                WarpReductionOp::Xor => warp_reduce_xor(mask, self),
            }
        }
    }
}

impl WarpReduceValue for i32 {
    #[inline(always)]
    unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> i32 {
        // SAFETY: the caller's.
        unsafe {
            match op {
                WarpReductionOp::Min => llvm::reduce_min_signed(self, mask),
                WarpReductionOp::Max => llvm::reduce_max_signed(self, mask),
                _ => (self as u32).reduce(mask, op) as i32,
            }
        }
    }
}

/// The values of the lanes of `mask`, reduced by `op`. Before sm_80 only with [`FULL_MASK`].
///
/// # Safety
/// The module's obligation.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller's.
    unsafe { value.reduce(mask, op) }
}
