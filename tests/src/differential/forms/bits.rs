//! Logic, shifts and bit fields, evaluated bit by bit as the PTX ISA's pseudo-code does.

use crate::differential::{Class, Form, Operand};

use super::letter;

fn bit(x: u64, i: u32) -> u64 {
    x >> i & 1
}

/// A value of `bits` bits, each a function of its position.
fn each(bits: u32, f: impl Fn(u32) -> u64) -> u64 {
    (0..bits).map(|i| f(i) << i).sum()
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = predicates();
    for bits in [16, 32, 64] {
        all.extend(logic(bits));
        all.extend(shifts(bits));
    }
    for bits in [32, 64] {
        all.extend(fields(bits));
        all.extend(counts(bits));
    }
    all.extend(words());
    all.extend(permutations());
    all.push(find_nth());
    all.extend(lookup_tables());
    all
}

fn predicates() -> Vec<Form> {
    let two = |name: &str, f: fn(u64, u64) -> u64| {
        Form::simple(name, [Operand::Pred, Operand::Pred], move |[a, b]| f(a, b))
    };
    vec![
        two("and.pred", |a, b| a & b),
        two("or.pred", |a, b| a | b),
        two("xor.pred", |a, b| a ^ b),
        Form::simple("not.pred", [Operand::Pred], |[a]| !a),
        Form::simple("mov.pred", [Operand::Pred], |[a]| a),
    ]
}

fn logic(bits: u32) -> Vec<Form> {
    let int = || Operand::Int(bits);
    let two = |op: &str, f: fn(u64, u64) -> u64| {
        Form::simple(format!("{op}.b{bits}"), [int(), int()], move |[a, b]| {
            f(a, b)
        })
    };
    vec![
        two("and", |a, b| a & b),
        two("or", |a, b| a | b),
        two("xor", |a, b| a ^ b),
        Form::simple(format!("not.b{bits}"), [int()], |[a]| !a),
        Form::simple(format!("cnot.b{bits}"), [int()], |[a]| u64::from(a == 0)),
    ]
}

fn shifts(bits: u32) -> Vec<Form> {
    let shift = |op: &str, f: fn(u64, u32, u32, u32) -> u64| {
        let sources = [Operand::Int(bits), Operand::Amount];
        Form::simple(format!("{op}{bits}"), sources, move |[a, n]| {
            each(bits, |i| f(a, n as u32, i, bits))
        })
    };
    // Bits above the register are 0, so that a 64-bit value serves all widths.
    let right = |a: u64, n: u32, i: u32, _| match n.checked_add(i) {
        Some(at) if at < 64 => bit(a, at),
        _ => 0,
    };
    vec![
        shift("shl.b", |a, n, i, _| if n <= i { bit(a, i - n) } else { 0 }),
        shift("shr.u", right),
        shift("shr.b", right),
        shift("shr.s", |a, n, i, width| {
            bit(a, n.saturating_add(i).min(width - 1))
        }),
    ]
}

/// `bfe`, `bfi`.
fn fields(bits: u32) -> Vec<Form> {
    let int = || Operand::Int(bits);
    // The ISA restricts both to 0..255. An H100 uses the low byte in 32-bit forms, and numbers
    // beyond 255 unchanged in 64-bit forms.
    let place = move |x: u64| match bits {
        64 => x.min(256) as u32,
        _ => (x & 0xff) as u32,
    };
    let extract = |signed: bool| {
        let name = format!("bfe.{}{bits}", letter(signed));
        let sources = [int(), Operand::Position, Operand::Position];
        Form::simple(name, sources, move |[a, pos, len]| {
            let (pos, len) = (place(pos), place(len));
            let sign = if signed && len > 0 {
                bit(a, (pos + len - 1).min(bits - 1))
            } else {
                0
            };
            each(bits, |i| {
                if i < len && pos + i < bits {
                    bit(a, pos + i)
                } else {
                    sign
                }
            })
        })
    };
    let sources = [int(), int(), Operand::Position, Operand::Position];
    let insert = Form::simple(format!("bfi.b{bits}"), sources, move |[a, b, pos, len]| {
        let (pos, len) = (place(pos), place(len));
        each(bits, |i| {
            if i >= pos && i < pos + len {
                bit(a, i - pos)
            } else {
                bit(b, i)
            }
        })
    });
    vec![extract(false), extract(true), insert]
}

