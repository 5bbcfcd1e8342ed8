//! Opcodes that integers and floating point share: told apart by the type.

use super::context::{Context, Lowered};
use super::{float, integer};
use crate::program::*;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    for packed in ["u16x2", "s16x2"] {
        if c.flag(packed) {
            return packed16(c, packed == "s16x2");
        }
    }
    let ty = c.scalar_type()?;
    if ty.is_float() {
        let ty = c.as_float(ty)?;
        float::arithmetic(c, ty)
    } else {
        let ty = c.as_int(ty)?;
        integer::arithmetic(c, ty)
    }
}

fn packed16(c: &mut Context<'_, '_, '_>, signed: bool) -> Lowered<Op> {
    let op = match (c.opcode, signed) {
        ("add", _) => PackedOp::Add,
        ("min", true) => PackedOp::MinS,
        ("min", false) => PackedOp::MinU,
        ("max", true) => PackedOp::MaxS,
        ("max", false) => PackedOp::MaxU,
        _ => {
            return Err(c.unsupported(if signed {
                "type `.s16x2`"
            } else {
                "type `.u16x2`"
            }));
        }
    };
    c.operands(3..=3, "3")?;
    let ty = ScalarType::B32;
    Ok(Op::Packed16 {
        op,
        dst: c.dst(ty)?,
        a: c.src(ty)?,
        b: c.src(ty)?,
    })
}
