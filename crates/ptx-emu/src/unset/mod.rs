//! Values that nothing has set: of registers that no instruction wrote on the path taken, and of local memory that no store
//! wrote.
//!
//! A GPU gives such a value whatever the last user of the register or of the memory left there. Using it is an error, but
//! *having* it is not: compilers copy the padding of structures, pass the payload of an empty `Option` along, and compute
//! what is thrown away later. So a value that is not set travels bit by bit, as in Valgrind's memcheck, through moves,
//! stores to local memory and calls, and through arithmetic, and is a fault only where it matters:
//!
//! - a branch, or any other condition of an instruction, depends on it;
//! - the address of an access depends on it;
//! - it is stored to global memory. Of an element that is set in part, the other bytes count as not written from then on, and
//!   so do all bytes in shared memory: whoever loads them reads what nothing has written;
//! - it is an operand of what threads do together: atomics, shuffles, votes, barriers; or of a call, in a register.
//!
//! # How
//!
//! Almost no register is ever read unset, and checking all would take half of the speed. So each function is looked at
//! when its module is read ([`reach`]): a register that some path reads unwritten, a destination of a load from local memory,
//! and what is computed from such, may be unset. These get a second row, of one bit for each that is not set, and the
//! instructions that name one of them are executed by a [`Tracked`]. All others cost nothing.
//!
//! - `facts`: what an instruction reads and writes, and how unset bits go through it;
//! - `reach`: which registers may be unset;
//! - `tracked`: an instruction that names one.
//!
//! # Blind spots
//!
//! - What was written before stays written: an array that a loop declares anew in each round keeps the round before's.
//! - Sums and products with an unset bit count as unset from that bit up, all other arithmetic as unset altogether, though a bit
//!   may not matter (`x * 0`).

pub(crate) mod facts;
mod reach;
mod tracked;

use std::collections::{HashMap, HashSet};

use ptx::RegClass;

use crate::block::Inst;
use crate::frame::FrameBuilder;
use crate::registers::Slot;
use facts::Facts;
use tracked::Tracked;

/// A register, whatever its class says of its width: its file, and its row there.
type Key = (RegClass, u32);

/// The key of a register.
fn key(slot: Slot) -> Key {
    // One file holds 16 and 32 bits.
    match slot.class {
        RegClass::B16 => (RegClass::B32, slot.row),
        class => (class, slot.row),
    }
}

/// The rows that say which bits of a register are not set.
#[derive(Debug, Default)]
pub(crate) struct Shadows {
    rows: HashMap<Key, u32>,
}

impl Shadows {
    /// The row of a register's unset bits; `None` if it is always set.
    fn of(&self, slot: Slot) -> Option<Slot> {
        let row = *self.rows.get(&key(slot))?;
        Some(Slot { row, ..slot })
    }
}

/// Makes the instructions of a function that may see an unset value track it. Gives the rows to fill when a frame is
/// entered, and whether with ones, for unset, or zeros. `has_local` says whether a generic address may lie in local memory.
pub(crate) fn track(
    insts: &mut [Inst],
    facts: &[Facts],
    frame: &mut FrameBuilder,
    parameters: &[Slot],
    has_local: bool,
) -> Vec<(Slot, bool)> {
    let parameters: HashSet<Key> = parameters.iter().map(|&slot| key(slot)).collect();
    let mut set = frame.constant_rows();
    set.extend(&parameters);
    let unset = reach::maybe_unset(facts, &set, has_local);
    let mut registers: Vec<Key> = unset.into_iter().collect();
    registers.sort_unstable();
    let mut shadows = Shadows::default();
    let mut initial = Vec::new();
    for key in registers {
        let class = key.0;
        let row = frame.next_row(class);
        shadows.rows.insert(key, row);
        initial.push((Slot { class, row }, !parameters.contains(&key)));
    }
    if shadows.rows.is_empty() {
        return initial;
    }
    for (inst, facts) in insts.iter_mut().zip(facts) {
        Tracked::wrap(inst, facts, &shadows, |class| frame.bits(class, 0).row);
    }
    initial
}
