//! The state spaces, and where they lie in the generic address space.
//!
//! - global memory: buffers from [`GLOBAL_BASE`] up, with gaps between them that belong to nobody. Constant
//!   variables are buffers too, so that `.const` addresses are generic addresses;
//! - shared memory: the window at [`SHARED_WINDOW`]; an address in the shared space is the offset in the window;
//! - local memory: the window at [`LOCAL_WINDOW`], in which every thread sees its own;
//! - kernel parameters: the window at [`PARAM_WINDOW`].
//!
//! Addresses below [`NULL_LIMIT`] are never valid.

pub(crate) mod global;
pub(crate) mod lanes;
pub(crate) mod shared;

use ptx::Space;

/// Lowest address of a buffer.
pub const GLOBAL_BASE: u64 = 0x0010_0000_0000;
/// Base of the shared window in the generic address space.
pub const SHARED_WINDOW: u64 = 0x7f00_0000_0000;
/// Base of the local window in the generic address space.
pub const LOCAL_WINDOW: u64 = 0x7f10_0000_0000;
/// Base of the kernel parameters' window in the generic address space.
pub const PARAM_WINDOW: u64 = 0x7f20_0000_0000;
/// Size of each window.
pub const WINDOW_BYTES: u64 = 1 << 32;
/// Addresses below this are taken for offsets from a null pointer.
pub const NULL_LIMIT: u64 = 1 << 16;

/// In the param space: parameters of frames lie here, the launch's below.
pub(crate) const PARAM_FRAMES: u64 = 1 << 24;

/// What `cvta` adds to an address of a space.
pub(crate) fn window(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global | Space::Const => 0,
        Space::Shared => SHARED_WINDOW,
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
