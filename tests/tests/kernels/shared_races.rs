//! Missing barriers between accesses to shared memory.

use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::{Scene, ramp};

#[test]
fn no_barrier_between_store_and_load() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(128));
        let out = scene.input("out", &[0f32; 128]);
        scene.launch(kernel, LaunchConfig::new(1, 128), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("reverse")), @r"
    plan `demo`, command 0 (launch of `reverse`)
    race in shared memory: store of element 64 (byte 256) of the shared array made in line 8 (`bad_kernels::shared_races::reverse`) and an earlier load by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `reverse` at tests/bad-kernels/src/shared_races.rs:10 (PTX line _), block (0, 0, 0), thread (64, 0, 0)
      earlier load at tests/bad-kernels/src/shared_races.rs:11 (PTX line _), block (0, 0, 0), thread (63, 0, 0)
    ");
    let reversed: Vec<f32> = ramp(128).into_iter().rev().collect();
    assert_eq!(run("reverse_fixed").unwrap(), reversed);
}

#[test]
fn no_second_barrier_before_the_tile_is_overwritten() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(3 * 64));
        let out = scene.input("out", &[0f32; 64]);
        scene.launch(kernel, LaunchConfig::new(1, 64), args![x, out, 3u32]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("sum_of_tiles")), @r"
    plan `demo`, command 0 (launch of `sum_of_tiles`)
    race in shared memory: load of element 0 (byte 0) of the shared array made in line 27 (`bad_kernels::shared_races::sum_of_tiles`) and an earlier store by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `sum_of_tiles` at tests/bad-kernels/src/shared_races.rs:33 (PTX line _), block (0, 0, 0), thread (32, 0, 0)
      earlier store at tests/bad-kernels/src/shared_races.rs:31 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Tile k holds 64 k + t. Thread t reads element t + 32 (mod 64) of each tile:
    // 64 (0 + 1 + 2) + 3 (t + 32 mod 64).
    let sums: Vec<f32> = (0..64)
        .map(|t| (192 + 3 * ((t + 32) % 64)) as f32)
        .collect();
    assert_eq!(run("sum_of_tiles_fixed").unwrap(), sums);
}

#[test]
fn lanes_taken_to_run_in_step() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &[1f32; 32]);
        let out = scene.input("out", &[0f32; 32]);
        scene.launch(kernel, LaunchConfig::new(1, 32), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("warp_sum")), @r"
    plan `demo`, command 0 (launch of `warp_sum`)
    race in shared memory: load of element 32 (byte 128) of the shared array made in line 56 (`bad_kernels::shared_races::warp_sum`) and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `warp_sum` at tests/bad-kernels/src/shared_races.rs:62 (PTX line _), block (0, 0, 0), thread (16, 0, 0)
      earlier store at tests/bad-kernels/src/shared_races.rs:59 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    // Lane i adds lanes i to 31.
    let sums: Vec<f32> = (0..32).map(|i| (32 - i) as f32).collect();
    assert_eq!(run("warp_sum_fixed").unwrap(), sums);
}

#[test]
fn counting_without_atomics() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let values: Vec<u32> = (0..96).map(|i| i * i % 8).collect();
        let values = scene.input("values", &values);
        let bins = scene.input("bins", &[0u32; 8]);
        scene.launch(
            kernel,
            LaunchConfig::new(1, 96),
            args![values.slice(), bins],
        );
        scene.run::<u32>(bins)
    };
    assert_snapshot!(fault(run("histogram")), @r"
    plan `demo`, command 0 (launch of `histogram`)
    race in shared memory: store of element 0 (byte 0) of the shared array made in line 90 (`bad_kernels::shared_races::histogram`) and an earlier load by another lane of the warp, with no barrier or warp barrier between them
      in kernel `histogram` at tests/bad-kernels/src/shared_races.rs:96 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      earlier load at tests/bad-kernels/src/shared_races.rs:96 (PTX line _), block (0, 0, 0), thread (4, 0, 0)
    ");
    // i^2 mod 8 of i = 0, 1, 2, 3, 4, 5, 6, 7 is 0, 1, 4, 1, 0, 1, 4, 1; twelve times.
    assert_eq!(run("histogram_fixed").unwrap(), [24, 48, 0, 0, 24, 0, 0, 0]);
}
