//! The words of an instruction about the origin of addresses: the shared arrays that it names, and
//! how its results follow from its operands. Module `shared_arrays` concludes from them.

use ptx::Space;

use crate::registers::Slot;

/// A shared array of fixed size, as bytes of the block's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArrayBounds {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl ArrayBounds {
    /// True if accesses of `width` bytes, whose lowest and highest addresses these are, lie in it.
    #[inline]
    pub(crate) fn contains(self, lowest: u64, highest: u64, width: u64) -> bool {
        u64::from(self.start) <= lowest && highest + width <= self.end.into()
    }

    pub(crate) fn bytes(self) -> u64 {
        (self.end - self.start).into()
    }
}

/// A variable whose address an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Array(ArrayBounds),
    /// One in local memory, or dynamic shared memory.
    In(Space),
    Elsewhere,
}

/// How an instruction makes its results of its operands, as far as addresses go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Makes {
    /// Of numbers a number.
    #[default]
    Number,
    /// One of its operands.
    OneOf,
    /// A sum; of a product and the last operand, if there are three.
    Sum,
    /// The first operand without the second.
    Difference,
    /// Perhaps an address.
    Anything,
}

/// Where an address operand of an instruction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Register(Slot),
    Array(ArrayBounds),
    Elsewhere,
}
