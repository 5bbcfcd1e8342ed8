//! Reads of memory that was not written.

use device::Element;
use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::{Scene, ramp};

#[test]
fn scratch_that_another_kernel_leaves_unwritten() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &[1f32; 200]);
        let sums = scene.scratch("sums", Element::F32, 4);
        let out = scene.input("out", &[0f32]);
        scene.launch(kernel, LaunchConfig::new(4, 64), args![x.slice(), sums]);
        scene.launch("total", LaunchConfig::new(1, 1), args![sums, 4u32, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("block_sums")), @r"
    plan `demo`, command 1 (launch of `total`)
    uninitialized read: load of 4 bytes from byte 12 of buffer `sums`, which nothing has written before
      in kernel `total` at tests/bad-kernels/src/unwritten.rs:52 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      at tests/bad-kernels/src/unwritten.rs:54 (PTX line _), a store to global memory of it
    ");
    assert_eq!(run("block_sums_fixed").unwrap(), [200.0]);
}

#[test]
fn adding_to_scratch() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(64));
        let y = scene.scratch("y", Element::F32, 64);
        scene.launch(kernel, LaunchConfig::new(2, 32), args![x.slice(), y]);
        scene.run::<f32>(y)
    };
    assert_snapshot!(fault(run("accumulate")), @r"
    plan `demo`, command 0 (launch of `accumulate`)
    uninitialized read: load of 4 bytes from byte 0 of buffer `y`, which nothing has written before
      in kernel `accumulate` at tests/bad-kernels/src/unwritten.rs:62 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      at tests/bad-kernels/src/unwritten.rs:62 (PTX line _), a store to global memory of it
    ");
    assert_eq!(run("accumulate_fixed").unwrap(), ramp(64));
}

#[test]
fn a_halo_that_is_not_loaded() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let u = scene.input("u", &ramp(130));
        let out = scene.input("out", &[0f32; 128]);
        scene.launch(kernel, LaunchConfig::new(2, 64), args![u, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("blur_tile")), @r"
    plan `demo`, command 0 (launch of `blur_tile`)
    uninitialized read: load of 4 bytes from element 0 (byte 0) of the shared array made in line 78 (`bad_kernels::unwritten::blur_tile`), which nothing has written before
      in kernel `blur_tile` at tests/bad-kernels/src/unwritten.rs:82 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      at tests/bad-kernels/src/unwritten.rs:82 (PTX line _), a store to global memory of it
    ");
    let sums: Vec<f32> = (0..128).map(|i| (2 * i + 2) as f32).collect();
    assert_eq!(run("blur_tile_fixed").unwrap(), sums);
}

#[test]
fn counters_of_a_thread_that_nothing_sets() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &[0x3133_0003_u32; 64]);
        let out = scene.scratch("out", Element::U32, 64);
        scene.launch(kernel, LaunchConfig::new(2, 32), args![x.slice(), out]);
        scene.run::<u32>(out)
    };
    assert_snapshot!(fault(run("own_counters")), @r"
    plan `demo`, command 0 (launch of `own_counters`)
    uninitialized value: a store to global memory of a value that nothing has set: a variable or an array element, read before it is written
      in kernel `own_counters` at tests/bad-kernels/src/unwritten.rs:107 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      last read of unwritten local memory at tests/bad-kernels/src/unwritten.rs:107 (PTX line _)
    ");
    assert_eq!(run("own_counters_fixed").unwrap(), [4; 64]);
}
