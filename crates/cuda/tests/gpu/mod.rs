//! The GPU that tests run on, if there is one.
#![allow(dead_code)] // Each test program uses a part of it.

use std::sync::OnceLock;

use cuda::{CudaDevice, CudaGroup};
use device::DeviceError;
use test_support::{Need, skip};

/// The first GPU, or `None`, with a message, if there is none. A GPU that cannot be opened is a
/// failure.
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

/// All GPUs as one device, or `None`, with a message, if there are fewer than two.
pub fn group() -> Option<&'static CudaGroup> {
    static GROUP: OnceLock<Option<CudaGroup>> = OnceLock::new();
    let group = GROUP.get_or_init(|| match CudaDevice::all() {
        Ok(gpus) if gpus.len() > 1 => Some(CudaGroup::new(gpus).unwrap()),
        Ok(_) | Err(DeviceError::NoDevice { .. }) => None,
        Err(error) => panic!("{error}"),
    });
    if group.is_none() {
        skip(Need::Gpu, "fewer than two CUDA devices");
    }
    group.as_ref()
}
