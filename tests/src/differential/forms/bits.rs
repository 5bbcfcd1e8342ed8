//! Logic, shifts and bit fields, evaluated bit by bit as the PTX ISA's pseudo-code does.

use crate::differential::{Class, Form, Operand};

fn class(bits: u32) -> Class {
    match bits {
        16 => Class::B16,
        32 => Class::B32,
        _ => Class::B64,
    }
}

fn bit(x: u64, i: u32) -> u64 {
    x >> i & 1
}

/// A value of `bits` bits, each a function of its position.
fn each(bits: u32, f: impl Fn(u32) -> u64) -> u64 {
    (0..bits).map(|i| f(i) << i).sum()
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for bits in [16, 32, 64] {
        let int = || Operand::Int(bits);
        let two = |name: &str, f: fn(u64, u64) -> u64| {
            let name = format!("{name}.b{bits}");
            Form::simple("bits", name, [int(), int()], class(bits), move |[a, b]| {
                f(a, b)
            })
        };
        all.push(two("and", |a, b| a & b));
        all.push(two("or", |a, b| a | b));
        all.push(two("xor", |a, b| a ^ b));
        let one = |name: &str, f: fn(u64) -> u64| {
            Form::simple(
                "bits",
                format!("{name}.b{bits}"),
                [int()],
                class(bits),
                move |[a]| f(a),
            )
        };
        all.push(one("not", |a| !a));
        all.push(one("cnot", |a| u64::from(a == 0)));
        let shift = |name: &str, f: fn(u64, u32, u32) -> u64| {
            let name = format!("{name}{bits}");
            Form::simple(
                "bits",
                name,
                [int(), Operand::Amount],
                class(bits),
                move |[a, n]| each(bits, |i| f(a, n as u32, i)),
            )
        };
        all.push(shift(
            "shl.b",
            |a, n, i| if n <= i { bit(a, i - n) } else { 0 },
        ));
        // Bits above the register are 0, so that a 64-bit value serves all widths.
        let right = |a: u64, n: u32, i: u32| match n.checked_add(i) {
            Some(at) if at < 64 => bit(a, at),
            _ => 0,
        };
        all.push(shift("shr.u", right));
        all.push(shift("shr.b", right));
        let name = format!("shr.s{bits}");
        all.push(Form::simple(
            "bits",
            name,
            [int(), Operand::Amount],
            class(bits),
            move |[a, n]| {
                each(bits, |i| {
                    bit(a, n.saturating_add(i.into()).min((bits - 1).into()) as u32)
                })
            },
        ));
    }
    all.extend(predicates());
    for bits in [32, 64] {
        all.extend(fields(bits));
        all.extend(counts(bits));
    }
    all.extend(words());
    all.extend(lookup_tables());
    all
}

fn predicates() -> Vec<Form> {
    let two = |name: &str, f: fn(u64, u64) -> u64| {
        let sources = [Operand::Pred, Operand::Pred];
        Form::simple("bits", name, sources, Class::Pred, move |[a, b]| f(a, b))
    };
    vec![
        two("and.pred", |a, b| a & b),
        two("or.pred", |a, b| a | b),
        two("xor.pred", |a, b| a ^ b),
        Form::simple("bits", "not.pred", [Operand::Pred], Class::Pred, |[a]| !a),
        Form::simple("bits", "mov.pred", [Operand::Pred], Class::Pred, |[a]| a),
    ]
}

