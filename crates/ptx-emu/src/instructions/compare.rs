//! Comparisons: `setp`, `set`, `testp`.
//!
//! The lanes' comparisons form a mask; everything after that is arithmetic on masks.

use std::num::FpCategory;

use ptx::{RegClass, ScalarType};

use super::float::flush;
use crate::fault::Stop;
use crate::read::{Read, Reader, other};
use crate::registers::{
    BoolOp, Combination, Flag, Operands, Registers, Slot, Test, compare, has_wide_vectors, lanes,
    lanes_where,
};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::Warp;

/// Comparison of `setp` and `set`. Integer comparisons use the first six, signed or not by the
/// type; the unsigned spellings `lo ls hi hs` are mapped to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    /// Equal; false if either is NaN.
    Eq,
    /// Not equal; false if either is NaN.
    Ne,
    /// Less; false if either is NaN.
    Lt,
    /// Less or equal; false if either is NaN.
    Le,
    /// Greater; false if either is NaN.
    Gt,
    /// Greater or equal; false if either is NaN.
    Ge,
    /// Equal, or either is NaN.
    Equ,
    /// Not equal, or either is NaN.
    Neu,
    /// Less, or either is NaN.
    Ltu,
    /// Less or equal, or either is NaN.
    Leu,
    /// Greater, or either is NaN.
    Gtu,
    /// Greater or equal, or either is NaN.
    Geu,
    /// Neither is NaN.
    Num,
    /// Either is NaN.
    Nan,
}

/// Boolean operations by their modifiers.
pub(super) const BOOL_OPS: [(&str, BoolOp); 3] = [
    ("and", BoolOp::And),
    ("or", BoolOp::Or),
    ("xor", BoolOp::Xor),
];

/// The comparison, and the operation that combines it with another predicate.
fn modifiers(r: &mut Reader) -> Read<(Compare, Option<BoolOp>)> {
    use Compare::*;
    let choices = [
        ("eq", Eq),
        ("ne", Ne),
        ("lt", Lt),
        ("le", Le),
        ("gt", Gt),
        ("ge", Ge),
        ("lo", Lt),
        ("ls", Le),
        ("hi", Gt),
        ("hs", Ge),
        ("equ", Equ),
        ("neu", Neu),
        ("ltu", Ltu),
        ("leu", Leu),
        ("gtu", Gtu),
        ("geu", Geu),
        ("num", Num),
        ("nan", Nan),
    ];
    Ok((r.need("comparison", &choices)?, r.choice(&BOOL_OPS)))
}

/// Takes the type of the operands, and gives the comparison of it.
fn test_of(r: &mut Reader, how: Compare) -> Read<(ScalarType, Test)> {
    let ty = r.ty()?;
    let mut ftz = false;
    if ty.is_float() {
        let float = r.as_float(ty)?;
        ftz = r.ftz(float);
    } else {
        r.as_int(ty)?;
        if !matches!(
            how,
            Compare::Eq | Compare::Ne | Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge
        ) {
            return Err(r.unsupported("floating comparison of integers"));
        }
    }
    match test(ty, how, ftz) {
        Some(test) => Ok((ty, test)),
        None => Err(r.unsupported_type(ty)),
    }
}

/// The other predicate, if the comparison is combined with one.
fn with(r: &mut Reader, combine: Option<BoolOp>) -> Read<Option<(BoolOp, Flag)>> {
    combine.map(|op| Ok((op, r.flag()?))).transpose()
}

/// `setp`: `p = cmp(a, b) combine c`, `q = !cmp(a, b) combine c`.
pub(super) fn setp(r: &mut Reader) -> Read<Op> {
    let (how, combine) = modifiers(r)?;
    let (ty, test) = test_of(r, how)?;
    r.operands(3 + usize::from(combine.is_some()))?;
    let (dst, complement) = r.pair(ScalarType::Pred)?;
    let o = Operands {
        a: r.src(ty)?.row,
        b: r.src(ty)?.row,
        ..Operands::default()
    };
    let then = Combination {
        with: with(r, combine)?,
        dst: dst.map(|slot| slot.row),
        complement,
    };
    Ok(Op::Compare { test, o, then })
}

/// `set`: as `setp`, writing all ones (`.u32`, `.s32`) or 1.0 (`.f32`) for true, 0 for false.
pub(super) fn set(r: &mut Reader) -> Read<Op> {
    let (how, combine) = modifiers(r)?;
    let dst_ty = r.ty()?;
    let yes = match dst_ty {
        ScalarType::U32 | ScalarType::S32 => u32::MAX,
        ScalarType::F32 => 1f32.to_bits(),
        _ => return Err(r.unsupported_type(dst_ty)),
    };
    let (ty, test) = test_of(r, how)?;
    r.operands(3 + usize::from(combine.is_some()))?;
    let o = Operands {
        d: r.dst(dst_ty)?.row,
        a: r.src(ty)?.row,
        b: r.src(ty)?.row,
        ..Operands::default()
    };
    let then = Combination {
        with: with(r, combine)?,
        dst: None,
        complement: None,
    };
    other(Set { test, o, then, yes })
}

#[derive(Debug)]
struct Set {
    test: Test,
    o: Operands,
    then: Combination,
    yes: u32,
}

impl Execute for Set {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &mut warp.registers;
        // SAFETY: the pointer comes from `test!`, which chooses code that this host can run.
        let bits = unsafe { (self.test)(registers, &self.o) };
        let bits = self.then.combined(registers, bits);
        let row = registers.r32_mut(self.o.d);
        for lane in lanes(at.active) {
            row[lane] = if bits >> lane & 1 == 1 { self.yes } else { 0 };
        }
        Ok(Next::Step)
    }
}

/// Property tested by `testp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FloatClass {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// `testp`.
pub(super) fn testp(r: &mut Reader) -> Read<Op> {
    let choices = [
        ("finite", FloatClass::Finite),
        ("infinite", FloatClass::Infinite),
        ("number", FloatClass::Number),
        ("notanumber", FloatClass::NotANumber),
        ("normal", FloatClass::Normal),
        ("subnormal", FloatClass::Subnormal),
    ];
    let property = r.need("property", &choices)?;
    let ty = r.float_type()?;
    r.operands(2)?;
    let dst = r.dst(ScalarType::Pred)?.row;
    let src = r.src(ty.scalar())?;
    other(TestProperty { property, dst, src })
}

#[derive(Debug)]
struct TestProperty {
    property: FloatClass,
    dst: u32,
    src: Slot,
}

impl Execute for TestProperty {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &mut warp.registers;
        let bits = lanes_where(at.active, |lane| {
            let value = registers.lane(self.src, lane);
            let category = match self.src.class {
                RegClass::B64 => f64::from_bits(value).classify(),
                _ => f32::from_bits(value as u32).classify(),
            };
            match self.property {
                FloatClass::Finite => !matches!(category, FpCategory::Nan | FpCategory::Infinite),
                FloatClass::Infinite => category == FpCategory::Infinite,
                FloatClass::Number => category != FpCategory::Nan,
                FloatClass::NotANumber => category == FpCategory::Nan,
                // PTX counts zero as normal.
                FloatClass::Normal => matches!(category, FpCategory::Normal | FpCategory::Zero),
                FloatClass::Subnormal => category == FpCategory::Subnormal,
            }
        });
        registers.set_pred(self.dst, at.active, bits);
        Ok(Next::Step)
    }
}

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
fn test(ty: ScalarType, how: Compare, ftz: bool) -> Option<Test> {
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
