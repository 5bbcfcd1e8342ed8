//! The buffers of a plan.

use serde::{Deserialize, Serialize};

use crate::{Arg, View};

/// The type of a buffer's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// A byte.
    U8,
}

impl Element {
    /// Size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::F32 | Element::U32 | Element::I32 => 4,
            Element::F64 | Element::U64 | Element::I64 => 8,
        }
    }

    /// Rust's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Element::F32 => "f32",
            Element::F64 => "f64",
            Element::U32 => "u32",
            Element::I32 => "i32",
            Element::U64 => "u64",
            Element::I64 => "i64",
            Element::U8 => "u8",
        }
    }
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The use of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Written by the caller before a run, read after it.
    Io,
    /// The plan's own; its contents before a run are undefined.
    Scratch,
}

/// A buffer that the plan needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Unique in the plan.
    pub name: String,
    /// The type of its elements.
    pub element: Element,
    /// Number of elements.
    pub len: u64,
    /// Its use.
    pub role: Role,
    /// The device that it lives on, from 0. Of a scattered buffer ([`crate::Plan::scatter`]), of no
    /// meaning.
    #[serde(default, skip_serializing_if = "is_first_device")]
    pub device: u32,
}

fn is_first_device(device: &u32) -> bool {
    *device == 0
}

impl Buffer {
    /// Size in bytes.
    ///
    /// # Panics
    ///
    /// If it does not fit in 63 bits: [`crate::Plan::check`] refuses such a buffer.
    pub fn bytes(&self) -> u64 {
        self.checked_bytes().expect("a checked plan")
    }

    pub(crate) fn checked_bytes(&self) -> Option<u64> {
        self.len
            .checked_mul(self.element.size() as u64)
            .filter(|&bytes| bytes <= isize::MAX as u64)
    }
}

/// A buffer of one plan. Another plan refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub struct BufferId {
    /// Which plan it belongs to. 0 while a plan is being loaded.
    pub(crate) plan: u64,
    /// Position in the plan's list of buffers.
    pub(crate) index: u32,
}

impl BufferId {
    /// Position in [`crate::Plan::buffers`].
    pub fn index(self) -> usize {
        self.index as usize
    }

    /// The whole buffer as a Rust slice: two PTX parameters, pointer and number of elements.
    pub fn slice(self) -> Arg {
        Arg::Slice(self)
    }

    /// `len` elements of the buffer from element `offset` on, as a Rust slice.
    pub fn slice_at(self, offset: u64, len: u64) -> Arg {
        Arg::SliceAt {
            id: self,
            offset,
            len,
        }
    }

    /// A pointer to element `offset` of the buffer.
    pub fn at(self, offset: u64) -> Arg {
        Arg::BufferAt { id: self, offset }
    }

    /// A pointer to element `offset` of the buffer, through which the kernel accesses `len`
    /// elements from there on, and no others. So the rest of the buffer may be in use on other
    /// devices at the same time. The emulated device checks that in plans for several devices; in
    /// one for a single device, nothing rests on it.
    pub fn range(self, offset: u64, len: u64) -> Arg {
        Arg::BufferRange {
            id: self,
            offset,
            len,
        }
    }

    /// The buffer from its first element on, where the kernel accesses `len` elements from element
    /// `offset` on, and no others: for kernels that number elements from the buffer's start. With
    /// [`View::Read`], a pointer does not count as one that may write. The rest of the buffer may
    /// be in use on other devices, as with [`BufferId::range`].
    pub fn within(self, view: View, offset: u64, len: u64) -> Arg {
        Arg::Within {
            id: self,
            view,
            offset,
            len,
        }
    }
}

impl From<u32> for BufferId {
    fn from(index: u32) -> BufferId {
        BufferId { plan: 0, index }
    }
}

impl From<BufferId> for u32 {
    fn from(id: BufferId) -> u32 {
        id.index
    }
}