/// `bfe`, `bfi`.
fn fields(bits: u32) -> Vec<Form> {
    let int = || Operand::Int(bits);
    // The ISA restricts both to 0..255. An H100 goes by the low byte in 32 bits, and beyond 255 takes them as they are
    // in 64.
    let place = move |x: u64| match bits {
        64 => x.min(256) as u32,
        _ => (x & 0xff) as u32,
    };
    let extract = |signed: bool| {
        let name = format!("bfe.{}{bits}", if signed { 's' } else { 'u' });
        let sources = [int(), Operand::Position, Operand::Position];
        Form::simple("bits", name, sources, class(bits), move |[a, pos, len]| {
            let (pos, len) = (place(pos), place(len));
            let sign = match signed && len > 0 {
                true => bit(a, (pos + len - 1).min(bits - 1)),
                false => 0,
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
    let insert = Form::simple(
        "bits",
        format!("bfi.b{bits}"),
        sources,
        class(bits),
        move |[a, b, pos, len]| {
            let (pos, len) = (place(pos), place(len));
            each(bits, |i| {
                if i >= pos && i < pos + len {
                    bit(a, i - pos)
                } else {
                    bit(b, i)
                }
            })
        },
    );
    vec![extract(false), extract(true), insert]
}

/// `bfind`, `brev`, `popc`, `clz`.
fn counts(bits: u32) -> Vec<Form> {
    let int = || [Operand::Int(bits)];
    let word = |name: String, f: Box<dyn Fn(u64) -> u64 + Send + Sync>| {
        Form::simple("bits", name, int(), Class::B32, move |[a]| f(a))
    };
    let mut all = Vec::new();
    for signed in [false, true] {
        let highest = move |a: u64| {
            let sign = if signed { bit(a, bits - 1) } else { 0 };
            (0..bits).rev().find(|&i| bit(a, i) != sign)
        };
        let ty = format!("{}{bits}", if signed { 's' } else { 'u' });
        let position = move |a| highest(a).map_or(u64::MAX, u64::from);
        let shift = move |a| highest(a).map_or(u64::MAX, |at| u64::from(bits - 1 - at));
        all.push(word(format!("bfind.{ty}"), Box::new(position)));
        all.push(word(format!("bfind.shiftamt.{ty}"), Box::new(shift)));
    }
    let ones = move |a| (0..bits).map(|i| bit(a, i)).sum();
    let zeros = move |a| (0..bits).rev().take_while(|&i| bit(a, i) == 0).count() as u64;
    all.push(word(format!("popc.b{bits}"), Box::new(ones)));
    all.push(word(format!("clz.b{bits}"), Box::new(zeros)));
    all.push(Form::simple(
        "bits",
        format!("brev.b{bits}"),
        int(),
        class(bits),
        move |[a]| each(bits, |i| bit(a, bits - 1 - i)),
    ));
    all
}

/// What only 32 bits have: `shf`, `prmt`, `fns`, `bmsk`, `szext`.
fn words() -> Vec<Form> {
    let int = || Operand::I32;
    let mut all = Vec::new();
    for mode in ["wrap", "clamp"] {
        let amount = move |n: u64| match mode {
            "wrap" => (n & 31) as u32,
            _ => n.min(32) as u32,
        };
        let sources = || [int(), int(), Operand::Amount];
        all.push(Form::simple(
            "bits",
            format!("shf.l.{mode}.b32"),
            sources(),
            Class::B32,
            move |[a, b, n]| (b << 32 | a) << amount(n) >> 32,
        ));
        all.push(Form::simple(
            "bits",
            format!("shf.r.{mode}.b32"),
            sources(),
            Class::B32,
            move |[a, b, n]| (b << 32 | a) >> amount(n),
        ));
        let sources = [Operand::Amount, Operand::Amount];
        all.push(Form::simple(
            "bits",
            format!("bmsk.{mode}.b32"),
            sources,
            Class::B32,
            move |[a, b]| {
                let (first, end) = (amount(a), amount(a) + amount(b));
                each(32, |i| u64::from(i >= first && i < end))
            },
        ));
        for signed in [false, true] {
            let name = format!("szext.{mode}.{}32", if signed { 's' } else { 'u' });
            let sources = [int(), Operand::Amount];
            all.push(Form::simple(
                "bits",
                name,
                sources,
                Class::B32,
                move |[a, n]| {
                    let n = amount(n);
                    let sign = if signed && n > 0 { bit(a, n - 1) } else { 0 };
                    each(32, |i| if i < n { bit(a, i) } else { sign })
                },
            ));
        }
    }
    all.extend(permutations());
    all.push(find_nth());
    all
}

fn byte(a: u64, b: u64, i: u64) -> u64 {
    (b << 32 | a) >> (8 * i) & 0xff
}

fn permutations() -> Vec<Form> {
    let int = || Operand::I32;
    let mut all = vec![Form::simple(
        "bits",
        "prmt.b32",
        [int(), int(), int()],
        Class::B32,
        |[a, b, s]| {
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
        },
    )];
    // The PTX ISA's table: for each selector, which bytes, the highest first.
    let tables: [(&str, [[u64; 4]; 4]); 6] = [
        (
            "f4e",
            [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]],
        ),
        (
            "b4e",
            [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]],
        ),
        (
            "rc8",
            [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            "ecl",
            [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]],
        ),
        (
            "ecr",
            [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]],
        ),
        (
            "rc16",
            [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]],
        ),
    ];
    for (mode, table) in tables {
        let name = format!("prmt.b32.{mode}");
        all.push(Form::simple(
            "bits",
            name,
            [int(), int(), int()],
            Class::B32,
            move |[a, b, s]| {
                let bytes = table[(s & 3) as usize];
                bytes.iter().fold(0, |word, &i| word << 8 | byte(a, b, i))
            },
        ));
    }
    all
}

