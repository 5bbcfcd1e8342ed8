//! Values that nothing has set: of registers that no instruction wrote on the path taken, and of
//! memory that no store wrote.
//!
//! A GPU gives such a value whatever the last user of the register or of the memory left there.
//! Using it is an error, but *having* it is not: compilers copy the padding of structures, pass the
//! payload of an empty `Option` along, and compute what is thrown away later. So a value that is
//! not set travels bit by bit, as in Valgrind's memcheck, through moves, stores to local memory and
//! calls, and through arithmetic, and is a fault only where it matters:
//!
//! - a branch, or any other condition of an instruction, depends on it;
//! - the address of an access depends on it;
//! - it is stored to global memory, unless it was only moved there from global memory. The unset
//!   bytes of an element that is set in part, or moved, count as not written from then on, and so
//!   do all in shared memory;
//! - it is an operand of what threads do together: atomics, votes, barriers; or of a call, in a
//!   register. A shuffle passes it on.
//!
//! # How
//!
//! Almost no register is ever read unset, and checking all would take half of the speed. So each
//! function is looked at when its module is read ([`reach`]): a register that some path reads
//! unwritten, a destination of a load from local memory, and what is computed from such, may be
//! unset. These get a second row, of one bit for each that is not set, and the instructions that
//! name one of them have a [`Propagation`], which `step` follows before it executes them.
//!
//! - `facts`: the registers that an instruction reads and writes, and the rule for the unset bits
//!   that go through it;
//! - `reach`: the registers that may be unset;
//! - `shadows`: the second rows of these;
//! - `unset_origin`: where an unset value comes from, which a third row says;
//! - `propagation`: an instruction that names one.
//!
//! Shared memory that nothing has written is read more often than not before another thread writes
//! it, which is a race. So the use of what was loaded from there is kept until the next barrier,
//! and gives way to a race found before that. All kernels load their values from shared or global
//! memory. So their instructions have a second [`Propagation`], which `step` follows from where a
//! warp has loaded something unwritten, to the end of the block or the first use.
//!
//! A value of global memory may be moved to global memory, unset or not: what copies a buffer, or
//! structures with padding, does so. So a value's origin says whether it has only been moved.
//!
//! # Blind spots
//!
//! - Memory that was written before stays written: an array that a loop declares in each round
//!   keeps the round before's.
//! - Sums and products with an unset bit count as unset from that bit up, all other arithmetic as
//!   unset altogether, though a bit may not matter (`x * 0`).

pub(crate) mod facts;
pub(crate) mod propagation;
mod reach;
pub(crate) mod shadows;

use ptx::RegClass;

use crate::frame::FrameBuilder;
use crate::liveness::Liveness;
use crate::registers::{Bases, Slot};
use crate::runner::{Inst, Op};
use facts::{Facts, Rule};
use propagation::Propagation;
use shadows::{Numbers, Shadow, Shadows};

/// The spaces that a generic address may lie in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spaces {
    pub(crate) has_local: bool,
}

impl Spaces {
    /// Those of a text.
    pub(crate) fn of(source: &str) -> Self {
        Self {
            has_local: source.contains(".local"),
        }
    }
}

/// The rows of unset bits of a function.
#[derive(Debug)]
pub(crate) struct Tracked {
    /// Those to fill when a frame is entered, and whether with ones, for unset, or zeros.
    pub(crate) early: Vec<(Slot, bool)>,
    /// Those of registers that may be unset by what is loaded from shared or global memory.
    pub(crate) late: Vec<Slot>,
    /// The rows before the late ones.
    pub(crate) rows_before: Bases,
}

/// Makes the instructions of a function that may see an unset value track it. `numbers` are those
/// of its rows.
pub(crate) fn track(
    insts: &mut [Inst],
    facts: &[Facts],
    (numbers, liveness): (Numbers, Option<&Liveness>),
    frame: &mut FrameBuilder,
    parameters: &[Slot],
    spaces: Spaces,
) -> Tracked {
    let mut is_set = vec![false; numbers.count()];
    for slot in frame.constant_rows() {
        is_set[numbers.of(slot)] = true;
    }
    for &slot in parameters {
        is_set[numbers.of(slot)] = true;
    }
    let mut shadows = Shadows {
        numbers,
        rows: vec![None; numbers.count()],
    };
    let early = reach::maybe_unset(facts, liveness, numbers, &is_set, spaces);
    let add = |number: usize, to: &mut Shadows, builder: &mut FrameBuilder| {
        let class = numbers.class(number);
        let row = builder.next_row(class);
        let shadow = Shadow {
            bits: Slot { class, row },
            origin: builder.next_row(RegClass::B32),
        };
        to.rows[number] = Some(shadow);
        shadow
    };
    let mut initial = Vec::new();
    for &number in &early {
        let shadow = add(number, &mut shadows, frame);
        let origin = Slot {
            class: RegClass::B32,
            row: shadow.origin,
        };
        initial.extend([(shadow.bits, !is_set[number]), (origin, false)]);
    }
    if !initial.is_empty() {
        follow(insts, facts, frame, &shadows, false);
    }
    let rows_before = frame.rows();
    let mut late = Vec::new();
    for number in reach::maybe_unset_late(facts, numbers, &early) {
        if shadows.rows[number].is_none() {
            late.push(add(number, &mut shadows, frame).bits);
        }
    }
    if !late.is_empty() {
        follow(insts, facts, frame, &shadows, true);
    }
    Tracked {
        early: initial,
        late,
        rows_before,
    }
}

/// Makes the instructions follow the unset bits in these rows.
fn follow(
    insts: &mut [Inst],
    facts: &[Facts],
    frame: &mut FrameBuilder,
    shadows: &Shadows,
    is_late: bool,
) {
    for (inst, each) in insts.iter_mut().zip(facts) {
        let zero = |class| frame.bits(class, 0).row;
        let Some(propagation) = Propagation::new(each, shadows, zero) else {
            continue;
        };
        if is_late {
            inst.late = Some(Box::new(propagation))
        } else {
            inst.unset = Some(Box::new(propagation))
        }
        if let (Rule::Memory(_) | Rule::Shuffled, Op::Other(op)) = (each.rule, &mut inst.op) {
            op.track(&|slot| shadows.of(slot), is_late);
        }
    }
}
