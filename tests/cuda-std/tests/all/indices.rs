//! Sorts, and pointers that move by bools and by narrow numbers, give the same on every device as
//! on the host: the kind of code whose addresses LLVM 22 computes wrongly (`cuda_builder`, module
//! `narrow_index`).

use cuda_std_tests::{Launch, devices};
use device::Element;
use plan::{LaunchConfig, args};
use std_kernels::indices::{NAMES, TABLE, value};

#[test]
fn addresses_are_the_same_everywhere() {
    // All numbers of 8 bits, which wrap; as seeds of sorts they hold some that meet the defect.
    let a: Vec<u64> = (0..256).collect();
    let b: Vec<u64> = (0..256).map(|i| i * 37 % 256).collect();
    let pairs = || a.iter().zip(&b).map(|(&a, &b)| [a as u8, b as u8]);
    let narrow: Vec<u8> = pairs().flatten().collect();
    let narrow_pairs: Vec<[i8; 2]> = pairs().map(|pair| pair.map(|byte| byte as i8)).collect();
    let table: Vec<u32> = (0..TABLE as u32)
        .map(|i| i.wrapping_mul(0x0101_0101) ^ (i >> 3))
        .collect();
    let mut wrong = Vec::new();
    for device in devices() {
        for (number, name) in NAMES.iter().enumerate() {
            let number = number as u32;
            let mut launch = Launch::new();
            let [a_in, b_in] =
                [("a", &a), ("b", &b)].map(|(input, values)| launch.input(input, values.clone()));
            let table_in = launch.input("table", table.clone());
            let narrow_in = launch.input("narrow", narrow.clone());
            let out = launch.output("out", Element::U64, a.len());
            let args = args![
                number,
                a_in.slice(),
                b_in.slice(),
                narrow_in.slice(),
                table_in,
                out
            ];
            launch.launch("indices", LaunchConfig::new(2, 128), args);
            let device_name = &device.info().name;
            let outputs = match launch.try_run(device.as_ref()) {
                Ok(outputs) => outputs,
                Err(error) => {
                    wrong.push(format!("{name} on {device_name}: {error}"));
                    continue;
                }
            };
            let values: &[u64] = outputs[0].as_slice().expect("numbers");
            // SAFETY: the table has as many elements as the function needs.
            let expected =
                |i: usize| unsafe { value(number, (a[i], b[i]), narrow_pairs[i], table.as_ptr()) };
            let differs = |i: &usize| values[*i] != expected(*i);
            let differing: Vec<usize> = (0..a.len()).filter(differs).collect();
            if let Some(&first) = differing.first() {
                wrong.push(format!(
                    "{name} on {device_name}: {} of {} are wrong, first that of ({}, {}), which is {:#x}; on the host {:#x}",
                    differing.len(), a.len(), a[first], b[first], values[first], expected(first)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
