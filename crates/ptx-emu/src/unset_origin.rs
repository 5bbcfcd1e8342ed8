//! Where an unset value comes from.

/// Where an unset value comes from, in one word: the read that has brought it, as the block has
/// noted it, and whether it is a value of global memory that has only been moved since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin(u32);

const IS_MOVED: u32 = 1;

impl Origin {
    /// A register that nothing has written, or local memory.
    pub(crate) const UNKNOWN: Self = Self(0);
    /// Global memory, moved since by others than the block's registers.
    pub(crate) const MOVED: Self = Self(IS_MOVED);

    /// A read that the block has noted under a number.
    pub(crate) fn of_read(number: u32, is_moved: bool) -> Self {
        Self((number + 1) << 1 | u32::from(is_moved))
    }

    /// From a row of a register file.
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// For a row of a register file.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    /// The number of the read.
    pub(crate) fn read(self) -> Option<u32> {
        (self.0 >> 1).checked_sub(1)
    }

    /// The value lies in global memory, and has only been moved since: it may be moved back there.
    pub(crate) fn is_moved(self) -> bool {
        self.0 & IS_MOVED != 0
    }

    /// The origin of a value that is computed from it.
    pub(crate) fn computed(self) -> Self {
        Self(self.0 & !IS_MOVED)
    }

    /// The origin of a value for a block that has not noted the read.
    pub(crate) fn without_read(self) -> Self {
        Self(self.0 & IS_MOVED)
    }
}
