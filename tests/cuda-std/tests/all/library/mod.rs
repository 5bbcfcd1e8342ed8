//! Warps, atomics, state spaces and conditions, on the emulated device and a GPU.

#[cfg(target_os = "linux")]
mod panics;
mod raw;

use cuda_std_tests::{Launch, devices};
use device::{Device, Element, EmulatedDevice, HostBuffer};
use plan::{LaunchConfig, args};

fn numbers(buffer: &HostBuffer) -> &[u32] {
    buffer.as_slice().expect("numbers")
}

/// The row of 16 words of each lane that a kernel of one warp writes.
fn rows(kernel: &str, threads: u32) -> Vec<Vec<u32>> {
    let mut launch = Launch::new();
    let out = launch.updated("out", vec![0u32; 16 * 32]);
    launch.launch(kernel, LaunchConfig::new(1, threads), args![out]);
    let mut results = devices()
        .into_iter()
        .map(|device| launch.run(device.as_ref()).remove(0))
        .map(|buffer| numbers(&buffer).to_vec());
    let first = results.next().expect("the emulated device");
    assert!(results.all(|other| other == first));
    first.chunks(16).map(<[u32]>::to_vec).collect()
}

#[test]
fn shuffles_move_values_of_every_width() {
    for (lane, row) in rows("shuffles", 32).into_iter().enumerate() {
        let from = if lane + 3 < 32 { lane + 3 } else { lane } as u32;
        let wide = u128::from(from) * 0x0001_0002_0003_0004_0005_0006_0007_0008;
        let mut expected = vec![
            from,
            (-(from as i8)) as u32,
            u32::from(1000 * from as u16),
            (-1000 * from as i16) as u32,
        ];
        expected.extend((0..4).map(|word| (wide >> (32 * word)) as u32));
        expected.push(u32::from(lane + 3 < 32));
        assert_eq!(row[..9], expected, "lane {lane}");
    }
}

#[test]
fn lanes_match_and_reduce() {
    for (lane, row) in rows("matches", 32).into_iter().enumerate() {
        let lanes = |same: &dyn Fn(usize) -> bool| {
            (0..32)
                .filter(|&other| same(other))
                .fold(0u32, |mask, other| mask | 1 << other)
        };
        let expected = [
            lanes(&|other| other % 3 == lane % 3),
            lanes(&|other| other % 2 == lane % 2),
            u32::MAX,
            1,
            -20i32 as u32,
            (0..32).map(|other| other - 20).sum::<i32>() as u32,
            31,
            1,
            0,
            16,
            lane as u32,
            32,
        ];
        assert_eq!(row[..12], expected, "lane {lane}");
    }
}

#[test]
fn statics_are_where_they_are_put() {
    let mut launch = Launch::new();
    let out = launch.output("out", Element::U32, 8);
    launch.launch("statics", LaunchConfig::new(1, 8), args![out]);
    for device in devices() {
        let outputs = launch.run(device.as_ref());
        assert_eq!(numbers(&outputs[0]), [49, 36, 25, 16, 9, 4, 1, 0]);
    }
}

#[test]
fn floats_are_atomic_in_every_scope() {
    let mut launch = Launch::new();
    let single = launch.updated("single", vec![0.0f32; 4]);
    let double = launch.updated("double", vec![0.0f64]);
    launch.launch(
        "atomics",
        LaunchConfig::new(1, 64),
        args![single, double, 0u32],
    );
    launch.launch(
        "atomics",
        LaunchConfig::new(1, 1),
        args![single, double, 1u32],
    );
    for device in devices() {
        let outputs = launch.run(device.as_ref());
        assert_eq!(outputs[0], vec![-1.5f32, -0.0, -128.0, 62.5].into());
        assert_eq!(outputs[1], vec![-16.0f64].into());
    }
}

#[test]
fn pointers_know_their_spaces() {
    let mut launch = Launch::new();
    let out = launch.output("out", Element::U32, 5);
    let config = LaunchConfig::new(1, 1).with_shared_mem_bytes(256);
    launch.launch("spaces", config, args![out]);
    for device in devices() {
        let outputs = launch.run(device.as_ref());
        assert_eq!(numbers(&outputs[0]), [1, 0, 1, 1, 256]);
    }
}

#[test]
fn every_element_is_one_thread_s() {
    for config in [
        LaunchConfig::new(1, 32),
        LaunchConfig::new((2, 3), (4, 2, 2)),
        LaunchConfig::new(40, 32),
    ] {
        let mut launch = Launch::new();
        let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
        let xs = launch.input("x", x.clone());
        let y = launch.updated("y", vec![1.0f32; 1000]);
        launch.launch("axpy", config, args![2.0f32, xs.slice(), y]);
        let expected: Vec<f32> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
        for device in devices() {
            assert_eq!(launch.run(device.as_ref())[0], expected.clone().into());
        }
    }
}

