//! Comparison and selection.

use crate::differential::{Class, Form, Operand};

use super::float::flush;

/// A value as a number: of 64 bits, or a float.
#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

/// The type of a comparison.
#[derive(Clone, Copy, PartialEq)]
struct Type {
    name: &'static str,
    bits: u32,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Signed,
    Unsigned,
    Bits,
    Float,
    Flushed,
}

const TYPES: [Type; 12] = [
    Type {
        name: "b16",
        bits: 16,
        kind: Kind::Bits,
    },
    Type {
        name: "b32",
        bits: 32,
        kind: Kind::Bits,
    },
    Type {
        name: "b64",
        bits: 64,
        kind: Kind::Bits,
    },
    Type {
        name: "u16",
        bits: 16,
        kind: Kind::Unsigned,
    },
    Type {
        name: "u32",
        bits: 32,
        kind: Kind::Unsigned,
    },
    Type {
        name: "u64",
        bits: 64,
        kind: Kind::Unsigned,
    },
    Type {
        name: "s16",
        bits: 16,
        kind: Kind::Signed,
    },
    Type {
        name: "s32",
        bits: 32,
        kind: Kind::Signed,
    },
    Type {
        name: "s64",
        bits: 64,
        kind: Kind::Signed,
    },
    Type {
        name: "f32",
        bits: 32,
        kind: Kind::Float,
    },
    Type {
        name: "f32",
        bits: 32,
        kind: Kind::Flushed,
    },
    Type {
        name: "f64",
        bits: 64,
        kind: Kind::Float,
    },
];

impl Type {
    fn operand(self) -> Operand {
        match (self.kind, self.bits) {
            (Kind::Float | Kind::Flushed, 32) => Operand::F32,
            (Kind::Float, _) => Operand::F64,
            (_, bits) => Operand::Int(bits),
        }
    }

    fn ftz(self) -> &'static str {
        if self.kind == Kind::Flushed {
            ".ftz"
        } else {
            ""
        }
    }

    fn comparisons(self) -> &'static [&'static str] {
        match self.kind {
            Kind::Bits => &["eq", "ne"],
            Kind::Signed => &["eq", "ne", "lt", "le", "gt", "ge"],
            Kind::Unsigned => &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
            Kind::Float | Kind::Flushed => &[
                "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                "num", "nan",
            ],
        }
    }

    fn number(self, x: u64) -> Number {
        match (self.kind, self.bits) {
            (Kind::Flushed, _) => Number::Float(f32::from_bits(flush(x) as u32).into()),
            (Kind::Float, 32) => Number::Float(f32::from_bits(x as u32).into()),
            (Kind::Float, _) => Number::Float(f64::from_bits(x)),
            (Kind::Signed, bits) => {
                let shift = 64 - bits;
                Number::Int(((x << shift) as i64 >> shift).into())
            }
            _ => Number::Int(x.into()),
        }
    }

    fn holds(self, how: &str, a: u64, b: u64) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        let order = match (self.number(a), self.number(b)) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b),
            _ => unreachable!("operands of one type"),
        };
        let unordered = order.is_none();
        let is = |wanted: &[std::cmp::Ordering]| order.is_some_and(|order| wanted.contains(&order));
        match how {
            "num" => !unordered,
            "nan" => unordered,
            "lo" => is(&[Less]),
            "ls" => is(&[Less, Equal]),
            "hi" => is(&[Greater]),
            "hs" => is(&[Greater, Equal]),
            _ => {
                let ordered = match &how[..2] {
                    "eq" => is(&[Equal]),
                    "ne" => is(&[Less, Greater]),
                    "lt" => is(&[Less]),
                    "le" => is(&[Less, Equal]),
                    "gt" => is(&[Greater]),
                    _ => is(&[Greater, Equal]),
                };
                ordered || how.ends_with('u') && unordered
            }
        }
    }
}

