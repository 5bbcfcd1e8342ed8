//! The registers that an instruction reads and writes, and how unset bits go through it.

use std::sync::Arc;

use ptx::{RegClass, ScalarType, Space};

use crate::address_origin::{Makes, Place, Variable};
use crate::check::race::Strength;
use crate::registers::{Address, Slot};

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
    /// A shuffle moves those of its first operand itself; an unset bit of another is a fault.
    Shuffled,
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

/// Whether a load is from memory that is the thread's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadsOwn {
    /// It loads nothing that may be unset.
    No,
    /// It is from shared or global memory.
    Never,
    /// By a generic address.
    Perhaps,
    Yes,
}

/// The use that an instruction makes of its registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RegisterUse {
    #[default]
    Access,
    /// Copies one to another, or a number.
    Copy,
    /// Has them after it, until it is waited for: `wgmma.mma_async`.
    Product,
}

/// The dealings of an instruction with other threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Company {
    /// Nothing.
    #[default]
    None,
    /// Waits for those of the block.
    Barrier,
    /// Its results, or those of others, may depend on who comes first.
    Order,
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
    pub(crate) company: Company,
    /// The elements that it loads or stores.
    pub(crate) elements: Option<Elements>,
    /// How it makes strong accesses.
    pub(crate) strength: Option<Strength>,
    /// The word that it accesses, if it is one that others may update.
    pub(crate) word: Option<Word>,
    /// Of `reads`, by position, the addresses of variables.
    pub(crate) variables: Vec<(usize, Variable)>,
    /// Where its addresses begin.
    pub(crate) places: Vec<Place>,
    /// It reads a parameter of the launch.
    pub(crate) reads_launch: bool,
    pub(crate) makes: Makes,
    /// The use that it makes of its registers, as products of a warpgroup see it.
    pub(crate) registers: RegisterUse,
}

/// The elements that an instruction loads or stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements {
    pub(crate) space: Space,
    /// Bytes of each.
    pub(crate) bytes: u32,
    /// They do not change while the kernel runs: `ld.global.nc`.
    pub(crate) is_constant: bool,
}

/// A word that threads share, as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) bytes: u32,
    pub(crate) access: WordAccess,
}

/// The access to a [`Word`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordAccess {
    WeakLoad,
    StrongLoad,
    Update,
    /// An update if the word is what the first operand says.
    CompareAndSwap,
}

impl WordAccess {
    /// True if it changes nothing.
    pub(crate) fn is_load(self) -> bool {
        matches!(self, Self::WeakLoad | Self::StrongLoad)
    }
}

impl Facts {
    /// All registers and constants that it reads, except its guard.
    pub(crate) fn operands(&self) -> impl Iterator<Item = Slot> {
        let operands = self.reads.iter().chain(&self.flags).chain(&self.addresses);
        operands.copied()
    }

    /// All registers and constants that it reads.
    pub(crate) fn all_reads(&self) -> impl Iterator<Item = Slot> {
        let guard = self.guard.map(|row| Slot {
            class: RegClass::Pred,
            row,
        });
        self.operands().chain(guard)
    }
}
