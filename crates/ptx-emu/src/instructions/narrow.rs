//! Conversions with types that no register is declared by: pairs of 8-bit floats (`.e4m3x2`,
//! `.e5m2x2`), `.tf32`, and integers packed beside others (`cvt.pack`).
//!
//! | type | exponent, fraction bits | infinity | NaN | largest |
//! |------|-------------------------|----------|-----|---------|
//! | e4m3 | 4, 3 | none | `0x7f`, `0xff` | 448 |
//! | e5m2 | 5, 2 | `0x7c` | above it | 57344 |
//!
//! To 8 bits every conversion is `.satfinite`: beyond the largest number is that number, infinity
//! too, and a NaN is `0x7f`. To `.tf32` a value keeps the upper 19 bits of an f32.

use ptx::ScalarType;

use super::half::{CANONICAL_NAN, Half, nearest};
use crate::counts::InstructionClass;
use crate::fault::Stop;
use crate::read::{Read, Reader, other};
use crate::registers::{Operands, Registers, Slot, lanes, map1_aux, map2_aux, portable_loop};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::Warp;

/// A float of 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eight {
    E4m3,
    E5m2,
}

impl Eight {
    const NAN: u8 = 0x7f;

    /// The bits of the nearest number.
    fn narrow(self, x: f64) -> u8 {
        if x.is_nan() {
            return Self::NAN;
        }
        let (magnitude, largest) = match self {
            Eight::E4m3 => (nearest(x, 3, -6), 0x7e),
            Eight::E5m2 => (nearest(x, 2, -14), 0x7b),
        };
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        sign | magnitude.min(largest) as u8
    }

    /// The bits of this number in f16, which has all numbers of 8 bits.
    pub(super) fn widen(self, bits: u8) -> u16 {
        let half = u16::from(bits);
        match self {
            Eight::E5m2 if bits & 0x7f > 0x7c => CANONICAL_NAN,
            Eight::E5m2 => half << 8,
            Eight::E4m3 if bits & 0x7f == Self::NAN => CANONICAL_NAN,
            Eight::E4m3 => {
                // Four bits of exponent with a bias of 7: as f16 bits, 2 to the 8th too small.
                let small = Half::F16.widen((half & 0x7f) << 7);
                let sign = (half & 0x80) << 8;
                sign | Half::F16.narrow(f64::from(small) * 256.0)
            }
        }
    }
}

const EIGHTS: [(&str, Eight); 2] = [("e4m3x2", Eight::E4m3), ("e5m2x2", Eight::E5m2)];

/// `aux`: the type is e5m2.
const E5M2: u32 = 1;
/// `aux`: results below 0 are 0.
const RELU: u32 = 1 << 1;

fn eight(aux: u32) -> Eight {
    if aux & E5M2 != 0 {
        Eight::E5m2
    } else {
        Eight::E4m3
    }
}

/// A value with `.relu` applied, which makes 0 of -0 too.
fn relu(aux: u32, x: f64) -> f64 {
    let is_cut = aux & RELU != 0 && x.is_sign_negative() && !x.is_nan();
    if is_cut { 0.0 } else { x }
}

/// A conversion of this file; `None` if it is another one.
pub(super) fn read(r: &mut Reader) -> Read<Option<Op>> {
    if r.has("pack") {
        return pack(r).map(Some);
    }
    if r.has("tf32") {
        return tf32(r).map(Some);
    }
    let types = &r.syntax().modifiers;
    let position = |name: &str| types.iter().position(|m| *m == name);
    let Some(at) = EIGHTS.iter().find_map(|(name, _)| position(name)) else {
        return Ok(None);
    };
    // The destination's type comes first.
    let is_narrowing = at + 1 < types.len() && ScalarType::from_name(types[at + 1]).is_some();
    let ty = r.need("type", &EIGHTS)?;
    let mut aux = if ty == Eight::E5m2 { E5M2 } else { 0 };
    if !r.has("rn") {
        return Err(r.missing("rounding"));
    }
    aux |= if r.has("relu") { RELU } else { 0 };
    let other_ty = r.ty()?;
    r.class = InstructionClass::Conversion;
    use ScalarType::{B16, F16x2, F32};
    if !is_narrowing {
        if other_ty != F16x2 {
            return Err(r.unsupported_type(other_ty));
        }
        let apply = portable_loop!(map1_aux, |aux, a: u32| -> u32 {
            let wide = [a, a >> 8].map(|a| {
                let bits = eight(aux).widen(a as u8);
                let is_negative = bits & 0x8000 != 0 && bits != CANONICAL_NAN;
                let bits = if aux & RELU != 0 && is_negative {
                    0
                } else {
                    bits
                };
                u32::from(bits)
            });
            wide[1] << 16 | wide[0]
        });
        return r.lanes((apply, aux), F16x2, [B16]).map(Some);
    }
    if !r.has("satfinite") {
        return Err(r.missing("`.satfinite`"));
    }
    let op = match other_ty {
        F32 => {
            let apply = portable_loop!(map2_aux, |aux, a: u32, b: u32| -> u32 {
                let [a, b] = [a, b].map(|x| {
                    let x = relu(aux, f32::from_bits(x).into());
                    u32::from(eight(aux).narrow(x))
                });
                a << 8 | b
            });
            r.lanes((apply, aux), B16, [F32; 2])
        }
        F16x2 => {
            let apply = portable_loop!(map1_aux, |aux, a: u32| -> u32 {
                let [high, low] = [a >> 16, a].map(|x| {
                    let x = relu(aux, Half::F16.widen(x as u16).into());
                    u32::from(eight(aux).narrow(x))
                });
                high << 8 | low
            });
            r.lanes((apply, aux), B16, [F16x2])
        }
        _ => Err(r.unsupported_type(other_ty)),
    };
    op.map(Some)
}

