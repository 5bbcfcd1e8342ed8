//! Threads, warps and blocks that share global memory without order.

use device::Element;
use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::{Scene, squares};

/// One step of the mean of neighbours on i^2: i^2 + 1 inside, the border kept.
fn one_step() -> Vec<f32> {
    let mut means: Vec<f32> = (0..128).map(|i| (i * i + 1) as f32).collect();
    (means[0], means[127]) = (0.0, 127.0 * 127.0);
    means
}

#[test]
fn a_stencil_in_place() {
    let config = LaunchConfig::new(2, 64);
    let mut scene = Scene::new();
    let u = scene.input("u", &squares(128));
    scene.launch("jacobi", config, args![u, 128u32]);
    assert_snapshot!(fault(scene.run::<f32>(u)), @r"
    plan `demo`, command 0 (launch of `jacobi`)
    race in global memory: store of byte 4 of buffer `u` and an earlier load by another lane of the warp, with no barrier or warp barrier between them
      in kernel `jacobi` at tests/bad-kernels/src/global_races.rs:13 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
      earlier load at tests/bad-kernels/src/global_races.rs:12 (PTX line _), block (0, 0, 0), thread (2, 0, 0)
    ");

    let mut fixed = Scene::new();
    let input = fixed.input("u", &squares(128));
    let new = fixed.input("new", &squares(128));
    fixed.launch("jacobi_fixed", config, args![input, new, 128u32]);
    assert_eq!(fixed.run::<f32>(new).unwrap(), one_step());
}

#[test]
fn a_barrier_taken_to_hold_back_all_blocks() {
    let config = LaunchConfig::new(2, 64);
    // Block 0 reads values of block 1 before that has run: those of a launch before, or unwritten
    // ones.
    let run = |written| {
        let mut scene = Scene::new();
        let u = scene.input("u", &squares(128));
        let middle = if written {
            scene.input("middle", &[0f32; 128])
        } else {
            scene.scratch("middle", Element::F32, 128)
        };
        let out = scene.scratch("out", Element::F32, 128);
        scene.launch("two_steps", config, args![u, middle, out, 128u64]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run(true)), @r"
    plan `demo`, command 0 (launch of `two_steps`)
    race in global memory: store of byte 256 of buffer `middle` and an earlier load by another block: nothing orders the blocks of one launch
      in kernel `two_steps` at tests/bad-kernels/src/global_races.rs:32 (PTX line _), block (1, 0, 0), thread (0, 0, 0)
      earlier load at tests/bad-kernels/src/global_races.rs:43, called at tests/bad-kernels/src/global_races.rs:34 (PTX line _), block (0, 0, 0), thread (63, 0, 0)
    ");
    assert_snapshot!(fault(run(false)), @r"
    plan `demo`, command 0 (launch of `two_steps`)
    uninitialized read: load of 4 bytes from byte 256 of buffer `middle`, which nothing has written before
      in kernel `two_steps` at tests/bad-kernels/src/global_races.rs:43, called at tests/bad-kernels/src/global_races.rs:34 (PTX line _), block (0, 0, 0), thread (63, 0, 0)
      at tests/bad-kernels/src/global_races.rs:34 (PTX line _), a store to global memory of it
    ");

    let mut scene = Scene::new();
    let u = scene.input("u", &squares(128));
    let middle = scene.scratch("middle", Element::F32, 128);
    let out = scene.scratch("out", Element::F32, 128);
    scene.launch("two_steps_fixed", config, args![u, middle, 128u64]);
    scene.launch("two_steps_fixed", config, args![middle, out, 128u64]);
    // Two steps add 2, except beside the border, whose value does not grow: there the mean adds 1/2
    // less.
    let mut twice: Vec<f32> = one_step().iter().map(|m| m + 1.0).collect();
    (twice[0], twice[127]) = (0.0, 127.0 * 127.0);
    (twice[1], twice[126]) = (twice[1] - 0.5, twice[126] - 0.5);
    assert_eq!(scene.run::<f32>(out).unwrap(), twice);
}

#[test]
fn no_barrier_between_load_and_store() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &[1u32; 64]);
        scene.launch(kernel, LaunchConfig::new(1, 64), args![x]);
        scene.run::<u32>(x)
    };
    assert_snapshot!(fault(run("prefix_sum")), @r"
    plan `demo`, command 0 (launch of `prefix_sum`)
    race in global memory: load of byte 0 of buffer `x` and an earlier store by another lane of the warp, with no barrier or warp barrier between them
      in kernel `prefix_sum` at tests/bad-kernels/src/global_races.rs:62 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
      earlier store at tests/bad-kernels/src/global_races.rs:64 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    let sums: Vec<u32> = (1..=64).collect();
    assert_eq!(run("prefix_sum_fixed").unwrap(), sums);
}

#[test]
fn no_barrier_between_warps() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &squares(64));
        let y = scene.input("y", &[0f32; 64]);
        let out = scene.scratch("out", Element::F32, 64);
        scene.launch(kernel, LaunchConfig::new(1, 64), args![x, y, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("add_other_warp")), @r"
    plan `demo`, command 0 (launch of `add_other_warp`)
    race in global memory: store of byte 128 of buffer `y` and an earlier load by another warp, with no barrier between them (or, in a loop, between one iteration and the next)
      in kernel `add_other_warp` at tests/bad-kernels/src/global_races.rs:92 (PTX line _), block (0, 0, 0), thread (32, 0, 0)
      earlier load at tests/bad-kernels/src/global_races.rs:93 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    // 2 t^2 + 2 (t + 32)^2 in both halves.
    let half = |t: i32| (2 * t * t + 2 * (t + 32) * (t + 32)) as f32;
    let sums: Vec<f32> = (0..64).map(|t| half(t % 32)).collect();
    assert_eq!(run("add_other_warp_fixed").unwrap(), sums);
}

