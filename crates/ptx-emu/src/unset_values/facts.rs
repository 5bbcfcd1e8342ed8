//! The registers that an instruction reads and writes, and how unset bits go through it.

use std::sync::Arc;

use ptx::{RegClass, ScalarType};

use crate::registers::Slot;

/// How the unset bits of an instruction's results follow from those of its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rule {
    /// All bits are unset if any bit of an operand is.
    #[default]
    Any,
    /// An operand with an unset bit is a fault.
    Strict,
    /// The operation itself moves them, for this many of its first operands; an unset bit of the
    /// others makes all unset.
    Same(usize),
    /// Bit by bit: unset if that bit of an operand is.
    Each,
    /// Bit by bit: but 0 where an operand is 0.
    And,
    /// Bit by bit: but 1 where an operand is 1.
    Or,
    /// The lowest unset bit of the operands, and all above.
    Above,
    /// The first or the second operand.
    Select,
    /// From an integer type to another: destination, source.
    Resize(ScalarType, ScalarType),
    /// From elements to a whole of them.
    Pack,
    /// From a whole to its elements.
    Unpack,
    /// Loads and stores move them themselves.
    Memory(LoadsOwn),
}

/// Where control goes after an instruction. Targets are positions in the function.
#[derive(Clone, Debug, Default)]
pub(crate) enum Flow {
    #[default]
    Next,
    Branch(u32),
    Table(Arc<[u32]>),
    End,
}

/// Whether a load may be from memory that is the thread's own, which nothing need have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadsOwn {
    No,
    /// By a generic address.
    Perhaps,
    Yes,
}

/// The reads and writes of an instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Predicate slot of its guard, if it has one.
    pub(crate) guard: Option<u32>,
    /// Its operands in order, constants among them.
    pub(crate) reads: Vec<Slot>,
    /// Predicates that choose, or are combined with.
    pub(crate) flags: Vec<Slot>,
    /// Registers that hold addresses.
    pub(crate) addresses: Vec<Slot>,
    /// Its results in order; `None` for those that are not wanted.
    pub(crate) writes: Vec<Option<Slot>>,
    pub(crate) flow: Flow,
    pub(crate) rule: Rule,
    /// Its opcode, for the messages of strict ones.
    pub(crate) opcode: Option<Box<str>>,
}

impl Facts {
    /// The facts of an instruction that is not modelled: its guard alone.
    pub(crate) fn of_guard(&self) -> Facts {
        Facts {
            guard: self.guard,
            ..Facts::default()
        }
    }

    /// All registers and constants that it reads, except its guard.
    pub(super) fn operands(&self) -> impl Iterator<Item = Slot> {
        let operands = self.reads.iter().chain(&self.flags).chain(&self.addresses);
        operands.copied()
    }

    /// All registers and constants that it reads.
    pub(super) fn all_reads(&self) -> impl Iterator<Item = Slot> {
        let guard = self.guard.map(|row| Slot {
            class: RegClass::Pred,
            row,
        });
        self.operands().chain(guard)
    }
}