/// `cvt.rna.tf32.f32`, `.rn` and `.rz`; `.tf32` is taken already.
fn tf32(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Conversion;
    let choices = [("rna", 0), ("rn", 1), ("rz", 2)];
    let mut aux: u32 = r.need("rounding", &choices)?;
    aux |= if r.has("relu") { 4 } else { 0 };
    aux |= if r.has("satfinite") { 8 } else { 0 };
    r.only_type(ScalarType::F32)?;
    let apply = portable_loop!(map1_aux, |aux, a: u32| -> u32 { to_tf32(aux, a) });
    r.lanes((apply, aux), ScalarType::B32, [ScalarType::F32])
}

/// Bits of an f32 that a tf32 does not have.
const CUT: u32 = (1 << 13) - 1;
/// Half of the unit of what is left.
const HALF: u32 = 1 << 12;

/// `aux` bits 0 and 1: rounding to nearest with ties away from 0, with ties to even, or towards 0;
/// bit 2: `.relu`; bit 3: `.satfinite`.
fn to_tf32(aux: u32, a: u32) -> u32 {
    let magnitude = a & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        return match aux {
            // As `ptxas` has it: the upper bits of the NaN.
            0 => a & !CUT,
            _ => 0x7fff_ffff & !CUT,
        };
    }
    if aux & 4 != 0 && a >> 31 == 1 {
        return 0;
    }
    let rounded = match (aux & 3, magnitude) {
        (_, 0x7f80_0000) | (2, _) => a,
        (0, _) => a + HALF,
        _ => a + (HALF - 1) + (a >> 13 & 1),
    } & !CUT;
    if aux & 8 != 0 && rounded & 0x7fff_ffff == 0x7f80_0000 {
        rounded & 0x8000_0000 | 0x7f7f_e000
    } else {
        rounded
    }
}

/// `cvt.pack.sat`: integers cut off at the limits of a narrow type, `a` above `b`, and below the
/// bits of `c` if there is one.
fn pack(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Conversion;
    if !r.has("sat") {
        return Err(r.missing("`.sat`"));
    }
    let narrow = [
        ("u16", (16, false)),
        ("s16", (16, true)),
        ("u8", (8, false)),
        ("s8", (8, true)),
        ("u4", (4, false)),
        ("s4", (4, true)),
        ("u2", (2, false)),
        ("s2", (2, true)),
    ];
    let (bits, is_signed) = r.need("type", &narrow)?;
    r.only_type(ScalarType::S32)?;
    if bits < 16 {
        r.only_type(ScalarType::B32)?;
    }
    r.operands(if bits < 16 { 4 } else { 3 })?;
    let dst = r.dst(ScalarType::B32)?;
    let (a, b) = (r.src(ScalarType::S32)?, r.src(ScalarType::S32)?);
    let c = if bits < 16 {
        Some(r.src(ScalarType::B32)?)
    } else {
        None
    };
    other(Pack {
        bits,
        is_signed,
        dst,
        a,
        b,
        c,
    })
}

#[derive(Debug)]
struct Pack {
    bits: u32,
    is_signed: bool,
    dst: Slot,
    a: Slot,
    b: Slot,
    c: Option<Slot>,
}

impl Execute for Pack {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let (least, most) = if self.is_signed {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        };
        for lane in lanes(at.active) {
            let value = |slot: Slot| warp.registers.lane(slot, lane) as u32;
            let [a, b] = [self.a, self.b].map(|slot| {
                let cut = (value(slot) as i32).clamp(least, most) as u32;
                cut & (u32::MAX >> (32 - self.bits))
            });
            let above = self.c.map_or(0, |c| value(c) << (2 * self.bits));
            let result = above | a << self.bits | b;
            warp.registers.set_lane(self.dst, lane, result.into());
        }
        Ok(Next::Step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_8_bits_widens_and_narrows_back() {
        for (ty, largest) in [(Eight::E4m3, 448.0), (Eight::E5m2, 57344.0)] {
            let mut most = 0f32;
            for bits in 0..=u8::MAX {
                let wide = Half::F16.widen(ty.widen(bits));
                if wide.is_finite() {
                    assert_eq!(ty.narrow(wide.into()), bits, "{ty:?} {bits:#x}");
                    most = if wide > most { wide } else { most };
                }
            }
            assert_eq!(most, largest, "{ty:?}");
            assert_eq!(ty.narrow(f64::NEG_INFINITY), ty.narrow(-1e9));
            assert_eq!(ty.narrow(f64::NAN), 0x7f);
        }
        // 1.0625 lies between 1 and 1.125, and 464 between 448 and what would be 480.
        assert_eq!(Eight::E4m3.narrow(1.0625), 0x38);
        assert_eq!(Eight::E4m3.narrow(464.0), 0x7e);
        assert_eq!(Eight::E5m2.widen(0x7c), 0x7c00);
    }

    #[test]
    fn tf32_rounds() {
        let half = 0x3f80_1000;
        assert_eq!(
            [0, 1, 2].map(|aux| to_tf32(aux, half)),
            [0x3f80_2000, 0x3f80_0000, 0x3f80_0000]
        );
        assert_eq!(to_tf32(1, 0x3f80_3000), 0x3f80_4000);
        assert_eq!(to_tf32(0, 0x7f80_0000), 0x7f80_0000);
        assert_eq!(to_tf32(0, 0x7fff_ffff), 0x7fff_e000);
        assert_eq!(to_tf32(8, 0x7f7f_ffff), 0x7f7f_e000);
        assert_eq!(to_tf32(1 | 4, 0xbf80_0000), 0);
    }
}