#[test]
fn a_counter_without_atomics() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &squares(100));
        let count = scene.input("count", &[0u32]);
        scene.launch(kernel, LaunchConfig::new(4, 32), args![x.slice(), count]);
        scene.run::<u32>(count)
    };
    assert_snapshot!(fault(run("count_positive")), @r"
    plan `demo`, command 0 (launch of `count_positive`)
    race in global memory: store of byte 0 of buffer `count` and an earlier load by another lane of the warp, with no barrier or warp barrier between them
      in kernel `count_positive` at tests/bad-kernels/src/global_races.rs:110 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
      earlier load at tests/bad-kernels/src/global_races.rs:110 (PTX line _), block (0, 0, 0), thread (2, 0, 0)
    ");
    assert_eq!(run("count_positive_fixed").unwrap(), [99]);
}

#[test]
fn no_fence_before_the_count_of_finished_blocks() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &(0..16).collect::<Vec<u32>>());
        let sums = scene.scratch("sums", Element::U32, 8);
        let done = scene.input("done", &[0u32]);
        let out = scene.input("out", &[0u32]);
        scene.launch(kernel, LaunchConfig::new(8, 1), args![x, sums, done, out]);
        scene.run::<u32>(out)
    };
    assert_snapshot!(fault(run("last_block_adds")), @r"
    plan `demo`, command 0 (launch of `last_block_adds`)
    race in global memory: load of byte 0 of buffer `sums` and an earlier store by another block, and nothing orders the two: that takes a device-wide fence (or a release) behind the first, an atomic or a flag that the other block reads, and a fence (or an acquire) there before the second
      in kernel `last_block_adds` at tests/bad-kernels/src/global_races.rs:132 (PTX line _), block (7, 0, 0), thread (0, 0, 0)
      earlier store at tests/bad-kernels/src/global_races.rs:127 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_eq!(run("last_block_adds_fixed").unwrap(), [120]);
}

#[test]
fn an_atomic_load_and_an_atomic_addition_are_not_one() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &(0..64).collect::<Vec<u32>>());
        let out = scene.scratch("out", Element::U32, 64);
        let end = scene.input("end", &[0u32]);
        scene.launch(kernel, LaunchConfig::new(2, 32), args![x.slice(), out, end]);
        scene.run_in_any_order::<u32>(out)
    };
    assert_snapshot!(fault(run("append")), @r"
    plan `demo`, command 0 (launch of `append`)
    race in global memory: store of byte 0 of buffer `out` and an earlier store by the same instruction, with another value: which one stays is not defined
      in kernel `append` at tests/bad-kernels/src/global_races.rs:161 (PTX line _), block (0, 0, 0), thread (2, 0, 0)
      earlier store at tests/bad-kernels/src/global_races.rs:161 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    // The order in which lanes and warps append is not defined.
    for mut appended in run("append_fixed").unwrap() {
        appended.truncate(32);
        appended.sort_unstable();
        assert_eq!(appended, (0..32).map(|i| 2 * i).collect::<Vec<u32>>());
    }
}
