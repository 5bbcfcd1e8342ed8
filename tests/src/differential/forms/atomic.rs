//! Atomics: by one thread on memory of its own, and by many on the same, where their order makes no difference.

use crate::differential::exact::{self, Mode};
use crate::differential::{Class, Form, Operand, Row};

use super::float::flush;
use super::memory::{GENERIC_GLOBAL, GENERIC_SHARED, GLOBAL, Place, SHARED};

/// An operation, its type, and the new value it makes of the old one and its operand.
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
    update("add", "u32", |a, b| {
        (a as u32).wrapping_add(b as u32).into()
    }),
    update("add", "s32", |a, b| {
        (a as u32).wrapping_add(b as u32).into()
    }),
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
        exact::add(float(a), float(b), Mode::Nearest)
    }),
    update("add", "f64", |a, b| {
        // A loop around an addition to the operand.
        exact::add(f64::from_bits(b), f64::from_bits(a), Mode::Nearest)
    }),
];

fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

impl Update {
    fn operand(self) -> Operand {
        match self.ty {
            "f32" => Operand::F32,
            "f64" => Operand::F64,
            ty => Operand::Int(ty[1..].parse().expect("a width")),
        }
    }

    fn bits(self) -> u32 {
        self.operand().class().bits()
    }

    /// `red` only has operations whose old value nobody needs.
    fn has_red(self) -> bool {
        self.op != "exch"
    }
}

const PLACES: [Place; 4] = [GLOBAL, SHARED, GENERIC_GLOBAL, GENERIC_SHARED];

pub(super) fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for place in PLACES {
        for update in UPDATES {
            all.push(alone(update, place, ""));
            if update.has_red() {
                all.push(reduction(update, place, ""));
            }
        }
        for bits in [16, 32, 64] {
            all.push(compare_and_swap(bits, place));
        }
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
    all
}

/// The new value, as an H100 makes it: in global memory a sum in single precision flushes subnormals, and one in double
/// precision passes a NaN on as it is; elsewhere of two NaNs that in memory counts.
fn changed(
    update: Update,
    place: Place,
) -> impl Fn(u64, u64) -> u64 + Copy + Send + Sync + 'static {
    let in_global = place.name.ends_with("global");
    move |old, b| match (update.ty, in_global) {
        ("f32", true) => flush((update.new)(flush(old), flush(b))),
        ("f64", true) => match [b, old].into_iter().find(|&x| f64::from_bits(x).is_nan()) {
            Some(nan) => nan,
            None => (update.new)(old, b),
        },
        _ => (update.new)(old, b),
    }
}

/// The old value is returned, the new one is in memory.
fn alone(update: Update, place: Place, modifiers: &str) -> Form {
    let Place {
        space,
        setup,
        address,
        ..
    } = place;
    let Update { op, ty, .. } = update;
    let bits = update.bits();
    let body = format!(
        "{setup} st{space}.b{bits} [{address}+8], %a; atom{modifiers}{space}.{op}.{ty} %x, [{address}+8], %b; \
         ld{space}.b{bits} %y, [{address}+8]"
    );
    let name = format!("atom{modifiers}{space}.{op}.{ty}, {}", place.name);
    let class = update.operand().class();
    let new = changed(update, place);
    let sources = [update.operand(), update.operand()];
    Form::new("atomic", name, sources, [class; 2], body, move |[a, b]| {
        [a, new(a, b)]
    })
    .with_module(place.module)
}

fn reduction(update: Update, place: Place, modifiers: &str) -> Form {
    let Place {
        space,
        setup,
        address,
        ..
    } = place;
    let Update { op, ty, .. } = update;
    let bits = update.bits();
    let body = format!(
        "{setup} st{space}.b{bits} [{address}+16], %a; red{modifiers}{space}.{op}.{ty} [{address}+16], %b; \
         ld{space}.b{bits} %x, [{address}+16]"
    );
    let name = format!("red{modifiers}{space}.{op}.{ty}, {}", place.name);
    let class = update.operand().class();
    let new = changed(update, place);
    let sources = [update.operand(), update.operand()];
    Form::new("atomic", name, sources, [class], body, move |[a, b]| {
        [new(a, b)]
    })
    .with_module(place.module)
}

fn compare_and_swap(bits: u32, place: Place) -> Form {
    let Place {
        space,
        setup,
        address,
        ..
    } = place;
    let int = || Operand::Int(bits);
    let body = format!(
        "{setup} st{space}.b{bits} [{address}+8], %a; atom{space}.cas.b{bits} %x, [{address}+8], %b, %c; \
         ld{space}.b{bits} %y, [{address}+8]"
    );
    let name = format!("atom{space}.cas.b{bits}, {}", place.name);
    Form::new(
        "atomic",
        name,
        [int(), int(), int()],
        [int().class(); 2],
        body,
        |[a, b, c]| [a, if a == b { c } else { a }],
    )
    .with_module(place.module)
}

