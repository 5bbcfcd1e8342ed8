//! Random functions give the same on the host, the emulated device and a GPU, and from the PTX of
//! `llc -O0` too: what rustc or LLVM break for one of them is seen (Wang and Jung, "Rustlantis:
//! Randomized Differential Testing of the Rust Compiler").
//!
//! `RANDOM_FUNCTIONS=500 RANDOM_SEED=2 cargo test -p cuda-std-tests random` tries others,
//! and `tests/random.sh` 20,000.

use cuda_std_tests::{Launch, devices};
use device::{Device, Element, EmulatedDevice, Module};
use plan::{LaunchConfig, args};
use std_random::ON_HOST;

/// A kernel of some functions: its name, its PTX, and its PTX of `llc -O0`.
type Kernel = (&'static str, &'static str, &'static str);

const KERNELS: &[Kernel] = include!(env!("RANDOM_MODULES"));

/// The arguments of every function.
struct Numbers {
    a: Vec<u64>,
    b: Vec<u64>,
}

impl Numbers {
    /// Numbers of all sizes, positive and negative.
    fn of_all_sizes() -> Self {
        let number = |i: u64| {
            let inverted = if i.is_multiple_of(3) { u64::MAX } else { 0 };
            (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> i) ^ inverted
        };
        let a: Vec<u64> = (0..64).map(number).collect();
        let b = a.iter().map(|value| value.rotate_left(29) ^ 5).collect();
        Self { a, b }
    }
}

#[test]
fn random_functions_give_the_same_everywhere() {
    let numbers = Numbers::of_all_sizes();
    let devices = devices();
    let emulated = EmulatedDevice::default();
    let mut wrong = Vec::new();
    assert_eq!(KERNELS.len(), ON_HOST.len());
    for (kernel, optimised, unoptimised) in KERNELS {
        let number = kernel.strip_prefix("random_").expect("its name");
        let number: usize = number.parse().expect("a number");
        let optimised = Module::from_static("std_random", optimised);
        let unoptimised = Module::from_static("std_random", unoptimised);
        // A GPU's driver would take minutes for the PTX of -O0.
        let runs: Vec<_> = devices
            .iter()
            .map(|device| (device.as_ref(), "-O3", &optimised))
            .chain([(&emulated as &dyn Device, "-O0", &unoptimised)])
            .collect();
        let (functions, on_host) = ON_HOST[number];
        for &function in functions {
            let pairs = numbers.a.iter().zip(&numbers.b);
            let expected: Vec<u64> = pairs.map(|(&a, &b)| on_host(function, a, b)).collect();
            for (device, level, module) in &runs {
                let given = results(*device, module, kernel, function, &numbers);
                if let Some(what) = difference(&numbers, &expected, given) {
                    let name = &device.info().name;
                    wrong.push(format!("f{function} on {name}, llc {level}: {what}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The results of the function on the device.
fn results(
    device: &dyn Device,
    module: &Module,
    kernel: &str,
    function: u64,
    numbers: &Numbers,
) -> Result<Vec<u64>, device::Error> {
    let mut launch = Launch::new();
    let a = launch.input("a", numbers.a.clone());
    let b = launch.input("b", numbers.b.clone());
    let out = launch.output("out", Element::U64, numbers.a.len());
    let args = args![function, a.slice(), b.slice(), out];
    launch.launch(kernel, LaunchConfig::new(2, 32), args);
    let outputs = launch.try_run_of(module, device)?;
    Ok(outputs[0].as_slice().expect("numbers").to_vec())
}

/// The first difference between what a device and the host give, or the device's error.
fn difference(
    numbers: &Numbers,
    expected: &[u64],
    given: Result<Vec<u64>, device::Error>,
) -> Option<String> {
    let given = match given {
        Ok(given) => given,
        Err(error) => return Some(error.to_string()),
    };
    let i = (0..expected.len()).find(|&i| given[i] != expected[i])?;
    Some(format!(
        "({:#x}, {:#x}) gives {:#x}, and {:#x} on the host",
        numbers.a[i], numbers.b[i], given[i], expected[i]
    ))
}
