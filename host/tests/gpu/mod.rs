//! The GPU that tests run on, if there is one.
#![allow(dead_code)] // Each test program uses a part of it.

use std::sync::OnceLock;

use host::device::{CudaDevice, DeviceError};

/// The first GPU, or `None`, with a message, if there is none. A GPU that cannot be opened is a failure.
pub fn device() -> Option<&'static CudaDevice> {
    static DEVICE: OnceLock<Option<CudaDevice>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| match CudaDevice::open(0) {
        Ok(device) => Some(device),
        Err(DeviceError::NoDevice { .. }) => None,
        Err(error) => panic!("{error}"),
    });
    if device.is_none() {
        skip("no CUDA device");
    }
    device.as_ref()
}

/// Reports that a test needs a GPU and does not run; a failure if `REQUIRE_GPU` is set.
pub fn skip(reason: &str) {
    assert!(
        std::env::var_os("REQUIRE_GPU").is_none(),
        "REQUIRE_GPU is set: {reason}"
    );
    println!("skipped: {reason}");
}
