//! Operations on lanes.

use ptx::{BoolOp, Op as Source, Operand, Pred, Reg, RegClass, ScalarType};

use super::rows::{flag, pred_slot};
use super::{Decoder, Reason};
use crate::code::Op;
use crate::ops::compare::Combination;
use crate::registers::{Apply, Operands};

pub(super) type Decoded = Result<Op, Reason>;

/// The 32-bit class, which shift amounts, positions and counts have.
pub(super) const WORD: RegClass = RegClass::B32;

impl Decoder<'_> {
    pub(super) fn apply1(
        &mut self,
        apply: Apply,
        class: RegClass,
        dst: Reg,
        a: Operand,
        aux: u32,
    ) -> Decoded {
        let o = Operands {
            d: self.dst(dst, class)?,
            a: self.src(a, class)?,
            aux,
            ..Operands::default()
        };
        Ok(Op::Apply { apply, o })
    }

    pub(super) fn apply2(
        &mut self,
        apply: Apply,
        class: RegClass,
        dst: Reg,
        [a, b]: [Operand; 2],
        aux: u32,
    ) -> Decoded {
        let o = Operands {
            d: self.dst(dst, class)?,
            a: self.src(a, class)?,
            b: self.src(b, class)?,
            aux,
            ..Operands::default()
        };
        Ok(Op::Apply { apply, o })
    }

    pub(super) fn apply3(
        &mut self,
        apply: Apply,
        class: RegClass,
        dst: Reg,
        [a, b, c]: [Operand; 3],
        aux: u32,
    ) -> Decoded {
        let o = Operands {
            d: self.dst(dst, class)?,
            a: self.src(a, class)?,
            b: self.src(b, class)?,
            c: self.src(c, class)?,
            aux,
            e: 0,
        };
        Ok(Op::Apply { apply, o })
    }

    /// An operation whose operands have classes of their own: destination, then sources.
    pub(super) fn mixed<const N: usize>(
        &mut self,
        apply: Apply,
        (dst, dst_class): (Reg, RegClass),
        sources: [(Operand, RegClass); N],
        aux: u32,
    ) -> Decoded {
        let mut rows = [0; 4];
        for (row, (operand, class)) in rows.iter_mut().zip(sources) {
            *row = self.src(operand, class)?;
        }
        let [a, b, c, e] = rows;
        Ok(Op::Apply {
            apply,
            o: Operands {
                d: self.dst(dst, dst_class)?,
                a,
                b,
                c,
                e,
                aux,
            },
        })
    }

    pub(super) fn arithmetic(&mut self, op: &Source) -> Decoded {
        match op {
            Source::FAdd { .. }
            | Source::FSub { .. }
            | Source::FMul { .. }
            | Source::Fma { .. }
            | Source::FDiv { .. }
            | Source::FNeg { .. }
            | Source::FAbs { .. }
            | Source::FMin { .. }
            | Source::FMax { .. }
            | Source::Sqrt { .. }
            | Source::Rcp { .. }
            | Source::Math { .. }
            | Source::Copysign { .. }
            | Source::Testp { .. } => self.floating(op),
            Source::And { .. }
            | Source::Or { .. }
            | Source::Xor { .. }
            | Source::Not { .. }
            | Source::Cnot { .. }
            | Source::Shl { .. }
            | Source::Shr { .. }
            | Source::ShiftFunnel { .. }
            | Source::Bfe { .. }
            | Source::Bfi { .. }
            | Source::Bfind { .. }
            | Source::Brev { .. }
            | Source::Popc { .. }
            | Source::Clz { .. }
            | Source::Prmt { .. }
            | Source::Lop3 { .. }
            | Source::Lop3Pred { .. }
            | Source::Fns { .. }
            | Source::Bmsk { .. }
            | Source::Szext { .. } => self.bitwise(op),
            Source::Setp { .. }
            | Source::Set { .. }
            | Source::Selp { .. }
            | Source::Slct { .. }
            | Source::Mov { .. }
            | Source::Pack { .. }
            | Source::Unpack { .. }
            | Source::Cvt { .. }
            | Source::CvtPack { .. } => self.moving(op),
            _ => self.integer(op),
        }
    }

    /// A destination of a class, as a slot.
    pub(super) fn dst_value(
        &self,
        dst: Reg,
        class: RegClass,
    ) -> Result<crate::registers::Slot, Reason> {
        self.dst(dst, class)?;
        self.rows.register(dst)
    }
}

/// The class of a value of a scalar type.
pub(super) fn value_class(ty: ScalarType) -> Result<RegClass, Reason> {
    match ty.class() {
        Some(RegClass::Pred) | None => Err(format!("a value of type `{ty}`")),
        Some(class) => Ok(class),
    }
}

pub(super) fn combination(
    with: Option<(BoolOp, Pred)>,
    dst: Option<Reg>,
    complement: Option<Reg>,
) -> Result<Combination, Reason> {
    Ok(Combination {
        with: with.map(|(op, pred)| {
            let flag = flag(pred);
            (op, flag.slot, flag.flip)
        }),
        dst: dst.map(pred_slot).transpose()?,
        complement: complement.map(pred_slot).transpose()?,
    })
}
