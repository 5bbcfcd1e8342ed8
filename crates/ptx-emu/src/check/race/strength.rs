//! How strong an access is: the threads that it is strong for, and its bytes.

/// The threads that a strong access is strong for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    Block,
    Cluster,
    #[default]
    Device,
    System,
}

impl Scope {
    /// Whether it has all blocks of a device.
    pub(crate) fn has_blocks(self) -> bool {
        matches!(self, Scope::Device | Scope::System)
    }
}

/// How an instruction makes its accesses, if they are strong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strength {
    pub(crate) scope: Scope,
    /// Bytes of an element.
    pub(crate) bytes: u32,
    /// It reads and writes at once, and the program looks at what it has read.
    pub(crate) is_last: bool,
    /// It is so by `.volatile` alone.
    pub(crate) is_volatile: bool,
    /// It may be for a part of its word alone: see [`Strength::suits`].
    pub(crate) is_of_part: bool,
}

impl Strength {
    /// The widest word that compilers take for a part of it, in bytes.
    pub(crate) const WORD: u32 = 4;

    /// True if two accesses to the same bytes are of one width, or one is an atomic of a word that
    /// may be meant for a part of it, and the other is of such a part.
    ///
    /// By the letter, accesses of two widths are not morally strong ("Morally strong operations":
    /// they "overlap completely"), and so race. PTX has no atomics of 8 bits, and compilers make
    /// those of 8 and 16 bits of a `cas`, `or`, `and` or `xor` of the word around: a lock of type
    /// `AtomicBool` is taken by a `cas` of 32 bits, and given back by a store of 8. All GPUs
    /// perform both at one place, one after the other.
    #[inline]
    pub(super) fn suits(&self, other: &Self) -> bool {
        let (wide, narrow) = if self.bytes > other.bytes {
            (self, other)
        } else {
            (other, self)
        };
        wide.bytes == narrow.bytes || wide.is_of_part && narrow.bytes < Self::WORD
    }
}
