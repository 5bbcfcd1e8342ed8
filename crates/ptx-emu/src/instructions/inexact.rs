//! The errors that hardware's approximations may have.
//!
//! The emulator rounds approximations once, which no GPU does. With
//! [`Options::inexact`](crate::Options::inexact) they are as wrong as the PTX ISA allows: by
//! amounts that follow from the seed and the result, so that equal operands give equal results. A
//! program that needs exact values from them is wrong then, as it may be on a GPU. Results that are
//! 0, subnormal, infinite or NaN stay.

use ptx::{RegClass, ScalarType};

use crate::fault::Stop;
use crate::read::{FloatType, Read, class_of, other};
use crate::registers::{Apply, Operands, Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::Warp;

/// The largest error that the PTX ISA states.
#[derive(Clone, Copy, Debug)]
pub(super) enum Error {
    /// Less than this many units in the last place.
    Ulps(i64),
    /// Relative to the value.
    Relative(f64),
    /// One bound for every value, large or small.
    Absolute(f64),
    /// Relative to the value, or absolute for one below 1.
    Either(f64),
}

/// An approximation: the operation that rounds once, and the value that it rounds.
pub(super) struct Inexact {
    apply: Apply,
    o: Operands,
    dst: Slot,
    sources: [Slot; 2],
    value: fn(f64, f64) -> f64,
    error: Error,
}

impl std::fmt::Debug for Inexact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the function pointers, which differ from run to run.
        let Inexact {
            dst,
            sources,
            error,
            ..
        } = self;
        write!(f, "Inexact {dst:?}, {sources:?}, {error:?}")
    }
}

impl Inexact {
    /// The operation `op` on numbers of this type, which evaluates `value` with this error. A
    /// function of one number ignores the second.
    pub(super) fn op(op: Op, ty: FloatType, value: fn(f64, f64) -> f64, error: Error) -> Read<Op> {
        let Op::Apply { apply, o } = op else {
            return Ok(op);
        };
        let slot = |row| Slot {
            class: class_of(ty.scalar()),
            row,
        };
        other(Inexact {
            apply,
            o,
            dst: slot(o.d),
            sources: [slot(o.a), slot(o.b)],
            value,
            error,
        })
    }

    /// The result of a lane instead of the rounded one, `rounded`.
    fn wrong(&self, rounded: u64, operands: [u64; 2], seed: u64) -> u64 {
        let ty = match self.dst.class {
            RegClass::B64 => ScalarType::F64,
            _ => ScalarType::F32,
        };
        let number = |bits: u64| match ty {
            ScalarType::F64 => f64::from_bits(bits),
            _ => f64::from(f32::from_bits(bits as u32)),
        };
        let is_normal = |bits: u64| match ty {
            ScalarType::F64 => f64::from_bits(bits).is_normal(),
            _ => f32::from_bits(bits as u32).is_normal(),
        };
        if !is_normal(rounded) {
            return rounded;
        }
        let mut random =
            fastrand::Rng::with_seed(seed ^ rounded.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        // At least half of the error, so that results differ. Seven tenths at most, since the sum
        // is rounded too, by up to a quarter of the smallest error.
        let share = (0.5 + 0.2 * random.f64()).copysign(random.f64() - 0.5);
        let value = (self.value)(number(operands[0]), number(operands[1]));
        let off = match self.error {
            Error::Ulps(ulps) => {
                let away = i64::from(number(rounded).abs() < value.abs());
                // From the neighbour below in magnitude to the one above, and as far beyond; but
                // not the rounded one.
                let below = away - ulps;
                let steps = random.i64(below..below + 2 * ulps - 1);
                let steps = if steps >= 0 { steps + 1 } else { steps };
                let off = rounded.wrapping_add_signed(steps);
                return if is_normal(off) { off } else { rounded };
            }
            Error::Relative(most) => value * most,
            Error::Absolute(most) => most,
            Error::Either(most) if value.abs() > 1.0 => most * value.abs(),
            Error::Either(most) => most,
        };
        let off = value + off * share;
        let off = match ty {
            // Of the forms whose low words are 0.
            ScalarType::F64 if rounded as u32 == 0 => off.to_bits() & !0xffff_ffff,
            ScalarType::F64 => off.to_bits(),
            _ => u64::from((off as f32).to_bits()),
        };
        if is_normal(off) { off } else { rounded }
    }
}

impl Execute for Inexact {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &mut warp.registers;
        // The destination may be an operand.
        let mut operands = [[0; 2]; 32];
        if runner.launch.inexact {
            for lane in lanes(at.active) {
                operands[lane] = self.sources.map(|slot| registers.lane(slot, lane));
            }
        }
        // SAFETY: the pointer comes from `lane_loop!` or `portable_loop!`, which choose code that
        // this host can run.
        unsafe { (self.apply)(registers, &self.o, at.active) };
        if runner.launch.inexact {
            for lane in lanes(at.active) {
                let rounded = registers.lane(self.dst, lane);
                let wrong = self.wrong(rounded, operands[lane], runner.launch.seed);
                registers.set_lane(self.dst, lane, wrong);
            }
        }
        Ok(Next::Step)
    }
}
