//! Conversions between integer and floating-point types: `cvt`.
//!
//! Rules (PTX ISA, "cvt"):
//! - integer to integer truncates, or clamps with `.sat`; the result is extended to the register by
//!   the sign of the destination type;
//! - float to integer clamps to the destination's range; NaN gives 0 if the source is not f64 and
//!   the destination has fewer than 64 bits, else `1 << (width - 1)`;
//! - between floats rounds once, in any direction; f32 to f32 without modifiers is a move.
//!
//! The ISA leaves the bits of a NaN open, and what `.ftz` does beside other types than f32. Here it
//! is as an H100 does:
//! - from f64 to a narrower float a NaN keeps its sign and the first bits of its payload, quieted;
//! - to f64 it keeps sign and payload, quieted; with `.ftz` from f32 it is [`CANONICAL_NAN_F32`],
//!   widened;
//! - from bf16 to f32 without `.ftz` it is shifted like a number, signalling or not;
//! - all others become the canonical NaN of the type;
//! - `.ftz` flushes an f32 source, unless the destination is f16.

use ptx::{Problem, RegClass, ScalarType};

use super::float::{CANONICAL_NAN_F32, flush, saturate};
use super::narrow;
use crate::address_origin::Makes;
use crate::counts::InstructionClass;
use crate::exact::{self, BF16, Exact, F16, F32, F64, Format, Rounding};
use crate::fault::Stop;
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Apply, Operands, Registers, Slot, lane_loop, lanes, map1};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::warp::Warp;

/// `cvt`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    (r.class, r.makes) = (InstructionClass::Conversion, Makes::OneOf);
    if let Some(op) = narrow::read(r)? {
        return Ok(op);
    }
    let integral = [
        ("rni", Rounding::Nearest),
        ("rzi", Rounding::Zero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ];
    let (rounding, integral) = match r.choice(&integral) {
        Some(rounding) => (Some(rounding), true),
        None => (r.rounding(), false),
    };
    let (ftz, sat, relu) = (r.has("ftz"), r.has("sat"), r.has("relu"));
    let conversion = Conversion {
        dst_ty: r.ty()?,
        src_ty: r.ty()?,
        rounding,
        integral,
        ftz,
        sat,
        relu,
    };
    match conversion.dst_ty {
        ScalarType::F16x2 => pair(r, conversion, ScalarType::F16),
        ScalarType::Bf16x2 => pair(r, conversion, ScalarType::Bf16),
        _ => one(r, conversion),
    }
}

fn one(r: &mut Reader, conversion: Conversion) -> Read<Op> {
    use ScalarType::*;
    let Conversion { dst_ty, src_ty, .. } = conversion;
    if conversion.relu && !matches!(dst_ty, F16 | Bf16) {
        return Err(r.unsupported("modifier `.relu`"));
    }
    for ty in [dst_ty, src_ty] {
        if matches!(ty, Pred | B8 | B16 | B32 | B64 | B128 | F16x2 | Bf16x2) {
            return Err(r.unsupported_type(ty));
        }
    }
    // PTX ISA, "cvt": `.relu` is for conversions from .f32, and .bf16 has no `.sat`.
    let is_saturated_bf16 = conversion.sat && [dst_ty, src_ty].contains(&Bf16);
    if conversion.relu && src_ty != F32 || is_saturated_bf16 {
        return Err(r.no_such_form());
    }
    if let Some(message) = conversion.without_effect() {
        return Err(Problem::invalid(r.syntax().opcode.pos, message).into());
    }
    r.done()?;
    let narrows = dst_ty.is_float() && (!src_ty.is_float() || dst_ty.bits() < src_ty.bits());
    let to_integer = src_ty.is_float() && !dst_ty.is_float();
    if conversion.rounding.is_none() && (narrows || to_integer) {
        return Err(r.missing("rounding"));
    }
    r.operands(2)?;
    let (d, s) = (r.operand()?, r.operand()?);
    let dst = r.register(d, dst_ty, Width::AtLeast)?;
    let src = r.value(s, src_ty, Width::AtLeast)?;
    if !conversion.sat && !dst_ty.is_float() && !src_ty.is_float() {
        r.rule = Rule::Resize(dst_ty, src_ty);
    }
    match conversion.fast(dst.class, src.class) {
        Some(apply) => Ok(Op::Apply {
            apply,
            o: Operands {
                d: dst.row,
                a: src.row,
                ..Operands::default()
            },
        }),
        None => other(Convert {
            conversion,
            dst,
            src,
        }),
    }
}