/// Cells that the threads of a block, or of the grid, share.
const CELLS: usize = 8;

fn contended() -> Vec<Form> {
    let mut all = Vec::new();
    for update in UPDATES {
        // Bounds of their own would make the order of `inc` and `dec` matter, as it does for `exch`.
        if matches!(update.op, "exch" | "inc" | "dec") {
            continue;
        }
        let operand = match update.ty {
            // Sums of small integers are exact in any order.
            "f32" => Operand::Of(
                Class::B32,
                (-20..20).map(|x| (x as f32).to_bits().into()).collect(),
            ),
            "f64" => Operand::Of(
                Class::B64,
                (-20..20).map(|x| f64::from(x).to_bits()).collect(),
            ),
            _ => update.operand(),
        };
        all.push(in_block(update, operand.clone(), "%a"));
        // Cells of the grid begin as 0, from which these do not move.
        if !matches!((update.op, update.ty), ("and", _) | ("min", "u32" | "u64")) {
            all.push(in_grid(update, operand, "%a"));
        }
    }
    for update in UPDATES
        .into_iter()
        .filter(|update| matches!(update.op, "inc" | "dec"))
    {
        all.push(in_block(
            Update { ..update },
            Operand::Of(Class::B32, vec![5]),
            "%a",
        ));
        all.push(in_grid(
            Update { ..update },
            Operand::Of(Class::B32, vec![6]),
            "%a",
        ));
    }
    all.push(swap_loop());
    all
}

/// What the cells hold after every thread's update, one value for each thread.
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

fn in_block(update: Update, operand: Operand, source: &str) -> Form {
    let Update { op, ty, new } = update;
    let (bits, class) = (update.bits(), operand.class());
    let begin = if matches!(op, "and" | "min") {
        class.mask()
    } else {
        0
    };
    let begin = if matches!((op, ty), ("min", "s32" | "s64")) {
        begin >> 1
    } else {
        begin
    };
    let body = format!(
        "mov.u32 %r15, tile; and.b32 %r14, %thread, {}; mad.lo.u32 %r15, %r14, 8, %r15; \
         mov.b{bits} %x, {begin:#x}; setp.lt.u32 %p0, %thread, {CELLS}; @%p0 st.shared.b{bits} [%r15], %x; bar.sync 0; \
         red.shared.{op}.{ty} [%r15], {source}; bar.sync 0; ld.shared.b{bits} %x, [%r15]",
        CELLS - 1
    );
    let name = format!("red.shared.{op}.{ty} by a block");
    Form::together(
        "atomic",
        name,
        [operand],
        [class],
        Form::BLOCK,
        body,
        move |rows| cells(rows, begin, new),
    )
    .with_module(SHARED.module)
}

fn in_grid(update: Update, operand: Operand, source: &str) -> Form {
    let Update { op, ty, new } = update;
    let class = operand.class();
    let bits = update.bits();
    let cell = format!(
        "and.b32 %r14, %index, {}; mad.wide.u32 %d15, %r14, 8, %pool;",
        CELLS - 1
    );
    let body = format!("{cell} red.global.{op}.{ty} [%d15], {source}");
    let collect = format!("{cell} ld.global.b{bits} %x, [%d15]");
    let name = format!("red.global.{op}.{ty} by a grid");
    Form::together("atomic", name, [operand], [class], 0, body, move |rows| {
        cells(rows, 0, new)
    })
    .with_collect(collect)
}

/// An addition made of `atom.cas` in a loop.
fn swap_loop() -> Form {
    let cell = format!(
        "and.b32 %r14, %index, {}; mad.wide.u32 %d15, %r14, 8, %pool;",
        CELLS - 1
    );
    let body = format!(
        "{cell} ld.relaxed.gpu.global.u32 %r0, [%d15]; again: add.u32 %r1, %r0, %a; mov.u32 %r2, %r0; \
         atom.global.cas.b32 %r0, [%d15], %r2, %r1; setp.ne.u32 %p0, %r0, %r2; @%p0 bra again"
    );
    let collect = format!("{cell} ld.global.u32 %x, [%d15]");
    let name = "atom.global.cas.b32 in a loop, by a grid";
    let new = |a: u64, b: u64| u64::from((a as u32).wrapping_add(b as u32));
    Form::together(
        "atomic",
        name,
        [Operand::I32],
        [Class::B32],
        0,
        body,
        move |rows| cells(rows, 0, new),
    )
    .with_collect(collect)
}
