//! The program starts without a driver, and opens it on first use.
//!
//! The test is alone in its process, since another test could have opened the driver before.
#![cfg(target_os = "linux")]

use cuda::CudaDevice;
use device::DeviceError;
use test_support::{Need, skip};

#[test]
fn the_driver_is_opened_on_first_use() {
    assert_eq!(mapped_drivers(), Vec::<String>::new());
    match CudaDevice::all() {
        Ok(devices) => {
            assert!(!devices.is_empty());
            assert!(!mapped_drivers().is_empty());
            for device in &devices {
                let again = CudaDevice::open(devices.len() as u32).unwrap_err();
                let expected = DeviceError::NoSuchDevice {
                    ordinal: devices.len() as u32,
                    count: devices.len() as u32,
                };
                assert_eq!(again, expected, "beside {device:?}");
            }
        }
        Err(DeviceError::NoDevice { reason }) => {
            skip(Need::Gpu, format!("no CUDA device: {reason}"));
            if mapped_drivers().is_empty() {
                assert!(reason.contains("libcuda.so.1"), "{reason}");
            }
            // The same answer every time, and through `cust` too.
            assert_eq!(
                CudaDevice::open(0).unwrap_err(),
                DeviceError::NoDevice { reason }
            );
        }
        Err(error) => panic!("{error}"),
    }
}

fn mapped_drivers() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .filter(|line| line.contains("/libcuda.so"))
        .map(str::to_owned)
        .collect()
}
