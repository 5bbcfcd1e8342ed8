//! A kernel that traps takes the GPU away from the process: it is said once clearly, then at every call.
//!
//! Alone in its process, for that reason.
#![cfg(target_os = "linux")]

use host::device::{CudaDevice, DeviceError};
use host::{Device, Element, Error, ErrorKind, LaunchConfig, Module, Plan, args};

static KERNELS: Module = Module::from_static("kernels", include_str!("kernels.ptx"));

#[test]
fn a_trap_is_the_kernels_fault_and_the_device_is_lost() {
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(DeviceError::NoDevice { .. }) => return println!("skipped: no CUDA device"),
        Err(error) => panic!("{error}"),
    };
    let mut plan = Plan::new("trap");
    let u = plan.buffer("u", Element::U32, 1);
    plan.launch("fails", LaunchConfig::new(1, 1), args![1u32])
        .unwrap();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();

    let error = session.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    let Error::Device(DeviceError::KernelFault { place, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(place, "plan `trap`: kernel `fails`");

    for error in [
        session.run().unwrap_err(),
        session.read(u).unwrap_err(),
        session.fill(u, 0).unwrap_err(),
        device.prepare(&KERNELS, &plan).err().unwrap(),
    ] {
        assert!(
            matches!(error, Error::Device(DeviceError::Lost { .. })),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::Environment);
    }
    // Dropping session and device frees what is already gone: no panic.
}
