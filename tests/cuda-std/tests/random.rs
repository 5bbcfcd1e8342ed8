//! Random functions give the same on the host, the emulated device and a GPU, and from the PTX of
//! `llc -O0` too: what rustc or LLVM break for one of them is seen (Wang and Jung, "Rustlantis:
//! Randomized Differential Testing of the Rust Compiler").
//!
//! `RANDOM_FUNCTIONS=500 RANDOM_SEED=2 cargo test -p cuda-std-tests --test random` tries others,
//! and `tests/random.sh` 20,000.

use cuda_std_tests::{KERNELS, Launch, UNOPTIMISED, devices};
use device::{Device, Element, EmulatedDevice, Module};
use plan::{LaunchConfig, args};
use std_kernels::random::{COUNT, random};

#[test]
fn random_functions_give_the_same_everywhere() {
    // Numbers of all sizes, positive and negative.
    let numbers: Vec<u64> = (0..64u64)
        .map(|i| {
            (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> i) ^ if i % 3 == 0 { u64::MAX } else { 0 }
        })
        .collect();
    let others: Vec<u64> = numbers
        .iter()
        .map(|number| number.rotate_left(29) ^ 5)
        .collect();
    let mut wrong = Vec::new();
    // A GPU's driver would take minutes for the PTX of -O0.
    let unoptimised: Box<dyn Device> = Box::new(EmulatedDevice::default());
    let devices = { devices().into_iter() }
        .map(|device| (device, "-O3", &KERNELS))
        .chain([(unoptimised, "-O0", &UNOPTIMISED)]);
    for (device, level, module) in devices {
        let on = format!("{}, llc {level}", device.info().name);
        for number in 0..COUNT {
            let expected = |i: usize| random(number, numbers[i], others[i]);
            if let Some(what) = differs(
                device.as_ref(),
                module,
                number,
                (&numbers, &others),
                expected,
            ) {
                wrong.push(format!("f{number} on {on}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first difference between a function on the device and on the host, or the device's error.
fn differs(
    device: &dyn Device,
    module: &Module,
    number: u32,
    (numbers, others): (&[u64], &[u64]),
    expected: impl Fn(usize) -> u64,
) -> Option<String> {
    let mut launch = Launch::new();
    let a = launch.input("a", numbers.to_vec());
    let b = launch.input("b", others.to_vec());
    let out = launch.output("out", Element::U64, numbers.len());
    let args = args![number, a.slice(), b.slice(), out];
    launch.launch("random_functions", LaunchConfig::new(2, 32), args);
    let outputs = match launch.try_run_of(module, device) {
        Ok(outputs) => outputs,
        Err(error) => return Some(error.to_string()),
    };
    let values: &[u64] = outputs[0].as_slice().expect("numbers");
    let i = (0..values.len()).find(|&i| values[i] != expected(i))?;
    Some(format!(
        "({:#x}, {:#x}) gives {:#x}, and {:#x} on the host",
        numbers[i],
        others[i],
        values[i],
        expected(i)
    ))
}
