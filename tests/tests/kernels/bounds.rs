//! Accesses outside memory, misaligned, through null, to read-only data.

use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::{fault, redact};
use crate::scene::{Scene, ramp, squares};

#[test]
fn no_guard_for_the_last_block() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(1000));
        let y = scene.input("y", &[0f32; 1000]);
        scene.launch(kernel, LaunchConfig::new(4, 256), args![2f32, x.slice(), y]);
        scene.run::<f32>(y)
    };
    assert_snapshot!(fault(run("scale_unguarded")), @r"
    plan `demo`, command 0 (launch of `scale_unguarded`)
    out of bounds: load of 4 bytes at offset 4000 of buffer `x` (4000 bytes) reaches 4 bytes past its end (index 1000, length 1000)
      in kernel `scale_unguarded` at tests/bad-kernels/src/bounds.rs:9 (PTX line _), block (3, 0, 0), thread (232, 0, 0)
    ");
    let doubled: Vec<f32> = (0..1000).map(|i| 2.0 * i as f32).collect();
    assert_eq!(run("scale_unguarded_fixed").unwrap(), doubled);
}

#[test]
fn a_guard_that_lets_one_too_many_in() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let y = scene.input("y", &[0f32; 100]);
        scene.launch(kernel, LaunchConfig::new(4, 32), args![7f32, y, 100u32]);
        scene.run::<f32>(y)
    };
    assert_snapshot!(fault(run("fill_inclusive")), @r"
    plan `demo`, command 0 (launch of `fill_inclusive`)
    out of bounds: store of 4 bytes at offset 400 of buffer `y` (400 bytes) reaches 4 bytes past its end (index 100, length 100)
      in kernel `fill_inclusive` at tests/bad-kernels/src/bounds.rs:26 (PTX line _), block (3, 0, 0), thread (4, 0, 0)
    ");
    assert_eq!(run("fill_inclusive_fixed").unwrap(), [7f32; 100]);
}

#[test]
fn a_halo_before_the_start() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let u = scene.input("u", &squares(100));
        let out = scene.input("out", &[0f32; 100]);
        scene.launch(kernel, LaunchConfig::new(4, 32), args![u, out, 100i32]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("blur")), @r"
    plan `demo`, command 0 (launch of `blur`)
    out of bounds: load of 4 bytes at offset -4 of buffer `u` (400 bytes) starts 4 bytes before its start (index -1, length 100)
      in kernel `blur` at tests/bad-kernels/src/bounds.rs:44 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    // ((i - 1)^2 + (i + 1)^2) / 2 = i^2 + 1.
    let mut blurred: Vec<f32> = (0..100).map(|i| (i * i + 1) as f32).collect();
    (blurred[0], blurred[99]) = (0.0, 0.0);
    assert_eq!(run("blur_fixed").unwrap(), blurred);
}

#[test]
fn an_unsigned_index_that_wraps() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let u = scene.input("u", &squares(100));
        let out = scene.input("out", &[0f32; 100]);
        scene.launch(kernel, LaunchConfig::new(4, 32), args![u, out, 100u32]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("difference")), @r"
    plan `demo`, command 0 (launch of `difference`)
    out of bounds: load of 4 bytes at offset 17179869180 of buffer `u` (400 bytes): 2^32 elements too far, as when an index of type u32 goes below 0 (index -1)
      in kernel `difference` at tests/bad-kernels/src/bounds.rs:66 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    // i^2 - (i - 1)^2 = 2 i - 1.
    let mut differences: Vec<f32> = (0..100).map(|i| (2 * i - 1) as f32).collect();
    differences[0] = 0.0;
    assert_eq!(run("difference_fixed").unwrap(), differences);
}

#[test]
fn rows_and_columns_mixed_up() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let m = scene.input("m", &ramp(20 * 10));
        let config = LaunchConfig::new((2, 2), (16, 8));
        scene.launch(kernel, config, args![m, 20u32, 10u32]);
        scene.run::<f32>(m)
    };
    assert_snapshot!(fault(run("double_matrix")), @r"
    plan `demo`, command 0 (launch of `double_matrix`)
    out of bounds: load of 4 bytes at offset 800 of buffer `m` (800 bytes) reaches 4 bytes past its end (index 200, length 200)
      in kernel `double_matrix` at tests/bad-kernels/src/bounds.rs:85 (PTX line _), block (0, 0, 0), thread (10, 0, 0)
    ");
    let doubled: Vec<f32> = (0..200).map(|i| 2.0 * i as f32).collect();
    assert_eq!(run("double_matrix_fixed").unwrap(), doubled);
}

