//! Atomics: by one thread on its own memory, and by many on the same memory if their order does not
//! matter.

use crate::differential::exact::{self, Mode};
use crate::differential::{Class, Form, Operand, Row};

use super::flush;
use super::half::Format;
use super::memory::{GENERIC_GLOBAL, GENERIC_SHARED, GLOBAL, Place, SHARED};

/// An operation, its type, and its new value as a function of the old one and the operand.
#[derive(Clone, Copy)]
struct Update {
    op: &'static str,
    ty: &'static str,
    new: fn(u64, u64) -> u64,
}

const fn update(op: &'static str, ty: &'static str, new: fn(u64, u64) -> u64) -> Update {
    Update { op, ty, new }
}

const UPDATES: [Update; 23] = [
    update("add", "u32", add_words),
    update("add", "s32", add_words),
    update("add", "u64", u64::wrapping_add),
    update("min", "u32", |a, b| a.min(b)),
    update("min", "s32", |a, b| (a as i32).min(b as i32) as u32 as u64),
    update("min", "u64", |a, b| a.min(b)),
    update("min", "s64", |a, b| (a as i64).min(b as i64) as u64),
    update("max", "u32", |a, b| a.max(b)),
    update("max", "s32", |a, b| (a as i32).max(b as i32) as u32 as u64),
    update("max", "u64", |a, b| a.max(b)),
    update("max", "s64", |a, b| (a as i64).max(b as i64) as u64),
    update("and", "b32", |a, b| a & b),
    update("and", "b64", |a, b| a & b),
    update("or", "b32", |a, b| a | b),
    update("or", "b64", |a, b| a | b),
    update("xor", "b32", |a, b| a ^ b),
    update("xor", "b64", |a, b| a ^ b),
    update("exch", "b32", |_, b| b),
    update("exch", "b64", |_, b| b),
    update("inc", "u32", |a, b| if a >= b { 0 } else { a + 1 }),
    update("dec", "u32", |a, b| if a == 0 || a > b { b } else { a - 1 }),
    update("add", "f32", |a, b| {
        let [a, b] = [a, b].map(|x| f32::from_bits(x as u32));
        exact::add(a, b, Mode::Nearest)
    }),
    update("add", "f64", |a, b| {
        // The compiler makes a loop around an addition to the operand.
        exact::add(f64::from_bits(b), f64::from_bits(a), Mode::Nearest)
    }),
];

/// These keep subnormals.
const HALF_SUMS: [Update; 2] = [
    update("add.noftz", "f16", |a, b| Format::F16.sum(a, b)),
    update("add.noftz", "bf16", |a, b| Format::Bf16.sum(a, b)),
];

fn add_words(a: u64, b: u64) -> u64 {
    (a as u32).wrapping_add(b as u32).into()
}

impl Update {
    fn operand(self) -> Operand {
        match self.ty {
            "f32" => Operand::F32,
            "f64" => Operand::F64,
            "f16" => Operand::F16,
            "bf16" => Operand::Bf16,
            ty => Operand::Int(ty[1..].parse().expect("a width")),
        }
    }

    fn bits(self) -> u32 {
        self.operand().class().bits()
    }

    /// The new value in this place, as on an H100. In global memory, a sum in single precision
    /// flushes subnormals, and one in double precision passes a NaN on unchanged. Elsewhere, of two
    /// NaNs the one in memory counts.
    fn new_in(self, place: Place, old: u64, b: u64) -> u64 {
        match (self.ty, place.name.ends_with("global")) {
            ("f32", true) => flush((self.new)(flush(old), flush(b))),
            ("f64", true) => {
                let nan = [b, old].into_iter().find(|&x| f64::from_bits(x).is_nan());
                nan.unwrap_or_else(|| (self.new)(old, b))
            }
            _ => (self.new)(old, b),
        }
    }
}

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for place in [GLOBAL, SHARED, GENERIC_GLOBAL, GENERIC_SHARED] {
        for update in UPDATES {
            all.push(alone(update, place, ""));
            // `red` has only operations that are useful without the old value.
            if update.op != "exch" {
                all.push(reduction(update, place, ""));
            }
        }
        for update in HALF_SUMS {
            all.extend([alone(update, place, ""), reduction(update, place, "")]);
        }
        all.extend([16, 32, 64].map(|bits| compare_and_swap(bits, place)));
    }
    let add = UPDATES[0];
    for order in [".relaxed", ".acquire", ".release", ".acq_rel"] {
        for scope in [".cta", ".gpu", ".sys", ".cluster"] {
            all.push(alone(add, GLOBAL, &format!("{order}{scope}")));
        }
    }
    for modifiers in [".relaxed.gpu", ".release.sys", ".relaxed.cta"] {
        all.push(reduction(add, GLOBAL, modifiers));
    }
    all.extend(contended());
    all.push(swap_loop());
    all
}

/// The old value is returned, the new one is in memory.
fn alone(update: Update, place: Place, modifiers: &str) -> Form {
    let Update { op, ty, .. } = update;
    let (operand, bits) = (update.operand(), update.bits());
    let atom = format!("atom{modifiers}$.{op}.{ty}");
    let body = format!("st$.b{bits} [@+8], %a; {atom} %x, [@+8], %b; ld$.b{bits} %y, [@+8]");
    let results = [operand.class(); 2];
    place.form(
        &atom,
        [operand.clone(), operand],
        results,
        &body,
        move |[a, b]| [a, update.new_in(place, a, b)],
    )
}

