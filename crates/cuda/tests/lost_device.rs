//! After a kernel traps or accesses memory out of bounds, the process can no longer use the GPU:
//! the first error names the kernel, and every later call fails too.
//!
//! So each fault gets a process of its own: this same program, with an environment variable.
#![cfg(target_os = "linux")]

use cuda::CudaDevice;
use device::DeviceError;
use device::{Capture, Device, Element, Error, Launching, Module};
use exit::ErrorKind;
use plan::{Arg, LaunchConfig, Plan, args};
use test_support::{Need, on_emulated_driver, skip};

static KERNELS: Module =
    Module::from_static("kernels", include_str!("../../device/tests/kernels.ptx"));

const FAULT: &str = "LOST_DEVICE_TEST_FAULT";

#[test]
fn faults_on_the_emulated_driver() {
    on_emulated_driver(&["the_kernels_fault", "a_trap_in_a_graph"], 1);
}

#[test]
fn a_trap_is_the_kernels_fault_and_the_device_is_lost() {
    in_its_own_process("a_trap_is_the_kernels_fault_and_the_device_is_lost", || {
        loses_the_device("fails", |_| args![1u32].to_vec(), "trapped");
    });
}

#[test]
fn a_stray_store_is_the_kernels_fault_and_the_device_is_lost() {
    in_its_own_process(
        "a_stray_store_is_the_kernels_fault_and_the_device_is_lost",
        || {
            // 4 TiB past the buffer's start: more than any GPU has mapped.
            loses_the_device(
                "writes_at",
                |u| args![u, 1u64 << 40].to_vec(),
                "illegal address",
            );
        },
    );
}

#[test]
fn a_trap_in_a_graph_is_told_as_one_in_a_stream() {
    in_its_own_process("a_trap_in_a_graph_is_told_as_one_in_a_stream", || {
        let device = CudaDevice::open(0).unwrap();
        let mut plan = Plan::new("p");
        plan.launch("fails", LaunchConfig::new(1, 1), args![1u32])
            .unwrap();
        let mut session = device.prepare(&KERNELS, &plan).unwrap();
        assert!(matches!(session.capture(), Ok(Capture::Graph { .. })));
        let error = session.run_times(3, Launching::Graph).unwrap_err();
        assert!(
            matches!(error, Error::Device(DeviceError::KernelFault { .. })),
            "{error}"
        );
        for later in [
            session.run_times(1, Launching::Graph).unwrap_err(),
            session.flush().unwrap_err(),
            session.capture().unwrap_err(),
        ] {
            assert!(
                matches!(later, Error::Device(DeviceError::Lost { .. })),
                "{later}"
            );
        }
    });
}

/// Runs `test` in a new process of this program, where it is the only one.
fn in_its_own_process(name: &str, test: fn()) {
    if std::env::var_os(FAULT).is_some() {
        return test();
    }
    match CudaDevice::open(0) {
        Ok(_) => {}
        Err(DeviceError::NoDevice { .. }) => return skip(Need::Gpu, "no CUDA device"),
        Err(error) => panic!("{error}"),
    }
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(FAULT, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

fn loses_the_device(kernel: &str, args: impl FnOnce(plan::BufferId) -> Vec<Arg>, words: &str) {
    let device = CudaDevice::open(0).unwrap();
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::U32, 1);
    plan.launch(kernel, LaunchConfig::new(1, 1), args(u))
        .unwrap();
    let mut session = device.prepare(&KERNELS, &plan).unwrap();

    let error = session.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    let Error::Device(DeviceError::KernelFault { place, what, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(*place, format!("plan `p`: kernel `{kernel}`"));
    assert!(what.contains(words), "{what}");

    for later in [
        session.run().unwrap_err(),
        session.read(u).unwrap_err(),
        session.fill(u, 0).unwrap_err(),
        session.kernel_info(kernel).unwrap_err(),
        device.prepare(&KERNELS, &plan).err().unwrap(),
    ] {
        assert!(
            matches!(later, Error::Device(DeviceError::Lost { .. })),
            "{later}"
        );
        assert_eq!(later.kind(), ErrorKind::Environment);
    }
    // Dropping session and device frees what is already gone: no panic.
}
