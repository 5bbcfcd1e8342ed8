//! Video instructions (PTX ISA, "Video Instructions"): arithmetic on the bytes and halves of
//! registers, alone (`vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr`, `vset`, `vmad`)
//! and on all of them at once (`vadd2`, `vadd4` and their like).
//!
//! Devices from sm_50 on have few of them; the assembler makes sequences of the others.

use ptx::{Operand, OperandKind, ScalarType};

use crate::fault::Stop;
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::warp::Warp;

/// The operation on a pair of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Add,
    Sub,
    AbsDiff,
    Min,
    Max,
    Average,
    Shl,
    Shr,
    Set(Compare),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

const COMPARISONS: [(&str, Compare); 6] = [
    ("eq", Compare::Eq),
    ("ne", Compare::Ne),
    ("lt", Compare::Lt),
    ("le", Compare::Le),
    ("gt", Compare::Gt),
    ("ge", Compare::Ge),
];

/// The use of the result and the last operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    Add,
    Min,
    Max,
    /// The result replaces a part of it.
    Merge,
}

impl Kind {
    /// The result for values and, of shifts, the amount as it counts.
    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            Kind::Add => a + b,
            Kind::Sub => a - b,
            Kind::AbsDiff => (a - b).abs(),
            Kind::Min => a.min(b),
            Kind::Max => a.max(b),
            Kind::Average => (a + b + i64::from(a + b >= 0)) >> 1,
            Kind::Shl => a << b,
            Kind::Shr => a >> b,
            Kind::Set(compare) => i64::from(match compare {
                Compare::Eq => a == b,
                Compare::Ne => a != b,
                Compare::Lt => a < b,
                Compare::Le => a <= b,
                Compare::Gt => a > b,
                Compare::Ge => a >= b,
            }),
        }
    }
}

/// All opcodes of this file.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    let (name, parts) = match r.opcode.strip_suffix(['2', '4']) {
        Some(name) if r.opcode.ends_with('2') => (name, 2),
        Some(name) => (name, 4),
        None => (r.opcode, 1),
    };
    if name == "vmad" {
        return multiply_add(r);
    }
    let kind = match name {
        "vadd" => Kind::Add,
        "vsub" => Kind::Sub,
        "vabsdiff" => Kind::AbsDiff,
        "vmin" => Kind::Min,
        "vmax" => Kind::Max,
        "vavrg" => Kind::Average,
        "vshl" => Kind::Shl,
        "vshr" => Kind::Shr,
        _ => Kind::Set(Compare::Eq),
    };
    match parts {
        1 => one(r, kind),
        _ => parallel(r, kind, parts),
    }
}

/// `.u32` or `.s32`, as whether it is signed.
fn sign(r: &mut Reader) -> Read<bool> {
    r.need("type", &[("u32", false), ("s32", true)])
}

/// The part of a register that an operand names: its first bit, and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    shift: u32,
    bits: u32,
}

impl Part {
    const WHOLE: Part = Part { shift: 0, bits: 32 };

    fn named(name: &str) -> Option<Part> {
        let (bits, index) = match name.split_at_checked(1)? {
            ("b", index) => (8, index),
            ("h", index) => (16, index),
            _ => return None,
        };
        let index: u32 = index.parse().ok()?;
        (index < 32 / bits).then_some(Part {
            shift: index * bits,
            bits,
        })
    }

    fn of(self, value: u32, is_signed: bool) -> i64 {
        extend(value >> self.shift, self.bits, is_signed)
    }
}

/// The low bits of a value, as a number.
fn extend(value: u32, bits: u32, is_signed: bool) -> i64 {
    let shift = 32 - bits;
    if is_signed {
        i64::from((value << shift) as i32 >> shift)
    } else {
        i64::from(value << shift >> shift)
    }
}

/// A number cut off at the limits of a type of this many bits.
fn saturate(value: i64, bits: u32, is_signed: bool) -> i64 {
    if is_signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

/// The next operand as a value, a register with a part perhaps.
fn source(r: &mut Reader) -> Read<(Slot, Part)> {
    let operand = r.operand()?;
    let (operand, part) = split(operand);
    Ok((r.value(&operand, ScalarType::B32, Width::Exact)?, part))
}

/// An operand without its part.
fn split<'a>(operand: &Operand<'a>) -> (Operand<'a>, Part) {
    let mut whole = operand.clone();
    if let OperandKind::Name(name, Some(part)) = operand.kind
        && let Some(part) = Part::named(part)
    {
        whole.kind = OperandKind::Name(name, None);
        return (whole, part);
    }
    (whole, Part::WHOLE)
}

/// Whether the result and the two operands are signed, and the kind with its comparison.
fn types(r: &mut Reader, kind: Kind) -> Read<([bool; 3], Kind)> {
    let is_set = matches!(kind, Kind::Set(_));
    // `vset` gives 0 or 1 whatever the type.
    let d_signed = if is_set { false } else { sign(r)? };
    let signed = [d_signed, sign(r)?, sign(r)?];
    let kind = match kind {
        Kind::Set(_) => Kind::Set(r.need("comparison", &COMPARISONS)?),
        _ => kind,
    };
    Ok((signed, kind))
}

