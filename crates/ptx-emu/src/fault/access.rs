//! Accesses, and where they go.

use std::fmt;

use super::threads::Index;

/// What an access does.
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
    /// What it does.
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
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { name, offset } => write!(f, "byte {offset} of buffer `{name}`"),
            Self::Shared {
                variable,
                offset,
                block,
            } => {
                match variable {
                    Some(name) => write!(f, "byte {offset} of {}", SharedArray(name))?,
                    None => write!(f, "byte {offset} of shared memory")?,
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
/// `cuda_std::shared_array!` makes statics whose mangled names end in the line where the macro stands.
struct SharedArray<'a>(&'a str);

impl fmt::Display for SharedArray<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = format!("{:#}", rustc_demangle::demangle(self.0));
        match name.rsplit_once("::__CUDA_STD_SHARED_") {
            Some((function, line)) => {
                write!(f, "the shared array made in line {line} (`{function}`)")
            }
            None => write!(f, "shared array `{name}`"),
        }
    }
}

/// Where an access that is out of bounds goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stray {
    /// Near a buffer of global memory.
    Buffer {
        /// The nearest buffer.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes from its start; negative if before it.
        offset: i64,
    },
    /// Inside a buffer that was freed.
    Freed {
        /// The buffer's name.
        name: String,
        /// Bytes from its start.
        offset: u64,
    },
    /// In the block's shared memory window.
    Shared {
        /// Shared memory of the block in bytes.
        size: u64,
        /// The offset.
        offset: u64,
    },
    /// In the window of the cluster's shared memory, beyond the cluster's blocks.
    Cluster {
        /// The rank of the block that the address is of.
        rank: u32,
        /// Blocks of the cluster.
        blocks: u32,
    },
    /// In the shared memory of another block of the cluster, by an instruction for the own block's.
    OtherBlock {
        /// The rank of the block that the address is of.
        rank: u32,
    },
    /// In the thread's local memory window.
    Local {
        /// Local memory in use in bytes.
        size: u64,
        /// The offset.
        offset: u64,
    },
    /// In the kernel's parameters.
    Param {
        /// Bytes of parameters.
        size: u64,
        /// The offset.
        offset: u64,
    },
    /// Near address 0.
    Null {
        /// The address.
        address: u64,
    },
    /// 2^32 elements beyond a position near a buffer.
    Wrapped {
        /// The buffer's name.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes from its start to that position; negative if before it.
        offset: i64,
    },
    /// Near nothing.
    Nowhere {
        /// The address.
        address: u64,
    },
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

/// A number of bytes in words.
pub(super) struct Bytes(pub(super) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// What depends on a value that nothing has set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnsetUse {
    /// A branch, or another condition of an instruction.
    Condition,
    /// Where an access goes.
    Address,
    /// What a store leaves in global memory.
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