/// `bfind`, `brev`, `popc`, `clz`.
fn counts(bits: u32) -> Vec<Form> {
    let int = || [Operand::Int(bits)];
    let mut all = Vec::new();
    for signed in [false, true] {
        let highest = move |a: u64| {
            let sign = if signed { bit(a, bits - 1) } else { 0 };
            (0..bits).rev().find(|&i| bit(a, i) != sign)
        };
        let ty = format!("{}{bits}", letter(signed));
        all.push(Form::simple(format!("bfind.{ty}"), int(), move |[a]| {
            highest(a).map_or(u64::MAX, u64::from)
        }));
        all.push(Form::simple(
            format!("bfind.shiftamt.{ty}"),
            int(),
            move |[a]| highest(a).map_or(u64::MAX, |at| u64::from(bits - 1 - at)),
        ));
    }
    all.push(Form::simple(format!("popc.b{bits}"), int(), move |[a]| {
        (0..bits).map(|i| bit(a, i)).sum()
    }));
    all.push(Form::simple(format!("clz.b{bits}"), int(), move |[a]| {
        (0..bits).rev().take_while(|&i| bit(a, i) == 0).count() as u64
    }));
    let mut all: Vec<Form> = all.into_iter().map(|form| form.to(Class::B32)).collect();
    all.push(Form::simple(format!("brev.b{bits}"), int(), move |[a]| {
        each(bits, |i| bit(a, bits - 1 - i))
    }));
    all
}

/// Instructions that exist only for 32 bits, with amounts that wrap or are clamped: `shf`, `bmsk`,
/// `szext`.
fn words() -> Vec<Form> {
    let int = || Operand::I32;
    let mut all = Vec::new();
    for mode in ["wrap", "clamp"] {
        let amount = move |n: u64| match mode {
            "wrap" => (n & 31) as u32,
            _ => n.min(32) as u32,
        };
        let shift = |direction: &str, f: fn(u64, u32) -> u64| {
            let name = format!("shf.{direction}.{mode}.b32");
            let sources = [int(), int(), Operand::Amount];
            Form::simple(name, sources, move |[a, b, n]| f(b << 32 | a, amount(n)))
        };
        all.push(shift("l", |ba, n| ba << n >> 32));
        all.push(shift("r", |ba, n| ba >> n));
        let sources = [Operand::Amount, Operand::Amount];
        all.push(Form::simple(
            format!("bmsk.{mode}.b32"),
            sources,
            move |[a, b]| {
                let (first, end) = (amount(a), amount(a) + amount(b));
                each(32, |i| u64::from(i >= first && i < end))
            },
        ));
        for signed in [false, true] {
            let name = format!("szext.{mode}.{}32", letter(signed));
            all.push(Form::simple(
                name,
                [int(), Operand::Amount],
                move |[a, n]| {
                    let n = amount(n);
                    let sign = if signed && n > 0 { bit(a, n - 1) } else { 0 };
                    each(32, |i| if i < n { bit(a, i) } else { sign })
                },
            ));
        }
    }
    all
}

fn byte(a: u64, b: u64, i: u64) -> u64 {
    (b << 32 | a) >> (8 * i) & 0xff
}

