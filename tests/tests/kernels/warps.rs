//! Shuffles with lanes missing.

use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::fault;
use crate::scene::{Scene, ramp};

#[test]
fn a_shuffle_in_a_branch() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(32));
        let out = scene.input("out", &[0f32; 32]);
        scene.launch(kernel, LaunchConfig::new(1, 32), args![x, out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("sum_in_branch")), @r"
    plan `demo`, command 0 (launch of `sum_in_branch`)
    lanes missing: bar.warp.sync with mask 0xffffffff waits for lanes 0x0000ffff, which do not reach it
      in kernel `sum_in_branch` at tests/bad-kernels/src/warps.rs:14 (PTX line _), block (0, 0, 0), thread (16, 0, 0)
      16 threads wait for shfl.sync.down.b32 at tests/bad-kernels/src/warps.rs:12 (PTX line _) (first: thread (0, 0, 0))
    ");
    let sums: Vec<f32> = (0..32)
        .map(|i| if i < 16 { 2 * i + 16 } else { i } as f32)
        .collect();
    assert_eq!(run("sum_in_branch_fixed").unwrap(), sums);
}

#[test]
fn lanes_that_have_returned() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(20));
        let out = scene.input("out", &[0f32]);
        scene.launch(kernel, LaunchConfig::new(1, 32), args![x.slice(), out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("sum_of_few")), @r"
    plan `demo`, command 0 (launch of `sum_of_few`)
    shuffle from an inactive lane: reads lane 20, which does not take part (lanes 0x000fffff do)
      in kernel `sum_of_few` at tests/bad-kernels/src/warps.rs:40 (PTX line _), block (0, 0, 0), thread (4, 0, 0)
    ");
    assert_eq!(run("sum_of_few_fixed").unwrap(), [190.0]);
}

#[test]
fn a_mask_one_lane_short() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(8));
        let out = scene.input("out", &[0f32; 8]);
        scene.launch(kernel, LaunchConfig::new(1, 32), args![x, out, 8u32]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("broadcast_last")), @r"
    plan `demo`, command 0 (launch of `broadcast_last`)
    lanes missing: lane 7 executes shfl.sync.idx.b32 with mask 0x0000007f, which does not name it
      in kernel `broadcast_last` at tests/bad-kernels/src/warps.rs:70 (PTX line _), block (0, 0, 0), thread (7, 0, 0)
    ");
    assert_eq!(run("broadcast_last_fixed").unwrap(), [7.0; 8]);
}
