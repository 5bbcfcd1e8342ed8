//! Random functions give the same on the host, the emulated device and a GPU: what rustc or LLVM
//! break for one of them is seen (Wang and Jung, "Rustlantis: Randomized Differential Testing of
//! the Rust Compiler").
//!
//! `RANDOM_FUNCTIONS=5000 RANDOM_SEED=2 cargo test -p cuda-std-tests --test random` tries others.

use cuda_std_tests::{Launch, devices};
use device::Element;
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
    for device in devices() {
        for number in 0..COUNT {
            let mut launch = Launch::new();
            let a = launch.input("a", numbers.clone());
            let b = launch.input("b", others.clone());
            let out = launch.output("out", Element::U64, numbers.len());
            let args = args![number, a.slice(), b.slice(), out];
            launch.launch("random_functions", LaunchConfig::new(2, 32), args);
            let outputs = launch.run(device.as_ref());
            let values: &[u64] = outputs[0].as_slice().expect("numbers");
            for ((&a, &b), &value) in numbers.iter().zip(&others).zip(values) {
                let expected = random(number, a, b);
                if value != expected {
                    let device = &device.info().name;
                    wrong.push(format!(
                        "f{number}({a:#x}, {b:#x}) is {value:#x} on {device}, and {expected:#x} on the host"
                    ));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