/// An [`Apply`] that rounds to an integral value in the conversion's direction, then does `then`.
macro_rules! by_direction {
    ($conversion:expr, $float:ty, |$a:ident| -> $result:ty $then:block) => {
        match $conversion.rounding? {
            Rounding::Nearest => lane_loop!(map1, |a: $float| -> $result {
                let $a = a.round_ties_even();
                $then
            }),
            Rounding::Zero => lane_loop!(map1, |a: $float| -> $result {
                let $a = a.trunc();
                $then
            }),
            Rounding::Down => lane_loop!(map1, |a: $float| -> $result {
                let $a = a.floor();
                $then
            }),
            Rounding::Up => lane_loop!(map1, |a: $float| -> $result {
                let $a = a.ceil();
                $then
            }),
        }
    };
}

/// An [`Apply`] that widens integers of a type, in registers of the class `$src`, to all of a
/// register of the class `$dst`.
macro_rules! widened {
    ($src:expr, $dst:expr, $narrow:ty) => {
        match ($dst, $src) {
            (RegClass::B16, RegClass::B16) => lane_loop!(map1, |a: u16| a as $narrow as u16),
            (RegClass::B16, RegClass::B32) => lane_loop!(map1, |a: u32| a as $narrow as u16),
            (RegClass::B16, RegClass::B64) => lane_loop!(map1, |a: u64| a as $narrow as u16),
            (RegClass::B32, RegClass::B16) => lane_loop!(map1, |a: u16| a as $narrow as u32),
            (RegClass::B32, RegClass::B32) => lane_loop!(map1, |a: u32| a as $narrow as u32),
            (RegClass::B32, RegClass::B64) => lane_loop!(map1, |a: u64| a as $narrow as u32),
            (RegClass::B64, RegClass::B16) => lane_loop!(map1, |a: u16| a as $narrow as u64),
            (RegClass::B64, RegClass::B32) => lane_loop!(map1, |a: u32| a as $narrow as u64),
            (RegClass::B64, RegClass::B64) => lane_loop!(map1, |a: u64| a as $narrow as u64),
            _ => return None,
        }
    };
}

/// Whether every value of an integer type is one of another.
fn includes(ty: ScalarType, other: ScalarType) -> bool {
    match (ty.is_signed(), other.is_signed()) {
        (true, false) => ty.bits() > other.bits(),
        (false, true) => false,
        _ => ty.bits() >= other.bits(),
    }
}

/// `cvt.rn.f16x2.f32 d, a, b` (or `bf16x2`): `a` to the upper half, `b` to the lower.
fn pair(r: &mut Reader, conversion: Conversion, half: ScalarType) -> Read<Op> {
    let Conversion {
        dst_ty,
        src_ty,
        ftz,
        sat,
        integral,
        ..
    } = conversion;
    if conversion.rounding.is_none() {
        return Err(r.missing("rounding"));
    }
    if src_ty != ScalarType::F32 || ftz || sat || integral {
        return Err(r.unsupported_type(dst_ty));
    }
    r.operands(3)?;
    other(ConvertPair {
        conversion: Conversion {
            dst_ty: half,
            ..conversion
        },
        dst: r.dst(dst_ty)?,
        high: r.src(src_ty)?,
        low: r.src(src_ty)?,
    })
}

#[derive(Debug)]
struct Convert {
    conversion: Conversion,
    dst: Slot,
    src: Slot,
}

impl Execute for Convert {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let value = self.conversion.convert(warp.registers.lane(self.src, lane));
            warp.registers.set_lane(self.dst, lane, value);
        }
        Ok(Next::Step)
    }
}

#[derive(Debug)]
struct ConvertPair {
    conversion: Conversion,
    dst: Slot,
    high: Slot,
    low: Slot,
}

impl Execute for ConvertPair {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let [high, low] = [self.high, self.low]
                .map(|slot| self.conversion.convert(warp.registers.lane(slot, lane)) & 0xffff);
            warp.registers.set_lane(self.dst, lane, high << 16 | low);
        }
        Ok(Next::Step)
    }
}

/// A conversion of one value.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    dst_ty: ScalarType,
    src_ty: ScalarType,
    /// The direction where the text gives one.
    rounding: Option<Rounding>,
    /// Rounds to an integral value.
    integral: bool,
    ftz: bool,
    sat: bool,
    relu: bool,
}

impl Conversion {
    /// The complaint about a modifier that the types leave nothing to do, as `ptxas` makes it.
    fn without_effect(&self) -> Option<String> {
        let (dst, src) = (self.dst_ty, self.src_ty);
        let of_floats = dst.is_float() && src.is_float();
        if self.sat && !dst.is_float() && !src.is_float() && includes(dst, src) {
            return Some(format!(
                "`.sat` has no effect: every value of {src} is one of {dst}"
            ));
        }
        if self.ftz && dst != ScalarType::F32 && src != ScalarType::F32 {
            return Some("`.ftz` has no effect: it is for .f32".to_owned());
        }
        self.rounding?;
        let rounds = match self.integral {
            true => src.is_float() && (!dst.is_float() || dst == src),
            // The two types of 16 bits round to each other, and `ptxas` lets bf16 round to all.
            false if src == ScalarType::Bf16 => true,
            false if of_floats => dst.bits() <= src.bits() && dst != src,
            false => dst.is_float(),
        };
        (!rounds).then(|| format!("rounding has no effect from {src} to {dst}"))
    }

