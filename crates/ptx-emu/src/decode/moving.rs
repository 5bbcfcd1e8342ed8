//! Comparisons, selections, moves, conversions.

use ptx::{Op as Source, Operand, Reg, RegClass, ScalarType, Special};

use super::arithmetic::{Decoded, WORD, combination, value_class};
use super::rows::flag;
use super::{Decoder, Reason};
use crate::code::Op;
use crate::ops::cvt::{self, Conversion};
use crate::ops::{bits, compare};
use crate::registers::Operands;

impl Decoder<'_> {
    pub(super) fn moving(&mut self, op: &Source) -> Decoded {
        match *op {
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

fn class_of_bits(bits: u32) -> Result<RegClass, Reason> {
    match bits {
        8 | 16 => Ok(RegClass::B16),
        32 => Ok(RegClass::B32),
        64 => Ok(RegClass::B64),
        _ => Err(format!("elements of {bits} bits")),
    }
}
