//! What executes plans.
//!
//! A [`Device`] checks a plan ([`crate::validate`]) and prepares it: memory allocated, kernels looked up, arguments
//! laid out. The [`Session`] that comes of it moves buffers and runs the plan, any number of times.

mod error;
mod info;
mod traits;

pub use error::{DeviceError, DriverError};
pub use info::{DeviceInfo, DeviceKind, KernelInfo, Limits, Timing};
pub use traits::{Device, Discovery, Session, discover};