    /// A vectorised version, for the common ones between registers of the types' own widths.
    fn fast(&self, dst: RegClass, src: RegClass) -> Option<Apply> {
        use ScalarType::*;
        if (self.dst_ty, self.src_ty, self.sat) == (F32, F32, true)
            && (dst, src) == (RegClass::B32, RegClass::B32)
            && !self.integral
        {
            return Some(if self.ftz {
                lane_loop!(map1, |a: f32| saturate(flush(a)))
            } else {
                lane_loop!(map1, |a: f32| saturate(a))
            });
        }
        if self.sat || self.relu || self.ftz {
            return None;
        }
        let nearest = matches!(self.rounding, Some(Rounding::Nearest) | None);
        let fills = !self.dst_ty.is_float() && self.dst_ty.bits() == dst.bits();
        Some(match (self.dst_ty, self.src_ty, dst, src) {
            (_, U8, ..) if fills => widened!(src, dst, u8),
            (_, S8, ..) if fills => widened!(src, dst, i8),
            (_, U16, ..) if fills => widened!(src, dst, u16),
            (_, S16, ..) if fills => widened!(src, dst, i16),
            (U64 | S64 | B64, U32 | B32, RegClass::B64, RegClass::B32) => {
                lane_loop!(map1, |a: u32| u64::from(a))
            }
            (U64 | S64 | B64, S32, RegClass::B64, RegClass::B32) => {
                lane_loop!(map1, |a: i32| i64::from(a))
            }
            (U32 | S32 | B32, U64 | S64 | B64, RegClass::B32, RegClass::B64) => {
                lane_loop!(map1, |a: u64| a as u32)
            }
            (U16 | S16 | B16, U32 | S32 | B32, RegClass::B16, RegClass::B32) => {
                lane_loop!(map1, |a: u32| a as u16)
            }
            (F32, S32, RegClass::B32, RegClass::B32) if nearest => {
                lane_loop!(map1, |a: i32| a as f32)
            }
            (F32, U32, RegClass::B32, RegClass::B32) if nearest => {
                lane_loop!(map1, |a: u32| a as f32)
            }
            (F64, S32, RegClass::B64, RegClass::B32) => lane_loop!(map1, |a: i32| f64::from(a)),
            (F64, U32, RegClass::B64, RegClass::B32) => lane_loop!(map1, |a: u32| f64::from(a)),
            (F32, S64, RegClass::B32, RegClass::B64) if nearest => {
                lane_loop!(map1, |a: i64| a as f32)
            }
            (F32, U64, RegClass::B32, RegClass::B64) if nearest => {
                lane_loop!(map1, |a: u64| a as f32)
            }
            (F64, S64, RegClass::B64, RegClass::B64) if nearest => {
                lane_loop!(map1, |a: i64| a as f64)
            }
            (F64, U64, RegClass::B64, RegClass::B64) if nearest => {
                lane_loop!(map1, |a: u64| a as f64)
            }
            (S32, F32, RegClass::B32, RegClass::B32) => {
                by_direction!(self, f32, |a| -> i32 { a as i32 })
            }
            (U32, F32, RegClass::B32, RegClass::B32) => {
                by_direction!(self, f32, |a| -> u32 { a as u32 })
            }
            (S32, F64, RegClass::B32, RegClass::B64) => {
                by_direction!(self, f64, |a| -> i32 {
                    if a.is_nan() { i32::MIN } else { a as i32 }
                })
            }
            (U32, F64, RegClass::B32, RegClass::B64) => {
                by_direction!(self, f64, |a| -> u32 {
                    if a.is_nan() { 1 << 31 } else { a as u32 }
                })
            }
            (S64, F32, RegClass::B64, RegClass::B32) => {
                by_direction!(self, f32, |a| -> i64 {
                    if a.is_nan() { i64::MIN } else { a as i64 }
                })
            }
            (S64, F64, RegClass::B64, RegClass::B64) => {
                by_direction!(self, f64, |a| -> i64 {
                    if a.is_nan() { i64::MIN } else { a as i64 }
                })
            }
            (F32, F32, RegClass::B32, RegClass::B32) if self.integral => {
                by_direction!(self, f32, |a| -> u32 {
                    if a.is_nan() {
                        CANONICAL_NAN_F32
                    } else {
                        a.to_bits()
                    }
                })
            }
            (F64, F64, RegClass::B64, RegClass::B64) if self.integral => {
                by_direction!(self, f64, |a| -> u64 {
                    if a.is_nan() {
                        a.to_bits() | 1 << 51
                    } else {
                        a.to_bits()
                    }
                })
            }
            (F64, F32, RegClass::B64, RegClass::B32) if !self.integral => {
                lane_loop!(map1, |a: u32| widen(a))
            }
            (F32, F64, RegClass::B32, RegClass::B64) if nearest && !self.integral => {
                lane_loop!(map1, |a: f64| {
                    if a.is_nan() {
                        exact::narrow_nan(a.to_bits(), &exact::F32) as u32
                    } else {
                        (a as f32).to_bits()
                    }
                })
            }
            (F32, F16, RegClass::B32, RegClass::B16) if !self.integral => {
                lane_loop!(map1, |a: u16| widen_f16(a))
            }
            (F16, F32, RegClass::B16, RegClass::B32) if nearest && !self.integral => {
                lane_loop!(map1, |a: u32| narrow_to_f16(a))
            }
            (F32, Bf16, RegClass::B32, RegClass::B16) if !self.integral => {
                lane_loop!(map1, |a: u16| u32::from(a) << 16)
            }
            (Bf16, F32, RegClass::B16, RegClass::B32) if nearest && !self.integral => {
                lane_loop!(map1, |a: u32| narrow_to_bf16(a))
            }
            _ => return None,
        })
    }

