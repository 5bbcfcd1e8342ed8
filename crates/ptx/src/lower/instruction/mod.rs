//! Opcodes, modifiers, operands.
//!
//! Each family reads its modifiers first, in any order, and takes each one once. One that is left over is not modelled,
//! and the instruction becomes [`Op::Unsupported`] before its operands are looked at. Operands are then read in order and
//! checked against the type.

mod arithmetic;
mod atomic;
mod barrier;
mod bits;
mod call;
mod compare;
mod context;
mod control;
mod convert;
mod float;
mod integer;
mod memory;
mod operand;
mod warp;

use super::body::Body;
use crate::ast;
use crate::error::Raw;
use crate::program::{Op, Unsupported};
use context::{Context, Stop};

/// The operation of one instruction.
pub(super) fn lower<'a>(body: &mut Body<'_, 'a>, inst: &ast::Inst<'a>) -> Result<Op, Raw> {
    match dispatch(body, inst) {
        Ok(op) => Ok(op),
        Err(Stop::Error(raw)) => Err(raw),
        Err(Stop::Unsupported(reason)) => Ok(Op::Unsupported(Box::new(Unsupported {
            text: inst.text.to_string(),
            reason,
        }))),
    }
}

fn dispatch<'a>(body: &mut Body<'_, 'a>, inst: &ast::Inst<'a>) -> Result<Op, Stop> {
    let mut c = Context::new(body, inst);
    let c = &mut c;
    match inst.opcode.text {
        "add" | "sub" | "mul" | "min" | "max" | "abs" | "neg" | "div" | "mad" => {
            arithmetic::lower(c)
        }
        "addc" | "subc" | "madc" | "rem" | "sad" | "mul24" | "mad24" | "dp4a" | "dp2a" => {
            integer::lower(c)
        }
        "fma" | "sqrt" | "rcp" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" | "copysign"
        | "testp" => float::lower(c),
        "and" | "or" | "xor" | "not" | "cnot" | "shl" | "shr" | "shf" | "bfe" | "bfi" | "bfind"
        | "brev" | "popc" | "clz" | "prmt" | "lop3" | "fns" | "bmsk" | "szext" => bits::lower(c),
        "setp" | "set" | "selp" | "slct" => compare::lower(c),
        "mov" | "cvt" | "cvta" | "isspacep" => convert::lower(c),
        "ld" | "ldu" | "st" | "prefetch" | "prefetchu" | "cp" => memory::lower(c),
        "atom" | "red" | "fence" | "membar" => atomic::lower(c),
        "bar" | "barrier" => barrier::lower(c),
        "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "nanosleep" => {
            warp::lower(c)
        }
        "bra" | "brx" | "ret" | "exit" | "trap" | "brkpt" => control::lower(c),
        "call" => call::lower(c, inst),
        other => Err(Stop::Unsupported(format!("instruction `{other}`"))),
    }
}
