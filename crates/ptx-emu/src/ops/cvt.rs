//! `cvt`: conversions between integer and floating-point types.
//!
//! Rules (PTX ISA, "cvt"):
//! - integer to integer truncates, or clamps with `.sat`; the result is extended to the register by the sign of
//!   the destination type;
//! - float to integer clamps to the destination's range; NaN gives 0 if the source is not f64 and the
//!   destination has fewer than 64 bits, else `1 << (width - 1)`;
//! - between floats rounds once, in any direction; f32 to f32 without modifiers is a move.
//!
//! The ISA leaves the bits of a NaN open, and what `.ftz` does beside other types than f32. Here it is as an H100 does:
//! - from f64 to a narrower float a NaN keeps its sign and the first bits of its payload, quieted;
//! - to f64 it keeps sign and payload, quieted; with `.ftz` from f32 it is [`CANONICAL_NAN_F32`], widened;
//! - from bf16 to f32 without `.ftz` it is shifted like a number, signalling or not;
//! - all others become the canonical NaN of the type;
//! - `.ftz` flushes an f32 source, unless the destination is f16.

use ptx::{Rounding, ScalarType};

use super::exact::{self, BF16, Exact, F16, F32, F64, Format};
use super::float::{CANONICAL_NAN_F32, direction, flush, saturate};
use crate::registers::{Apply, File, Operands, Registers, Row64, lanes};

/// A conversion, decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub(crate) dst_ty: ScalarType,
    pub(crate) src_ty: ScalarType,
    /// The direction where the text gives one.
    pub(crate) rounding: Option<Rounding>,
    /// Rounds to an integral value.
    pub(crate) integral: bool,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
    pub(crate) relu: bool,
}

impl Conversion {
    /// A vectorised version, for the common ones between registers of the types' own widths.
    pub(crate) fn fast(&self, dst: File, src: File) -> Option<Apply> {
        use crate::registers::map1;
        use ScalarType::*;
        if self.sat || self.relu || self.ftz {
            return None;
        }
        let nearest = matches!(self.rounding, Some(Rounding::Nearest) | None);
        let truncates = self.integral && self.rounding == Some(Rounding::Zero);
        Some(match (self.dst_ty, self.src_ty, dst, src) {
            (U64 | S64 | B64, U32 | B32, File::B64, File::B32) => {
                lanes!(map1, |a: u32| u64::from(a))
            }
            (U64 | S64 | B64, S32, File::B64, File::B32) => lanes!(map1, |a: i32| i64::from(a)),
            (U32 | S32 | B32, U64 | S64 | B64, File::B32, File::B64) => {
                lanes!(map1, |a: u64| a as u32)
            }
            (U32 | S32 | B32, U16 | B16, File::B32, File::B16) => {
                lanes!(map1, |a: u16| u32::from(a))
            }
            (U32 | S32 | B32, S16, File::B32, File::B16) => lanes!(map1, |a: i16| i32::from(a)),
            (U16 | S16 | B16, U32 | S32 | B32, File::B16, File::B32) => {
                lanes!(map1, |a: u32| a as u16)
            }
            (F32, S32, File::B32, File::B32) if nearest => lanes!(map1, |a: i32| a as f32),
            (F32, U32, File::B32, File::B32) if nearest => lanes!(map1, |a: u32| a as f32),
            (F64, S32, File::B64, File::B32) => lanes!(map1, |a: i32| f64::from(a)),
            (F64, U32, File::B64, File::B32) => lanes!(map1, |a: u32| f64::from(a)),
            (S32, F32, File::B32, File::B32) if truncates => lanes!(map1, |a: f32| a as i32),
            (U32, F32, File::B32, File::B32) if truncates => lanes!(map1, |a: f32| a as u32),
            (F64, F32, File::B64, File::B32) if !self.integral => lanes!(map1, |a: u32| widen(a)),
            (F32, F64, File::B32, File::B64) if nearest && !self.integral => {
                lanes!(map1, |a: f64| {
                    if a.is_nan() {
                        exact::narrow_nan(a.to_bits(), &exact::F32) as u32
                    } else {
                        (a as f32).to_bits()
                    }
                })
            }
            _ => return None,
        })
    }

