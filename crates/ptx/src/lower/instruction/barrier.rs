//! Barriers.

use super::context::{Context, Lowered};
use crate::program::*;

const U32: ScalarType = ScalarType::U32;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    if c.opcode == "bar" && c.flag("warp") {
        if !c.flag("sync") {
            return Err(c.missing("`.sync`"));
        }
        c.operands(1..=1, "1")?;
        return Ok(Op::BarWarpSync { mask: c.src(U32)? });
    }
    c.flag("cta");
    let written = c.flag("aligned");
    let aligned = c.opcode == "bar" || written;
    let kind = c.need(
        "`.sync`, `.arrive` or `.red`",
        &[("sync", 0), ("arrive", 1), ("red", 2)],
    )?;
    match kind {
        0 => {
            let count = c.operands(1..=2, "1 or 2")?;
            let id = c.src(U32)?;
            let threads = if count == 2 { Some(c.src(U32)?) } else { None };
            Ok(Op::Barrier {
                aligned,
                id,
                threads,
            })
        }
        1 => {
            c.operands(2..=2, "2")?;
            Ok(Op::BarrierArrive {
                aligned,
                id: c.src(U32)?,
                threads: c.src(U32)?,
            })
        }
        _ => {
            let choices = [
                ("popc", BarrierReduction::Popc),
                ("and", BarrierReduction::And),
                ("or", BarrierReduction::Or),
            ];
            let op = c.need("`.popc`, `.and` or `.or`", &choices)?;
            let ty = c.scalar_type()?;
            let expected = if op == BarrierReduction::Popc {
                U32
            } else {
                ScalarType::Pred
            };
            if ty != expected {
                return Err(c.unsupported_type(ty));
            }
            let count = c.operands(3..=4, "3 or 4")?;
            let (dst, id) = (c.dst(ty)?, c.src(U32)?);
            let threads = if count == 4 { Some(c.src(U32)?) } else { None };
            Ok(Op::BarrierRed {
                aligned,
                op,
                dst,
                id,
                threads,
                src: c.pred()?,
            })
        }
    }
}
