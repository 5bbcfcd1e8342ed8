//! Logic, shifts and bit fields.

use super::context::{Context, Lowered};
use crate::ast::{Literal, OperandKind};
use crate::program::*;

const B32: ScalarType = ScalarType::B32;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "and" | "or" | "xor" => {
            let (class, s) = class_and_type(c)?;
            c.operands(3..=3, "3")?;
            let (dst, a, b) = (c.dst(s)?, c.src(s)?, c.src(s)?);
            Ok(match c.opcode {
                "and" => Op::And { class, dst, a, b },
                "or" => Op::Or { class, dst, a, b },
                _ => Op::Xor { class, dst, a, b },
            })
        }
        "not" | "cnot" | "brev" => {
            let (class, s) = class_and_type(c)?;
            c.operands(2..=2, "2")?;
            let (dst, a) = (c.dst(s)?, c.src(s)?);
            Ok(match c.opcode {
                "not" => Op::Not { class, dst, a },
                "cnot" => Op::Cnot { class, dst, a },
                _ => Op::Brev { class, dst, a },
            })
        }
        "popc" | "clz" => {
            let (class, s) = class_and_type(c)?;
            c.operands(2..=2, "2")?;
            let (dst, a) = (c.dst(B32)?, c.src(s)?);
            Ok(if c.opcode == "popc" {
                Op::Popc { class, dst, a }
            } else {
                Op::Clz { class, dst, a }
            })
        }
        "shl" => {
            let (class, s) = class_and_type(c)?;
            c.operands(3..=3, "3")?;
            Ok(Op::Shl {
                class,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(B32)?,
            })
        }
        "shr" => {
            let ty = c.int_type()?;
            let s = ty.scalar();
            c.operands(3..=3, "3")?;
            Ok(Op::Shr {
                ty,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(B32)?,
            })
        }
        "shf" => {
            let direction = c.need(
                "`.l` or `.r`",
                &[("l", ShiftDirection::Left), ("r", ShiftDirection::Right)],
            )?;
            let mode = shift_mode(c)?;
            only_b32(c)?;
            c.operands(4..=4, "4")?;
            Ok(Op::ShiftFunnel {
                direction,
                mode,
                dst: c.dst(B32)?,
                a: c.src(B32)?,
                b: c.src(B32)?,
                c: c.src(B32)?,
            })
        }
        "bfe" => {
            let ty = c.int_type()?;
            let s = ty.scalar();
            c.operands(4..=4, "4")?;
            Ok(Op::Bfe {
                ty,
                dst: c.dst(s)?,
                a: c.src(s)?,
                pos: c.src(B32)?,
                len: c.src(B32)?,
            })
        }
        "bfi" => {
            let (class, s) = class_and_type(c)?;
            c.operands(5..=5, "5")?;
            Ok(Op::Bfi {
                class,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(s)?,
                pos: c.src(B32)?,
                len: c.src(B32)?,
            })
        }
        "bfind" => {
            let shift_amount = c.flag("shiftamt");
            let ty = c.int_type()?;
            c.operands(2..=2, "2")?;
            Ok(Op::Bfind {
                ty,
                shift_amount,
                dst: c.dst(B32)?,
                a: c.src(ty.scalar())?,
            })
        }
        "prmt" => {
            let mode = c.choice(&[
                ("f4e", PrmtMode::Forward4Extract),
                ("b4e", PrmtMode::Backward4Extract),
                ("rc8", PrmtMode::Replicate8),
                ("ecl", PrmtMode::EdgeClampLeft),
                ("ecr", PrmtMode::EdgeClampRight),
                ("rc16", PrmtMode::Replicate16),
            ]);
            only_b32(c)?;
            c.operands(4..=4, "4")?;
            let mode = mode.unwrap_or(PrmtMode::Index);
            Ok(Op::Prmt {
                mode,
                dst: c.dst(B32)?,
                a: c.src(B32)?,
                b: c.src(B32)?,
                selector: c.src(B32)?,
            })
        }
        "lop3" => lop3(c),
        "fns" => {
            only_b32(c)?;
            c.operands(4..=4, "4")?;
            Ok(Op::Fns {
                dst: c.dst(B32)?,
                mask: c.src(B32)?,
                base: c.src(B32)?,
                offset: c.src(B32)?,
            })
        }
        "bmsk" => {
            let mode = shift_mode(c)?;
            only_b32(c)?;
            c.operands(3..=3, "3")?;
            Ok(Op::Bmsk {
                mode,
                dst: c.dst(B32)?,
                a: c.src(B32)?,
                b: c.src(B32)?,
            })
        }
        _ => {
            let mode = shift_mode(c)?;
            let ty = c.int_type()?;
            if ty.bits() != 32 {
                return Err(c.unsupported_type(ty.scalar()));
            }
            c.operands(3..=3, "3")?;
            Ok(Op::Szext {
                ty,
                mode,
                dst: c.dst(B32)?,
                a: c.src(B32)?,
                b: c.src(B32)?,
            })
        }
    }
}

fn lop3(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let combine = c.choice(&[
        ("and", BoolOp::And),
        ("or", BoolOp::Or),
        ("xor", BoolOp::Xor),
    ]);
    only_b32(c)?;
    let Some(combine) = combine else {
        c.operands(5..=5, "5")?;
        let (dst, a, b, x) = (c.dst(B32)?, c.src(B32)?, c.src(B32)?, c.src(B32)?);
        return Ok(Op::Lop3 {
            lut: lut(c)?,
            dst,
            a,
            b,
            c: x,
        });
    };
    c.operands(6..=6, "6")?;
    let (dst, pred) = c.pair(B32)?;
    let Some(pred) = pred else {
        return Err(c.unsupported("a missing predicate destination"));
    };
    let (a, b, x) = (c.src(B32)?, c.src(B32)?, c.src(B32)?);
    Ok(Op::Lop3Pred {
        lut: lut(c)?,
        combine,
        dst,
        pred,
        a,
        b,
        c: x,
        q: c.pred()?,
    })
}

fn lut(c: &mut Context<'_, '_, '_>) -> Lowered<u8> {
    let operand = c.operand()?;
    match operand.kind {
        OperandKind::Literal(Literal::Int(value)) if value <= 0xFF => Ok(value as u8),
        _ => Err(c.unexpected(operand, "a table of 8 bits")),
    }
}

fn class_and_type(c: &mut Context<'_, '_, '_>) -> Lowered<(RegClass, ScalarType)> {
    let ty = c.scalar_type()?;
    Ok((c.as_class(ty)?, ty))
}

fn only_b32(c: &mut Context<'_, '_, '_>) -> Lowered<()> {
    match c.scalar_type()? {
        ScalarType::B32 => Ok(()),
        ty => Err(c.unsupported_type(ty)),
    }
}

fn shift_mode(c: &mut Context<'_, '_, '_>) -> Lowered<ShiftMode> {
    c.need(
        "`.wrap` or `.clamp`",
        &[("wrap", ShiftMode::Wrap), ("clamp", ShiftMode::Clamp)],
    )
}
