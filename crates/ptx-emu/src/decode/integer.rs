//! Integer arithmetic.

use ptx::{Half, IntType, Op as Source, Operand, Reg, RegClass};

use super::arithmetic::{Decoded, WORD};
use super::{Decoder, Reason};
use crate::code::Op;
use crate::ops::{carry, int};
use crate::registers::{Apply, Operands};

impl Decoder<'_> {
    pub(super) fn integer(&mut self, op: &Source) -> Decoded {
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
                self.with_carry(carry::add_carry(ty), ty, dst, [a, b], aux)
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
                self.with_carry(carry::sub_carry(ty), ty, dst, [a, b], aux)
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
                let aux = carry::mad_carry_aux(ty, half, carry_aux(carry_in, carry_out));
                let decoded = self.apply3(carry::mad_carry(ty), ty.class(), dst, [a, b, c], aux);
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
            _ => Err("an operation that is not modelled".into()),
        }
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
}

fn carry_aux(carry_in: bool, carry_out: bool) -> u32 {
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    flag(carry_in, carry::IN) | flag(carry_out, carry::OUT)
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
