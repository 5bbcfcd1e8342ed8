//! Branches and the ends of threads.

use super::context::{Context, Lowered};
use crate::ast::{Name, OperandKind};
use crate::program::*;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    let uniform = c.flag("uni");
    match c.opcode {
        "bra" => {
            c.operands(1..=1, "1")?;
            let label = name(c, "a label")?;
            Ok(Op::Bra {
                target: c.body.label(label)?,
                uniform,
            })
        }
        "brx" => {
            if !c.flag("idx") {
                return Err(c.missing("`.idx`"));
            }
            c.operands(2..=2, "2")?;
            let index = c.src(ScalarType::U32)?;
            let table = name(c, "a branch table")?;
            Ok(Op::BrxIdx {
                index,
                targets: c.body.table(table)?,
                uniform,
            })
        }
        "ret" => {
            c.operands(0..=0, "no")?;
            Ok(Op::Ret { uniform })
        }
        _ => {
            if uniform {
                return Err(c.unsupported("modifier `.uni`"));
            }
            c.operands(0..=0, "no")?;
            Ok(match c.opcode {
                "exit" => Op::Exit,
                "trap" => Op::Trap,
                _ => Op::Brkpt,
            })
        }
    }
}

fn name<'a>(c: &mut Context<'_, '_, 'a>, expected: &'static str) -> Lowered<Name<'a>> {
    let operand = c.operand()?;
    match operand.kind {
        OperandKind::Name(text, None) => Ok(Name {
            text,
            pos: operand.pos,
        }),
        _ => Err(c.unexpected(operand, expected)),
    }
}
