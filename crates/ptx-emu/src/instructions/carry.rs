//! Arithmetic with a carry flag: `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc`.
//!
//! The flag is a predicate slot that every frame has. A difference is computed as `a + !b + 1`, and
//! the flag is the carry of that sum: set where nothing is borrowed. The ISA leaves it open; this
//! is what `ptxas` makes of it, so that `addc` may follow `sub.cc`.

use ptx::RegClass;

use super::integer::{HALVES, Half, MulHigh};
use crate::read::{IntType, Read, Reader};
use crate::registers::{Apply, CARRY, LANES, Operands, Registers, Slot, Value};
use crate::runner::Op;

/// `aux` bit: the flag is read.
const IN: u32 = 1;
/// `aux` bit: the flag is written.
const OUT: u32 = 2;
/// `aux` bit of `mad`: the high half of the product.
const HIGH: u32 = 4;
/// `aux` bit of `mad`: the factors are signed.
const SIGNED: u32 = 8;

/// `addc`, `subc`, `madc`, which read the flag.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    let writes = r.has("cc");
    let ty = r.int_type()?;
    arithmetic(r, ty, IN | if writes { OUT } else { 0 })
}

/// `add.cc`, `sub.cc`, `mad.cc`, which only write the flag.
pub(super) fn writing(r: &mut Reader, ty: IntType) -> Read<Op> {
    arithmetic(r, ty, OUT)
}

fn arithmetic(r: &mut Reader, ty: IntType, aux: u32) -> Read<Op> {
    let s = ty.scalar();
    let is_wide = match ty.bits() {
        16 => return Err(r.unsupported_type(s)),
        bits => bits == 64,
    };
    let choose = |narrow: Apply, wide: Apply| if is_wide { wide } else { narrow };
    let op = match r.opcode {
        "add" | "addc" => r.lanes((choose(add::<u32>, add::<u64>), aux), s, [s; 2]),
        "sub" | "subc" => r.lanes((choose(sub::<u32>, sub::<u64>), aux), s, [s; 2]),
        _ => {
            let half = r.need("`.lo` or `.hi`", &HALVES[..2])?;
            let high = if half == Half::Hi { HIGH } else { 0 };
            let aux = aux | high | if ty.is_signed() { SIGNED } else { 0 };
            r.lanes((choose(mad::<u32>, mad::<u64>), aux), s, [s; 3])
        }
    }?;
    let flag = Slot {
        class: RegClass::Pred,
        row: CARRY,
    };
    if aux & IN != 0 {
        r.facts.flags.push(flag);
    }
    if aux & OUT != 0 {
        r.facts.writes.push(Some(flag));
    }
    Ok(op)
}

/// An unsigned integer as wide as a register.
trait Word: Value<Raw = Self> {
    /// The sum and its carry.
    fn add(self, other: Self, carry: bool) -> (Self, bool);
    /// The difference as `self + !other + carry`, and the carry of that.
    fn sub(self, other: Self, carry: bool) -> (Self, bool);
    /// The half of the product that `aux` names.
    fn half_product(self, other: Self, aux: u32) -> Self;
}

macro_rules! word {
    ($type:ty, $signed:ty) => {
        impl Word for $type {
            fn add(self, other: Self, carry: bool) -> (Self, bool) {
                let (partial, x) = self.overflowing_add(other);
                let (value, y) = partial.overflowing_add(carry.into());
                (value, x || y)
            }

            fn sub(self, other: Self, carry: bool) -> (Self, bool) {
                Word::add(self, !other, carry)
            }

            fn half_product(self, other: Self, aux: u32) -> Self {
                match (aux & HIGH != 0, aux & SIGNED != 0) {
                    (false, _) => self.wrapping_mul(other),
                    (true, false) => self.mul_high(other),
                    (true, true) => (self as $signed).mul_high(other as $signed) as $type,
                }
            }
        }
    };
}
word!(u32, i32);
word!(u64, i64);

/// Applies `step(lane, flag)`, which gives a value and the new flag, to the lanes of a mask.
fn with_flag<T: Word>(
    registers: &mut Registers,
    o: &Operands,
    mask: u32,
    step: impl Fn(usize, bool) -> (T, bool),
) {
    let flags = if o.aux & IN != 0 {
        registers.pred(CARRY)
    } else {
        0
    };
    let row = T::row_mut(registers, o.d);
    let mut out = 0;
    for lane in (0..LANES).filter(|lane| mask >> lane & 1 == 1) {
        let (value, flag) = step(lane, flags >> lane & 1 == 1);
        row[lane] = value;
        out |= u32::from(flag) << lane;
    }
    if o.aux & OUT != 0 {
        registers.set_pred(CARRY, mask, out);
    }
}

fn add<T: Word>(registers: &mut Registers, o: &Operands, mask: u32) {
    let (a, b) = (*T::row(registers, o.a), *T::row(registers, o.b));
    with_flag(registers, o, mask, |lane, carry| {
        Word::add(a[lane], b[lane], carry)
    });
}

fn sub<T: Word>(registers: &mut Registers, o: &Operands, mask: u32) {
    let (a, b) = (*T::row(registers, o.a), *T::row(registers, o.b));
    // `sub.cc` reads no flag: nothing is borrowed.
    let first = o.aux & IN == 0;
    with_flag(registers, o, mask, |lane, carry| {
        Word::sub(a[lane], b[lane], first || carry)
    });
}

fn mad<T: Word>(registers: &mut Registers, o: &Operands, mask: u32) {
    let (a, b) = (*T::row(registers, o.a), *T::row(registers, o.b));
    let c = *T::row(registers, o.c);
    let aux = o.aux;
    with_flag(registers, o, mask, |lane, carry| {
        a[lane].half_product(b[lane], aux).add(c[lane], carry)
    });
}
