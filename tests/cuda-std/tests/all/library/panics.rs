//! Panics on a GPU: the error names the kernel and the message, or at least where a panic can be.
//!
//! The context is lost then, so each has a process of its own.

use cuda::CudaDevice;
use device::run::{outputs, reset};
use device::{Device, DeviceError, Error, Module, NamedBuffers};
use plan::{LaunchConfig, Plan, args};
use test_support::{Need, on_emulated_driver, skip};

static WITH_MESSAGES: Module = Module::from_static("panics", include_str!(env!("STD_PANICS_PTX")));
static WITHOUT: Module = Module::from_static("traps", include_str!(env!("STD_TRAPS_PTX")));

const IN_ITS_PROCESS: &str = "STD_TEST_OF_A_PANIC";

#[test]
fn panics_on_the_emulated_driver() {
    on_emulated_driver(&["a_panic_with", "a_panic_without", "kernels_with"], 1);
}

#[test]
fn a_panic_with_a_message_is_told_with_its_kernel() {
    in_its_own_process("a_panic_with_a_message_is_told_with_its_kernel", || {
        let (place, what) = fault(&WITH_MESSAGES, 3, 512);
        assert_eq!(place, "plan `p`: kernel `picks`");
        let line = line_of("let picked");
        let expected = format!(
            "it panicked at tests/cuda-std/panics/src/lib.rs:{line}: index out of bounds: the len is 4 but the index is 9; \
             block (0, 0, 0), thread (3, 0, 0)"
        );
        assert!(what.starts_with(&expected), "{what}");
    });
}

#[test]
fn a_panic_with_a_message_of_its_own_is_told_by_one_thread() {
    in_its_own_process(
        "a_panic_with_a_message_of_its_own_is_told_by_one_thread",
        || {
            let (place, what) = fault(&WITH_MESSAGES, 0, 2);
            assert_eq!(place, "plan `p`: kernel `asserts`");
            assert!(
                what.contains(": 4 threads, at most 2; block (0, 0, 0), thread ("),
                "{what}"
            );
        },
    );
}

#[test]
fn a_panic_without_a_message_is_told_with_the_lines_where_it_can_be() {
    in_its_own_process(
        "a_panic_without_a_message_is_told_with_the_lines_where_it_can_be",
        || {
            let (place, what) = fault(&WITHOUT, 3, 512);
            assert_eq!(
                place,
                "plan `p`: one of the kernels `doubles`, `picks`, `asserts`"
            );
            let lines = [line_of("let picked"), line_of("assert!(")];
            for (kernel, line) in ["picks", "asserts"].into_iter().zip(lines) {
                let text = format!("`{kernel}` at tests/cuda-std/panics/src/lib.rs:{line}");
                assert!(what.contains(&text), "{text} in {what}");
            }
            assert!(!what.contains("doubles"), "{what}");
        },
    );
}

#[test]
fn kernels_with_messages_that_do_not_panic_are_right() {
    let Some(device) = device() else {
        return skip(Need::Gpu, "no CUDA device of compute capability 9.0");
    };
    let (plan, inputs) = plan(0, 512);
    let mut session = device.prepare(&WITH_MESSAGES, &plan).unwrap();
    reset(session.as_mut(), &plan, &inputs).unwrap();
    session.run().unwrap();
    let outputs = outputs(session.as_mut(), &plan).unwrap();
    assert_eq!(outputs[0].1, vec![5u32, 6, 7, 5].into());
}

/// The first GPU, if it runs the kernels with messages.
fn device() -> Option<CudaDevice> {
    match CudaDevice::open(0) {
        Ok(device) => Some(device).filter(|d| d.info().compute_capability >= Some((9, 0))),
        Err(DeviceError::NoDevice { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Launches all kernels. Thread 3 picks an element that is not there if `wrong` is 3, and too many
/// threads are asserted if `most` is below 4.
fn plan(wrong: usize, most: u32) -> (Plan, NamedBuffers) {
    let mut at = vec![0u32, 1, 2, 0];
    if wrong > 0 {
        at[wrong] = 9;
    }
    let mut plan = Plan::new("p");
    let x = plan.buffer("x", device::Element::U32, 4);
    let ats = plan.buffer("at", device::Element::U32, 4);
    let out = plan.buffer("out", device::Element::U32, 4);
    plan.output("out", out);
    let block = LaunchConfig::new(1, 4);
    plan.launch("doubles", block, args![out]).unwrap();
    plan.launch("picks", block, args![x.slice(), ats.slice(), out])
        .unwrap();
    plan.launch("asserts", block, args![most]).unwrap();
    let inputs: NamedBuffers = vec![
        ("x".to_owned(), vec![5u32, 6, 7, 8].into()),
        ("at".to_owned(), at.into()),
        ("out".to_owned(), vec![0u32; 4].into()),
    ];
    (plan, inputs)
}

/// Place and text of the fault.
fn fault(module: &Module, wrong: usize, most: u32) -> (String, String) {
    let device = CudaDevice::open(0).unwrap();
    let (plan, inputs) = plan(wrong, most);
    let mut session = device.prepare(module, &plan).unwrap();
    reset(session.as_mut(), &plan, &inputs).unwrap();
    match session.run().unwrap_err() {
        Error::Device(DeviceError::KernelFault { place, what, .. }) => (place, what),
        other => panic!("{other}"),
    }
}

/// The line of the kernels' file that has this text.
fn line_of(text: &str) -> usize {
    let lines = include_str!("../../../panics/src/lib.rs").lines();
    1 + lines.take_while(|line| !line.contains(text)).count()
}

/// Runs `test` in a new process of this program, where it is the only one.
fn in_its_own_process(name: &str, test: fn()) {
    if std::env::var_os(IN_ITS_PROCESS).is_some() {
        return test();
    }
    if device().is_none() {
        return skip(Need::Gpu, "no CUDA device of compute capability 9.0");
    }
    let name = format!("library::panics::{name}");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &name, "--nocapture"])
        .env(IN_ITS_PROCESS, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{said}");
    assert!(text.contains("1 passed"), "{text}");
}
