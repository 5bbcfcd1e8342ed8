//! Several steps in one launch, with a barrier of all blocks between them.

use device::Error;
use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::Scene;

fn cells(len: u32) -> Vec<u32> {
    (0..len).map(|i| i.wrapping_mul(2654435761)).collect()
}

/// One step of the kernels, computed on the CPU.
fn stepped(cells: &[u32]) -> Vec<u32> {
    let n = cells.len();
    let step = |i: usize| {
        let sum = cells[(i + n - 1) % n].wrapping_add(cells[(i + 1) % n]);
        sum.wrapping_mul(5) ^ cells[i]
    };
    (0..n).map(step).collect()
}

/// Runs launches with these numbers of blocks and steps, with one counter.
fn run(kernel: &str, n: u32, launches: &[(u32, u32)]) -> Result<Vec<u32>, Error> {
    run_of(kernel, n, 64, launches)
}

/// As [`run`], with blocks of `threads` threads.
fn run_of(kernel: &str, n: u32, threads: u32, launches: &[(u32, u32)]) -> Result<Vec<u32>, Error> {
    let mut scene = Scene::new();
    let mut from = scene.input("a", &cells(n));
    let mut to = scene.input("b", &cells(n));
    let counter = scene.input("counter", &[0u32]);
    for &(blocks, steps) in launches {
        scene.launch(
            kernel,
            LaunchConfig::new(blocks, threads),
            args![from, to, n, steps, counter],
        );
        if steps % 2 == 1 {
            (from, to) = (to, from);
        }
    }
    scene.run::<u32>(from)
}

#[test]
fn steps_of_one_launch() {
    // Odd and even numbers of steps, consecutive launches, blocks without a cell.
    let cases: [(u32, &[(u32, u32)]); 5] = [
        (300, &[(4, 5)]),
        (300, &[(3, 1), (5, 4), (1, 3)]),
        (64, &[(1, 2)]),
        (100, &[(6, 3)]),
        (1, &[(2, 4), (2, 1)]),
    ];
    for (n, launches) in cases {
        let steps = launches.iter().map(|(_, steps)| steps).sum::<u32>();
        let expected = (0..steps).fold(cells(n), |cells, _| stepped(&cells));
        assert_eq!(run("steps_fixed", n, launches).unwrap(), expected);
    }
}

#[test]
fn no_barrier_of_the_grid() {
    assert_snapshot!(fault(run("steps_apart", 300, &[(4, 5)])), @r"
    plan `demo`, command 0 (launch of `steps_apart`)
    race in global memory: load of byte 252 of buffer `a` and an earlier store by another block: nothing orders the blocks of one launch
      in kernel `steps_apart` at tests/bad-kernels/src/grids.rs:25 (PTX line _), block (1, 0, 0), thread (0, 0, 0)
      earlier store at tests/bad-kernels/src/grids.rs:26 (PTX line _), block (0, 0, 0), thread (63, 0, 0)
    ");
}

#[test]
fn a_grid_that_is_larger_than_the_device() {
    // 132 multiprocessors hold two blocks of 1024 threads each.
    let run = |blocks| run_of("steps_fixed", 1000, 1024, &[(blocks, 2)]);
    assert_eq!(run(264).unwrap(), stepped(&stepped(&cells(1000))));
    assert_snapshot!(fault(run(265)), @r"
    plan `demo`, command 0 (launch of `steps_fixed`)
    deadlock: the 264 blocks that run wait for blocks that cannot start (not started: 1): the device holds 264 of this launch's blocks at once, and they poll memory in which nothing changes any more. A block may wait only for blocks that run at the same time: launch at most 264 and give each more to do, or end the launch where blocks wait for each other
      in kernel `steps_fixed` at tests/bad-kernels/src/grids.rs:45 (PTX line _), block (263, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn a_block_that_returns_before_the_barrier() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &cells(384));
        let middle = scene.input("middle", &[0u32; 384]);
        let out = scene.input("out", &[0u32; 384]);
        let counter = scene.input("counter", &[0u32]);
        scene.launch(
            kernel,
            LaunchConfig::new((2, 3), 64),
            args![x, middle, out, counter],
        );
        scene.run::<u32>(out)
    };
    assert_snapshot!(fault(run("leave_early")), @r"
    plan `demo`, command 0 (launch of `leave_early`)
    out of fuel: the block has executed 200000 warp instructions and has not ended; is there an endless loop, or a wait for another block?
      in kernel `leave_early` at tests/bad-kernels/src/grids.rs:60 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    let x = cells(384);
    let sum = |i: usize| x[i].wrapping_add(x[(i + 64) % 384].wrapping_mul(3));
    assert_eq!(
        run("leave_early_fixed").unwrap(),
        (0..384).map(sum).collect::<Vec<_>>()
    );
}
