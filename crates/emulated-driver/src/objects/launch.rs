//! Launches, as a program asks for them and as they are enqueued.

use std::ffi::c_uint;

use ptx_emu::{LaunchConfig, LoadedModule};

/// Shared memory that a launch may have without opting in, in bytes.
pub(crate) const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) config: LaunchConfig,
    pub(crate) is_cooperative: bool,
}

impl Shape {
    pub(crate) fn new(grid: [c_uint; 3], block: [c_uint; 3], shared_mem_bytes: c_uint) -> Shape {
        let config = LaunchConfig {
            grid,
            block,
            shared_mem_bytes,
            cluster: [1; 3],
        };
        Shape {
            config,
            is_cooperative: false,
        }
    }
}

/// Elements of a shape; as many as there are numbers if there are more.
pub(crate) fn count(shape: [c_uint; 3]) -> u32 {
    shape.into_iter().fold(1, u32::saturating_mul)
}

/// A launch that was checked as far as the driver does.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) module: LoadedModule,
    pub(crate) kernel: String,
    pub(crate) config: LaunchConfig,
    pub(crate) parameters: Vec<u8>,
}