/// The forms on one value of each register.
fn one(r: &mut Reader, kind: Kind) -> Read<Op> {
    let is_set = matches!(kind, Kind::Set(_));
    let ([d_signed, a_signed, b_signed], kind) = types(r, kind)?;
    let sat = !is_set && r.has("sat");
    let wraps = match kind {
        Kind::Shl | Kind::Shr => {
            r.need("`.clamp` or `.wrap`", &[("clamp", false), ("wrap", true)])?
        }
        _ => false,
    };
    let second = r.choice(&[
        ("add", Second::Add),
        ("min", Second::Min),
        ("max", Second::Max),
    ]);
    let count = r.operands_between(3, 4)?;
    let operand = r.operand()?;
    let (operand, d_part) = split(operand);
    let merges = d_part != Part::WHOLE;
    if (second.is_some() || merges) != (count == 4) || second.is_some() && merges {
        return Err(r.unexpected(&operand, "a register, and a last operand if it is combined"));
    }
    let dst = r.register(&operand, ScalarType::B32, Width::Exact)?;
    let (a, b) = (source(r)?, source(r)?);
    let c = match count {
        4 => Some(r.src(ScalarType::B32)?),
        _ => None,
    };
    other(One {
        kind,
        d: (dst, d_part, d_signed),
        a: (a.0, a.1, a_signed),
        b: (b.0, b.1, b_signed),
        c,
        second: if merges { Some(Second::Merge) } else { second },
        sat,
        wraps,
    })
}

/// A register, the part of it, and whether that is signed.
type Typed = (Slot, Part, bool);

#[derive(Debug)]
struct One {
    kind: Kind,
    d: Typed,
    a: Typed,
    b: Typed,
    c: Option<Slot>,
    second: Option<Second>,
    sat: bool,
    /// Shift amounts are taken modulo 32.
    wraps: bool,
}

impl One {
    fn result(&self, a: u32, b: u32, c: u32) -> u32 {
        let (a, mut b) = (self.a.1.of(a, self.a.2), self.b.1.of(b, self.b.2));
        if matches!(self.kind, Kind::Shl | Kind::Shr) {
            let amount = b as u32;
            b = i64::from(if self.wraps {
                amount & 31
            } else {
                amount.min(32)
            });
        }
        let (_, part, is_signed) = self.d;
        let mut value = self.kind.apply(a, b);
        if self.sat {
            value = saturate(value, part.bits, is_signed);
        }
        let of_c = extend(c, 32, is_signed);
        let whole = extend(value as u32, 32, is_signed);
        (match self.second {
            None => value,
            Some(Second::Add) => value.wrapping_add(of_c),
            Some(Second::Min) => whole.min(of_c),
            Some(Second::Max) => whole.max(of_c),
            Some(Second::Merge) => {
                let mask = (u32::MAX >> (32 - part.bits)) << part.shift;
                return c & !mask | (value as u32) << part.shift & mask;
            }
        }) as u32
    }
}

impl Execute for One {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let value = |slot: Slot| warp.registers.lane(slot, lane) as u32;
            let c = self.c.map_or(0, value);
            let result = self.result(value(self.a.0), value(self.b.0), c);
            warp.registers.set_lane(self.d.0, lane, result.into());
        }
        Ok(Next::Step)
    }
}

/// The forms on all halves or bytes.
fn parallel(r: &mut Reader, kind: Kind, parts: usize) -> Read<Op> {
    if matches!(kind, Kind::Shl | Kind::Shr) {
        return Err(r.unsupported("this form"));
    }
    let ([d_signed, a_signed, b_signed], kind) = types(r, kind)?;
    let sat = r.has("sat");
    let adds = r.has("add");
    r.operands(4)?;
    let operand = r.operand()?;
    let (operand, mask) = mask(r, operand, parts)?;
    let dst = r.register(&operand, ScalarType::B32, Width::Exact)?;
    let (a, from_a) = selected(r, parts, 0)?;
    let (b, from_b) = selected(r, parts, parts)?;
    let c = r.src(ScalarType::B32)?;
    other(Parallel {
        kind,
        parts,
        dst,
        mask,
        sources: [a, b],
        choices: [(from_a, a_signed), (from_b, b_signed)],
        c,
        d_signed,
        sat,
        adds,
    })
}

/// The destination without its mask of parts (`.xyzw`, or `.h10`), and the mask, a bit for each.
fn mask<'a>(
    r: &Reader<'_, '_, 'a>,
    operand: &Operand<'a>,
    parts: usize,
) -> Read<(Operand<'a>, u32)> {
    let mut whole = operand.clone();
    let OperandKind::Name(name, Some(mask)) = operand.kind else {
        return Ok((whole, (1 << parts) - 1));
    };
    whole.kind = OperandKind::Name(name, None);
    let (names, letters) = match parts {
        2 => ("01", mask.strip_prefix('h')),
        _ => ("0123", mask.strip_prefix('b')),
    };
    let bits = letters.and_then(|letters| {
        letters
            .chars()
            .try_fold(0, |bits, letter| Some(bits | 1 << names.find(letter)?))
    });
    match bits {
        Some(bits) if bits != 0 => Ok((whole, bits)),
        _ => Err(r.unexpected(operand, "a register, with a mask of its parts perhaps")),
    }
}

