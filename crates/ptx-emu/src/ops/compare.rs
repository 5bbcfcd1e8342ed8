//! `setp`, `set` and `testp`.
//!
//! The lanes' comparisons form a mask; everything after that is arithmetic on masks.

use ptx::{BoolOp, Compare, FloatClass, FloatType, ScalarType};

use super::bits::combine;
use super::float::{flush, has_class};
use crate::registers::{LANES, Operands, Registers, compare, has_wide_vectors};

/// The mask of lanes for which a comparison holds.
///
/// # Safety
/// As for [`Apply`](crate::registers::Apply).
pub(crate) type Test = unsafe fn(&Registers, &Operands) -> u32;

/// A [`Test`] from a closure, compiled for the build's target and for AVX2.
macro_rules! test {
    ($f:expr) => {{
        fn portable(registers: &Registers, o: &Operands) -> u32 {
            compare(registers, o, $f)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,bmi1,lzcnt,popcnt")]
        fn wide(registers: &Registers, o: &Operands) -> u32 {
            compare(registers, o, $f)
        }
        #[cfg(not(target_arch = "x86_64"))]
        use portable as wide;
        let test: Test = if has_wide_vectors() { wide } else { portable };
        test
    }};
}

macro_rules! integer {
    ($compare:expr, $type:ty) => {
        match $compare {
            Compare::Eq | Compare::Equ => test!(|a: $type, b: $type| a == b),
            Compare::Ne | Compare::Neu => test!(|a: $type, b: $type| a != b),
            Compare::Lt | Compare::Ltu => test!(|a: $type, b: $type| a < b),
            Compare::Le | Compare::Leu => test!(|a: $type, b: $type| a <= b),
            Compare::Gt | Compare::Gtu => test!(|a: $type, b: $type| a > b),
            Compare::Ge | Compare::Geu => test!(|a: $type, b: $type| a >= b),
            Compare::Num => test!(|_: $type, _: $type| true),
            Compare::Nan => test!(|_: $type, _: $type| false),
        }
    };
}

macro_rules! floating {
    ($compare:expr, $type:ty, $prepare:expr) => {{
        /// An ordered comparison: false if either is NaN.
        macro_rules! ordered {
            ($operator:tt) => {
                test!(|a: $type, b: $type| $prepare(a) $operator $prepare(b))
            };
        }
        /// An unordered comparison: true if either is NaN.
        macro_rules! unordered {
            ($operator:tt) => {
                test!(|a: $type, b: $type| {
                    $prepare(a) $operator $prepare(b) || a.is_nan() || b.is_nan()
                })
            };
        }
        match $compare {
            Compare::Eq => ordered!(==),
            Compare::Ne => test!(|a: $type, b: $type| {
                $prepare(a) != $prepare(b) && !a.is_nan() && !b.is_nan()
            }),
            Compare::Lt => ordered!(<),
            Compare::Le => ordered!(<=),
            Compare::Gt => ordered!(>),
            Compare::Ge => ordered!(>=),
            Compare::Equ => unordered!(==),
            Compare::Neu => unordered!(!=),
            Compare::Ltu => unordered!(<),
            Compare::Leu => unordered!(<=),
            Compare::Gtu => unordered!(>),
            Compare::Geu => unordered!(>=),
            Compare::Num => test!(|a: $type, b: $type| !a.is_nan() && !b.is_nan()),
            Compare::Nan => test!(|a: $type, b: $type| a.is_nan() || b.is_nan()),
        }
    }};
}

/// The comparison of values of a type; `None` if PTX has none.
pub(crate) fn test(ty: ScalarType, how: Compare, ftz: bool) -> Option<Test> {
    use ScalarType::*;
    Some(match ty {
        U16 | B16 => integer!(how, u16),
        S16 => integer!(how, i16),
        U32 | B32 => integer!(how, u32),
        S32 => integer!(how, i32),
        U64 | B64 => integer!(how, u64),
        S64 => integer!(how, i64),
        F32 if ftz => floating!(how, f32, flush),
        F32 => floating!(how, f32, std::convert::identity::<f32>),
        F64 => floating!(how, f64, std::convert::identity::<f64>),
        _ => return None,
    })
}

/// What becomes of a mask of comparisons.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    /// With another predicate: operation, slot, and the mask that negates it.
    pub(crate) with: Option<(BoolOp, u32, u32)>,
    /// Slot of the result.
    pub(crate) dst: Option<u32>,
    /// Slot of the result for the complement of the comparison.
    pub(crate) complement: Option<u32>,
}

impl Combination {
    fn combined(&self, registers: &Registers, bits: u32) -> u32 {
        match self.with {
            Some((op, slot, flip)) => combine(op, bits, registers.pred(slot) ^ flip),
            None => bits,
        }
    }

    /// Writes the predicates of `setp`.
    #[inline]
    pub(crate) fn store(&self, registers: &mut Registers, mask: u32, bits: u32) {
        let (yes, no) = (
            self.combined(registers, bits),
            self.combined(registers, !bits),
        );
        if let Some(slot) = self.dst {
            registers.set_pred(slot, mask, yes);
        }
        if let Some(slot) = self.complement {
            registers.set_pred(slot, mask, no);
        }
    }

    /// The result mask of `set`.
    pub(crate) fn result(&self, registers: &Registers, bits: u32) -> u32 {
        self.combined(registers, bits)
    }
}

/// Writes `set`'s result: `yes` or 0.
pub(crate) fn store_set(registers: &mut Registers, row: u32, mask: u32, bits: u32, yes: u32) {
    let d = registers.r32_mut(row);
    for (lane, value) in d.iter_mut().enumerate() {
        if mask >> lane & 1 == 1 {
            *value = if bits >> lane & 1 == 1 { yes } else { 0 };
        }
    }
}

/// `testp`: the mask of lanes whose value has a property.
pub(crate) fn property(registers: &Registers, class: FloatClass, ty: FloatType, row: u32) -> u32 {
    (0..LANES).fold(0, |bits, lane| {
        let category = match ty {
            FloatType::F32 => f32::from_bits(registers.r32(row)[lane]).classify(),
            FloatType::F64 => f64::from_bits(registers.r64(row)[lane]).classify(),
        };
        bits | u32::from(has_class(class, category)) << lane
    })
}
