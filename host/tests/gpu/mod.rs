//! The GPU that tests run on, if there is one.

use std::sync::OnceLock;

use host::device::{CudaDevice, DeviceError};
use test_support::{Need, skip};

/// The first GPU, or `None` if there is none, which is said. A GPU that cannot be opened is a failure.
pub fn device() -> Option<&'static CudaDevice> {
    static DEVICE: OnceLock<Option<CudaDevice>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| match CudaDevice::open(0) {
        Ok(device) => Some(device),
        Err(DeviceError::NoDevice { .. }) => None,
        Err(error) => panic!("{error}"),
    });
    if device.is_none() {
        skip(Need::Gpu, "no CUDA device");
    }
    device.as_ref()
}