/// The next operand, and which of the parts of both operands (those of the second behind those of
/// the first) are its parts: as a suffix `.h32` or `.b7654` says, the lowest part last, else its
/// own.
fn selected(r: &mut Reader, parts: usize, first: usize) -> Read<(Slot, [usize; 4])> {
    let operand = r.operand()?;
    let mut whole = operand.clone();
    let mut choice = [0, 1, 2, 3].map(|part| first + part);
    if let OperandKind::Name(name, Some(suffix)) = operand.kind {
        whole.kind = OperandKind::Name(name, None);
        let digits = suffix.strip_prefix(if parts == 2 { 'h' } else { 'b' });
        let mut digits = digits
            .filter(|digits| digits.len() == parts)
            .unwrap_or_default()
            .chars()
            .rev();
        for part in choice.iter_mut().take(parts) {
            let digit = digits.next().and_then(|digit| digit.to_digit(10));
            *part = match digit {
                Some(digit) if (digit as usize) < 2 * parts => digit as usize,
                _ => {
                    return Err(r.unexpected(operand, "a register, with a choice of parts perhaps"));
                }
            };
        }
    }
    Ok((r.value(&whole, ScalarType::B32, Width::Exact)?, choice))
}

#[derive(Debug)]
struct Parallel {
    kind: Kind,
    /// 2 or 4.
    parts: usize,
    dst: Slot,
    /// The parts that are computed; the others are those of `c`.
    mask: u32,
    sources: [Slot; 2],
    /// Of each operand, where its parts are, and whether they are signed.
    choices: [([usize; 4], bool); 2],
    c: Slot,
    d_signed: bool,
    sat: bool,
    /// The sum of all parts is added to `c`.
    adds: bool,
}

impl Execute for Parallel {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let bits = 32 / self.parts as u32;
        let ones = u32::MAX >> (32 - bits);
        for lane in lanes(at.active) {
            let value = |slot: Slot| warp.registers.lane(slot, lane) as u32;
            let sources = self.sources.map(value);
            let mut result = value(self.c);
            for part in (0..self.parts).filter(|part| self.mask >> part & 1 == 1) {
                let [a, b] = self.choices.map(|(choice, is_signed)| {
                    let chosen = choice[part];
                    let shift = bits * (chosen % self.parts) as u32;
                    extend(sources[chosen / self.parts] >> shift, bits, is_signed)
                });
                let mut made = self.kind.apply(a, b);
                if self.sat {
                    made = saturate(made, bits, self.d_signed);
                }
                if self.adds {
                    result = result.wrapping_add(made as u32);
                } else {
                    let shift = bits * part as u32;
                    result = result & !(ones << shift) | (made as u32 & ones) << shift;
                }
            }
            warp.registers.set_lane(self.dst, lane, result.into());
        }
        Ok(Next::Step)
    }
}

/// `vmad`: `(a * b + c) >> scale`, one more with `.po`.
fn multiply_add(r: &mut Reader) -> Read<Op> {
    sign(r)?;
    let (a_signed, b_signed) = (sign(r)?, sign(r)?);
    let plus_one = r.has("po");
    let sat = r.has("sat");
    let scale = r.choice(&[("shr7", 7), ("shr15", 15)]).unwrap_or(0);
    r.operands(4)?;
    let dst = r.dst(ScalarType::B32)?;
    let (a, b) = (source(r)?, source(r)?);
    let c = r.src(ScalarType::B32)?;
    other(MultiplyAdd {
        dst,
        a: (a.0, a.1, a_signed),
        b: (b.0, b.1, b_signed),
        c,
        plus_one,
        sat,
        scale,
    })
}

#[derive(Debug)]
struct MultiplyAdd {
    dst: Slot,
    a: Typed,
    b: Typed,
    c: Slot,
    plus_one: bool,
    sat: bool,
    scale: u32,
}

impl Execute for MultiplyAdd {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let is_signed = self.a.2 || self.b.2;
        for lane in lanes(at.active) {
            let value = |slot: Slot| warp.registers.lane(slot, lane) as u32;
            let [a, b] = [self.a, self.b].map(|(slot, part, sign)| part.of(value(slot), sign));
            let c = extend(value(self.c), 32, is_signed);
            let product = i128::from(a) * i128::from(b);
            let sum = product + i128::from(c) + i128::from(self.plus_one);
            let mut result = (sum >> self.scale) as i64;
            if self.sat {
                result = saturate(result, 32, is_signed);
            }
            warp.registers
                .set_lane(self.dst, lane, result as u64 & 0xffff_ffff);
        }
        Ok(Next::Step)
    }
}
