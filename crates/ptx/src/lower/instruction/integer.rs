//! Integer arithmetic.

use super::context::{Context, Lowered};
use crate::program::*;

const HALVES: [(&str, Half); 3] = [("lo", Half::Lo), ("hi", Half::Hi), ("wide", Half::Wide)];

/// The type of a destination of twice the width.
fn wide(c: &Context<'_, '_, '_>, ty: IntType) -> Lowered<ScalarType> {
    match ty {
        IntType::U16 | IntType::S16 => Ok(ScalarType::B32),
        IntType::U32 | IntType::S32 => Ok(ScalarType::B64),
        IntType::U64 | IntType::S64 => Err(c.unsupported_type(ty.scalar())),
    }
}

/// The opcodes shared with floating point.
pub(super) fn arithmetic(c: &mut Context<'_, '_, '_>, ty: IntType) -> Lowered<Op> {
    let s = ty.scalar();
    match c.opcode {
        "add" | "sub" => {
            if c.flag("cc") {
                return carry(c, ty, false, true);
            }
            let sat = ty == IntType::S32 && c.flag("sat");
            c.operands(3..=3, "3")?;
            let (dst, a, b) = (c.dst(s)?, c.src(s)?, c.src(s)?);
            Ok(if c.opcode == "add" {
                Op::Add { ty, sat, dst, a, b }
            } else {
                Op::Sub { ty, sat, dst, a, b }
            })
        }
        "mul" => {
            let half = c.need("`.lo`, `.hi` or `.wide`", &HALVES)?;
            let d = if half == Half::Wide { wide(c, ty)? } else { s };
            c.operands(3..=3, "3")?;
            Ok(Op::Mul {
                ty,
                half,
                dst: c.dst(d)?,
                a: c.src(s)?,
                b: c.src(s)?,
            })
        }
        "mad" => {
            if c.flag("cc") {
                return mad_carry(c, ty, false, true);
            }
            let half = c.need("`.lo`, `.hi` or `.wide`", &HALVES)?;
            let sat = ty == IntType::S32 && half == Half::Hi && c.flag("sat");
            let d = if half == Half::Wide { wide(c, ty)? } else { s };
            c.operands(4..=4, "4")?;
            Ok(Op::Mad {
                ty,
                half,
                sat,
                dst: c.dst(d)?,
                a: c.src(s)?,
                b: c.src(s)?,
                c: c.src(d)?,
            })
        }
        "div" => {
            c.operands(3..=3, "3")?;
            Ok(Op::Div {
                ty,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(s)?,
            })
        }
        "abs" | "neg" => {
            c.operands(2..=2, "2")?;
            let (dst, a) = (c.dst(s)?, c.src(s)?);
            Ok(if c.opcode == "abs" {
                Op::Abs { ty, dst, a }
            } else {
                Op::Neg { ty, dst, a }
            })
        }
        _ => {
            let relu = ty == IntType::S32 && c.flag("relu");
            c.operands(3..=3, "3")?;
            let (dst, a, b) = (c.dst(s)?, c.src(s)?, c.src(s)?);
            Ok(if c.opcode == "min" {
                Op::Min {
                    ty,
                    relu,
                    dst,
                    a,
                    b,
                }
            } else {
                Op::Max {
                    ty,
                    relu,
                    dst,
                    a,
                    b,
                }
            })
        }
    }
}

/// The opcodes that only integers have.
pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "addc" | "subc" => {
            let carry_out = c.flag("cc");
            let ty = c.int_type()?;
            carry(c, ty, true, carry_out)
        }
        "madc" => {
            let carry_out = c.flag("cc");
            let ty = c.int_type()?;
            mad_carry(c, ty, true, carry_out)
        }
        "rem" => {
            let ty = c.int_type()?;
            let s = ty.scalar();
            c.operands(3..=3, "3")?;
            Ok(Op::Rem {
                ty,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(s)?,
            })
        }
        "sad" => {
            let ty = c.int_type()?;
            let s = ty.scalar();
            c.operands(4..=4, "4")?;
            Ok(Op::Sad {
                ty,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(s)?,
                c: c.src(s)?,
            })
        }
        "mul24" | "mad24" => twenty_four(c),
        _ => dot_product(c),
    }
}

fn carry(c: &mut Context<'_, '_, '_>, ty: IntType, carry_in: bool, carry_out: bool) -> Lowered<Op> {
    let s = ty.scalar();
    if ty.bits() == 16 {
        return Err(c.unsupported_type(s));
    }
    c.operands(3..=3, "3")?;
    let (dst, a, b) = (c.dst(s)?, c.src(s)?, c.src(s)?);
    Ok(match c.opcode {
        "add" | "addc" => Op::AddCarry {
            ty,
            carry_in,
            carry_out,
            dst,
            a,
            b,
        },
        _ => Op::SubCarry {
            ty,
            carry_in,
            carry_out,
            dst,
            a,
            b,
        },
    })
}

fn mad_carry(
    c: &mut Context<'_, '_, '_>,
    ty: IntType,
    carry_in: bool,
    carry_out: bool,
) -> Lowered<Op> {
    let s = ty.scalar();
    if ty.bits() == 16 {
        return Err(c.unsupported_type(s));
    }
    let half = c.need("`.lo` or `.hi`", &HALVES[..2])?;
    c.operands(4..=4, "4")?;
    Ok(Op::MadCarry {
        ty,
        half,
        carry_in,
        carry_out,
        dst: c.dst(s)?,
        a: c.src(s)?,
        b: c.src(s)?,
        c: c.src(s)?,
    })
}

fn twenty_four(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let ty = c.int_type()?;
    let s = ty.scalar();
    if ty.bits() != 32 {
        return Err(c.unsupported_type(s));
    }
    let half = c.need("`.lo` or `.hi`", &HALVES[..2])?;
    if c.opcode == "mul24" {
        c.operands(3..=3, "3")?;
        return Ok(Op::Mul24 {
            ty,
            half,
            dst: c.dst(s)?,
            a: c.src(s)?,
            b: c.src(s)?,
        });
    }
    let sat = ty == IntType::S32 && half == Half::Hi && c.flag("sat");
    c.operands(4..=4, "4")?;
    Ok(Op::Mad24 {
        ty,
        half,
        sat,
        dst: c.dst(s)?,
        a: c.src(s)?,
        b: c.src(s)?,
        c: c.src(s)?,
    })
}

fn dot_product(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let high = if c.opcode == "dp2a" {
        c.need("`.lo` or `.hi`", &[("lo", false), ("hi", true)])?
    } else {
        false
    };
    let mut signed = || {
        let ty = c.int_type()?;
        if ty.bits() == 32 {
            Ok(ty.is_signed())
        } else {
            Err(c.unsupported_type(ty.scalar()))
        }
    };
    let (a_signed, b_signed) = (signed()?, signed()?);
    c.operands(4..=4, "4")?;
    let s = ScalarType::B32;
    let (dst, a, b, addend) = (c.dst(s)?, c.src(s)?, c.src(s)?, c.src(s)?);
    Ok(match c.opcode {
        "dp2a" => Op::Dp2a {
            a_signed,
            b_signed,
            high,
            dst,
            a,
            b,
            c: addend,
        },
        _ => Op::Dp4a {
            a_signed,
            b_signed,
            dst,
            a,
            b,
            c: addend,
        },
    })
}
