//! Accesses, and where they go.

use std::fmt;

use super::quantity::{Bytes, Index};
use crate::names::short_name;

/// The kinds of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Both, atomically.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic operation",
        })
    }
}

/// One thread's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its kind.
    pub kind: AccessKind,
    /// How many bytes.
    pub bytes: u32,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind, Bytes(self.bytes.into()))
    }
}

/// A position in memory, as a user knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a buffer of global memory.
    Buffer {
        /// The buffer's name.
        name: String,
        /// Bytes from its start.
        offset: u64,
    },
    /// In the block's shared memory.
    Shared {
        /// The variable, where one has a name.
        variable: Option<String>,
        /// Bytes from the start of the variable, or of shared memory.
        offset: u64,
        /// The block, if its cluster has others.
        block: Option<[u32; 3]>,
        /// Bytes of an element; 1 if not known.
        element: u32,
    },
}

impl Location {
    /// The buffer's name, if it is in one.
    pub(super) fn buffer(&self) -> Option<&str> {
        match self {
            Self::Buffer { name, .. } => Some(name),
            Self::Shared { .. } => None,
        }
    }

    /// Bytes from the start of the buffer, the variable, or shared memory.
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Buffer { offset, .. } | Self::Shared { offset, .. } => *offset,
        }
    }

    /// Counts the offset in elements of the size of an access to shared memory. Accesses of more
    /// than 8 bytes are of several, which are as wide as the narrowest access of the kernel.
    pub(crate) fn in_elements(mut self, bytes: u32, narrowest: u32) -> Self {
        if let Self::Shared { element, .. } = &mut self {
            *element = if bytes > 8 { narrowest } else { bytes };
        }
        self
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { name, offset } => write!(f, "byte {offset} of buffer `{name}`"),
            Self::Shared {
                variable,
                offset,
                block,
                element,
            } => {
                match u64::from(*element) {
                    size if size > 1 && offset.is_multiple_of(size) => {
                        write!(f, "element {} (byte {offset}) of ", offset / size)?;
                    }
                    _ => write!(f, "byte {offset} of ")?,
                }
                match variable {
                    Some(name) => write!(f, "{}", SharedArray(name))?,
                    None => f.write_str("shared memory")?,
                }
                match block {
                    Some(block) => write!(f, " of block {}", Index(*block)),
                    None => Ok(()),
                }
            }
        }
    }
}

/// A variable in shared memory, by the name that its author knows.
///
/// `cuda_std::shared_array!` makes statics whose mangled names end in the line where the macro
/// stands.
pub(super) struct SharedArray<'a>(pub(super) &'a str);

impl fmt::Display for SharedArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:#}", rustc_demangle::demangle(self.0));
        match name.rsplit_once("::__CUDA_STD_SHARED_") {
            Some((function, line)) => {
                write!(f, "the shared array made in line {line} (`{function}`)")
            }
            None => write!(f, "shared array `{}`", short_name(self.0)),
        }
    }
}

/// Whether the block whose shared memory another accesses is alive then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The accessing block has not passed a barrier of the cluster.
    MayNotHaveStarted,
    /// All of the block's threads have exited.
    HasEnded,
    /// Nothing orders the access before the block's end.
    MayHaveEnded,
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MayNotHaveStarted => {
                "may not have started: the accessing block has not passed a barrier of the cluster; put a `cluster::sync()` before the first access to another block's memory"
            }
            Self::HasEnded => {
                "has ended: a barrier of the cluster must keep it until all have made their accesses; put a `cluster::sync()` after the last access to another block's memory"
            }
            Self::MayHaveEnded => {
                "may end before: no barrier of the cluster stands between the access and the end of that block; put a `cluster::sync()` after the last access to another block's memory"
            }
        })
    }
}

/// The use of a value that nothing has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsetUse {
    /// A branch, or another condition of an instruction.
    Condition,
    /// Where an access goes.
    Address,
    /// The value that a store leaves in global memory.
    Store,
    /// An operand of an instruction that needs it set.
    Operand(String),
}

impl fmt::Display for UnsetUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Condition => f.write_str("a condition depends on"),
            Self::Address => f.write_str("the address of an access depends on"),
            Self::Store => f.write_str("a store to global memory of"),
            Self::Operand(opcode) => write!(f, "an operand of `{opcode}` depends on"),
        }
    }
}
