//! The machine that a plan is recorded for.

/// How many devices a plan is recorded for, and how large they are.
///
/// A solution divides its work by these. Its results are the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The number of devices, at least 1.
    pub devices: u32,
    /// Multiprocessors of each device, at least 1.
    pub multiprocessors: u32,
    /// Whether kernels of each device access the memory of all others.
    pub shares_memory: bool,
}

impl Target {
    /// The multiprocessors of an H100 or H200. Plans that are recorded without a GPU at hand are
    /// for as many.
    pub const MULTIPROCESSORS: u32 = 132;
}

/// This number of devices, each like an H100, which share memory.
impl From<u32> for Target {
    fn from(devices: u32) -> Target {
        Target {
            devices,
            multiprocessors: Target::MULTIPROCESSORS,
            shares_memory: true,
        }
    }
}
