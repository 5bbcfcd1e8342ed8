//! Branches, calls, barriers, warp-wide operations.

use ptx::{
    Argument as SourceArgument, CallResult as SourceResult, CallTarget, Op as Source, RegClass,
    VoteMode,
};

use super::arithmetic::value_class;
use super::rows::{Rows, flag, pred_slot};
use super::{Decoder, Reason};
use crate::code::{
    Argument, Barrier, BarrierKind, Call, CallResult, Op, Target, WarpSync, WarpSyncKind,
};

const WORD: RegClass = RegClass::B32;

impl Decoder<'_> {
    pub(super) fn control(&mut self, op: &Source) -> Result<Op, Reason> {
        Ok(match *op {
            Source::Barrier {
                aligned,
                id,
                threads,
            } => Op::Barrier(Box::new(Barrier {
                aligned,
                id: self.value(id, WORD)?,
                threads: threads.map(|n| self.value(n, WORD)).transpose()?,
                kind: BarrierKind::Sync,
            })),
            Source::BarrierArrive {
                aligned,
                id,
                threads,
            } => Op::Barrier(Box::new(Barrier {
                aligned,
                id: self.value(id, WORD)?,
                threads: Some(self.value(threads, WORD)?),
                kind: BarrierKind::Arrive,
            })),
            Source::BarrierRed {
                aligned,
                op,
                dst,
                id,
                threads,
                src,
            } => {
                let dst = match op {
                    ptx::BarrierReduction::Popc => self.dst(dst, WORD)?,
                    _ => pred_slot(dst)?,
                };
                Op::Barrier(Box::new(Barrier {
                    aligned,
                    id: self.value(id, WORD)?,
                    threads: threads.map(|n| self.value(n, WORD)).transpose()?,
                    kind: BarrierKind::Reduce {
                        op,
                        dst,
                        src: flag(src),
                    },
                }))
            }
            Source::BarWarpSync { mask } => self.warp_sync(mask, WarpSyncKind::Barrier)?,
            Source::Shuffle {
                mode,
                dst,
                pred,
                src,
                lane,
                clamp,
                mask,
            } => {
                let kind = WarpSyncKind::Shuffle {
                    mode,
                    dst: dst.map(|dst| self.dst_value(dst, WORD)).transpose()?,
                    pred: pred.map(pred_slot).transpose()?,
                    src: self.value(src, WORD)?,
                    lane: self.value(lane, WORD)?,
                    clamp: self.value(clamp, WORD)?,
                };
                self.warp_sync(mask, kind)?
            }
            Source::Vote {
                mode,
                dst,
                src,
                mask,
            } => {
                let dst = match mode {
                    VoteMode::Ballot => self.dst(dst, WORD)?,
                    _ => pred_slot(dst)?,
                };
                self.warp_sync(
                    mask,
                    WarpSyncKind::Vote {
                        mode,
                        dst,
                        src: flag(src),
                    },
                )?
            }
            Source::Match {
                all,
                class,
                dst,
                pred,
                src,
                mask,
            } => {
                let kind = WarpSyncKind::Match {
                    all,
                    dst: dst.map(|dst| self.dst_value(dst, WORD)).transpose()?,
                    pred: pred.map(pred_slot).transpose()?,
                    src: self.value(src, class)?,
                };
                self.warp_sync(mask, kind)?
            }
            Source::Redux {
                op,
                ty,
                dst,
                src,
                mask,
            } => {
                let kind = WarpSyncKind::Redux {
                    op,
                    ty,
                    dst: self.dst_value(dst, WORD)?,
                    src: self.value(src, WORD)?,
                };
                self.warp_sync(mask, kind)?
            }
            Source::Elect { dst, pred, mask } => {
                let kind = WarpSyncKind::Elect {
                    dst: dst.map(|dst| self.dst_value(dst, WORD)).transpose()?,
                    pred: pred_slot(pred)?,
                };
                self.warp_sync(mask, kind)?
            }
            Source::ActiveMask { dst } => Op::ActiveMask {
                dst: self.dst_value(dst, WORD)?,
            },
            Source::Nanosleep { .. } => Op::Sleep,
            Source::Bra { target, .. } => Op::Branch {
                target: self.entry + target,
            },
            Source::BrxIdx {
                index, ref targets, ..
            } => Op::BranchTable {
                index: self.value(index, WORD)?,
                targets: targets.iter().map(|target| self.entry + target).collect(),
            },
            Source::Call(ref call) => Op::Call(Box::new(self.call(call)?)),
            Source::Ret { .. } => Op::Return,
            Source::Exit => Op::Exit,
            Source::Trap => Op::Trap,
            Source::Brkpt => Op::Breakpoint,
            _ => return Err("an operation that is not modelled".into()),
        })
    }

    fn warp_sync(&mut self, mask: ptx::Operand, kind: WarpSyncKind) -> Result<Op, Reason> {
        Ok(Op::WarpSync(Box::new(WarpSync {
            mask: self.value(mask, WORD)?,
            kind,
        })))
    }

    fn call(&mut self, call: &ptx::Call) -> Result<Call, Reason> {
        // Rows of the callee's registers: an indirect callee has no register parameters.
        let callee = match call.target {
            CallTarget::Function(id) => {
                let function = &self.functions[id.0 as usize];
                if !function.is_defined {
                    return Err(format!(
                        "call of `{}`, which the module does not define",
                        function.name
                    ));
                }
                self.callees.push(id.0);
                Some(Rows::new(&function.registers))
            }
            CallTarget::Indirect(_) => {
                self.callees.extend(0..self.functions.len() as u32);
                None
            }
        };
        let theirs = |reg| match &callee {
            Some(rows) => rows.register(reg),
            None => Err("a register parameter of an indirect call".to_string()),
        };
        let target = match call.target {
            CallTarget::Function(id) => Target::Function(id.0),
            CallTarget::Indirect(reg) => Target::Indirect(self.dst_value(reg, RegClass::B64)?),
        };
        let mut args = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            args.push(match *arg {
                SourceArgument::Bytes { from, to, size } => Argument::Bytes { from, to, size },
                SourceArgument::Value { from, to, ty } => Argument::Value {
                    from: self.value(from, value_class(ty)?)?,
                    to,
                    bytes: ty.bytes(),
                },
                SourceArgument::Register { from, to } => Argument::Register {
                    from: self.value(from, to.class)?,
                    to: theirs(to)?,
                },
            });
        }
        let mut results = Vec::with_capacity(call.results.len());
        for result in &call.results {
            results.push(match *result {
                SourceResult::Bytes { from, to, size } => CallResult::Bytes { from, to, size },
                SourceResult::Value { from, to, ty } => CallResult::Value {
                    from,
                    to: self.rows.register(to)?,
                    bytes: ty.bytes(),
                    signed: ty.is_signed(),
                },
                SourceResult::Register { from, to } => CallResult::Register {
                    from: theirs(from)?,
                    to: self.rows.register(to)?,
                },
            });
        }
        Ok(Call {
            target,
            args: args.into(),
            results: results.into(),
        })
    }
}