#[test]
fn a_tile_is_one_thread_s() {
    let mut launch = Launch::new();
    let x = launch.updated("x", (0..14u32).collect::<Vec<_>>());
    launch.launch("reverse_tiles", LaunchConfig::new(1, 8), args![x, 14u32]);
    for device in devices() {
        let outputs = launch.run(device.as_ref());
        assert_eq!(
            numbers(&outputs[0]),
            [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 12, 13]
        );
    }
}

#[test]
fn a_value_is_printed_on_its_way() {
    let mut launch = Launch::new();
    let out = launch.output("out", Element::U32, 1);
    launch.launch("debugged", LaunchConfig::new(1, 1), args![out]);
    let device = EmulatedDevice::default().keeping_printed();
    assert_eq!(numbers(&launch.run(&device)[0]), [4]);
    let text = device.take_printed().text;
    assert!(text.ends_with(" + 2 = 2\n"), "{text}");
    assert!(text.contains("src/warps.rs:"), "{text}");
}

#[test]
fn a_launch_that_breaks_a_condition_is_refused() {
    let launch = |n: u32| {
        let mut launch = Launch::new();
        let x = launch.input("x", vec![1.0f32; 8]);
        let out = launch.updated("out", vec![0.0f32; 8]);
        launch.launch(
            "first_elements",
            LaunchConfig::new(1, 32),
            args![n, x.slice(), out],
        );
        launch
    };
    for device in devices() {
        let outputs = launch(2).run(device.as_ref());
        assert_eq!(
            outputs[0],
            vec![2.0f32, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].into()
        );
        for (n, message) in [
            (
                9,
                "the kernel requires `n as usize <= x.len()`, which does not hold: n is 9, x.len() is 8",
            ),
            (
                0,
                "the kernel requires `n > 0`, which does not hold: n is 0",
            ),
        ] {
            let error = launch(n).try_run(device.as_ref()).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
    }
}

/// Thread (x, y) has element (x, y), whatever else the grid has.
#[test]
fn an_element_of_a_matrix_is_one_thread_s() {
    let mut launch = Launch::new();
    let out = launch.updated("out", vec![7u32; 5 * 3]);
    let config = LaunchConfig::new((2, 2), (4, 2));
    launch.launch("places", config, args![out, 5u32, 3u32]);
    let expected: Vec<u32> = (0..15).map(|i| 7 + i % 5 + 100 * (i / 5)).collect();
    for device in devices() {
        assert_eq!(numbers(&launch.run(device.as_ref())[0]), expected);
    }
}

/// Words of two names of a compute capability, as code asks for it.
#[test]
fn architectures_have_rust_cuda_s_names_too() {
    let mut launch = Launch::new();
    let out = launch.output("out", Element::U32, 4);
    launch.launch("capabilities", LaunchConfig::new(1, 1), args![out]);
    for device in devices() {
        // The kernels are for 8.0.
        assert_eq!(numbers(&launch.run(device.as_ref())[0]), [1, 1, 0, 0]);
    }
}

/// The functions of the kernel `halves`, on the host.
fn halves(x: u32, y: f32) -> [u32; 8] {
    use std_kernels::halves::results;
    results(x as u16, y)
}

/// All floats of 16 bits, and numbers between and beyond them.
#[test]
fn floats_of_16_bits_have_the_same_bits_everywhere() {
    let mut random = 1u32;
    let y: Vec<f32> = (0..1 << 16)
        .map(|i| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            match i % 4 {
                // Halfway between two `f16`, near it, and anything.
                0 => f32::from_bits(0x3880_0000 + (i << 12)),
                1 => f32::from_bits(0x3880_0001 + (i << 12)),
                2 => f32::from_bits(i << 16 | 0x8000),
                _ => f32::from_bits(random),
            }
        })
        .collect();
    let expected: Vec<u32> = y
        .iter()
        .enumerate()
        .flat_map(|(x, y)| halves(x as u32, *y))
        .collect();
    let mut launch = Launch::new();
    let ys = launch.input("y", y);
    let out = launch.output("out", Element::U32, expected.len());
    let config = LaunchConfig::new(256, 256);
    launch.launch("halves", config, args![ys.slice(), out]);
    for device in devices() {
        let outputs = launch.run(device.as_ref());
        let found = numbers(&outputs[0]);
        let other = (0..expected.len()).find(|&i| found[i] != expected[i]);
        if let Some(i) = other {
            panic!(
                "{}: result {} of {:#06x}: {:#010x}, not {:#010x}",
                device.info().name,
                i % 8,
                i / 8,
                found[i],
                expected[i]
            );
        }
    }
}
