//! Comparisons: `setp`, `set`, `testp`.
//!
//! The lanes' comparisons form a mask; everything after that is arithmetic on masks.

use std::num::FpCategory;

use ptx::{RegClass, ScalarType};

use super::float::flush;
use super::half::{Half, HighBf16, HighF16, LowBf16, LowF16, flush_f16};
use crate::counts::InstructionClass;
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

/// A comparison of values of a type.
struct TypedTest {
    ty: ScalarType,
    test: Test,
    /// Of pairs, the comparison of the high halves.
    high: Option<Test>,
}

/// Takes the type of the operands, and gives the comparison of it.
fn test_of(r: &mut Reader, how: Compare) -> Read<TypedTest> {
    let ty = r.ty()?;
    // PTX ISA, "setp": `.lo` and its like are of unsigned integers, and bits have no order.
    let is_unsigned = matches!(ty, ScalarType::U16 | ScalarType::U32 | ScalarType::U64);
    let is_untyped = matches!(ty, ScalarType::B16 | ScalarType::B32 | ScalarType::B64);
    let names_unsigned = ["lo", "ls", "hi", "hs"].into_iter().any(|m| r.names(m));
    let is_ordered = !matches!(how, Compare::Eq | Compare::Ne);
    if names_unsigned && !is_unsigned || is_untyped && is_ordered {
        return Err(r.no_such_type(ty));
    }
    let mut ftz = false;
    if let Some((half, _)) = Half::of(ty) {
        r.class = InstructionClass::Float32;
        ftz = half == Half::F16 && r.has("ftz");
    } else if ty.is_float() {
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
        Some(test) => Ok(TypedTest {
            ty,
            test,
            high: high_test(ty, how, ftz),
        }),
        None => Err(r.unsupported_type(ty)),
    }
}

/// The other predicate, if the comparison is combined with one.
fn with(r: &mut Reader, combine: Option<BoolOp>) -> Read<Option<(BoolOp, Flag)>> {
    combine.map(|op| Ok((op, r.flag()?))).transpose()
}

/// `setp`: `p = cmp(a, b) combine c`, `q = !cmp(a, b) combine c`; of pairs, `p` is of the low
/// halves and `q` of the high ones.
pub(super) fn setp(r: &mut Reader) -> Read<Op> {
    let (how, combine) = modifiers(r)?;
    let TypedTest { ty, test, high } = test_of(r, how)?;
    r.operands(3 + usize::from(combine.is_some()))?;
    let (dst, complement) = r.pair(ScalarType::Pred)?;
    // PTX ISA, "setp" of half precision: the other predicate is of pairs only.
    if complement.is_some() && Half::of(ty).is_some() && high.is_none() {
        return Err(r.no_such_form());
    }
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
    match high {
        Some(high) => other(PairTest {
            tests: [test, high],
            o,
            then,
        }),
        None => Ok(Op::Compare { test, o, then }),
    }
}

/// `setp` of pairs.
#[derive(Debug)]
struct PairTest {
    /// Of the low halves, and of the high ones.
    tests: [Test; 2],
    o: Operands,
    /// Where they go: `dst`, and `complement`.
    then: Combination,
}

impl Execute for PairTest {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let registers = &mut warp.registers;
        // SAFETY: the pointers come from `test!`, which chooses code that this host can run.
        let bits = self.tests.map(|test| unsafe { test(registers, &self.o) });
        let bits = bits.map(|bits| self.then.combined(registers, bits));
        for (slot, lanes) in [self.then.dst, self.then.complement].into_iter().zip(bits) {
            if let Some(slot) = slot {
                registers.set_pred(slot, at.active, lanes);
            }
        }
        Ok(Next::Step)
    }
}

/// `set`: as `setp`, writing all ones (of an integer type) or 1.0 (of a floating one) for true, 0
/// for false; of pairs, to each half.
pub(super) fn set(r: &mut Reader) -> Read<Op> {
    let (how, combine) = modifiers(r)?;
    let dst_ty = r.ty()?;
    let TypedTest { ty, test, high } = test_of(r, how)?;
    let is_half = Half::of(ty).is_some();
    let yes = match dst_ty {
        ScalarType::U32 | ScalarType::S32 if high.is_some() => 0xffff,
        ScalarType::U32 | ScalarType::S32 => u32::MAX,
        ScalarType::U16 | ScalarType::S16 if is_half && high.is_none() => 0xffff,
        ScalarType::F32 if high.is_none() => 1f32.to_bits(),
        ScalarType::F16 if high.is_none() => Half::F16.narrow(1.0).into(),
        ScalarType::Bf16 if high.is_none() => Half::Bf16.narrow(1.0).into(),
        ScalarType::F16x2 if high.is_some() => Half::F16.narrow(1.0).into(),
        ScalarType::Bf16x2 if high.is_some() => Half::Bf16.narrow(1.0).into(),
        _ => return Err(r.unsupported_type(dst_ty)),
    };
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
    other(Set {
        test,
        high,
        o,
        then,
        yes,
    })
}

#[derive(Debug)]
struct Set {
    test: Test,
    /// The comparison of the high halves, of pairs.
    high: Option<Test>,
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
        let high = match self.high {
            Some(test) => {
                // SAFETY: the pointer comes from `test!`, which chooses code that this host can
                // run.
                let high = unsafe { test(registers, &self.o) };
                self.then.combined(registers, high)
            }
            None => 0,
        };
        let row = registers.r32_mut(self.o.d);
        for lane in lanes(at.active) {
            let yes = |each: u32| if each >> lane & 1 == 1 { self.yes } else { 0 };
            row[lane] = yes(bits) | yes(high) << 16;
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
        F16 | F16x2 if ftz => floating!(how, LowF16, |x: LowF16| flush_f16(x.value())),
        F16 | F16x2 => floating!(how, LowF16, LowF16::value),
        Bf16 | Bf16x2 => floating!(how, LowBf16, LowBf16::value),
        _ => return None,
    })
}

/// The comparison of the high halves of pairs; `None` for other types.
fn high_test(ty: ScalarType, how: Compare, ftz: bool) -> Option<Test> {
    Some(match ty {
        ScalarType::F16x2 if ftz => floating!(how, HighF16, |x: HighF16| flush_f16(x.value())),
        ScalarType::F16x2 => floating!(how, HighF16, HighF16::value),
        ScalarType::Bf16x2 => floating!(how, HighBf16, HighBf16::value),
        _ => return None,
    })
}
