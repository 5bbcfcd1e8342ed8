//! What a plan consists of.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::Element;
use crate::{Arg, BufferId, LaunchConfig};

/// Who a buffer is for.
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
    /// What its elements are.
    pub element: Element,
    /// How many there are.
    pub len: u64,
    /// Who it is for.
    pub role: Role,
}

impl Buffer {
    /// Size in bytes.
    ///
    /// # Panics
    ///
    /// If it does not fit 64 bits: [`crate::Plan::check`] refuses such a buffer first.
    pub fn bytes(&self) -> u64 {
        self.checked_bytes().expect("a checked plan")
    }

    pub(crate) fn checked_bytes(&self) -> Option<u64> {
        self.len
            .checked_mul(self.element.size() as u64)
            .filter(|&bytes| bytes <= isize::MAX as u64)
    }
}

/// A kernel launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch<'p> {
    /// The kernel's name in the PTX.
    pub kernel: &'p str,
    /// The same name as a small number: position in [`crate::Plan::kernels`].
    pub kernel_index: usize,
    /// Grid, block, shared memory.
    pub config: LaunchConfig,
    /// In the order of the kernel's parameters.
    pub args: &'p [Arg],
}

/// A copy from one buffer to another, or within one; the two ranges do not overlap. In elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copy {
    /// Source.
    pub src: BufferId,
    /// First element read.
    pub src_start: u64,
    /// Destination; of the same type.
    pub dst: BufferId,
    /// First element written.
    pub dst_start: u64,
    /// How many elements.
    pub len: u64,
}

/// A whole buffer set to one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// Destination.
    pub dst: BufferId,
    /// Value of each of its bytes.
    pub byte: u8,
}

/// One step of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'p> {
    /// A kernel launch.
    Launch(Launch<'p>),
    /// A copy between buffers.
    Copy(Copy),
    /// A buffer set to one byte.
    Fill(Fill),
}

/// A command as it is stored: names and arguments are kept once, aside, so that thousands are cheap.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stored {
    Launch {
        kernel: u32,
        config: LaunchConfig,
        args: Range<u32>,
    },
    Copy(Copy),
    Fill(Fill),
}
