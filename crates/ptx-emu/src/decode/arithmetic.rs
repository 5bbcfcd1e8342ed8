//! Operations on lanes.

use ptx::{
    BoolOp, FloatType, Half, IntType, Op as Source, Operand, Pred, Reg, RegClass, Rounding,
    ScalarType, Special,
};

use super::rows::{flag, pred_slot};
use super::{Decoder, Reason};
use crate::code::Op;
use crate::ops::compare::{self, Combination};
use crate::ops::cvt::{self, Conversion};
use crate::ops::{bits, float, int};
use crate::registers::{Apply, Operands};

type Decoded = Result<Op, Reason>;

/// The 32-bit class, which shift amounts, positions and counts have.
const WORD: RegClass = RegClass::B32;

impl Decoder<'_> {
    fn apply1(&mut self, apply: Apply, class: RegClass, dst: Reg, a: Operand, aux: u32) -> Decoded {
        let o = Operands {
            d: self.dst(dst, class)?,
            a: self.src(a, class)?,
            aux,
            ..Operands::default()
        };
        Ok(Op::Apply { apply, o })
    }

    fn apply2(
        &mut self,
        apply: Apply,
        class: RegClass,
        dst: Reg,
        [a, b]: [Operand; 2],
        aux: u32,
    ) -> Decoded {
        let o = Operands {
            d: self.dst(dst, class)?,
            a: self.src(a, class)?,
            b: self.src(b, class)?,
            aux,
            ..Operands::default()
        };
        Ok(Op::Apply { apply, o })
    }

    fn apply3(
        &mut self,
        apply: Apply,
        class: RegClass,
        dst: Reg,
        [a, b, c]: [Operand; 3],
        aux: u32,
    ) -> Decoded {
        let o = Operands {
            d: self.dst(dst, class)?,
            a: self.src(a, class)?,
            b: self.src(b, class)?,
            c: self.src(c, class)?,
            aux,
            e: 0,
        };
        Ok(Op::Apply { apply, o })
    }

    /// An operation whose operands have classes of their own: destination, then sources.
    fn mixed<const N: usize>(
        &mut self,
        apply: Apply,
        (dst, dst_class): (Reg, RegClass),
        sources: [(Operand, RegClass); N],
        aux: u32,
    ) -> Decoded {
        let mut rows = [0; 4];
        for (row, (operand, class)) in rows.iter_mut().zip(sources) {
            *row = self.src(operand, class)?;
        }
        let [a, b, c, e] = rows;
        Ok(Op::Apply {
            apply,
            o: Operands {
                d: self.dst(dst, dst_class)?,
                a,
                b,
                c,
                e,
                aux,
            },
        })
    }

    pub(super) fn arithmetic(&mut self, op: &Source) -> Decoded {
        match *op {
            Source::Add { ty, sat, dst, a, b } => {
                self.apply2(int::add(ty, sat), ty.class(), dst, [a, b], 0)
            }
            Source::Sub { ty, sat, dst, a, b } => {
                self.apply2(int::sub(ty, sat), ty.class(), dst, [a, b], 0)
            }
            Source::AddCarry {
                ty,
                carry_in,
                carry_out,
                dst,
                a,
                b,
            } => {
                let aux = carry_aux(carry_in, carry_out);
                self.with_carry(int::add_carry(ty), ty, dst, [a, b], aux)
            }
            Source::SubCarry {
                ty,
                carry_in,
                carry_out,
                dst,
                a,
                b,
            } => {
                let aux = carry_aux(carry_in, carry_out);
                self.with_carry(int::sub_carry(ty), ty, dst, [a, b], aux)
            }
            Source::Mul {
                ty,
                half,
                dst,
                a,
                b,
            } => {
                let class = ty.class();
                let wide = wide_class(ty, half)?;
                self.mixed(int::mul(ty, half), (dst, wide), [(a, class), (b, class)], 0)
            }
            Source::Mad {
                ty,
                half,
                sat,
                dst,
                a,
                b,
                c,
            } => {
                let class = ty.class();
                let wide = wide_class(ty, half)?;
                let sources = [(a, class), (b, class), (c, wide)];
                self.mixed(int::mad(ty, half, sat), (dst, wide), sources, 0)
            }
            Source::MadCarry {
                ty,
                half,
                carry_in,
                carry_out,
                dst,
                a,
                b,
                c,
            } => {
                if half == Half::Wide || ty.bits() == 16 {
                    return Err("`mad.cc` of this width".into());
                }
                let aux = int::mad_carry_aux(ty, half, carry_aux(carry_in, carry_out));
                let decoded = self.apply3(int::mad_carry(ty), ty.class(), dst, [a, b, c], aux);
                self.add_carry_slot(decoded)
            }
            Source::Mul24 {
                ty,
                half,
                dst,
                a,
                b,
            } => {
                let aux = int::aux24(ty, half, false);
                self.apply2(int::mul24(), WORD, dst, [a, b], aux)
            }
            Source::Mad24 {
                ty,
                half,
                sat,
                dst,
                a,
                b,
                c,
            } => {
                let aux = int::aux24(ty, half, sat);
                self.apply3(int::mad24(), WORD, dst, [a, b, c], aux)
            }
            Source::Div { ty, dst, a, b } => self.apply2(int::div(ty), ty.class(), dst, [a, b], 0),
            Source::Rem { ty, dst, a, b } => self.apply2(int::rem(ty), ty.class(), dst, [a, b], 0),
            Source::Abs { ty, dst, a } => self.apply1(int::abs(ty), ty.class(), dst, a, 0),
            Source::Neg { ty, dst, a } => self.apply1(int::neg(ty), ty.class(), dst, a, 0),
            Source::Min {
                ty,
                relu,
                dst,
                a,
                b,
            } => {
                let apply = int::min(ty, relu_of(ty, relu)?);
                self.apply2(apply, ty.class(), dst, [a, b], 0)
            }
            Source::Max {
                ty,
                relu,
                dst,
                a,
                b,
            } => {
                let apply = int::max(ty, relu_of(ty, relu)?);
                self.apply2(apply, ty.class(), dst, [a, b], 0)
            }
            Source::Sad { ty, dst, a, b, c } => {
                self.apply3(int::sad(ty), ty.class(), dst, [a, b, c], 0)
            }
            Source::Dp4a {
                a_signed,
                b_signed,
                dst,
                a,
                b,
                c,
            } => {
                let aux = int::dot_aux(a_signed, b_signed, false);
                self.apply3(int::dp4a(), WORD, dst, [a, b, c], aux)
            }
            Source::Dp2a {
                a_signed,
                b_signed,
                high,
                dst,
                a,
                b,
                c,
            } => {
                let aux = int::dot_aux(a_signed, b_signed, high);
                self.apply3(int::dp2a(), WORD, dst, [a, b, c], aux)
            }
            Source::Packed16 { op, dst, a, b } => {
                self.apply2(int::packed16(op), WORD, dst, [a, b], 0)
            }
            Source::And { class, dst, a, b } => {
                self.apply2(bits::and(class), class, dst, [a, b], 0)
            }
            Source::Or { class, dst, a, b } => self.apply2(bits::or(class), class, dst, [a, b], 0),
            Source::Xor { class, dst, a, b } => {
                self.apply2(bits::xor(class), class, dst, [a, b], 0)
            }
            Source::Not { class, dst, a } => self.apply1(bits::not(class), class, dst, a, 0),
            Source::Cnot { class, dst, a } => self.apply1(bits::cnot(class), class, dst, a, 0),
            Source::Shl { class, dst, a, b } => {
                self.mixed(bits::shl(class), (dst, class), [(a, class), (b, WORD)], 0)
            }
            Source::Shr { ty, dst, a, b } => {
                let class = ty.class();
                self.mixed(bits::shr(ty), (dst, class), [(a, class), (b, WORD)], 0)
            }
            Source::ShiftFunnel {
                direction,
                mode,
                dst,
                a,
                b,
                c,
            } => self.apply3(bits::shift_funnel(direction, mode), WORD, dst, [a, b, c], 0),
            Source::Bfe {
                ty,
                dst,
                a,
                pos,
                len,
            } => {
                let class = ty.class();
                let sources = [(a, class), (pos, WORD), (len, WORD)];
                self.mixed(bits::bfe(ty), (dst, class), sources, bits::bfe_aux(ty))
            }
            Source::Bfi {
                class,
                dst,
                a,
                b,
                pos,
                len,
            } => {
                let sources = [(a, class), (b, class), (pos, WORD), (len, WORD)];
                self.mixed(bits::bfi(class), (dst, class), sources, 0)
            }
            Source::Bfind {
                ty,
                shift_amount,
                dst,
                a,
            } => {
                let apply = bits::bfind(ty, shift_amount);
                self.mixed(apply, (dst, WORD), [(a, ty.class())], 0)
            }
            Source::Brev { class, dst, a } => self.apply1(bits::brev(class), class, dst, a, 0),
            Source::Popc { class, dst, a } => {
                self.mixed(bits::popc(class), (dst, WORD), [(a, class)], 0)
            }
            Source::Clz { class, dst, a } => {
                self.mixed(bits::clz(class), (dst, WORD), [(a, class)], 0)
            }
            Source::Prmt {
                mode,
                dst,
                a,
                b,
                selector,
            } => self.apply3(bits::prmt(mode), WORD, dst, [a, b, selector], 0),
            Source::Lop3 { lut, dst, a, b, c } => {
                self.apply3(bits::lop3(), WORD, dst, [a, b, c], lut.into())
            }
            Source::Lop3Pred {
                lut,
                combine,
                dst,
                pred,
                a,
                b,
                c,
                q,
            } => {
                let o = Operands {
                    d: dst.map_or(Ok(0), |dst| self.dst(dst, WORD))?,
                    a: self.src(a, WORD)?,
                    b: self.src(b, WORD)?,
                    c: self.src(c, WORD)?,
                    ..Operands::default()
                };
                let then = combination(Some((combine, q)), Some(pred), None)?;
                Ok(Op::Lop3Pred {
                    lut: lut.into(),
                    o,
                    then,
                    has_dst: dst.is_some(),
                })
            }
            Source::Fns {
                dst,
                mask,
                base,
                offset,
            } => self.apply3(bits::fns(), WORD, dst, [mask, base, offset], 0),
            Source::Bmsk { mode, dst, a, b } => {
                self.apply2(bits::bmsk(), WORD, dst, [a, b], bits::mode_aux(mode, false))
            }
            Source::Szext {
                ty,
                mode,
                dst,
                a,
                b,
            } => {
                let aux = bits::mode_aux(mode, ty.is_signed());
                self.apply2(bits::szext(), WORD, dst, [a, b], aux)
            }
            Source::FAdd {
                ty,
                rounding,
                ftz,
                sat,
                dst,
                a,
                b,
            } => {
                let apply = float::add(ty, rounding, ftz, sat32(ty, sat)?);
                let aux = float::aux(rounding, ftz, sat);
                self.apply2(apply, ty.class(), dst, [a, b], aux)
            }
            Source::FSub {
                ty,
                rounding,
                ftz,
                sat,
                dst,
                a,
                b,
            } => {
                let apply = float::sub(ty, rounding, ftz, sat32(ty, sat)?);
                let aux = float::aux(rounding, ftz, sat);
                self.apply2(apply, ty.class(), dst, [a, b], aux)
            }
            Source::FMul {
                ty,
                rounding,
                ftz,
                sat,
                dst,
                a,
                b,
            } => {
                let apply = float::mul(ty, rounding, ftz, sat32(ty, sat)?);
                let aux = float::aux(rounding, ftz, sat);
                self.apply2(apply, ty.class(), dst, [a, b], aux)
            }
            Source::Fma {
                ty,
                rounding,
                ftz,
                sat,
                dst,
                a,
                b,
                c,
            } => {
                let apply = float::fma(ty, rounding, ftz, sat32(ty, sat)?);
                let aux = float::aux(rounding, ftz, sat);
                self.apply3(apply, ty.class(), dst, [a, b, c], aux)
            }
            Source::FDiv {
                ty,
                precision,
                ftz,
                dst,
                a,
                b,
            } => {
                let aux = float::precision_aux(precision, ftz);
                let apply = float::div(ty, precision, ftz);
                self.apply2(apply, ty.class(), dst, [a, b], aux)
            }
            Source::FNeg { ty, ftz, dst, a } => {
                self.apply1(float::neg(ty, ftz), ty.class(), dst, a, 0)
            }
            Source::FAbs { ty, ftz, dst, a } => {
                self.apply1(float::abs(ty, ftz), ty.class(), dst, a, 0)
            }
            Source::FMin {
                ty,
                ftz,
                nan,
                xorsign_abs,
                dst,
                a,
                b,
            } => {
                let aux = float::extremum_aux(ftz, nan, xorsign_abs);
                self.apply2(float::min(ty, aux), ty.class(), dst, [a, b], aux)
            }
            Source::FMax {
                ty,
                ftz,
                nan,
                xorsign_abs,
                dst,
                a,
                b,
            } => {
                let aux = float::extremum_aux(ftz, nan, xorsign_abs);
                self.apply2(float::max(ty, aux), ty.class(), dst, [a, b], aux)
            }
            Source::Sqrt {
                ty,
                precision,
                ftz,
                dst,
                a,
            } => {
                let aux = float::precision_aux(precision, ftz);
                self.apply1(float::sqrt(ty, precision, ftz), ty.class(), dst, a, aux)
            }
            Source::Rcp {
                ty,
                precision,
                ftz,
                dst,
                a,
            } => {
                let aux = float::precision_aux(precision, ftz);
                self.apply1(float::rcp(ty, precision, ftz), ty.class(), dst, a, aux)
            }
            Source::Math {
                function,
                ty,
                ftz,
                dst,
                a,
            } => {
                let aux = float::aux(Rounding::Nearest, ftz, false);
                self.apply1(float::math(function, ty), ty.class(), dst, a, aux)
            }
            Source::Copysign { ty, dst, a, b } => {
                self.apply2(float::copysign(ty), ty.class(), dst, [a, b], 0)
            }
            Source::Testp { class, ty, dst, a } => {
                let src = self.src(a, ty.class())?;
                Ok(Op::Property {
                    class,
                    ty,
                    dst: pred_slot(dst)?,
                    src,
                })
            }
            Source::Setp {
                ty,
                compare,
                ftz,
                combine,
                dst,
                complement,
                a,
                b,
            } => {
                let test = compare::test(ty, compare, ftz)
                    .ok_or_else(|| format!("`setp` of type `{ty}`"))?;
                let class = value_class(ty)?;
                let o = Operands {
                    a: self.src(a, class)?,
                    b: self.src(b, class)?,
                    ..Operands::default()
                };
                Ok(Op::Compare {
                    test,
                    o,
                    then: combination(combine, dst, complement)?,
                })
            }
            Source::Set {
                dst_ty,
                ty,
                compare,
                ftz,
                combine,
                dst,
                a,
                b,
            } => {
                let test = compare::test(ty, compare, ftz)
                    .ok_or_else(|| format!("`set` of type `{ty}`"))?;
                let class = value_class(ty)?;
                let o = Operands {
                    d: self.dst(dst, WORD)?,
                    a: self.src(a, class)?,
                    b: self.src(b, class)?,
                    ..Operands::default()
                };
                let yes = if dst_ty == ScalarType::F32 {
                    1f32.to_bits()
                } else {
                    u32::MAX
                };
                Ok(Op::Set {
                    test,
                    o,
                    then: combination(combine, None, None)?,
                    yes,
                })
            }
            Source::Selp {
                class,
                dst,
                a,
                b,
                pred,
            } => {
                let choice = flag(pred);
                let o = Operands {
                    d: self.dst(dst, class)?,
                    a: self.src(a, class)?,
                    b: self.src(b, class)?,
                    c: choice.slot,
                    aux: choice.flip,
                    e: 0,
                };
                Ok(Op::Apply {
                    apply: bits::selp(class),
                    o,
                })
            }
            Source::Slct {
                class,
                c_is_float,
                ftz,
                dst,
                a,
                b,
                c,
            } => {
                let aux = u32::from(c_is_float) | u32::from(ftz) << 1;
                let sources = [(a, class), (b, class), (c, WORD)];
                self.mixed(bits::slct(class), (dst, class), sources, aux)
            }
            Source::Mov { class, dst, src } => self.mov(class, dst, src),
            Source::Pack {
                class,
                element_bits,
                dst,
                ref src,
            } => {
                let element = class_of_bits(element_bits)?;
                Ok(Op::Pack {
                    element_bits,
                    dst: self.dst_value(dst, class)?,
                    src: src
                        .iter()
                        .map(|&operand| self.value(operand, element))
                        .collect::<Result<_, _>>()?,
                })
            }
            Source::Unpack {
                class,
                element_bits,
                ref dst,
                src,
            } => Ok(Op::Unpack {
                element_bits,
                dst: dst
                    .iter()
                    .map(|reg| reg.map(|reg| self.rows.register(reg)).transpose())
                    .collect::<Result<_, _>>()?,
                src: self.value(src, class)?,
            }),
            Source::Cvt {
                dst_ty,
                src_ty,
                rounding,
                integral,
                ftz,
                sat,
                relu,
                dst,
                src,
            } => {
                let conversion = Conversion {
                    dst_ty,
                    src_ty,
                    rounding,
                    integral,
                    ftz,
                    sat,
                    relu,
                };
                self.convert(conversion, dst, src)
            }
            Source::CvtPack {
                dst_ty,
                rounding,
                relu,
                dst,
                a,
                b,
            } => {
                let half = match dst_ty {
                    ScalarType::F16x2 => ScalarType::F16,
                    ScalarType::Bf16x2 => ScalarType::Bf16,
                    _ => return Err(format!("packed conversion to `{dst_ty}`")),
                };
                let conversion = Conversion {
                    dst_ty: half,
                    src_ty: ScalarType::F32,
                    rounding: Some(rounding),
                    integral: false,
                    ftz: false,
                    sat: false,
                    relu,
                };
                Ok(Op::ConvertPair {
                    conversion,
                    dst: self.dst_value(dst, WORD)?,
                    high: self.value(a, WORD)?,
                    low: self.value(b, WORD)?,
                })
            }
            _ => Err("an operation that is not modelled".into()),
        }
    }

    /// A destination of a class, as a slot.
    pub(super) fn dst_value(
        &self,
        dst: Reg,
        class: RegClass,
    ) -> Result<crate::registers::Slot, Reason> {
        self.dst(dst, class)?;
        self.rows.register(dst)
    }

    fn with_carry(
        &mut self,
        apply: Apply,
        ty: IntType,
        dst: Reg,
        sources: [Operand; 2],
        aux: u32,
    ) -> Decoded {
        if ty.bits() == 16 {
            return Err("carry arithmetic on 16 bits".into());
        }
        let decoded = self.apply2(apply, ty.class(), dst, sources, aux);
        self.add_carry_slot(decoded)
    }

    fn add_carry_slot(&self, decoded: Decoded) -> Decoded {
        match decoded? {
            Op::Apply { apply, o } => Ok(Op::Apply {
                apply,
                o: Operands {
                    e: self.rows.carry(),
                    ..o
                },
            }),
            other => Ok(other),
        }
    }

    fn mov(&mut self, class: RegClass, dst: Reg, src: Operand) -> Decoded {
        if let Operand::Special(special) = src {
            let shift = match special {
                Special::Clock
                | Special::Clock64
                | Special::GlobalTimer
                | Special::GlobalTimerLo => Some(0),
                Special::ClockHi | Special::GlobalTimerHi => Some(32),
                _ => None,
            };
            if let Some(shift) = shift {
                return Ok(Op::Clock {
                    dst: self.dst_value(dst, class)?,
                    shift,
                });
            }
        }
        self.apply1(bits::mov(class), class, dst, src, 0)
    }

    fn convert(&mut self, conversion: Conversion, dst: Reg, src: Operand) -> Decoded {
        for ty in [conversion.dst_ty, conversion.src_ty] {
            if !cvt::is_supported(ty) {
                return Err(format!("`cvt` with type `{ty}`"));
            }
        }
        let src = self.value(src, value_class(conversion.src_ty)?)?;
        let dst = self.rows.register(dst)?;
        Ok(match conversion.fast(dst.file, src.file) {
            Some(apply) => Op::Apply {
                apply,
                o: Operands {
                    d: dst.row,
                    a: src.row,
                    ..Operands::default()
                },
            },
            None => Op::Convert {
                conversion,
                dst,
                src,
            },
        })
    }
}

