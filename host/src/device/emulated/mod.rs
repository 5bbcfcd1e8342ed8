//! The emulated device: plans on the PTX interpreter, with every access checked and every instruction counted.
//!
//! - `open`: the device and its options;
//! - `session`: buffers and runs, each session on a machine of its own;
//! - `report`: counts of a run, for each kernel.

mod open;
mod report;
mod session;

pub use open::EmulatedDevice;
pub use report::KernelReport;
