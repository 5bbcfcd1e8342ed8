//! The functions of `atom` and `red`, from the old value and the operands to the new value.

use ptx::{AtomicOp, ScalarType};

use super::float::{atomic_add32, atomic_add64};

/// A read-modify-write of one location.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    op: AtomicOp,
    ty: ScalarType,
}

impl Update {
    /// `None` if the hardware has no such instruction, or it is not modelled.
    pub(crate) fn new(op: AtomicOp, ty: ScalarType) -> Option<Self> {
        use AtomicOp::*;
        use ScalarType::*;
        let supported = match op {
            Add => matches!(ty, U32 | S32 | U64 | S64 | F32 | F64),
            Min | Max => matches!(ty, U32 | S32 | U64 | S64),
            And | Or | Xor | Exch => matches!(ty, B32 | B64 | U32 | U64 | S32 | S64),
            Cas => matches!(ty, B16 | B32 | B64 | U32 | U64 | S32 | S64),
            Inc | Dec => ty == U32,
        };
        supported.then_some(Self { op, ty })
    }

    /// Size of the location in bytes.
    pub(crate) fn bytes(&self) -> u32 {
        self.ty.bytes()
    }

    /// The new value. In global memory an f32 sum flushes subnormals, and an f64 sum passes NaNs on as they are.
    pub(crate) fn apply(&self, old: u64, b: u64, c: u64, in_global: bool) -> u64 {
        use ScalarType::*;
        let new = match self.op {
            AtomicOp::Add => match self.ty {
                F32 => {
                    let [old, b] = [old, b].map(|x| f32::from_bits(x as u32));
                    u64::from(atomic_add32(in_global, old, b))
                }
                F64 => atomic_add64(in_global, f64::from_bits(old), f64::from_bits(b)),
                _ => old.wrapping_add(b),
            },
            AtomicOp::Min => match self.ty {
                S32 => i64::from((old as i32).min(b as i32)) as u64,
                S64 => (old as i64).min(b as i64) as u64,
                _ => old.min(b),
            },
            AtomicOp::Max => match self.ty {
                S32 => i64::from((old as i32).max(b as i32)) as u64,
                S64 => (old as i64).max(b as i64) as u64,
                _ => old.max(b),
            },
            AtomicOp::And => old & b,
            AtomicOp::Or => old | b,
            AtomicOp::Xor => old ^ b,
            AtomicOp::Exch => b,
            AtomicOp::Cas => {
                if old == b {
                    c
                } else {
                    old
                }
            }
            AtomicOp::Inc => {
                if old >= b {
                    0
                } else {
                    old + 1
                }
            }
            AtomicOp::Dec => {
                if old == 0 || old > b {
                    b
                } else {
                    old - 1
                }
            }
        };
        new & (u64::MAX >> (64 - 8 * self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(op: AtomicOp, ty: ScalarType, old: u64, b: u64, c: u64) -> u64 {
        Update::new(op, ty)
            .expect("supported")
            .apply(old, b, c, true)
    }

    #[test]
    fn updates() {
        use AtomicOp::*;
        use ScalarType::*;
        assert_eq!(apply(Add, U32, 0xffff_ffff, 2, 0), 1);
        assert_eq!(apply(Add, U64, u64::MAX, 2, 0), 1);
        assert_eq!(apply(Min, S32, 0xffff_ffff, 1, 0), 0xffff_ffff);
        assert_eq!(apply(Min, U32, 0xffff_ffff, 1, 0), 1);
        assert_eq!(apply(Max, S32, 0xffff_ffff, 1, 0), 1);
        assert_eq!(apply(Inc, U32, 3, 3, 0), 0);
        assert_eq!(apply(Inc, U32, 2, 3, 0), 3);
        assert_eq!(apply(Dec, U32, 0, 3, 0), 3);
        assert_eq!(apply(Dec, U32, 9, 3, 0), 3);
        assert_eq!(apply(Dec, U32, 2, 3, 0), 1);
        assert_eq!(apply(Cas, B32, 7, 7, 9), 9);
        assert_eq!(apply(Cas, B32, 8, 7, 9), 8);
        assert_eq!(apply(Exch, B64, 8, 7, 0), 7);
    }

    #[test]
    fn a_float_sum_flushes_only_where_told() {
        let add = Update::new(AtomicOp::Add, ScalarType::F32).expect("supported");
        let tiny = 1u64;
        assert_eq!(add.apply(tiny, tiny, 0, true), 0);
        assert_eq!(add.apply(tiny, tiny, 0, false), 2);
    }

    #[test]
    fn a_double_sum_quiets_nans_in_shared_memory_only() {
        let add = Update::new(AtomicOp::Add, ScalarType::F64).expect("supported");
        let one = 1f64.to_bits();
        let (signalling, quiet) = (0xfff0_1234_5678_9abc, 0xfff8_1234_5678_9abc);
        for [old, b] in [[one, signalling], [signalling, one]] {
            assert_eq!(add.apply(old, b, 0, true), signalling);
            assert_eq!(add.apply(old, b, 0, false), quiet);
        }
        // Of two, in global memory the operand, in shared memory the old value.
        assert_eq!(add.apply(u64::MAX, signalling, 0, true), signalling);
        assert_eq!(add.apply(signalling, u64::MAX, 0, false), quiet);
        let infinities = [f64::INFINITY, f64::NEG_INFINITY].map(f64::to_bits);
        assert_eq!(
            add.apply(infinities[0], infinities[1], 0, true),
            0xfff8 << 48
        );
    }
}