fn carry_aux(carry_in: bool, carry_out: bool) -> u32 {
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    flag(carry_in, int::carry::IN) | flag(carry_out, int::carry::OUT)
}

/// The class of a product.
fn wide_class(ty: IntType, half: Half) -> Result<RegClass, Reason> {
    match (half, ty.bits()) {
        (Half::Wide, 16) => Ok(RegClass::B32),
        (Half::Wide, 32) => Ok(RegClass::B64),
        (Half::Wide, _) => Err("`.wide` of 64 bits".into()),
        _ => Ok(ty.class()),
    }
}

fn relu_of(ty: IntType, relu: bool) -> Result<bool, Reason> {
    match relu && ty != IntType::S32 {
        true => Err("`.relu` of this type".into()),
        false => Ok(relu),
    }
}

fn sat32(ty: FloatType, sat: bool) -> Result<bool, Reason> {
    match sat && ty == FloatType::F64 {
        true => Err("`.sat` of `.f64`".into()),
        false => Ok(sat),
    }
}

/// The class of a value of a scalar type.
pub(super) fn value_class(ty: ScalarType) -> Result<RegClass, Reason> {
    match ty.class() {
        Some(RegClass::Pred) | None => Err(format!("a value of type `{ty}`")),
        Some(class) => Ok(class),
    }
}

fn class_of_bits(bits: u32) -> Result<RegClass, Reason> {
    match bits {
        8 | 16 => Ok(RegClass::B16),
        32 => Ok(RegClass::B32),
        64 => Ok(RegClass::B64),
        _ => Err(format!("elements of {bits} bits")),
    }
}

fn combination(
    with: Option<(BoolOp, Pred)>,
    dst: Option<Reg>,
    complement: Option<Reg>,
) -> Result<Combination, Reason> {
    Ok(Combination {
        with: with.map(|(op, pred)| {
            let flag = flag(pred);
            (op, flag.slot, flag.flip)
        }),
        dst: dst.map(pred_slot).transpose()?,
        complement: complement.map(pred_slot).transpose()?,
    })
}
