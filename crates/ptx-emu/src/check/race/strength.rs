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
}
