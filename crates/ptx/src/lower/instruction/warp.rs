//! What the lanes of a warp do together.

use super::context::{Context, Lowered};
use crate::program::*;

const B32: ScalarType = ScalarType::B32;

pub(super) fn lower(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    match c.opcode {
        "activemask" => {
            only(c, B32)?;
            c.operands(1..=1, "1")?;
            Ok(Op::ActiveMask { dst: c.dst(B32)? })
        }
        "nanosleep" => {
            only(c, ScalarType::U32)?;
            c.operands(1..=1, "1")?;
            Ok(Op::Nanosleep {
                duration: c.src(ScalarType::U32)?,
            })
        }
        _ => synchronised(c),
    }
}

fn synchronised(c: &mut Context<'_, '_, '_>) -> Lowered<Op> {
    // The forms without `.sync` assume that the warp is converged: gone since sm_70.
    if !c.flag("sync") {
        return Err(c.unsupported("the form without `.sync`"));
    }
    match c.opcode {
        "shfl" => {
            let choices = [
                ("up", ShuffleMode::Up),
                ("down", ShuffleMode::Down),
                ("bfly", ShuffleMode::Bfly),
                ("idx", ShuffleMode::Idx),
            ];
            let mode = c.need("mode", &choices)?;
            only(c, B32)?;
            c.operands(5..=5, "5")?;
            let (dst, pred) = c.pair(B32)?;
            let (src, lane, clamp, mask) = (c.src(B32)?, c.src(B32)?, c.src(B32)?, c.src(B32)?);
            Ok(Op::Shuffle {
                mode,
                dst,
                pred,
                src,
                lane,
                clamp,
                mask,
            })
        }
        "vote" => {
            let choices = [
                ("all", VoteMode::All),
                ("any", VoteMode::Any),
                ("uni", VoteMode::Uni),
                ("ballot", VoteMode::Ballot),
            ];
            let mode = c.need("mode", &choices)?;
            let ty = if mode == VoteMode::Ballot {
                B32
            } else {
                ScalarType::Pred
            };
            only(c, ty)?;
            c.operands(3..=3, "3")?;
            Ok(Op::Vote {
                mode,
                dst: c.dst(ty)?,
                src: c.pred()?,
                mask: c.src(B32)?,
            })
        }
        "match" => {
            let all = c.need("`.any` or `.all`", &[("any", false), ("all", true)])?;
            let ty = c.scalar_type()?;
            if !matches!(ty, ScalarType::B32 | ScalarType::B64) {
                return Err(c.unsupported_type(ty));
            }
            let class = c.as_class(ty)?;
            c.operands(3..=3, "3")?;
            let (dst, pred) = c.pair(B32)?;
            if pred.is_some() && !all {
                return Err(c.unsupported("a predicate destination with `.any`"));
            }
            Ok(Op::Match {
                all,
                class,
                dst,
                pred,
                src: c.src(ty)?,
                mask: c.src(B32)?,
            })
        }
        "redux" => {
            let choices = [
                ("add", ReduxOp::Add),
                ("min", ReduxOp::Min),
                ("max", ReduxOp::Max),
                ("and", ReduxOp::And),
                ("or", ReduxOp::Or),
                ("xor", ReduxOp::Xor),
            ];
            let op = c.need("operation", &choices)?;
            let ty = c.int_type()?;
            if ty.bits() != 32 {
                return Err(c.unsupported_type(ty.scalar()));
            }
            c.operands(3..=3, "3")?;
            Ok(Op::Redux {
                op,
                ty,
                dst: c.dst(B32)?,
                src: c.src(B32)?,
                mask: c.src(B32)?,
            })
        }
        _ => {
            c.operands(2..=2, "2")?;
            let (dst, pred) = c.pair(B32)?;
            let Some(pred) = pred else {
                return Err(c.unsupported("a missing predicate destination"));
            };
            Ok(Op::Elect {
                dst,
                pred,
                mask: c.src(B32)?,
            })
        }
    }
}

fn only(c: &mut Context<'_, '_, '_>, expected: ScalarType) -> Lowered<()> {
    match c.scalar_type()? {
        ty if ty == expected => Ok(()),
        ty => Err(c.unsupported_type(ty)),
    }
}
