//! The errors that users read when a device or a case is not as they hoped, and the kind of each.

use std::sync::Arc;

use device::Error;
use device::Module;
use device::{DeviceError, DriverError};
use exit::ErrorKind;
use host::find_lab;
use lab::{CaseError, Values};
use lab::{CaseParams, LabCase, Parameter, Variant, find_variant};

fn driver_error(code: u32, name: &str, description: &str) -> DriverError {
    DriverError {
        function: "cuLaunchKernel",
        code,
        name: name.to_owned(),
        description: description.to_owned(),
    }
}

fn text(kind: ErrorKind, error: impl Into<Error>) -> String {
    let error = error.into();
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}

#[test]
fn what_the_machine_lacks() {
    let environment = |error| text(ErrorKind::Environment, error);
    insta::assert_snapshot!(environment(DeviceError::NoDevice { reason: "libcuda.so.1 not found".to_owned() }), @"no CUDA device: libcuda.so.1 not found");
    insta::assert_snapshot!(environment(DeviceError::NoSuchDevice { ordinal: 2, count: 1 }), @"no CUDA device 2: this machine has 1, numbered from 0");
    insta::assert_snapshot!(environment(DeviceError::OutOfMemory {
        plan: "wave2d naive".to_owned(),
        needed_bytes: 200_000_000_000,
        device: "NVIDIA H100".to_owned(),
        free_bytes: 84_000_000_000,
        total_bytes: 85_000_000_000,
    }), @"out of device memory: plan `wave2d naive` needs 200000000000 bytes, NVIDIA H100 has 84000000000 of 85000000000 bytes free; use a smaller case, or end what else uses the device");
    insta::assert_snapshot!(environment(DeviceError::Lost { cause: "plan `p`: kernel `k` failed".to_owned() }), @"this process can no longer use the device after an earlier fault: plan `p`: kernel `k` failed; start the program again");
    insta::assert_snapshot!(environment(driver_error(46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "busy or unavailable").into()), @"CUDA driver: cuLaunchKernel returned CUDA_ERROR_DEVICE_UNAVAILABLE (46): busy or unavailable");
}

#[test]
fn what_the_solution_did() {
    let submission = |error| text(ErrorKind::Submission, error);
    insta::assert_snapshot!(submission(DeviceError::KernelFault {
        place: "plan `p`: kernel `k`".to_owned(),
        code: DriverError::LAUNCH_FAILED,
        what: "it trapped".to_owned(),
    }), @"plan `p`: kernel `k` failed: it trapped; run the case on the emulated device, which names the line and the thread");
    insta::assert_snapshot!(submission(DeviceError::LaunchRefused {
        place: "plan `p`, command 3 (launch of `k`)".to_owned(),
        cause: Box::new(driver_error(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch")),
    }), @"plan `p`, command 3 (launch of `k`) was refused: cuLaunchKernel returned CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701): too many resources requested for launch; its blocks need more registers or shared memory than a multiprocessor has: use smaller blocks, or state the block's size with `#[kernel(max_threads = ...)]`");
}

static PARAMETERS: [Parameter; 3] = [
    Parameter::new("n_x", "cells in x", "201"),
    Parameter::steps("steps", "time steps", "100"),
    Parameter::new("scene", "what is in the way", "double-slit"),
];

#[test]
fn what_does_not_exist() {
    let input = |error| text(ErrorKind::Input, error);
    let module = Arc::new(Module::new("none", ""));
    let variants = ["naive", "shmem"].map(|name| {
        let record = |_: &dyn LabCase, _| unreachable!("it is only found");
        Variant::recorded(name, "", Arc::clone(&module), record)
    });
    insta::assert_snapshot!(input(find_variant(&variants, "nave").unwrap_err()), @"unknown variant `nave`; did you mean `naive`?");
    insta::assert_snapshot!(input(find_variant(&variants, "cublas").unwrap_err()), @"unknown variant `cublas`; there are: naive, shmem");
    assert_eq!(find_variant(&variants, "shmem").unwrap(), &variants[1]);
    let lab = find_lab("no such lab").err().unwrap();
    assert!(matches!(lab, CaseError::Unknown { what: "lab", .. }));
    for known in host::labs() {
        assert_eq!(find_lab(known.name).unwrap().name, known.name);
    }
}

#[test]
fn parameters_are_read_and_checked() {
    let params = CaseParams::parse(["n_x=37", " steps = 0 "]).unwrap();
    let values = Values::new(&params, &PARAMETERS).unwrap();
    assert_eq!(values.get::<u32>("n_x").unwrap(), 37);
    assert_eq!(values.get::<u32>("steps").unwrap(), 0);
    assert_eq!(values.get::<String>("scene").unwrap(), "double-slit");

    let input = |error| text(ErrorKind::Input, error);
    insta::assert_snapshot!(input(CaseParams::parse(["n_x"]).unwrap_err()), @"`n_x` is not a parameter: write name=value");
    insta::assert_snapshot!(input(CaseParams::parse(["=7"]).unwrap_err()), @"`=7` is not a parameter: write name=value");
    insta::assert_snapshot!(input(CaseParams::parse(["n_x=1", "n_x=2"]).unwrap_err()), @"parameter `n_x` is given twice");
    let misspelt = CaseParams::parse(["nx=1"]).unwrap();
    insta::assert_snapshot!(input(Values::new(&misspelt, &PARAMETERS).unwrap_err()), @"unknown parameter `nx`; did you mean `n_x`?");
    let out_of_range = CaseParams::parse(["steps=-1", "n_x=99999999999"]).unwrap();
    let of_range = Values::new(&out_of_range, &PARAMETERS).unwrap();
    insta::assert_snapshot!(input(of_range.get::<u32>("steps").unwrap_err()), @"parameter `steps` = `-1`: write a whole number from 0 to 4294967295: time steps");
    insta::assert_snapshot!(input(of_range.get::<u32>("n_x").unwrap_err()), @"parameter `n_x` = `99999999999`: write a whole number from 0 to 4294967295: cells in x");
    insta::assert_snapshot!(input(CaseError::invalid("n_x", 1, "must be at least 2")), @"parameter `n_x` = `1`: must be at least 2");
}
