//! Floating-point arithmetic.

use super::context::{Context, Lowered};
use crate::program::*;

/// The opcodes shared with integers.
pub(super) fn arithmetic(c: &mut Context<'_, '_, '_>, ty: FloatType) -> Lowered<Op> {
    let s = ty.scalar();
    match c.opcode {
        "add" | "sub" | "mul" => {
            let rounding = c.rounding().unwrap_or(Rounding::Nearest);
            let ftz = c.ftz(ty);
            let sat = ty == FloatType::F32 && c.flag("sat");
            c.operands(3..=3, "3")?;
            let (dst, a, b) = (c.dst(s)?, c.src(s)?, c.src(s)?);
            Ok(match c.opcode {
                "add" => Op::FAdd {
                    ty,
                    rounding,
                    ftz,
                    sat,
                    dst,
                    a,
                    b,
                },
                "sub" => Op::FSub {
                    ty,
                    rounding,
                    ftz,
                    sat,
                    dst,
                    a,
                    b,
                },
                _ => Op::FMul {
                    ty,
                    rounding,
                    ftz,
                    sat,
                    dst,
                    a,
                    b,
                },
            })
        }
        "mad" => fma(c, ty),
        "div" => {
            let precision = precision(c)?;
            let ftz = c.ftz(ty);
            if ty == FloatType::F64 && !matches!(precision, Precision::Ieee(_)) {
                return Err(c.unsupported("approximate `.f64`"));
            }
            c.operands(3..=3, "3")?;
            Ok(Op::FDiv {
                ty,
                precision,
                ftz,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(s)?,
            })
        }
        "abs" | "neg" => {
            let ftz = c.ftz(ty);
            c.operands(2..=2, "2")?;
            let (dst, a) = (c.dst(s)?, c.src(s)?);
            Ok(if c.opcode == "abs" {
                Op::FAbs { ty, ftz, dst, a }
            } else {
                Op::FNeg { ty, ftz, dst, a }
            })
        }
        _ => {
            let ftz = c.ftz(ty);
            let nan = ty == FloatType::F32 && c.flag("NaN");
            let xorsign_abs = ty == FloatType::F32 && c.flag("xorsign");
            if xorsign_abs && !c.flag("abs") {
                return Err(c.missing("`.abs` behind `.xorsign`"));
            }
            c.operands(3..=3, "3")?;
            let (dst, a, b) = (c.dst(s)?, c.src(s)?, c.src(s)?);
            Ok(match c.opcode {
                "min" => Op::FMin {
                    ty,
                    ftz,
                    nan,
                    xorsign_abs,
                    dst,
                    a,
                    b,
                },
                _ => Op::FMax {
                    ty,
                    ftz,
                    nan,
                    xorsign_abs,
                    dst,
                    a,
                    b,
                },
            })
        }
    }
}

fn fma(c: &mut Context<'_, '_, '_>, ty: FloatType) -> Lowered<Op> {
    let rounding = match c.rounding() {
        Some(rounding) => rounding,
        // `mad.f32` without rounding is an `fma.rn` on every device since sm_20.
        None if c.opcode == "mad" => Rounding::Nearest,
        None => return Err(c.missing("rounding")),
    };
    let ftz = c.ftz(ty);
    let sat = ty == FloatType::F32 && c.flag("sat");
    c.operands(4..=4, "4")?;
    let s = ty.scalar();
    Ok(Op::Fma {
        ty,
        rounding,
        ftz,
        sat,
        dst: c.dst(s)?,
        a: c.src(s)?,
        b: c.src(s)?,
        c: c.src(s)?,
    })
}

/// The opcodes that only floating point has.
pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "fma" => {
            let ty = c.float_type()?;
            fma(c, ty)
        }
        "sqrt" | "rcp" => {
            let ty = c.float_type()?;
            let s = ty.scalar();
            let precision = precision(c)?;
            // The only approximate form of double precision is `rcp.approx.ftz.f64`.
            let ftz = match (ty, precision) {
                (FloatType::F64, Precision::Approx) if c.opcode == "rcp" && c.flag("ftz") => true,
                (FloatType::F64, Precision::Approx) => {
                    return Err(c.unsupported("approximate `.f64`"));
                }
                _ => c.ftz(ty),
            };
            if precision == Precision::Full {
                return Err(c.unsupported("modifier `.full`"));
            }
            c.operands(2..=2, "2")?;
            let (dst, a) = (c.dst(s)?, c.src(s)?);
            Ok(match c.opcode {
                "sqrt" => Op::Sqrt {
                    ty,
                    precision,
                    ftz,
                    dst,
                    a,
                },
                _ => Op::Rcp {
                    ty,
                    precision,
                    ftz,
                    dst,
                    a,
                },
            })
        }
        "copysign" => {
            let ty = c.float_type()?;
            let s = ty.scalar();
            c.operands(3..=3, "3")?;
            Ok(Op::Copysign {
                ty,
                dst: c.dst(s)?,
                a: c.src(s)?,
                b: c.src(s)?,
            })
        }
        "testp" => {
            let class = c.need(
                "property",
                &[
                    ("finite", FloatClass::Finite),
                    ("infinite", FloatClass::Infinite),
                    ("number", FloatClass::Number),
                    ("notanumber", FloatClass::NotANumber),
                    ("normal", FloatClass::Normal),
                    ("subnormal", FloatClass::Subnormal),
                ],
            )?;
            let ty = c.float_type()?;
            c.operands(2..=2, "2")?;
            Ok(Op::Testp {
                class,
                ty,
                dst: c.dst(ScalarType::Pred)?,
                a: c.src(ty.scalar())?,
            })
        }
        _ => elementary(c),
    }
}

fn elementary(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let function = match c.opcode {
        "rsqrt" => MathFunction::Rsqrt,
        "ex2" => MathFunction::Ex2,
        "lg2" => MathFunction::Lg2,
        "sin" => MathFunction::Sin,
        "cos" => MathFunction::Cos,
        _ => MathFunction::Tanh,
    };
    if !c.flag("approx") {
        return Err(c.missing("`.approx`"));
    }
    let ty = c.float_type()?;
    if ty == FloatType::F64 && function != MathFunction::Rsqrt {
        return Err(c.unsupported_type(ScalarType::F64));
    }
    let ftz = function != MathFunction::Tanh && c.flag("ftz");
    c.operands(2..=2, "2")?;
    let s = ty.scalar();
    Ok(Op::Math {
        function,
        ty,
        ftz,
        dst: c.dst(s)?,
        a: c.src(s)?,
    })
}

fn precision(c: &mut Context<'_, '_, '_>) -> Lowered<Precision> {
    if let Some(rounding) = c.rounding() {
        return Ok(Precision::Ieee(rounding));
    }
    c.need(
        "rounding, `.approx` or `.full`",
        &[("approx", Precision::Approx), ("full", Precision::Full)],
    )
}