fn reduction(update: Update, place: Place, modifiers: &str) -> Form {
    let Update { op, ty, .. } = update;
    let (operand, bits) = (update.operand(), update.bits());
    let red = format!("red{modifiers}$.{op}.{ty}");
    let body = format!("st$.b{bits} [@+16], %a; {red} [@+16], %b; ld$.b{bits} %x, [@+16]");
    let results = [operand.class()];
    place.form(
        &red,
        [operand.clone(), operand],
        results,
        &body,
        move |[a, b]| [update.new_in(place, a, b)],
    )
}

fn compare_and_swap(bits: u32, place: Place) -> Form {
    let sources = [(); 3].map(|()| Operand::Int(bits));
    let results = [sources[0].class(); 2];
    let atom = format!("atom$.cas.b{bits}");
    let body = format!("st$.b{bits} [@+8], %a; {atom} %x, [@+8], %b, %c; ld$.b{bits} %y, [@+8]");
    place.form(&atom, sources, results, &body, |[a, b, c]| {
        [a, if a == b { c } else { a }]
    })
}

/// Cells that the threads of a block, or of the grid, share.
const CELLS: usize = 8;

fn contended() -> Vec<Form> {
    let mut all = Vec::new();
    let of_class = |class, values: Vec<u64>| Operand::Of(class, values);
    for update in UPDATES {
        let (in_a_block, in_a_grid) = match (update.op, update.ty) {
            // Their order matters.
            ("exch", _) => continue,
            // Bounds that differ would make the order matter.
            ("inc" | "dec", _) => (
                of_class(Class::B32, vec![5]),
                Some(of_class(Class::B32, vec![6])),
            ),
            // Sums of small integers are exact in any order.
            (_, "f32") => {
                let small = (-20..20).map(|x| (x as f32).to_bits().into()).collect();
                let small = of_class(Class::B32, small);
                (small.clone(), Some(small))
            }
            (_, "f64") => {
                let small = (-20..20).map(|x| f64::from(x).to_bits()).collect();
                let small = of_class(Class::B64, small);
                (small.clone(), Some(small))
            }
            // Cells of the grid begin as 0, which these operations do not change.
            ("and", _) | ("min", "u32" | "u64") => (update.operand(), None),
            _ => (update.operand(), Some(update.operand())),
        };
        all.push(by_a_block(update, in_a_block));
        all.extend(in_a_grid.map(|operand| by_a_grid(update, operand)));
    }
    all
}

/// The contents of the cells after every thread's update, one value for each thread.
fn cells(rows: &[Row], begin: u64, new: fn(u64, u64) -> u64) -> Vec<[u64; 1]> {
    let mut cells = [begin; CELLS];
    for (thread, row) in rows.iter().enumerate() {
        let cell = &mut cells[thread % CELLS];
        *cell = new(*cell, row[0]);
    }
    (0..rows.len())
        .map(|thread| [cells[thread % CELLS]])
        .collect()
}

fn by_a_block(Update { op, ty, new }: Update, operand: Operand) -> Form {
    let class = operand.class();
    let begin = match (op, ty) {
        ("min", "s32" | "s64") => class.mask() >> 1,
        ("and" | "min", _) => class.mask(),
        _ => 0,
    };
    let (bits, last) = (class.bits(), CELLS - 1);
    let body = format!(
        "mov.u32 %r15, tile; and.b32 %r14, %thread, {last}; mad.lo.u32 %r15, %r14, 8, %r15; \
         mov.b{bits} %x, {begin:#x}; setp.lt.u32 %p0, %thread, {CELLS}; @%p0 st.shared.b{bits} [%r15], %x; bar.sync 0; \
         red.shared.{op}.{ty} [%r15], %a; bar.sync 0; ld.shared.b{bits} %x, [%r15]"
    );
    let name = format!("red.shared.{op}.{ty} by a block");
    let all = move |rows: &[Row]| cells(rows, begin, new);
    Form::together(name, [operand], [class], Form::BLOCK, body, all).with_module(SHARED.module)
}

/// Updates cells of global memory, whose address is in `%d15`, and reads them in a second kernel.
fn on_cells_of_the_grid(
    name: impl Into<String>,
    operand: Operand,
    body: &str,
    new: fn(u64, u64) -> u64,
) -> Form {
    let (class, last) = (operand.class(), CELLS - 1);
    let cell = format!("and.b32 %r14, %index, {last}; mad.wide.u32 %d15, %r14, 8, %pool;");
    let collect = format!("{cell} ld.global.b{} %x, [%d15]", class.bits());
    let all = move |rows: &[Row]| cells(rows, 0, new);
    Form::together(name, [operand], [class], 0, format!("{cell} {body}"), all).with_collect(collect)
}

fn by_a_grid(Update { op, ty, new }: Update, operand: Operand) -> Form {
    let red = format!("red.global.{op}.{ty}");
    let body = format!("{red} [%d15], %a");
    on_cells_of_the_grid(format!("{red} by a grid"), operand, &body, new)
}

/// An addition made of `atom.cas` in a loop.
fn swap_loop() -> Form {
    let name = "atom.global.cas.b32 in a loop, by a grid";
    let body = "ld.relaxed.gpu.global.u32 %r0, [%d15]; again: add.u32 %r1, %r0, %a; mov.u32 %r2, %r0; \
                atom.global.cas.b32 %r0, [%d15], %r2, %r1; setp.ne.u32 %p0, %r0, %r2; @%p0 bra again";
    on_cells_of_the_grid(name, Operand::I32, body, add_words)
}