/// `fns`: the bit of a mask that is the `|offset|`-th from `base`, upwards or downwards.
fn find_nth() -> Form {
    let base = Operand::Of(Class::B32, (0..32).collect());
    let offsets = (-34i64..=34).map(|n| n as u64 & 0xffff_ffff).collect();
    let sources = [Operand::I32, base, Operand::Of(Class::B32, offsets)];
    Form::simple(
        "bits",
        "fns.b32",
        sources,
        Class::B32,
        |[mask, base, offset]| {
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
        },
    )
}

fn table_of(lut: u64, a: u64, b: u64, c: u64) -> u64 {
    each(32, |i| {
        bit(lut, (bit(a, i) << 2 | bit(b, i) << 1 | bit(c, i)) as u32)
    })
}

/// `lop3` with every table, four to a kernel, and with a predicate.
fn lookup_tables() -> Vec<Form> {
    let sources = || {
        let words = vec![
            0xf0f0_f0f0,
            0xcccc_cccc,
            0xaaaa_aaaa,
            0,
            0xffff_ffff,
            0x1234_5678,
        ];
        [(); 3].map(|_| Operand::Of(Class::B32, words.clone()))
    };
    let mut all = Vec::new();
    for first in (0..256).step_by(4) {
        let line = |i: u64| {
            let result = ["%x", "%y", "%z", "%w"][i as usize];
            format!("lop3.b32 {result}, %a, %b, %c, {};", first + i)
        };
        let body: String = (0..4).map(line).collect();
        let name = format!("lop3.b32 {first:#04x}..={:#04x}", first + 3);
        all.push(Form::new(
            "bits",
            name,
            sources(),
            [Class::B32; 4],
            body,
            move |[a, b, c]| [0, 1, 2, 3].map(|i| table_of(first + i, a, b, c)),
        ));
    }
    for (op, f) in [
        ("or", (|p, q| p | q) as fn(u64, u64) -> u64),
        ("and", |p, q| p & q),
    ] {
        let [a, b, c] = sources();
        let body = format!(
            "lop3.{op}.b32 %x|%y, %a, %b, %c, 0xE8, %e; lop3.{op}.b32 _|%z, %a, %b, %c, 0x80, !%e;"
        );
        let classes = [Class::B32, Class::Pred, Class::Pred];
        let sources = [a, b, c, Operand::Pred];
        all.push(Form::new(
            "bits",
            format!("lop3.{op}.b32"),
            sources,
            classes,
            body,
            {
                move |[a, b, c, q]| {
                    let (d, e) = (table_of(0xe8, a, b, c), table_of(0x80, a, b, c));
                    [d, f(u64::from(d != 0), q), f(u64::from(e != 0), 1 - q)]
                }
            },
        ));
    }
    all
}
