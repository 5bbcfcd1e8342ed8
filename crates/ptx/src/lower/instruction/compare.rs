//! Comparison and selection.

use super::context::{Context, Lowered};
use crate::program::*;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "setp" => setp(c),
        "set" => set(c),
        "selp" => {
            let ty = c.scalar_type()?;
            let class = c.as_class(ty)?;
            c.operands(4..=4, "4")?;
            Ok(Op::Selp {
                class,
                dst: c.dst(ty)?,
                a: c.src(ty)?,
                b: c.src(ty)?,
                pred: c.pred()?,
            })
        }
        _ => {
            let ftz = c.flag("ftz");
            let ty = c.scalar_type()?;
            let class = c.as_class(ty)?;
            let c_ty = c.scalar_type()?;
            if !matches!(c_ty, ScalarType::S32 | ScalarType::F32) {
                return Err(c.unsupported_type(c_ty));
            }
            c.operands(4..=4, "4")?;
            let c_is_float = c_ty == ScalarType::F32;
            Ok(Op::Slct {
                class,
                c_is_float,
                ftz,
                dst: c.dst(ty)?,
                a: c.src(ty)?,
                b: c.src(ty)?,
                c: c.src(c_ty)?,
            })
        }
    }
}

fn setp(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let (compare, combine) = (compare(c)?, combine(c));
    let ty = c.scalar_type()?;
    let ftz = checks(c, compare, ty)?;
    c.operands(
        3 + combine.iter().len()..=3 + combine.iter().len(),
        if combine.is_some() { "4" } else { "3" },
    )?;
    let (dst, complement) = c.pair(ScalarType::Pred)?;
    let (a, b) = (c.src(ty)?, c.src(ty)?);
    let combine = match combine {
        Some(op) => Some((op, c.pred()?)),
        None => None,
    };
    Ok(Op::Setp {
        ty,
        compare,
        ftz,
        combine,
        dst,
        complement,
        a,
        b,
    })
}

fn set(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let (compare, combine) = (compare(c)?, combine(c));
    let dst_ty = c.scalar_type()?;
    if !matches!(dst_ty, ScalarType::U32 | ScalarType::S32 | ScalarType::F32) {
        return Err(c.unsupported_type(dst_ty));
    }
    let ty = c.scalar_type()?;
    let ftz = checks(c, compare, ty)?;
    c.operands(
        3 + combine.iter().len()..=3 + combine.iter().len(),
        if combine.is_some() { "4" } else { "3" },
    )?;
    let (dst, a, b) = (c.dst(dst_ty)?, c.src(ty)?, c.src(ty)?);
    let combine = match combine {
        Some(op) => Some((op, c.pred()?)),
        None => None,
    };
    Ok(Op::Set {
        dst_ty,
        ty,
        compare,
        ftz,
        combine,
        dst,
        a,
        b,
    })
}

/// The comparison, and whether it was spelled as an unsigned one.
fn compare(c: &mut Context<'_, '_, '_>) -> Lowered<Compare> {
    use Compare::*;
    let choices = [
        ("eq", Eq),
        ("ne", Ne),
        ("lt", Lt),
        ("le", Le),
        ("gt", Gt),
        ("ge", Ge),
        ("lo", Lt),
        ("ls", Le),
        ("hi", Gt),
        ("hs", Ge),
        ("equ", Equ),
        ("neu", Neu),
        ("ltu", Ltu),
        ("leu", Leu),
        ("gtu", Gtu),
        ("geu", Geu),
        ("num", Num),
        ("nan", Nan),
    ];
    c.need("comparison", &choices)
}

fn combine(c: &mut Context<'_, '_, '_>) -> Option<BoolOp> {
    c.choice(&[
        ("and", BoolOp::And),
        ("or", BoolOp::Or),
        ("xor", BoolOp::Xor),
    ])
}

/// Checks that the type is one that compares so, and takes `.ftz`.
fn checks(c: &mut Context<'_, '_, '_>, compare: Compare, ty: ScalarType) -> Lowered<bool> {
    if ty.is_float() {
        let ty = c.as_float(ty)?;
        return Ok(c.ftz(ty));
    }
    c.as_int(ty)?;
    match compare {
        Compare::Eq | Compare::Ne | Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => {
            Ok(false)
        }
        _ => Err(c.unsupported("floating comparison of integers")),
    }
}
