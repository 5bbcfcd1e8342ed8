//! Moves and conversions.

use super::context::{Context, Lowered};
use super::operand::Width;
use crate::ast::OperandKind;
use crate::program::*;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "mov" => mov(c),
        "cvt" => cvt(c),
        "cvta" => {
            let to = c.flag("to");
            let space = c.space();
            let ty = address_type(c)?;
            let Some(space) = space else {
                return Err(c.missing("state space"));
            };
            c.operands(2..=2, "2")?;
            let (dst, src) = (c.dst(ty)?, c.src(ty)?);
            Ok(if to {
                Op::CvtaToSpace { space, dst, src }
            } else {
                Op::CvtaToGeneric { space, dst, src }
            })
        }
        _ => {
            let Some(space) = c.space() else {
                return Err(c.missing("state space"));
            };
            c.operands(2..=2, "2")?;
            let dst = c.dst(ScalarType::Pred)?;
            let operand = c.operand()?;
            Ok(Op::IsSpace {
                space,
                dst,
                src: c.value(operand, ScalarType::B32, Width::AtLeast)?,
            })
        }
    }
}

fn address_type(c: &mut Context<'_, '_, '_>) -> Lowered<ScalarType> {
    match c.scalar_type()? {
        ty @ (ScalarType::U32 | ScalarType::U64) => Ok(ty),
        ty => Err(c.unsupported_type(ty)),
    }
}

fn mov(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let ty = c.scalar_type()?;
    let class = c.as_class(ty)?;
    c.operands(2..=2, "2")?;
    let (d, s) = (c.operand()?, c.operand()?);
    match (&d.kind, &s.kind) {
        (OperandKind::Vector(elements), _) => {
            let element = element_type(c, ty, elements.len())?;
            let dst = elements
                .iter()
                .map(|e| c.register_or_sink(e, element, Width::Exact))
                .collect::<Lowered<_>>()?;
            Ok(Op::Unpack {
                class,
                element_bits: element.bits(),
                dst,
                src: c.value(s, ty, Width::Exact)?,
            })
        }
        (_, OperandKind::Vector(elements)) => {
            let element = element_type(c, ty, elements.len())?;
            let dst = c.register(d, ty, Width::Exact)?;
            let src = elements
                .iter()
                .map(|e| c.value(e, element, Width::Exact))
                .collect::<Lowered<_>>()?;
            Ok(Op::Pack {
                class,
                element_bits: element.bits(),
                dst,
                src,
            })
        }
        _ => Ok(Op::Mov {
            class,
            dst: c.register(d, ty, Width::Exact)?,
            src: c.value(s, ty, Width::Exact)?,
        }),
    }
}

/// The type of one of `count` elements of a packed value.
fn element_type(c: &Context<'_, '_, '_>, ty: ScalarType, count: usize) -> Lowered<ScalarType> {
    match (ty.bits(), count) {
        (64, 2) => Ok(ScalarType::B32),
        (64, 4) | (32, 2) => Ok(ScalarType::B16),
        (64, 8) | (32, 4) | (16, 2) => Ok(ScalarType::B8),
        _ => Err(c.unsupported("vector length")),
    }
}

fn cvt(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let integral = [
        ("rni", Rounding::Nearest),
        ("rzi", Rounding::Zero),
        ("rmi", Rounding::Down),
        ("rpi", Rounding::Up),
    ];
    let (rounding, integral) = match c.choice(&integral) {
        Some(rounding) => (Some(rounding), true),
        None => (c.rounding(), false),
    };
    let (ftz, sat, relu) = (c.flag("ftz"), c.flag("sat"), c.flag("relu"));
    let (dst_ty, src_ty) = (c.scalar_type()?, c.scalar_type()?);
    if matches!(dst_ty, ScalarType::F16x2 | ScalarType::Bf16x2) {
        let Some(rounding) = rounding else {
            return Err(c.missing("rounding"));
        };
        if src_ty != ScalarType::F32 || ftz || sat || integral {
            return Err(c.unsupported_type(dst_ty));
        }
        c.operands(3..=3, "3")?;
        return Ok(Op::CvtPack {
            dst_ty,
            rounding,
            relu,
            dst: c.dst(dst_ty)?,
            a: c.src(src_ty)?,
            b: c.src(src_ty)?,
        });
    }
    if relu && !matches!(dst_ty, ScalarType::F16 | ScalarType::Bf16) {
        return Err(c.unsupported("modifier `.relu`"));
    }
    for ty in [dst_ty, src_ty] {
        let is_value = !matches!(
            ty,
            ScalarType::Pred | ScalarType::B128 | ScalarType::F16x2 | ScalarType::Bf16x2
        );
        if !is_value
            || matches!(
                ty,
                ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64
            )
        {
            return Err(c.unsupported_type(ty));
        }
    }
    c.done()?;
    let narrows = dst_ty.is_float() && (!src_ty.is_float() || dst_ty.bits() < src_ty.bits());
    let to_integer = src_ty.is_float() && !dst_ty.is_float();
    match rounding {
        None if narrows || to_integer => return Err(c.missing("rounding")),
        Some(_) if to_integer && !integral => {
            return Err(c.unsupported("rounding to a floating-point value"));
        }
        Some(_) if narrows && integral => {
            return Err(c.unsupported("rounding to an integral value"));
        }
        _ => {}
    }
    c.operands(2..=2, "2")?;
    let (d, s) = (c.operand()?, c.operand()?);
    let dst = c.register(d, dst_ty, Width::AtLeast)?;
    let src = c.value(s, src_ty, Width::AtLeast)?;
    Ok(Op::Cvt {
        dst_ty,
        src_ty,
        rounding,
        integral,
        ftz,
        sat,
        relu,
        dst,
        src,
    })
}