    /// The result for the bits of a value, extended to 64 bits by the sign of the destination type.
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
        if self.src_ty.is_signed() {
            i128::from(((raw << shift) as i64) >> shift)
        } else {
            i128::from(raw << shift >> shift)
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
        if self.dst_ty.is_signed() {
            ((value << shift) as i64 >> shift) as u64
        } else {
            value << shift >> shift
        }
    }

    fn integer_to_float(&self, raw: u64) -> u64 {
        let value = self.integer(raw);
        let exact = Exact::from_integer(value < 0, value.unsigned_abs() as u64);
        let rounding = self.rounding.unwrap_or(Rounding::Nearest);
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
                let bits = exact::convert(raw, format(narrow), &F64, Rounding::Nearest);
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
            return if value.is_nan() && self.dst_ty == ScalarType::F64 {
                self.finish(raw | 1 << 51)
            } else {
                self.finish(exact::convert(value.to_bits(), &F64, to, Rounding::Nearest))
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
                let rounding = self.rounding.unwrap_or(Rounding::Nearest);
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
        if !self.sat && !self.relu {
            return bits;
        }
        let value = f64::from_bits(exact::convert(bits, to, &F64, Rounding::Nearest));
        if self.sat {
            let clamped = match value {
                _ if value.is_nan() || value <= 0.0 => 0.0,
                _ if value >= 1.0 => 1.0,
                _ => value,
            };
            return exact::convert(clamped.to_bits(), &F64, to, Rounding::Nearest);
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

/// An f16 as an f32.
#[inline(always)]
fn widen_f16(half: u16) -> u32 {
    if half & 0x7fff > 0x7c00 {
        CANONICAL_NAN_F32
    } else {
        exact::half_to_single(half).to_bits()
    }
}

/// An f32 as the nearest f16, the even one of two, without branches.
#[inline(always)]
fn narrow_to_f16(single: u32) -> u16 {
    let magnitude = single & 0x7fff_ffff;
    let odd = magnitude >> 13 & 1;
    let rounding = (0xfff + odd).wrapping_sub(112 << 23);
    let normal = magnitude.wrapping_add(rounding) >> 13;
    // The last place of 0.5 is that of a subnormal f16: the sum rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5_f32.to_bits());
    let finite = if magnitude < 0x3880_0000 {
        subnormal
    } else {
        normal
    };
    let number = if magnitude < 0x4780_0000 {
        finite
    } else {
        0x7c00
    };
    if magnitude > 0x7f80_0000 {
        0x7fff
    } else {
        (single >> 16 & 0x8000 | number) as u16
    }
}

/// An f32 as the nearest bf16, the even one of two, without branches.
#[inline(always)]
fn narrow_to_bf16(single: u32) -> u16 {
    let odd = single >> 16 & 1;
    let number = single.wrapping_add(0x7fff + odd) >> 16;
    if single & 0x7fff_ffff > 0x7f80_0000 {
        0x7fff
    } else {
        number as u16
    }
}

/// A 16-bit float as an f64, exactly; a NaN keeps its payload.
fn widen_half(bits: u64, from: &Format, fraction_bits: u32) -> u64 {
    let wide = exact::convert(bits, from, &F64, Rounding::Nearest);
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

#[cfg(test)]
mod tests;