    /// Converts every lane of `mask` from one row to another.
    pub(crate) fn apply(
        &self,
        registers: &mut Registers,
        (dst_file, dst): (File, u32),
        (src_file, src): (File, u32),
        mask: u32,
    ) {
        let source: Row64 = match src_file {
            File::B64 => *registers.r64(src),
            _ => registers.r32(src).map(u64::from),
        };
        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
            let value = self.convert(source[lane]);
            registers.set_lane(
                crate::registers::Slot {
                    file: dst_file,
                    row: dst,
                },
                lane,
                value,
            );
        }
    }

    /// The result for one lane, extended to 64 bits by the sign of the destination type.
    pub(crate) fn lane(&self, raw: u64) -> u64 {
        self.convert(raw)
    }

    fn convert(&self, raw: u64) -> u64 {
        match (self.src_ty.is_float(), self.dst_ty.is_float()) {
            (false, false) => self.integer_to_integer(raw),
            (false, true) => self.integer_to_float(raw),
            (true, false) => self.float_to_integer(raw),
            (true, true) => self.float_to_float(raw),
        }
    }

    /// The source as an integer.
    fn integer(&self, raw: u64) -> i128 {
        let shift = 64 - self.src_ty.bits();
        match self.src_ty.is_signed() {
            true => i128::from(((raw << shift) as i64) >> shift),
            false => i128::from(raw << shift >> shift),
        }
    }

    fn integer_to_integer(&self, raw: u64) -> u64 {
        let value = self.integer(raw);
        let bits = self.dst_ty.bits();
        let value = match (self.sat, self.dst_ty.is_signed()) {
            (false, _) => value,
            (true, true) => value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (true, false) => value.clamp(0, (1 << bits) - 1),
        };
        self.extended(value as u64)
    }

    /// Cuts to the destination type, then extends by its sign.
    fn extended(&self, value: u64) -> u64 {
        let shift = 64 - self.dst_ty.bits();
        match self.dst_ty.is_signed() {
            true => ((value << shift) as i64 >> shift) as u64,
            false => value << shift >> shift,
        }
    }

    fn integer_to_float(&self, raw: u64) -> u64 {
        let value = self.integer(raw);
        let exact = Exact::from_integer(value < 0, value.unsigned_abs() as u64);
        let rounding = direction(self.rounding.unwrap_or(Rounding::Nearest));
        self.finish(exact.round(format(self.dst_ty), rounding))
    }

    fn float_to_integer(&self, raw: u64) -> u64 {
        use ScalarType::*;
        let value = self.source_float(raw);
        let bits = self.dst_ty.bits();
        if value.is_nan() {
            let zero = self.src_ty != F64 && bits < 64;
            return self.extended(if zero { 0 } else { 1 << (bits - 1) });
        }
        let value = integral(value, self.rounding.unwrap_or(Rounding::Zero));
        // Rust's casts clamp.
        match self.dst_ty {
            S8 => i64::from(value as i8) as u64,
            S16 => i64::from(value as i16) as u64,
            S32 => i64::from(value as i32) as u64,
            S64 => value as i64 as u64,
            U8 | B8 => u64::from(value as u8),
            U16 | B16 => u64::from(value as u16),
            U32 | B32 => u64::from(value as u32),
            _ => value as u64,
        }
    }

    /// The source in f64, exactly, with `.ftz` applied to an f32.
    fn source_float(&self, raw: u64) -> f64 {
        match self.src_ty {
            ScalarType::F64 => f64::from_bits(raw),
            ScalarType::F32 => {
                let x = f32::from_bits(raw as u32);
                f64::from(if self.ftz { flush(x) } else { x })
            }
            narrow => {
                let bits = exact::convert(raw, format(narrow), &F64, exact::Rounding::Nearest);
                f64::from_bits(bits)
            }
        }
    }

    fn float_to_float(&self, raw: u64) -> u64 {
        let (from, to) = (format(self.src_ty), format(self.dst_ty));
        let raw = raw & (u64::MAX >> (64 - self.src_ty.bits()));
        let flushed = self.ftz && self.src_ty == ScalarType::F32 && self.dst_ty != ScalarType::F16;
        let raw = if flushed { F32.flush(raw) } else { raw };
        if self.integral {
            let value = integral(
                self.source_float(raw),
                self.rounding.unwrap_or(Rounding::Nearest),
            );
            // An integral value of the source is one of the (same) destination type.
            return match value.is_nan() && self.dst_ty == ScalarType::F64 {
                true => self.finish(raw | 1 << 51),
                false => self.finish(exact::convert(
                    value.to_bits(),
                    &F64,
                    to,
                    exact::Rounding::Nearest,
                )),
            };
        }
        match (self.src_ty, self.dst_ty) {
            // A move, NaN or not.
            (ScalarType::F32, ScalarType::F32) if !self.ftz && !self.sat => raw,
            (ScalarType::F64, ScalarType::F64) => self.finish(raw),
            (ScalarType::F64, _) if f64::from_bits(raw).is_nan() => {
                self.finish(exact::narrow_nan(raw, to))
            }
            (ScalarType::F32, ScalarType::F64) if self.ftz && is_nan32(raw as u32) => {
                self.finish(widen(CANONICAL_NAN_F32))
            }
            (ScalarType::F32, ScalarType::F64) => self.finish(widen(raw as u32)),
            (ScalarType::Bf16, ScalarType::F32) if !self.ftz => self.finish(raw << 16),
            (ScalarType::F16, ScalarType::F64) => self.finish(widen_half(raw, from, 10)),
            (ScalarType::Bf16, ScalarType::F64) => self.finish(widen_half(raw, from, 7)),
            _ => {
                let rounding = direction(self.rounding.unwrap_or(Rounding::Nearest));
                let flushing = to.flushing();
                let flushes = self.ftz && self.dst_ty == ScalarType::F32;
                let to = if flushes { &flushing } else { to };
                self.finish(exact::convert(raw, from, to, rounding))
            }
        }
    }

    /// Applies `.ftz`, `.sat` and `.relu` to a float result.
    fn finish(&self, bits: u64) -> u64 {
        let to = format(self.dst_ty);
        let bits = if self.ftz && self.dst_ty == ScalarType::F32 {
            F32.flush(bits)
        } else {
            bits
        };
        let value = f64::from_bits(exact::convert(bits, to, &F64, exact::Rounding::Nearest));
        if self.sat {
            let clamped = if value.is_nan() {
                0.0
            } else {
                value.clamp(0.0, 1.0)
            };
            // `clamp` keeps -0, which `saturate` does not.
            let clamped = if self.dst_ty == ScalarType::F32 {
                f64::from(saturate(clamped as f32))
            } else {
                clamped + 0.0
            };
            return exact::convert(clamped.to_bits(), &F64, to, exact::Rounding::Nearest);
        }
        if self.relu && value.is_sign_negative() && !value.is_nan() {
            return 0;
        }
        bits
    }
}

