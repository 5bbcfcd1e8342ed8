//! Comparison and selection.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use crate::differential::{Class, Form, Operand};

use super::{flush, number};

/// The type of a comparison.
#[derive(Clone, Copy, PartialEq)]
struct Type {
    name: &'static str,
    ftz: bool,
}

const TYPES: [Type; 12] = [
    of("b16"),
    of("b32"),
    of("b64"),
    of("u16"),
    of("u32"),
    of("u64"),
    of("s16"),
    of("s32"),
    of("s64"),
    of("f32"),
    Type {
        name: "f32",
        ftz: true,
    },
    of("f64"),
];

const fn of(name: &'static str) -> Type {
    Type { name, ftz: false }
}

impl Type {
    /// `b`, `u`, `s` or `f`.
    fn letter(self) -> char {
        self.name.as_bytes()[0].into()
    }

    fn bits(self) -> u32 {
        self.name[1..].parse().expect("a width")
    }

    fn operand(self) -> Operand {
        match self.name {
            "f32" => Operand::F32,
            "f64" => Operand::F64,
            _ => Operand::Int(self.bits()),
        }
    }

    fn two(self) -> [Operand; 2] {
        [self.operand(), self.operand()]
    }

    /// Two operands, and a predicate.
    fn three(self) -> [Operand; 3] {
        [self.operand(), self.operand(), Operand::Pred]
    }

    /// An instruction of this type.
    fn instruction(self, stem: &str) -> String {
        format!("{stem}.{}", self.name)
    }

    fn ftz(self) -> &'static str {
        if self.ftz { ".ftz" } else { "" }
    }

    fn comparisons(self) -> Vec<&'static str> {
        let names = match self.letter() {
            'b' => "eq ne",
            's' => "eq ne lt le gt ge",
            'u' => "eq ne lt le gt ge lo ls hi hs",
            _ => "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
        };
        names.split(' ').collect()
    }

    /// The order of two values; none if one is NaN.
    fn order(self, a: u64, b: u64) -> Option<Ordering> {
        let single = |x: u64| f32::from_bits(if self.ftz { flush(x) } else { x } as u32);
        let int = |x: u64| number(x, self.bits(), self.letter() == 's');
        match self.name {
            "f32" => single(a).partial_cmp(&single(b)),
            "f64" => f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
            _ => int(a).partial_cmp(&int(b)),
        }
    }

    fn holds(self, how: &str, a: u64, b: u64) -> bool {
        let order = self.order(a, b);
        let is = |wanted: &[Ordering]| order.is_some_and(|order| wanted.contains(&order));
        match how {
            "num" => return order.is_some(),
            "nan" => return order.is_none(),
            "lo" => return is(&[Less]),
            "ls" => return is(&[Less, Equal]),
            "hi" => return is(&[Greater]),
            "hs" => return is(&[Greater, Equal]),
            _ => {}
        }
        let ordered = match &how[..2] {
            "eq" => is(&[Equal]),
            "ne" => is(&[Less, Greater]),
            "lt" => is(&[Less]),
            "le" => is(&[Less, Equal]),
            "gt" => is(&[Greater]),
            _ => is(&[Greater, Equal]),
        };
        ordered || how.ends_with('u') && order.is_none()
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
    let operations = ["and", "or", "xor"];
    for ty in TYPES {
        let has_set = ty.letter() != 'b';
        for (i, how) in ty.comparisons().into_iter().enumerate() {
            all.push(predicates(ty, how));
            all.push(combination(ty, how, operations[i % 3]));
            if has_set {
                all.push(set(ty, how, ["u32", "s32", "f32"][i % 3]));
            }
        }
        // The operations of `ne` that are missing above.
        all.extend(["and", "xor"].map(|op| combination(ty, "ne", op)));
        if has_set {
            all.extend(operations.map(|op| set_combined(ty, "eq", op)));
        }
    }
    all.extend(selections());
    all
}

fn predicates(ty: Type, how: &'static str) -> Form {
    let text = ty.instruction(&format!("setp.{how}{}", ty.ftz()));
    let body = format!("{text} %x|%y, %a, %b");
    Form::new(text, ty.two(), [Class::Pred; 2], body, move |[a, b]| {
        let holds = ty.holds(how, a, b);
        [holds.into(), (!holds).into()]
    })
}

/// `setp` with a predicate, negated for the second pair of results.
fn combination(ty: Type, how: &'static str, op: &'static str) -> Form {
    let text = ty.instruction(&format!("setp.{how}.{op}{}", ty.ftz()));
    let body = format!("{text} %x|%y, %a, %b, %c; {text} %z|%w, %a, %b, !%c");
    Form::new(
        text,
        ty.three(),
        [Class::Pred; 4],
        body,
        move |[a, b, c]| {
            let (holds, c) = (ty.holds(how, a, b), c == 1);
            let results = [(holds, c), (!holds, c), (holds, !c), (!holds, !c)];
            results.map(|(left, right)| combined(op, left, right).into())
        },
    )
}

fn set(ty: Type, how: &'static str, dst: &'static str) -> Form {
    let name = ty.instruction(&format!("set.{how}{}.{dst}", ty.ftz()));
    let yes = if dst == "f32" {
        1f32.to_bits().into()
    } else {
        u64::MAX
    };
    let form = Form::simple(
        name,
        ty.two(),
        move |[a, b]| if ty.holds(how, a, b) { yes } else { 0 },
    );
    form.to(Class::B32)
}

fn set_combined(ty: Type, how: &'static str, op: &'static str) -> Form {
    let text = ty.instruction(&format!("set.{how}.{op}{}.u32", ty.ftz()));
    let body = format!("{text} %x, %a, %b, %c; {text} %y, %a, %b, !%c");
    Form::new(text, ty.three(), [Class::B32; 2], body, move |[a, b, c]| {
        let (holds, c) = (ty.holds(how, a, b), c == 1);
        [c, !c].map(|c| if combined(op, holds, c) { u64::MAX } else { 0 })
    })
}

/// `selp`, `slct`.
fn selections() -> Vec<Form> {
    let mut all = Vec::new();
    for ty in "b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64".split(' ') {
        let int = || Operand::Int(ty[1..].parse().expect("a width"));
        let class = int().class();
        let text = format!("selp.{ty}");
        let body = format!("{text} %x, %a, %b, %c; {text} %y, %a, %b, !%c");
        let sources = [int(), int(), Operand::Pred];
        all.push(Form::new(text, sources, [class; 2], body, |[a, b, c]| {
            if c == 1 { [a, b] } else { [b, a] }
        }));
        let by_sign = [int(), int(), Operand::I32];
        all.push(Form::simple(
            format!("slct.{ty}.s32"),
            by_sign,
            |[a, b, c]| {
                if (c as i32) < 0 { b } else { a }
            },
        ));
        for (ftz, modifier) in [(false, ""), (true, ".ftz")] {
            let name = format!("slct{modifier}.{ty}.f32");
            all.push(Form::simple(
                name,
                [int(), int(), Operand::F32],
                move |[a, b, c]| {
                    let c = f32::from_bits(if ftz { flush(c) } else { c } as u32);
                    if c >= 0.0 { a } else { b }
                },
            ));
        }
    }
    all
}
