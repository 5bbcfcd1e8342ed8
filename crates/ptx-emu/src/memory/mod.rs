//! The state spaces, and where they lie in the generic address space.
//!
//! - global memory: buffers from somewhere above [`GLOBAL_BASE`] up, with gaps between them that
//!   belong to no buffer;
//! - constant memory: its variables are buffers too, so that `.const` addresses are generic
//!   addresses. They lie in the window at [`CONST_WINDOW`], so that the low 32 bits of an address
//!   name it;
//! - shared memory: the window at [`SHARED_WINDOW`]; an address in the shared space is the offset
//!   in the window; of the running block, or, with a rank in its high bits, in the memory of a
//!   block of the cluster: see [`in_cluster`];
//! - local memory: the window at [`LOCAL_WINDOW`], in which every thread sees its own;
//! - kernel parameters: the window at [`PARAM_WINDOW`].
//!
//! Addresses below [`NULL_LIMIT`] are never valid.

pub(crate) mod claims;
pub(crate) mod global;
pub(crate) mod heap;
pub(crate) mod lanes;
pub(crate) mod shared;
pub(crate) mod tile;
pub(crate) mod update;

use ptx::{FunctionId, Space};

/// Lowest address of a buffer. A process has no memory of its own there unless it asks for the
/// address, so that a buffer may have one address for kernels and for the host.
pub const GLOBAL_BASE: u64 = 0x2000_0000_0000;
/// Base of the window that constant variables lie in.
pub const CONST_WINDOW: u64 = 0x1ff0_0000_0000;
/// Base of the shared window in the generic address space.
pub const SHARED_WINDOW: u64 = 0x7e00_0000_0000;
/// Base of the local window in the generic address space.
pub const LOCAL_WINDOW: u64 = 0x7e10_0000_0000;
/// Base of the kernel parameters' window in the generic address space.
pub const PARAM_WINDOW: u64 = 0x7e20_0000_0000;
/// Size of each window.
pub const WINDOW_BYTES: u64 = 1 << 32;
/// Addresses below this are taken for offsets from a null pointer.
pub const NULL_LIMIT: u64 = 1 << 16;

/// Bytes in which a multiprocessor gives out shared memory: blocks have as many, be they asked for
/// or not. So it is since compute capability 8.0, by the tables of NVIDIA's occupancy calculator;
/// accesses of an H200 past the end fail from there on.
pub(crate) const SHARED_UNIT: u64 = 128;

/// In the param space: parameters of frames lie here, the launch's below.
pub(crate) const PARAM_FRAMES: u64 = 1 << 24;

/// Base of the addresses of functions.
const FUNCTION_BASE: u64 = 0x1000_0000;
/// Distance of the addresses of functions.
const FUNCTION_STEP: u64 = 16;

/// Bytes of each block's part of the window that the blocks of a cluster share.
pub(crate) const CLUSTER_STEP: u64 = 1 << 24;

/// The shared address of `offset` in the memory of the block of that rank. Ranks from 254 on are
/// one that no cluster has.
pub(crate) fn in_cluster(offset: u64, rank: u32) -> u64 {
    (u64::from(rank.min(254)) + 1) * CLUSTER_STEP + offset % CLUSTER_STEP
}

/// The rank and the offset of a shared address; no rank for the running block's own.
#[inline]
pub(crate) fn rank_of(address: u64) -> (Option<u32>, u64) {
    let rank = (address / CLUSTER_STEP).checked_sub(1);
    (rank.map(|rank| rank as u32), address % CLUSTER_STEP)
}

/// The place in shared memory of what has this address without swizzle: the number of a 16-byte
/// unit in its row of `1 << units` of them is combined with that of the 128-byte line (PTX ISA,
/// "Swizzling Modes").
pub(crate) fn swizzled(address: u64, units: u32) -> u64 {
    address ^ (address >> 7 & ((1 << units) - 1)) << 4
}

/// The address of a function.
pub(crate) fn function_address(id: FunctionId) -> u64 {
    FUNCTION_BASE + FUNCTION_STEP * u64::from(id.0)
}

/// The index of the function at an address, whether it exists or not.
pub(crate) fn function_at(address: u64) -> Option<u64> {
    let index = address.wrapping_sub(FUNCTION_BASE) / FUNCTION_STEP;
    address.is_multiple_of(FUNCTION_STEP).then_some(index)
}

/// The number that `cvta` adds to an address of a space.
pub(crate) fn window(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global | Space::Const => 0,
        Space::Shared | Space::SharedCluster => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
    }
}

/// The space that a generic address lies in; what is in no window is global.
#[inline]
pub(crate) fn space_of(address: u64) -> Space {
    match address {
        _ if address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES => Space::Shared,
        _ if address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES => Space::Local,
        _ if address.wrapping_sub(PARAM_WINDOW) < WINDOW_BYTES => Space::Param,
        _ => Space::Global,
    }
}

/// The low `bytes` bytes set.
#[inline]
pub(crate) fn byte_mask(bytes: u32) -> u64 {
    if bytes >= 8 {
        u64::MAX
    } else {
        (1 << (8 * bytes)) - 1
    }
}

/// Extends a value of `bytes` bytes to 64 bits.
#[inline]
pub(crate) fn extend(value: u64, bytes: u32, signed: bool) -> u64 {
    let shift = 64 - 8 * bytes;
    if signed {
        (((value << shift) as i64) >> shift) as u64
    } else {
        value << shift >> shift
    }
}

/// Memory made of 32-bit words. Lanes may have words of their own; where they share them, `lane` is
/// not looked at.
pub(crate) trait Words {
    /// A word.
    fn word(&self, lane: usize, index: usize) -> u32;

    /// Sets the bits of `mask` in a word.
    fn set_word(&mut self, lane: usize, index: usize, mask: u32, bits: u32);

    /// The value of `bytes` (1, 2, 4, 8) at `offset`, a multiple of `bytes`.
    #[inline(always)]
    fn load(&self, lane: usize, offset: u64, bytes: u32) -> u64 {
        let index = (offset >> 2) as usize;
        let low = u64::from(self.word(lane, index));
        match bytes {
            4 => low,
            8 => low | u64::from(self.word(lane, index + 1)) << 32,
            _ => low >> (8 * (offset & 3)) & byte_mask(bytes),
        }
    }

    /// Stores the low `bytes` (1, 2, 4, 8) of `value` at `offset`, a multiple of `bytes`.
    #[inline(always)]
    fn store(&mut self, lane: usize, offset: u64, bytes: u32, value: u64) {
        let index = (offset >> 2) as usize;
        match bytes {
            4 => self.set_word(lane, index, u32::MAX, value as u32),
            8 => {
                self.set_word(lane, index, u32::MAX, value as u32);
                self.set_word(lane, index + 1, u32::MAX, (value >> 32) as u32);
            }
            _ => {
                let shift = 8 * (offset & 3);
                let mask = (byte_mask(bytes) << shift) as u32;
                self.set_word(lane, index, mask, (value << shift) as u32);
            }
        }
    }
}