fn is_nan32(bits: u32) -> bool {
    f32::from_bits(bits).is_nan()
}

/// An f32 as an f64, exactly; a NaN keeps its payload.
#[inline(always)]
fn widen(bits: u32) -> u64 {
    let x = f32::from_bits(bits);
    if x.is_nan() {
        let sign = u64::from(bits >> 31) << 63;
        sign | 0x7ff8_0000_0000_0000 | u64::from(bits & 0x7f_ffff) << 29
    } else {
        f64::from(x).to_bits()
    }
}

/// A 16-bit float as an f64, exactly; a NaN keeps its payload.
fn widen_half(bits: u64, from: &Format, fraction_bits: u32) -> u64 {
    let wide = exact::convert(bits, from, &F64, exact::Rounding::Nearest);
    if f64::from_bits(wide).is_nan() {
        let payload = bits & ((1 << fraction_bits) - 1);
        bits >> 15 << 63 | 0x7ff8_0000_0000_0000 | payload << (52 - fraction_bits)
    } else {
        wide
    }
}

/// Rounds to an integral value.
fn integral(x: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    }
}

/// The format of a scalar floating-point type.
fn format(ty: ScalarType) -> &'static Format {
    match ty {
        ScalarType::F16 => &F16,
        ScalarType::Bf16 => &BF16,
        ScalarType::F32 => &F32,
        _ => &F64,
    }
}

/// True if a type can be the source or destination of a [`Conversion`].
pub(crate) fn is_supported(ty: ScalarType) -> bool {
    use ScalarType::*;
    !matches!(ty, Pred | B128 | F16x2 | Bf16x2)
}

#[cfg(test)]
mod tests;
