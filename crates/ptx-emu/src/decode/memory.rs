//! Loads, stores, atomics, copies and address conversions.

use ptx::{
    Address as SourceAddress, Base, Op as Source, Operand, Order, RegClass, ScalarType, Scope,
    Space, Symbol,
};

use super::arithmetic::value_class;
use super::rows::{flag, pred_slot};
use super::{Decoder, Reason};
use crate::code::{Access, Address, AsyncCopy, AtomicAccess, Op};
use crate::memory::window;
use crate::ops::atomic::Update;
use crate::registers::{File, Slot};

impl Decoder<'_> {
    fn address(&mut self, address: SourceAddress) -> Result<Address, Reason> {
        let base = match address.base {
            Base::Reg(reg) => self.rows.register(reg)?,
            Base::Symbol(symbol) => {
                return Ok(Address {
                    base: self.value(Operand::Symbol(symbol, address.offset), RegClass::B64)?,
                    offset: 0,
                });
            }
            Base::Zero => self.value(Operand::Imm(0), RegClass::B64)?,
        };
        if base.file == File::B16 {
            return Err("an address of 16 bits".into());
        }
        Ok(Address {
            base,
            offset: address.offset,
        })
    }

    /// Notes the width of an access that races are tracked for.
    fn note(&mut self, space: Space, bytes: u32) {
        if matches!(space, Space::Global | Space::Shared | Space::Generic) {
            self.narrowest = self.narrowest.min(bytes);
        }
    }

    pub(super) fn memory(&mut self, op: &Source) -> Result<Op, Reason> {
        match *op {
            Source::Ld {
                space,
                ty,
                order,
                non_coherent,
                ref dst,
                addr,
                ..
            } => {
                let bytes = element_bytes(ty)?;
                let elements = dst
                    .iter()
                    .map(|reg| reg.map(|reg| self.rows.register(reg)).transpose())
                    .collect::<Result<Box<[_]>, _>>()?;
                if let (Space::Param, Base::Symbol(Symbol::KernelParam(start)), true) =
                    (space, addr.base, self.is_kernel)
                    && let Ok(offset) = u32::try_from(addr.offset + i64::from(start))
                {
                    let signed = ty.is_signed();
                    return Ok(Op::LoadParam {
                        offset,
                        bytes,
                        signed,
                        dst: elements,
                    });
                }
                let address = self.address(addr)?;
                Ok(Op::Load(self.access(
                    space,
                    address,
                    ty,
                    order,
                    non_coherent,
                    elements,
                )?))
            }
            Source::St {
                space,
                ty,
                order,
                ref src,
                addr,
                ..
            } => {
                let class = value_class(ty)?;
                let elements = src
                    .iter()
                    .map(|&operand| Ok(Some(self.value(operand, class)?)))
                    .collect::<Result<Box<[_]>, Reason>>()?;
                let address = self.address(addr)?;
                Ok(Op::Store(
                    self.access(space, address, ty, order, false, elements)?,
                ))
            }
            Source::Atomic {
                space,
                op,
                ty,
                order,
                dst,
                addr,
                b,
                c,
                ..
            } => {
                let update = Update::new(op, ty)
                    .ok_or_else(|| format!("atomic operation `{op:?}` on `{ty}`"))?;
                let class = value_class(ty)?;
                self.note(space, update.bytes());
                Ok(Op::Atomic(Box::new(AtomicAccess {
                    space,
                    address: self.address(addr)?,
                    update,
                    dst: dst.map(|dst| self.rows.register(dst)).transpose()?,
                    b: self.value(b, class)?,
                    c: c.map(|c| self.value(c, class)).transpose()?,
                    release: matches!(order, Order::Release | Order::AcqRel | Order::SeqCst),
                    tally: self.tally(),
                })))
            }
            Source::CpAsync {
                bytes,
                dst,
                src,
                src_bytes,
                ignore_src,
                ..
            } => {
                self.note(Space::Shared, bytes.min(4));
                Ok(Op::AsyncCopy(Box::new(AsyncCopy {
                    dst: self.address(dst)?,
                    src: self.address(src)?,
                    bytes,
                    src_bytes: src_bytes
                        .map(|n| self.value(n, RegClass::B32))
                        .transpose()?,
                    ignore_src: ignore_src.map(flag),
                    tally: self.tally(),
                })))
            }
            Source::CpAsyncCommit => Ok(Op::AsyncCommit),
            Source::CpAsyncWait { pending } => Ok(Op::AsyncWait { pending }),
            Source::Prefetch { .. } => Ok(Op::Nothing),
            Source::Fence { scope, .. } => Ok(Op::Fence {
                device: scope >= Scope::Device,
            }),
            Source::CvtaToGeneric { space, dst, src } => {
                self.shift_address(dst, src, window(space))
            }
            Source::CvtaToSpace { space, dst, src } => {
                self.shift_address(dst, src, window(space).wrapping_neg())
            }
            Source::IsSpace { space, dst, src } => Ok(Op::IsSpace {
                space,
                dst: pred_slot(dst)?,
                src: self.value(src, RegClass::B64)?,
            }),
            _ => Err("an operation that is not modelled".into()),
        }
    }

    fn shift_address(&mut self, dst: ptx::Reg, src: Operand, add: u64) -> Result<Op, Reason> {
        let dst = self.rows.register(dst)?;
        let src = self.value(src, RegClass::B64)?;
        if (dst.file, src.file) != (File::B64, File::B64) {
            return Err("a generic address of less than 64 bits".into());
        }
        Ok(Op::ShiftAddress { dst, src, add })
    }

    fn access(
        &mut self,
        space: Space,
        address: Address,
        ty: ScalarType,
        order: Order,
        non_coherent: bool,
        elements: Box<[Option<Slot>]>,
    ) -> Result<Box<Access>, Reason> {
        let bytes = element_bytes(ty)?;
        self.note(space, bytes);
        Ok(Box::new(Access {
            space,
            address,
            bytes,
            signed: ty.is_signed(),
            elements,
            strong: order != Order::Weak,
            acquire: matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst),
            release: matches!(order, Order::Release | Order::AcqRel | Order::SeqCst),
            non_coherent,
            tally: self.tally(),
        }))
    }
}

/// Bytes of an element in memory.
fn element_bytes(ty: ScalarType) -> Result<u32, Reason> {
    match ty {
        ScalarType::Pred | ScalarType::B128 => Err(format!("memory access of type `{ty}`")),
        _ => Ok(ty.bytes()),
    }
}
