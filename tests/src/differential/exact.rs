//! Results rounded in any direction, from the result rounded to nearest and the sign of its error.
//!
//! The error's sign comes from an exact sum in fixed point, wide enough for any product of two
//! doubles.

use std::cmp::Ordering;

/// IEEE rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::Nearest, Mode::Zero, Mode::Down, Mode::Up];

    /// The modifier of a floating result.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Nearest => "rn",
            Mode::Zero => "rz",
            Mode::Down => "rm",
            Mode::Up => "rp",
        }
    }
}

/// A floating-point type whose arithmetic the host has.
pub trait Float: Copy + PartialEq {
    /// The NaN of an invalid operation.
    const NAN_BITS: u64;
    fn from_raw(bits: u64) -> Self;
    fn raw(self) -> u64;
    fn wide(self) -> f64;
    fn above(self) -> Self;
    fn below(self) -> Self;
    fn add(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn fma(self, b: Self, c: Self) -> Self;
    fn root(self) -> Self;
    fn negate(self) -> Self;
    /// The NaN that an operation gives if an operand is NaN. If several are, the first in this
    /// order counts.
    fn nan_of(operands: &[Self]) -> u64;
}

macro_rules! float {
    ($type:ty, $bits:ty, $nan:expr, $nan_of:expr) => {
        impl Float for $type {
            const NAN_BITS: u64 = $nan;
            fn from_raw(bits: u64) -> Self {
                <$type>::from_bits(bits as $bits)
            }
            fn raw(self) -> u64 {
                self.to_bits().into()
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn above(self) -> Self {
                self.next_up()
            }
            fn below(self) -> Self {
                self.next_down()
            }
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn mul(self, other: Self) -> Self {
                self * other
            }
            fn div(self, other: Self) -> Self {
                self / other
            }
            fn fma(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn negate(self) -> Self {
                -self
            }
            fn nan_of(operands: &[Self]) -> u64 {
                $nan_of(operands)
            }
        }
    };
}

float!(f32, u32, 0x7fff_ffff, |_: &[f32]| 0x7fff_ffff);
// Double precision passes a NaN operand on, quieted.
float!(f64, u64, 0xfff8_0000_0000_0000, |operands: &[f64]| {
    let nan = operands.iter().find(|x| x.is_nan()).expect("a NaN");
    nan.to_bits() | 1 << 51
});

/// `a * b + c`, rounded once.
pub fn fma<F: Float>(a: F, b: F, c: F, mode: Mode) -> u64 {
    let nearest = a.fma(b, c);
    let negative = |x: F| x.wide().is_sign_negative();
    let zeros_differ = (negative(a) != negative(b)) != negative(c);
    sum(
        nearest,
        // The order of an H100.
        &[b, c, a],
        &[(a, b), (c, F::from_raw(one::<F>()))],
        zeros_differ,
        mode,
    )
}

/// `a + b`. Of two NaNs the second counts, as on an H100.
pub fn add<F: Float>(a: F, b: F, mode: Mode) -> u64 {
    let unit = F::from_raw(one::<F>());
    let differ = a.wide().is_sign_negative() != b.wide().is_sign_negative();
    sum(a.add(b), &[b, a], &[(a, unit), (b, unit)], differ, mode)
}

/// `a * b`. Of two NaNs the second counts, as on an H100.
pub fn mul<F: Float>(a: F, b: F, mode: Mode) -> u64 {
    sum(a.mul(b), &[b, a], &[(a, b)], false, mode)
}

/// `a / b`. Of two NaNs the first counts, as on an H100.
pub fn div<F: Float>(a: F, b: F, mode: Mode) -> u64 {
    let nearest = a.div(b);
    if let Some(bits) = special(nearest, &[a, b]) {
        return bits;
    }
    if b.wide() == 0.0 {
        return nearest.raw();
    }
    // The sign of a - q * b, times that of b.
    let residual = match beyond(nearest) {
        Some(side) => side,
        None => {
            let mut error = Fixed::default();
            error.add(a.wide(), 1.0);
            error.add(nearest.wide(), -b.wide());
            if b.wide() < 0.0 {
                error.sign().reverse()
            } else {
                error.sign()
            }
        }
    };
    directed(nearest, residual, mode).raw()
}

/// The square root.
pub fn sqrt<F: Float>(a: F, mode: Mode) -> u64 {
    let nearest = a.root();
    if let Some(bits) = special(nearest, &[a]) {
        return bits;
    }
    let mut error = Fixed::default();
    error.add(a.wide(), 1.0);
    error.add(nearest.wide(), -nearest.wide());
    directed(nearest, error.sign(), mode).raw()
}

/// A double as single precision.
pub fn narrow(x: f64, mode: Mode) -> u64 {
    let nearest = x as f32;
    if let Some(bits) = special(nearest, &[]) {
        return bits;
    }
    let residual = match beyond(nearest) {
        _ if x.is_infinite() => Ordering::Equal,
        Some(side) => side,
        None => x.partial_cmp(&nearest.wide()).expect("numbers"),
    };
    directed(nearest, residual, mode).raw()
}

/// An integer as double precision.
pub fn from_integer(x: i128, mode: Mode) -> u64 {
    let nearest = x as f64;
    directed(nearest, x.cmp(&(nearest as i128)), mode).raw()
}

/// A number of 53 bits: any rounding of it to at most 51 bits gives the same result as rounding the
/// integer itself. It is the truncated integer, with the last bit set if the truncation lost
/// anything (round to odd).
pub fn sticky(x: i128) -> f64 {
    let truncated = f64::from_bits(from_integer(x, Mode::Zero));
    let inexact = truncated as i128 != x;
    f64::from_bits(truncated.to_bits() | u64::from(inexact))
}

fn one<F: Float>() -> u64 {
    // The only type with a NaN of 32 bits is f32.
    match F::NAN_BITS >> 32 {
        0 => 1f32.to_bits().into(),
        _ => 1f64.to_bits(),
    }
}

/// The result of an operation without rounding: a NaN, or an operation on infinities.
fn special<F: Float>(nearest: F, operands: &[F]) -> Option<u64> {
    if operands.iter().any(|x| x.wide().is_nan()) {
        return Some(F::nan_of(operands));
    }
    if nearest.wide().is_nan() {
        return Some(F::NAN_BITS);
    }
    let infinite = operands.iter().any(|x| x.wide().is_infinite());
    infinite.then(|| nearest.raw())
}

/// The side of an infinite result on which the exact result lies, if the operands are finite.
fn beyond<F: Float>(nearest: F) -> Option<Ordering> {
    match nearest.wide() {
        x if x == f64::INFINITY => Some(Ordering::Less),
        x if x == f64::NEG_INFINITY => Some(Ordering::Greater),
        _ => None,
    }
}

fn sum<F: Float>(
    nearest: F,
    operands: &[F],
    terms: &[(F, F)],
    zeros_differ: bool,
    mode: Mode,
) -> u64 {
    if let Some(bits) = special(nearest, operands) {
        return bits;
    }
    if let Some(side) = beyond(nearest) {
        return directed(nearest, side, mode).raw();
    }
    let mut error = Fixed::default();
    for (a, b) in terms {
        error.add(a.wide(), b.wide());
    }
    error.add(nearest.wide(), -1.0);
    let residual = error.sign();
    // A sum that cancels exactly is -0 only towards minus infinity.
    if nearest.wide() == 0.0 && residual.is_eq() && zeros_differ && mode == Mode::Down {
        return F::from_raw(0).negate().raw();
    }
    directed(nearest, residual, mode).raw()
}

/// The result in direction `mode`, where `residual` is the sign of the exact result minus the
/// nearest one.
fn directed<F: Float>(nearest: F, residual: Ordering, mode: Mode) -> F {
    let mode = match mode {
        Mode::Zero if nearest.wide().is_sign_negative() => Mode::Up,
        Mode::Zero => Mode::Down,
        _ => mode,
    };
    match (mode, residual) {
        (Mode::Down, Ordering::Less) => nearest.below(),
        (Mode::Up, Ordering::Greater) => nearest.above(),
        _ => nearest,
    }
}

/// A sum of products of doubles in two's complement, in units of 2^-2176.
struct Fixed([u64; 70]);

impl Default for Fixed {
    fn default() -> Fixed {
        Fixed([0; 70])
    }
}

impl Fixed {
    const UNIT: i32 = 2176;

    /// Adds `x * y`, exactly. Both are finite.
    fn add(&mut self, x: f64, y: f64) {
        let ((mx, ex), (my, ey)) = (parts(x), parts(y));
        let product = u128::from(mx) * u128::from(my);
        if product == 0 {
            return;
        }
        let shift = (ex + ey + Fixed::UNIT) as usize;
        let (limb, bit) = (shift / 64, shift % 64);
        // The product's 106 bits, shifted, take three limbs.
        let high = if bit == 0 {
            0
        } else {
            (product >> (128 - bit)) as u64
        };
        let low = product << bit;
        let mut limbs = [0; 70];
        limbs[limb] = low as u64;
        limbs[limb + 1] = (low >> 64) as u64;
        limbs[limb + 2] = high;
        let negative = x.is_sign_negative() != y.is_sign_negative();
        let mut carry = negative;
        for (a, b) in self.0.iter_mut().zip(limbs) {
            let b = if negative { !b } else { b };
            let (partial, first) = a.overflowing_add(b);
            let (total, second) = partial.overflowing_add(carry.into());
            (*a, carry) = (total, first || second);
        }
    }

    fn sign(&self) -> Ordering {
        match self.0 {
            [.., top] if top >> 63 == 1 => Ordering::Less,
            all if all.iter().all(|&limb| limb == 0) => Ordering::Equal,
            _ => Ordering::Greater,
        }
    }
}

/// Magnitude and exponent: `|x| = m * 2^e`.
fn parts(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_differ_where_the_result_is_inexact() {
        let third = Mode::ALL.map(|mode| f64::from_bits(div(1.0, 3.0, mode)));
        assert_eq!(third[1], third[2]);
        assert_eq!(third[3], third[2].next_up());
        assert_eq!(
            Mode::ALL.map(|mode| mul(0.5f64, 3.0, mode)),
            [1.5f64.to_bits(); 4]
        );
    }

    #[test]
    fn overflow_and_underflow_stop_where_the_direction_says() {
        let over = Mode::ALL.map(|mode| f32::from_bits(mul(f32::MAX, 2.0, mode) as u32));
        assert_eq!(over, [f32::INFINITY, f32::MAX, f32::MAX, f32::INFINITY]);
        let tiny = f64::from_bits(1);
        let under = Mode::ALL.map(|mode| f64::from_bits(mul(-tiny, 0.25, mode)));
        assert_eq!(
            under.map(f64::to_bits),
            [-0.0, -0.0, -tiny, -0.0].map(f64::to_bits)
        );
    }

    #[test]
    fn cancellation_is_minus_zero_only_downwards() {
        let zero = Mode::ALL.map(|mode| add(1.5f32, -1.5, mode));
        assert_eq!(zero, [0, 0, 0x8000_0000, 0]);
        assert_eq!(fma(1.0f32, 0.0, 0.0, Mode::Down), 0);
    }

    #[test]
    fn an_fma_sees_what_the_product_alone_would_lose() {
        let x = 1.0 + f64::EPSILON;
        // x * x = 1 + 2 eps + eps^2.
        let up = f64::from_bits(fma(x, x, 0.0, Mode::Up));
        assert_eq!(up, (1.0 + 2.0 * f64::EPSILON).next_up());
    }

    #[test]
    fn round_to_odd_keeps_ties_apart() {
        let tie = (1i128 << 62) + (1 << 38);
        assert_eq!(sticky(tie) as i128, tie);
        assert_eq!(sticky(tie + 1) as f32, ((1u64 << 62) + (1 << 39)) as f32);
    }
}
