//! Kernel arguments.

use serde::{Deserialize, Serialize};

use crate::BufferId;

/// How a kernel gets a buffer if it accesses only a part of it: see [`BufferId::within`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// As a slice, `&[T]`: two PTX parameters.
    Slice,
    /// As a pointer through which it only reads.
    Read,
    /// As a pointer through which it may write.
    Write,
}

/// One argument of a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arg {
    /// Pointer to the buffer's first element.
    Buffer(BufferId),
    /// Pointer and number of elements (`u64`), as a Rust slice is passed: two PTX parameters.
    Slice(BufferId),
    /// Part of a buffer as a Rust slice: pointer to its element `offset`, and `len`.
    SliceAt {
        /// The buffer.
        id: BufferId,
        /// In elements.
        offset: u64,
        /// How many elements.
        len: u64,
    },
    /// Pointer to an element of the buffer.
    BufferAt {
        /// The buffer.
        id: BufferId,
        /// In elements.
        offset: u64,
    },
    /// As [`Arg::BufferAt`], where the kernel accesses `len` elements from there on alone: see
    /// [`BufferId::range`].
    BufferRange {
        /// The buffer.
        id: BufferId,
        /// In elements.
        offset: u64,
        /// How many elements.
        len: u64,
    },
    /// The buffer from its first element on, where the kernel accesses `len` elements from element
    /// `offset` on alone: see [`BufferId::within`].
    Within {
        /// The buffer.
        id: BufferId,
        /// How the kernel gets it.
        view: View,
        /// In elements.
        offset: u64,
        /// How many elements.
        len: u64,
    },
    /// `u8`; an `i8` and a `bool` are passed as one, too.
    U8(u8),
    /// `u32`.
    U32(u32),
    /// `i32`.
    I32(i32),
    /// `u64`.
    U64(u64),
    /// `i64`.
    I64(i64),
    /// `f32`.
    F32(#[serde(with = "crate::serial::f32_bits")] f32),
    /// `f64`.
    F64(#[serde(with = "crate::serial::f64_bits")] f64),
    /// A `#[repr(C)]` structure passed by value: its bytes, padding included.
    Bytes(Vec<u8>),
}

impl Arg {
    /// The buffer that the kernel gets access to, if any.
    pub fn buffer(&self) -> Option<BufferId> {
        match *self {
            Arg::Buffer(id)
            | Arg::Slice(id)
            | Arg::SliceAt { id, .. }
            | Arg::BufferAt { id, .. }
            | Arg::BufferRange { id, .. }
            | Arg::Within { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Whether a kernel may write through it. A kernel only reads what it gets as a slice:
    /// `#[kernel]` takes `&[T]` and no `&mut [T]`.
    pub fn may_write(&self) -> bool {
        match self {
            Arg::Buffer(_) | Arg::BufferAt { .. } | Arg::BufferRange { .. } => true,
            Arg::Within { view, .. } => *view == View::Write,
            _ => false,
        }
    }

    /// Replaces the argument's buffer, if it has one, by what `change` makes of it.
    pub fn with_buffer(&self, change: impl FnOnce(BufferId) -> BufferId) -> Arg {
        match *self {
            Arg::Buffer(id) => Arg::Buffer(change(id)),
            Arg::Slice(id) => Arg::Slice(change(id)),
            Arg::SliceAt { id, offset, len } => change(id).slice_at(offset, len),
            Arg::BufferAt { id, offset } => change(id).at(offset),
            Arg::BufferRange { id, offset, len } => change(id).range(offset, len),
            Arg::Within {
                id,
                view,
                offset,
                len,
            } => change(id).within(view, offset, len),
            _ => self.clone(),
        }
    }

    /// Its kind, as messages name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Arg::Slice(_)
            | Arg::SliceAt { .. }
            | Arg::Within {
                view: View::Slice, ..
            } => "a slice",
            Arg::Buffer(_)
            | Arg::BufferAt { .. }
            | Arg::BufferRange { .. }
            | Arg::Within { .. } => "a buffer",
            Arg::U8(_) => "u8",
            Arg::U32(_) => "u32",
            Arg::I32(_) => "i32",
            Arg::U64(_) => "u64",
            Arg::I64(_) => "i64",
            Arg::F32(_) => "f32",
            Arg::F64(_) => "f64",
            Arg::Bytes(_) => "a structure",
        }
    }
}

macro_rules! arg_from {
    ($($variant:ident $type:ty),* $(,)?) => {
        $(impl From<$type> for Arg {
            fn from(value: $type) -> Arg {
                Arg::$variant(value)
            }
        })*
    };
}

arg_from!(Buffer BufferId, U8 u8, U32 u32, I32 i32, U64 u64, I64 i64, F32 f32, F64 f64, Bytes Vec<u8>);

impl From<usize> for Arg {
    /// `usize` has 64 bits on the device.
    fn from(value: usize) -> Arg {
        Arg::U64(value as u64)
    }
}

impl From<i8> for Arg {
    fn from(value: i8) -> Arg {
        Arg::U8(value.cast_unsigned())
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        Arg::U8(value.into())
    }
}

/// The arguments of a launch, each through `Into<Arg>`: buffers are passed as pointers, numbers by
/// value. Numbers are `u8`, `i8`, `u32`, `i32`, `u64`, `i64`, `usize`, `f32` and `f64`; `vec![...]`
/// of bytes is a structure.
///
/// ```
/// # use plan::{Element, Plan, args};
/// # let mut plan = Plan::new("doc");
/// # let u = plan.buffer("u", Element::F32, 8);
/// let all = args![u, u.slice(), u.at(4), 8u32, 0.5f32];
/// assert_eq!(all.len(), 5);
/// ```
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        [$($crate::Arg::from($arg)),*]
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_that_is_promised_is_taken() {
        let all = args![
            1u8, -1i8, true, 1u32, -1i32, 1u64, -1i64, 1usize, 1f32, 1f64
        ];
        assert_eq!(all[1], Arg::U8(0xff));
        assert!(all.iter().all(|arg| arg.buffer().is_none()));
    }
}
