//! Barriers that only a part of the block reaches.

use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::{Scene, ramp};

#[test]
fn a_barrier_in_a_branch() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(128));
        let out = scene.input("out", &[0f32]);
        scene.launch(kernel, LaunchConfig::new(1, 128), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("reduce_in_branch")), @r"
    plan `demo`, command 0 (launch of `reduce_in_branch`)
    barrier reached by a part of the block: 64 threads of 128 reached barrier 0; others went past it and ended (thread (64, 0, 0)). Is it in a branch, or in a loop that some threads leave earlier?
      in kernel `reduce_in_branch` at tests/bad-kernels/src/barriers.rs:16 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_eq!(run("reduce_in_branch_fixed").unwrap(), [127.0 * 64.0]);
}

#[test]
fn a_return_before_a_barrier() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(100));
        let out = scene.input("out", &[0f32; 100]);
        scene.launch(kernel, LaunchConfig::new(2, 64), args![x.slice(), out]);
        scene.run::<f32>(out)
    };
    let x = ramp(100);
    let reversed: Vec<f32> = x[..64]
        .iter()
        .rev()
        .chain(x[64..].iter().rev())
        .copied()
        .collect();
    // A GPU counts threads that have returned as arrived.
    for kernel in ["reverse_early_return", "reverse_early_return_fixed"] {
        assert_eq!(run(kernel).unwrap(), reversed, "{kernel}");
    }
}

#[test]
fn a_barrier_in_either_branch() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(32));
        let out = scene.input("out", &[0f32; 32]);
        scene.launch(kernel, LaunchConfig::new(1, 32), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("swap_pairs")), @r"
    plan `demo`, command 0 (launch of `swap_pairs`)
    barrier in divergent code: threads of one warp reached barrier 0 at different places
      in kernel `swap_pairs` at tests/bad-kernels/src/barriers.rs:83 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      other barrier at tests/bad-kernels/src/barriers.rs:87 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
    ");
    // Even threads get three times their right neighbour, odd ones twice their left one.
    let swapped: Vec<f32> = (0..32)
        .map(|t| if t % 2 == 0 { 3 * (t + 1) } else { 2 * (t - 1) } as f32)
        .collect();
    assert_eq!(run("swap_pairs_fixed").unwrap(), swapped);
}

#[test]
fn a_barrier_in_loops_of_unequal_length() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &[1f32; 3 * 64]);
        let lengths: Vec<u32> = (0..64).map(|t| if t < 32 { 3 } else { 2 }).collect();
        let lengths = scene.input("lengths", &lengths);
        let out = scene.input("out", &[0f32; 64]);
        let args = args![x.slice(), lengths.slice(), out];
        scene.launch(kernel, LaunchConfig::new(1, 64), args);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("row_sums")), @r"
    plan `demo`, command 0 (launch of `row_sums`)
    barrier reached by a part of the block: 32 threads of 64 reached barrier 0; others went past it and ended (thread (32, 0, 0)). Is it in a branch, or in a loop that some threads leave earlier?
      in kernel `row_sums` at tests/bad-kernels/src/barriers.rs:110 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    let sums: Vec<f32> = (0..64).map(|t| if t < 32 { 3.0 } else { 2.0 }).collect();
    assert_eq!(run("row_sums_fixed").unwrap(), sums);
}

#[test]
fn warps_that_wait_for_each_other() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(32));
        let out = scene.input("out", &[0f32; 32]);
        scene.launch(kernel, LaunchConfig::new(1, 64), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("hand_over")), @r"
    plan `demo`, command 0 (launch of `hand_over`)
    deadlock: no thread of the block can go on
      in kernel `hand_over` at tests/bad-kernels/src/barriers.rs:155, called at tests/bad-kernels/src/barriers.rs:141 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      32 threads wait for barrier 1 (64 threads) at tests/bad-kernels/src/barriers.rs:155, called at tests/bad-kernels/src/barriers.rs:141 (PTX line _) (first: thread (0, 0, 0))
      32 threads wait for barrier 2 (64 threads) at tests/bad-kernels/src/barriers.rs:155, called at tests/bad-kernels/src/barriers.rs:145 (PTX line _) (first: thread (32, 0, 0))
    ");
    let reversed: Vec<f32> = ramp(32).into_iter().rev().collect();
    assert_eq!(run("hand_over_fixed").unwrap(), reversed);
}
