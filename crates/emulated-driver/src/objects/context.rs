//! Devices, and contexts on them.

use std::collections::HashMap;
use std::ffi::{c_uint, c_void};

use ptx_emu::DeviceLimits;

use super::Handle;
use super::graph_memory::Share;
use crate::code::{Code, Outcome};

/// A device.
#[derive(Debug, Default)]
pub(crate) struct Device {
    /// Its number among all devices, those that the program does not see among them.
    pub(crate) number: u32,
    /// Its primary context, once it was asked for.
    pub(crate) primary: Option<Handle>,
    /// How often that is retained.
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    /// Its current memory pool, if it is not the first.
    pub(crate) pool: Option<Handle>,
    /// Its first memory pool.
    pub(crate) default_pool: Option<Handle>,
    /// Bytes of memory in use.
    pub(crate) used_bytes: u64,
    /// What graphs have of it.
    pub(crate) of_graphs: Share,
}

/// A context.
#[derive(Debug, Default)]
pub(crate) struct Context {
    pub(crate) device: i32,
    pub(crate) flags: u32,
    pub(crate) is_primary: bool,
    /// The first fault. The context does not survive it.
    pub(crate) fault: Option<Code>,
    /// Why the latest work was refused, until the call returns that did it.
    pub(crate) refused: Option<Code>,
    /// Values that the CUDA runtime keeps with it.
    pub(crate) storage: HashMap<usize, Stored>,
    /// Limits that were set.
    pub(crate) limits: HashMap<c_uint, usize>,
    pub(crate) cache: c_uint,
    pub(crate) shared: c_uint,
    /// The contexts whose memory it may access.
    pub(crate) peers: Vec<Handle>,
}

/// A value of [`Context::storage`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) value: usize,
    pub(crate) at_end: Option<unsafe extern "C" fn(Handle, *mut c_void, *mut c_void)>,
}

/// The calls that the end of a context makes: each key with its value and function.
pub(crate) type AtEnd = Vec<(usize, Stored)>;

/// `CU_LIMIT_STACK_SIZE`.
pub(crate) const STACK_SIZE: c_uint = 0;

impl Context {
    /// The limit with this number of `CUlimit`.
    pub(crate) fn limit(&self, limit: c_uint) -> Outcome<usize> {
        let default = match limit {
            STACK_SIZE => DeviceLimits::default().stack_bytes as usize,
            1 => 1 << 20,
            2 => 8 << 20,
            3 => 2,
            4 => 2048,
            5 => 128,
            6 => 0,
            _ => return Err(Code::UNSUPPORTED_LIMIT),
        };
        Ok(self.limits.get(&limit).copied().unwrap_or(default))
    }
}
