//! Floating-point arithmetic.

use ptx::{FloatType, Op as Source, Rounding};

use super::arithmetic::Decoded;
use super::rows::pred_slot;
use super::{Decoder, Reason};
use crate::code::Op;
use crate::ops::{divide, extremum, float};

impl Decoder<'_> {
    pub(super) fn floating(&mut self, op: &Source) -> Decoded {
        match *op {
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
                let aux = divide::precision_aux(precision, ftz);
                let apply = divide::div(ty, precision, ftz);
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
                let aux = extremum::extremum_aux(ftz, nan, xorsign_abs);
                self.apply2(extremum::min(ty, aux), ty.class(), dst, [a, b], aux)
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
                let aux = extremum::extremum_aux(ftz, nan, xorsign_abs);
                self.apply2(extremum::max(ty, aux), ty.class(), dst, [a, b], aux)
            }
            Source::Sqrt {
                ty,
                precision,
                ftz,
                dst,
                a,
            } => {
                let aux = divide::precision_aux(precision, ftz);
                self.apply1(divide::sqrt(ty, precision, ftz), ty.class(), dst, a, aux)
            }
            Source::Rcp {
                ty,
                precision,
                ftz,
                dst,
                a,
            } => {
                let aux = divide::precision_aux(precision, ftz);
                self.apply1(divide::rcp(ty, precision, ftz), ty.class(), dst, a, aux)
            }
            Source::Math {
                function,
                ty,
                ftz,
                dst,
                a,
            } => {
                let aux = float::aux(Rounding::Nearest, ftz, false);
                self.apply1(divide::math(function, ty), ty.class(), dst, a, aux)
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
            _ => Err("an operation that is not modelled".into()),
        }
    }
}

fn sat32(ty: FloatType, sat: bool) -> Result<bool, Reason> {
    match sat && ty == FloatType::F64 {
        true => Err("`.sat` of `.f64`".into()),
        false => Ok(sat),
    }
}
