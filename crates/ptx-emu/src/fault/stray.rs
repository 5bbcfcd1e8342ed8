//! Where an access that is out of bounds goes.

use std::fmt;

use super::access::{Location, SharedArray};
use super::quantity::Bytes;
use crate::memory::SHARED_UNIT;

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
    /// Inside addresses that are reserved for a buffer, and have had no memory yet.
    Reserved {
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
    /// In the block's shared memory, beside the array whose address it began with.
    SharedArray {
        /// The array's name.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Bytes from its start; negative if before it.
        offset: i64,
        /// The array that lies there, if one does.
        other: Option<String>,
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
    /// Near address 0, by the address of a variable in another space.
    Offset {
        /// The address.
        address: u64,
        /// The variable's space.
        space: &'static str,
        /// Where it is there, if that has names.
        location: Option<Location>,
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

impl Stray {
    /// The name of the buffer that it is near to.
    pub(super) fn buffer(&self) -> Option<&str> {
        match self {
            Self::Buffer { name, .. }
            | Self::Freed { name, .. }
            | Self::Reserved { name, .. }
            | Self::Wrapped { name, .. } => Some(name),
            _ => None,
        }
    }

    /// True if an access of this many bytes goes where the block has shared memory: to the hardware
    /// it has no arrays in it, and ends with its last unit.
    pub(super) fn is_reached_by_a_gpu(&self, bytes: u32) -> bool {
        match self {
            Self::SharedArray { .. } => true,
            Self::Shared { size, offset } => {
                let end = offset.checked_add(bytes.into());
                end.is_some_and(|end| end <= size.next_multiple_of(SHARED_UNIT))
            }
            _ => false,
        }
    }

    /// The place in words, to be written behind an access of this many bytes that went there.
    pub(super) fn as_target(&self, bytes: u32) -> impl fmt::Display {
        Target(self, bytes)
    }
}

struct Target<'a>(&'a Stray, u32);

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(stray, bytes) = *self;
        match stray {
            Stray::Buffer { name, size, offset } => {
                write!(
                    f,
                    "at offset {offset} of buffer `{name}` ({}) ",
                    Bytes(*size)
                )?;
                overrun(f, *offset, bytes, *size)
            }
            Stray::Freed { name, offset } => {
                write!(
                    f,
                    "at offset {offset} of buffer `{name}`, which has been freed"
                )
            }
            Stray::Reserved { name, offset } => {
                write!(
                    f,
                    "at offset {offset} of buffer `{name}`, which is not yet allocated"
                )
            }
            Stray::Shared { size, offset } => {
                let offset = signed(*offset);
                write!(f, "at offset {offset} of shared memory ({}) ", Bytes(*size))?;
                overrun(f, offset, bytes, *size)
            }
            Stray::SharedArray {
                name,
                size,
                offset,
                other,
            } => {
                let (array, size_of) = (SharedArray(name), Bytes(*size));
                write!(f, "at offset {offset} of {array} ({size_of}) ")?;
                overrun(f, *offset, bytes, *size)?;
                match other {
                    Some(other) => write!(f, ", in {}", SharedArray(other)),
                    None => Ok(()),
                }
            }
            Stray::Cluster { rank, blocks } => write!(
                f,
                "in shared memory of the block of rank {rank} of the cluster, which has {blocks} blocks"
            ),
            Stray::OtherBlock { rank } => write!(
                f,
                "in shared memory of the block of rank {rank} of the cluster, by an instruction for the own block's (`.shared::cta`)"
            ),
            Stray::Local { size, offset } => {
                let offset = signed(*offset);
                write!(f, "at offset {offset} of local memory ({}) ", Bytes(*size))?;
                overrun(f, offset, bytes, *size)
            }
            Stray::Param { size, offset } => {
                write!(
                    f,
                    "at offset {offset} of the parameters ({}) ",
                    Bytes(*size)
                )?;
                overrun(f, *offset as i64, bytes, *size)
            }
            Stray::Offset {
                address,
                space,
                location,
            } => {
                write!(
                    f,
                    "at address {address:#x}, which is an offset in {space} memory"
                )?;
                if let Some(location) = location {
                    write!(f, " ({location})")?;
                }
                write!(
                    f,
                    ": `cvta.{space}` makes a generic address of it, and `ld.{space}` and the like take it as it is"
                )
            }
            Stray::Null { address } => {
                write!(f, "at address {address:#x}: a null pointer")
            }
            Stray::Wrapped { name, size, offset } => {
                write!(
                    f,
                    "at offset {} of buffer `{name}` ({}): 2^32 elements too far, as when an index of type u32 goes below 0",
                    offset + (i64::from(bytes) << 32),
                    Bytes(*size)
                )?;
                match offset % i64::from(bytes) {
                    0 => write!(f, " (index {})", offset / i64::from(bytes)),
                    _ => Ok(()),
                }
            }
            Stray::Nowhere { address } => {
                write!(f, "at address {address:#x}, where no buffer is")
            }
        }
    }
}

/// An offset in a window of 2^32 bytes: beyond the half of it, and at the end of 64 bits, it is
/// below 0.
fn signed(offset: u64) -> i64 {
    match offset >> 32 {
        0 => i64::from(offset as i32),
        _ => offset as i64,
    }
}

/// "reaches 4 bytes past its end (index 5, length 5)" and the like. Index and length are in
/// elements of the access's size, where these are whole numbers.
fn overrun(f: &mut fmt::Formatter<'_>, offset: i64, bytes: u32, size: u64) -> fmt::Result {
    if offset < 0 {
        let before = Bytes(offset.unsigned_abs());
        write!(f, "starts {before} before its start")?;
    } else {
        let end = offset.unsigned_abs() + u64::from(bytes);
        let past = Bytes(end.saturating_sub(size));
        write!(f, "reaches {past} past its end")?;
    }
    let element = i64::from(bytes);
    if offset % element == 0 && size.is_multiple_of(bytes.into()) {
        let (index, length) = (offset / element, size / u64::from(bytes));
        write!(f, " (index {index}, length {length})")?;
    }
    Ok(())
}