#[test]
fn a_vector_that_is_not_aligned() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(67));
        let out = scene.input("out", &[0f32; 64]);
        scene.launch(kernel, LaunchConfig::new(2, 32), args![x, out]);
        scene.run::<f32>(out)
    };
    // Where a buffer lies depends on the variables that the compiler makes.
    let message = fault(run("sum_of_four"));
    assert_snapshot!(redact(&message, ", address ", ","), @r"
    plan `demo`, command 0 (launch of `sum_of_four`)
    misaligned access: load of 16 bytes at byte 4 of buffer `x`, address _, which is 4 bytes past a multiple of 16
      in kernel `sum_of_four` at tests/bad-kernels/src/bounds.rs:103 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
    ");
    let sums: Vec<f32> = (0..64).map(|i| (4 * i + 6) as f32).collect();
    assert_eq!(run("sum_of_four_fixed").unwrap(), sums);
}

#[test]
fn a_null_pointer() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(64));
        let out = scene.input("out", &[0f32; 64]);
        // A `Layer`: no bias, a scale of 2, and 4 bytes of padding.
        let mut layer = vec![0; 16];
        layer[8..12].copy_from_slice(&2f32.to_le_bytes());
        let args = args![x.slice(), layer, out];
        scene.launch(kernel, LaunchConfig::new(2, 32), args);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("apply_layer")), @r"
    plan `demo`, command 0 (launch of `apply_layer`)
    out of bounds: load of 4 bytes at address 0x0: a null pointer
      in kernel `apply_layer` at tests/bad-kernels/src/bounds.rs:130 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    let doubled: Vec<f32> = (0..64).map(|i| (2 * i) as f32).collect();
    assert_eq!(run("apply_layer_fixed").unwrap(), doubled);
}

#[test]
fn a_buffer_read_as_a_slice_and_written() {
    let run = |kernel, length_only| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(64));
        let x_arg = if length_only { 64u64.into() } else { x.slice() };
        scene.launch(kernel, LaunchConfig::new(1, 64), [x_arg, x.into()]);
        scene.run::<f32>(x)
    };
    assert_snapshot!(fault(run("shift_left", false)), @r"
    plan `demo`, command 0 (launch of `shift_left`)
    read-only load of changing data: ld.global.nc of byte 4 of buffer `x`, which this launch changes
      in kernel `shift_left` at tests/bad-kernels/src/bounds.rs:154 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      earlier store at tests/bad-kernels/src/bounds.rs:152 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
    ");
    let shifted: Vec<f32> = (0..64).map(|i| (100 + (i + 1) % 64) as f32).collect();
    assert_eq!(run("shift_left_fixed", true).unwrap(), shifted);
}

#[test]
fn a_shared_array_without_room_for_the_halo() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let u = scene.input("u", &ramp(130));
        let out = scene.input("out", &[0f32; 128]);
        scene.launch(kernel, LaunchConfig::new(2, 64), args![u, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("tile_without_halo")), @r"
    plan `demo`, command 0 (launch of `tile_without_halo`)
    out of bounds: store of 4 bytes at offset 260 of shared memory (256 bytes) reaches 8 bytes past its end (index 65, length 64)
      in kernel `tile_without_halo` at tests/bad-kernels/src/bounds.rs:177 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
    ");
    let sums: Vec<f32> = (0..128).map(|i| (2 * i + 2) as f32).collect();
    assert_eq!(run("tile_without_halo_fixed").unwrap(), sums);
}

/// The kernel is right; the launch gives it a byte for each thread where it needs four.
#[test]
fn too_little_dynamic_shared_memory() {
    let run = |shared_mem_bytes| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(64));
        let out = scene.input("out", &[0f32; 64]);
        let config = LaunchConfig::new(1, 64).with_shared_mem_bytes(shared_mem_bytes);
        scene.launch("reverse_block", config, args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run(64)), @r"
    plan `demo`, command 0 (launch of `reverse_block`)
    out of bounds: store of 4 bytes at offset 64 of shared memory (64 bytes) reaches 4 bytes past its end (index 16, length 16)
      in kernel `reverse_block` at tests/bad-kernels/src/bounds.rs:201 (PTX line _), block (0, 0, 0), thread (16, 0, 0)
    ");
    let reversed: Vec<f32> = ramp(64).into_iter().rev().collect();
    assert_eq!(run(64 * 4).unwrap(), reversed);
}
