//! Memory: allocations, the pools that they come from, and arrays.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{c_int, c_uint};

use super::Handle;
use super::copy::{Place, Side};
use crate::code::{Code, Outcome};

/// The kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    Managed,
    /// Page-locked memory of the host.
    Host,
    /// Memory of the program's own.
    Registered,
    /// A variable of a module.
    Variable,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) context: Handle,
    pub(crate) device: i32,
    /// The pool that it came from.
    pub(crate) pool: Option<Handle>,
}

/// A pool. It keeps no memory.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) device: i32,
    /// The other devices that may access its memory.
    pub(crate) allowed: BTreeSet<i32>,
    /// Attributes that were set.
    pub(crate) set: HashMap<c_int, u64>,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    pub(crate) width: usize,
    /// 0 for one dimension.
    pub(crate) height: usize,
    /// Layers; 0 for one or two dimensions.
    pub(crate) depth: usize,
    pub(crate) format: c_uint,
    pub(crate) channels: c_uint,
    pub(crate) flags: c_uint,
}

impl Descriptor {
    /// Bytes of a row.
    pub(crate) fn pitch(&self) -> Outcome<usize> {
        if self.width == 0 || !matches!(self.channels, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        let bytes = self.channels as usize * channel_bytes(self.format)?;
        self.width.checked_mul(bytes).ok_or(Code::INVALID_VALUE)
    }

    /// Rows of a layer.
    pub(crate) fn rows(&self) -> usize {
        self.height.max(1)
    }

    /// Bytes of the whole array.
    pub(crate) fn bytes(&self) -> Outcome<usize> {
        let layer = self.pitch()?.checked_mul(self.rows());
        let bytes = layer.and_then(|layer| layer.checked_mul(self.depth.max(1)));
        bytes.ok_or(Code::INVALID_VALUE)
    }
}

/// Bytes of an element's channel, by `CUarray_format`.
fn channel_bytes(format: c_uint) -> Outcome<usize> {
    match format {
        0x01 | 0x08 => Ok(1),
        0x02 | 0x09 | 0x10 => Ok(2),
        0x03 | 0x0a | 0x20 => Ok(4),
        _ => Err(Code::INVALID_VALUE),
    }
}

impl Descriptor {
    /// The levels that a mipmap of this first one may have, down to a single element. Layers are
    /// not halved.
    pub(crate) fn levels(&self) -> usize {
        let depth = if self.flags & (LAYERED | CUBEMAP) == 0 {
            self.depth
        } else {
            0
        };
        let longest = self.width.max(self.height).max(depth).max(1);
        longest.ilog2() as usize + 1
    }

    /// The descriptor of a level.
    pub(crate) fn level(&self, level: usize) -> Descriptor {
        let half = |extent: usize| {
            if extent == 0 {
                0
            } else {
                (extent >> level).max(1)
            }
        };
        let is_flat = self.flags & (LAYERED | CUBEMAP) != 0;
        Descriptor {
            width: half(self.width),
            height: half(self.height),
            depth: if is_flat {
                self.depth
            } else {
                half(self.depth)
            },
            ..*self
        }
    }
}

/// Flags of an array: it has layers; it has six faces, or six for each layer.
pub(crate) const LAYERED: c_uint = 1;
pub(crate) const CUBEMAP: c_uint = 4;

/// An array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) descriptor: Descriptor,
    pub(crate) address: u64,
    /// Bytes of a row, and rows of a layer.
    pub(crate) pitch: usize,
    pub(crate) rows: usize,
}

impl Array {
    /// One side of a copy, from a place in the array on: a byte of a row, a row, a layer.
    pub(crate) fn side(&self, x: usize, y: usize, z: usize) -> Outcome<Side> {
        let whole = Side {
            place: Place::Device,
            address: self.address,
            pitch: self.pitch as u64,
            layer: (self.pitch * self.rows) as u64,
        };
        whole.at(x, y, z)
    }
}
