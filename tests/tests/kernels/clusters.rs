//! Clusters: accesses that the block's barrier does not order, and blocks that are not there.

use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::{Scene, ramp};

/// Six blocks of 64 threads in clusters of three.
fn config() -> LaunchConfig {
    LaunchConfig::new(6, 64).with_cluster(3)
}

#[test]
fn the_blocks_barrier_in_place_of_the_clusters() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(384));
        let out = scene.input("out", &[0f32; 384]);
        scene.launch(kernel, config(), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("halo")), @r"
    plan `demo`, command 0 (launch of `halo`)
    race in shared memory: load of element 0 (byte 0) of the shared array made in line 11 (`bad_kernels::clusters::halo`) of block (1, 0, 0) and an earlier store by another block of the cluster, with no barrier of the cluster between them (or, in a loop, between one iteration and the next)
      in kernel `halo` at tests/bad-kernels/src/clusters.rs:20 (PTX line _), block (0, 0, 0), thread (63, 0, 0)
      earlier store at tests/bad-kernels/src/clusters.rs:14 (PTX line _), block (1, 0, 0), thread (0, 0, 0)
    ");
    let expected: Vec<f32> = (0..384)
        .map(|i| {
            if i % 192 == 191 {
                i as f32
            } else {
                (2 * i + 1) as f32
            }
        })
        .collect();
    assert_eq!(run("halo_fixed").unwrap(), expected);
}

#[test]
fn no_barrier_before_the_end() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(384));
        let out = scene.input("out", &[0f32; 384]);
        scene.launch(kernel, config(), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("rotate")), @r"
    plan `demo`, command 0 (launch of `rotate`)
    shared memory of a block that may not be alive: load of 4 bytes in shared memory of block (1, 0, 0), which may end before: no barrier of the cluster stands between the access and the end of that block; put a `cluster::sync()` after the last access to another block's memory
      in kernel `rotate` at tests/bad-kernels/src/clusters.rs:57 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    let expected: Vec<f32> = (0..384)
        .map(|i| (i / 192 * 192 + (i + 64) % 192) as f32)
        .collect();
    assert_eq!(run("rotate_fixed").unwrap(), expected);
}

#[test]
fn no_barrier_after_the_start() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x: Vec<u32> = (0..384).map(|i| i * i / 5).collect();
        let x = scene.input("x", &x);
        let out = scene.input("out", &[0u32; 2]);
        scene.launch(kernel, config(), args![x, out]);
        scene.run::<u32>(out)
    };
    assert_snapshot!(fault(run("count_odd")), @r"
    plan `demo`, command 0 (launch of `count_odd`)
    shared memory of a block that may not be alive: atomic operation of 4 bytes in shared memory of block (0, 0, 0), which may not have started: the accessing block has not passed a barrier of the cluster; put a `cluster::sync()` before the first access to another block's memory
      in kernel `count_odd` at tests/bad-kernels/src/clusters.rs:81 (PTX line _), block (1, 0, 0), thread (0, 0, 0)
    ");
    let odd =
        |threads: std::ops::Range<u32>| threads.filter(|i| (i * i / 5) % 2 == 1).count() as u32;
    assert_eq!(
        run("count_odd_fixed").unwrap(),
        [odd(0..192), odd(192..384)]
    );
}
