//! Takes L2 from all that ran before, by memory that is written, and by its lines.
//!
//! A write displaces the lines that L2 gives up first. Lines that a kernel stored with `evict_last`
//! are given up by others of their kind alone, and may outlive `cuCtxResetPersistingL2Cache`. So
//! lines of this kind are brought in first, and are made ordinary ones afterwards.

use std::ffi::c_void;
use std::sync::Arc;

use super::driver::call;
use super::driver::stream::StreamRef;
use super::memory::Memory;
use super::module::{Kernel, LoadedModule};
use device::{DeviceInfo, DriverError, Module};
use plan::LaunchConfig;

/// Bytes of a line of L2.
const LINE: usize = 128;
/// Threads of a block of these kernels. Each thread has a line.
const BLOCK: u32 = 256;

static MODULE: Module = Module::from_static("flush", include_str!("flush.ptx"));

/// Memory of twice L2's size, since its replacement is not strictly least recently used.
#[derive(Debug)]
pub struct Flush {
    memory: Memory,
    /// `None` where the driver or the GPU does not know its instructions: then no kernel has such
    /// lines.
    module: Option<Arc<LoadedModule>>,
}

impl Flush {
    /// Allocates the memory, and loads the module. The GPU's context is current.
    pub fn new(info: &DeviceInfo, l2_bytes: u64) -> Result<Flush, DriverError> {
        Ok(Flush {
            memory: Memory::new(2 * l2_bytes as usize, None)?,
            module: LoadedModule::new(&MODULE, info).ok().map(Arc::new),
        })
    }

    /// Displaces all of L2, waits, and returns the number of bytes written.
    pub fn run(&self, stream: StreamRef<'_>) -> Result<u64, DriverError> {
        if let Some(module) = &self.module {
            self.launch(&module.kernel("keep_lines")?, stream)?;
            self.launch(&module.kernel("let_go_of_lines")?, stream)?;
        }
        self.memory.fill(0, stream)?;
        Ok(self.memory.bytes() as u64)
    }

    /// Launches a kernel of the module for every line.
    fn launch(&self, kernel: &Kernel, stream: StreamRef<'_>) -> Result<(), DriverError> {
        let mut address = self.memory.address();
        let mut lines = (self.memory.bytes() / LINE) as u32;
        let config = LaunchConfig::new(lines.div_ceil(BLOCK), BLOCK);
        let params = [
            (&raw mut address).cast::<c_void>(),
            (&raw mut lines).cast::<c_void>(),
        ];
        // SAFETY: the kernel has these two parameters, of 8 and of 4 bytes, and touches this number
        // of lines from the address on, all in `memory`. `run` waits for the stream; `self` keeps
        // module and memory, and freeing memory waits too.
        unsafe { call::launch(kernel.raw(), &config, stream, &params) }
    }
}