fn permutations() -> Vec<Form> {
    let three = || [Operand::I32, Operand::I32, Operand::I32];
    let mut all = vec![Form::simple("prmt.b32", three(), |[a, b, s]| {
        let one = |k: u64| {
            let nibble = s >> (4 * k) & 15;
            let byte = byte(a, b, nibble & 7);
            let byte = match (nibble & 8, byte >> 7) {
                (0, _) => byte,
                (_, sign) => 0xff * sign,
            };
            byte << (8 * k)
        };
        (0..4).map(one).sum()
    })];
    // The PTX ISA's table: for each selector the bytes, the highest first.
    let tables = [
        ("f4e", ["3210", "4321", "5432", "6543"]),
        ("b4e", ["5670", "6701", "7012", "0123"]),
        ("rc8", ["0000", "1111", "2222", "3333"]),
        ("ecl", ["3210", "3211", "3222", "3333"]),
        ("ecr", ["0000", "1110", "2210", "3210"]),
        ("rc16", ["1010", "3232", "1010", "3232"]),
    ];
    for (mode, table) in tables {
        all.push(Form::simple(
            format!("prmt.b32.{mode}"),
            three(),
            move |[a, b, s]| {
                let bytes = table[(s & 3) as usize].bytes();
                bytes.fold(0, |word, digit| {
                    word << 8 | byte(a, b, u64::from(digit - b'0'))
                })
            },
        ));
    }
    all
}

/// `fns`: the bit of a mask that is the `|offset|`-th from `base`, upwards or downwards.
fn find_nth() -> Form {
    let bases = Operand::Of(Class::B32, (0..32).collect());
    let offsets = (-34i64..=34).map(|n| n as u64 & 0xffff_ffff).collect();
    let sources = [Operand::I32, bases, Operand::Of(Class::B32, offsets)];
    Form::simple("fns.b32", sources, |[mask, base, offset]| {
        let base = base as i64;
        let offset = offset as u32 as i32;
        let path: Vec<i64> = match offset {
            0 => vec![base],
            1.. => (base..32).collect(),
            _ => (0..=base).rev().collect(),
        };
        let mut set = path.into_iter().filter(|&i| bit(mask, i as u32) == 1);
        let nth = offset.unsigned_abs().max(1) as usize - 1;
        set.nth(nth).map_or(u64::MAX, |i| i as u64)
    })
}

fn table_of(lut: u64, a: u64, b: u64, c: u64) -> u64 {
    each(32, |i| {
        bit(lut, (bit(a, i) << 2 | bit(b, i) << 1 | bit(c, i)) as u32)
    })
}

/// `lop3` with every table, four to a kernel, and with a predicate.
fn lookup_tables() -> Vec<Form> {
    let word = || {
        let words = [
            0xf0f0_f0f0,
            0xcccc_cccc,
            0xaaaa_aaaa,
            0,
            0xffff_ffff,
            0x1234_5678,
        ];
        Operand::Of(Class::B32, words.to_vec())
    };
    let mut all = Vec::new();
    for first in (0..256).step_by(4) {
        let results = ["%x", "%y", "%z", "%w"].into_iter().zip(first..);
        let body: String = results
            .map(|(result, lut)| format!("lop3.b32 {result}, %a, %b, %c, {lut};"))
            .collect();
        let name = format!("lop3.b32 {first:#04x}..={:#04x}", first + 3);
        let sources = [word(), word(), word()];
        all.push(Form::new(
            name,
            sources,
            [Class::B32; 4],
            body,
            move |[a, b, c]| [0, 1, 2, 3].map(|i| table_of(first + i, a, b, c)),
        ));
    }
    let with_predicate = |op: &str, f: fn(u64, u64) -> u64| {
        let body = format!(
            "lop3.{op}.b32 %x|%y, %a, %b, %c, 0xE8, %e; lop3.{op}.b32 _|%z, %a, %b, %c, 0x80, !%e;"
        );
        let sources = [word(), word(), word(), Operand::Pred];
        let results = [Class::B32, Class::Pred, Class::Pred];
        Form::new(
            format!("lop3.{op}.b32"),
            sources,
            results,
            body,
            move |[a, b, c, q]| {
                let (d, e) = (table_of(0xe8, a, b, c), table_of(0x80, a, b, c));
                [d, f(u64::from(d != 0), q), f(u64::from(e != 0), 1 - q)]
            },
        )
    };
    all.push(with_predicate("or", |p, q| p | q));
    all.push(with_predicate("and", |p, q| p & q));
    all
}