fn combined(op: &str, a: bool, b: bool) -> bool {
    match op {
        "and" => a & b,
        "or" => a | b,
        _ => a ^ b,
    }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for ty in TYPES {
        for (i, how) in ty.comparisons().iter().enumerate() {
            let (name, ftz) = (ty.name, ty.ftz());
            let text = format!("setp.{how}{ftz}.{name}");
            let body = format!("{text} %x|%y, %a, %b");
            let sources = [ty.operand(), ty.operand()];
            all.push(Form::new(
                "compare",
                text,
                sources,
                [Class::Pred; 2],
                body,
                move |[a, b]| {
                    let holds = ty.holds(how, a, b);
                    [holds.into(), (!holds).into()]
                },
            ));
            let op = ["and", "or", "xor"][i % 3];
            all.push(combination(ty, how, op));
            if ty.kind != Kind::Bits {
                all.push(set(ty, how, ["u32", "s32", "f32"][i % 3]));
            }
        }
        for op in ["and", "or", "xor"] {
            // The other operations than the one that `ne` got above.
            if op != "or" {
                all.push(combination(ty, "ne", op));
            }
            if ty.kind != Kind::Bits {
                all.push(set_combined(ty, "eq", op));
            }
        }
    }
    all.extend(selections());
    all
}

/// `setp` with a predicate, negated for the second pair of results.
fn combination(ty: Type, how: &'static str, op: &'static str) -> Form {
    let text = format!("setp.{how}.{op}{}.{}", ty.ftz(), ty.name);
    let body = format!("{text} %x|%y, %a, %b, %c; {text} %z|%w, %a, %b, !%c");
    let sources = [ty.operand(), ty.operand(), Operand::Pred];
    Form::new(
        "compare",
        text,
        sources,
        [Class::Pred; 4],
        body,
        move |[a, b, c]| {
            let (holds, c) = (ty.holds(how, a, b), c == 1);
            let results = [(holds, c), (!holds, c), (holds, !c), (!holds, !c)];
            results.map(|(holds, c)| combined(op, holds, c).into())
        },
    )
}

fn yes(dst: &str) -> u64 {
    match dst {
        "f32" => 1f32.to_bits().into(),
        _ => u64::MAX,
    }
}

fn set(ty: Type, how: &'static str, dst: &'static str) -> Form {
    let name = format!("set.{how}{}.{dst}.{}", ty.ftz(), ty.name);
    let sources = [ty.operand(), ty.operand()];
    Form::simple(
        "compare",
        name,
        sources,
        Class::B32,
        move |[a, b]| match ty.holds(how, a, b) {
            true => yes(dst),
            false => 0,
        },
    )
}

fn set_combined(ty: Type, how: &'static str, op: &'static str) -> Form {
    let text = format!("set.{how}.{op}{}.u32.{}", ty.ftz(), ty.name);
    let body = format!("{text} %x, %a, %b, %c; {text} %y, %a, %b, !%c");
    let sources = [ty.operand(), ty.operand(), Operand::Pred];
    Form::new(
        "compare",
        text,
        sources,
        [Class::B32; 2],
        body,
        move |[a, b, c]| {
            let (holds, c) = (ty.holds(how, a, b), c == 1);
            [c, !c].map(|c| if combined(op, holds, c) { u64::MAX } else { 0 })
        },
    )
}

/// `selp`, `slct`.
fn selections() -> Vec<Form> {
    let mut all = Vec::new();
    let types = [
        ("b16", 16),
        ("u16", 16),
        ("s16", 16),
        ("b32", 32),
        ("u32", 32),
        ("s32", 32),
        ("f32", 32),
        ("b64", 64),
        ("u64", 64),
        ("s64", 64),
        ("f64", 64),
    ];
    for (ty, bits) in types {
        let int = || Operand::Int(bits);
        let class = int().class();
        let text = format!("selp.{ty}");
        let body = format!("{text} %x, %a, %b, %c; {text} %y, %a, %b, !%c");
        let sources = [int(), int(), Operand::Pred];
        all.push(Form::new(
            "compare",
            text,
            sources,
            [class; 2],
            body,
            |[a, b, c]| {
                if c == 1 { [a, b] } else { [b, a] }
            },
        ));
        let name = format!("slct.{ty}.s32");
        all.push(Form::simple(
            "compare",
            name,
            [int(), int(), Operand::I32],
            class,
            |[a, b, c]| {
                if (c as i32) < 0 { b } else { a }
            },
        ));
        for (ftz, modifier) in [(false, ""), (true, ".ftz")] {
            let name = format!("slct{modifier}.{ty}.f32");
            all.push(Form::simple(
                "compare",
                name,
                [int(), int(), Operand::F32],
                class,
                move |[a, b, c]| {
                    let c = f32::from_bits(if ftz { flush(c) } else { c } as u32);
                    if c >= 0.0 { a } else { b }
                },
            ));
        }
    }
    all
}
