//! Panics, endless loops, too much stack, launches that are not allowed, unknown instructions.

use device::Element;
use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::{fault, redact};
use crate::scene::{Scene, squares};

#[test]
fn an_index_out_of_a_slice() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let x = scene.input("x", &squares(64));
        let out = scene.input("out", &[0f32; 63]);
        scene.launch(kernel, LaunchConfig::new(2, 32), args![x.slice(), out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("slope")), @r"
    plan `demo`, command 0 (launch of `slope`)
    trap: the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`
      in kernel `slope` at tests/bad-kernels/src/endings.rs:11 (PTX line _), block (1, 0, 0), thread (31, 0, 0)
    ");
    let slopes: Vec<f32> = (0..63).map(|i| (2 * i + 1) as f32).collect();
    assert_eq!(run("slope_fixed").unwrap(), slopes);
}

#[test]
fn a_division_by_zero() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let sums = scene.input("sums", &[10u32, 20, 30, 0]);
        let counts = scene.input("counts", &[5u32, 4, 3, 0]);
        let out = scene.input("out", &[0u32; 4]);
        let args = args![sums.slice(), counts.slice(), out];
        scene.launch(kernel, LaunchConfig::new(1, 32), args);
        scene.run::<u32>(out)
    };
    assert_snapshot!(fault(run("means")), @r"
    plan `demo`, command 0 (launch of `means`)
    trap: the kernel executed `trap`: a panic, for example from an index out of range, a division by zero or an `unwrap` of `None`
      in kernel `means` at tests/bad-kernels/src/endings.rs:29 (PTX line _), block (0, 0, 0), thread (3, 0, 0)
    ");
    assert_eq!(run("means_fixed").unwrap(), [2, 5, 10, 0]);
}

#[test]
fn a_loop_without_end() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let sorted: Vec<u32> = (0..50).map(|i| 2 * i).collect();
        let sorted = scene.input("sorted", &sorted);
        let wanted = scene.input("wanted", &(0..32).collect::<Vec<u32>>());
        let out = scene.input("out", &[0u32; 32]);
        let args = args![sorted.slice(), wanted.slice(), out];
        scene.launch(kernel, LaunchConfig::new(1, 32), args);
        scene.run::<u32>(out)
    };
    // The reported line of the loop depends on the compiler.
    let message = fault(run("search"));
    assert_snapshot!(redact(&message, "endings.rs:", " "), @r"
    plan `demo`, command 0 (launch of `search`)
    out of fuel: the block has executed 200000 warp instructions and has not ended; is there an endless loop, or a wait for another block?
      in kernel `search` at tests/bad-kernels/src/endings.rs:_ (PTX line _), block (0, 0, 0), thread (1, 0, 0)
    ");
    let found: Vec<u32> = (0..32u32).map(|i| i.div_ceil(2)).collect();
    assert_eq!(run("search_fixed").unwrap(), found);
}

#[test]
fn a_block_that_waits_for_blocks_after_it() {
    let run = |blocks: u32, fixed| {
        let mut scene = Scene::new();
        let x = scene.input("x", &(0..2 * blocks).collect::<Vec<u32>>());
        let sums = scene.scratch("sums", Element::U32, blocks as usize);
        let done = scene.input("done", &[0u32]);
        let out = scene.input("out", &vec![0u32; blocks as usize]);
        // A multiprocessor holds one block with this shared memory.
        let config = LaunchConfig::new(blocks, 1).with_shared_mem_bytes(200 << 10);
        if fixed {
            scene.launch("wait_for_all_blocks_fixed", config, args![x, sums]);
            scene.launch("after_all_blocks", config, args![sums, out]);
        } else {
            scene.launch("wait_for_all_blocks", config, args![x, sums, done, out]);
        }
        scene.run::<u32>(out)
    };
    let message = fault(run(133, false));
    assert!(
        message
            .contains("wait for blocks that cannot start (not started: 1): the device holds 132"),
        "{message}"
    );
    // Sums are 4 b + 1; of neighbours, 8 b + 6; of the last and the first, 29 + 1.
    let right = [6, 14, 22, 30, 38, 46, 54, 30];
    assert_eq!(run(8, true).unwrap(), right);
    // The blocks of a small grid run together.
    assert_eq!(run(8, false).unwrap(), right);
}

#[test]
fn an_array_too_large_for_the_stack() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let values = scene.input("values", &(0..96).map(|i| i % 48).collect::<Vec<u32>>());
        let out = scene.input("out", &[0u32; 64]);
        scene.launch(kernel, LaunchConfig::new(1, 64), args![values.slice(), out]);
        scene.run::<u32>(out)
    };
    assert_snapshot!(run("most_frequent").unwrap_err(), @r"
    plan `demo`, command 0 (launch of `most_frequent`)
    kernel `most_frequent` needs 800000 bytes of local memory per thread, for arrays and variables that do not fit in registers; the device allows 524288
    ");
    let counts: Vec<u32> = (0..64).map(|i| if i < 48 { 2 } else { 0 }).collect();
    assert_eq!(run("most_frequent_fixed").unwrap(), counts);
}

#[test]
fn recursion_without_end() {
    let run = |kernel| {
        let mut scene = Scene::new();
        // A root with two children; the left one has a left child.
        let tree = scene.input("tree", &[1u32, 1, 1, 1, 0, 0, 0]);
        let out = scene.input("out", &[0u32]);
        scene.launch(kernel, LaunchConfig::new(1, 1), args![tree.slice(), out]);
        scene.run::<u32>(out)
    };
    assert_snapshot!(fault(run("tree_depth")), @r"
    plan `demo`, command 0 (launch of `tree_depth`)
    stack overflow: more than 1024 nested calls; is there an endless recursion?
      in kernel `tree_depth` at tests/bad-kernels/src/endings.rs:139 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_eq!(run("tree_depth_fixed").unwrap(), [3]);
}

#[test]
fn a_block_larger_than_the_kernel_allows() {
    let run = |threads, shared_mem_bytes| {
        let mut scene = Scene::new();
        let out = scene.input("out", &[0u32; 128]);
        let config =
            LaunchConfig::new(128 / threads, threads).with_shared_mem_bytes(shared_mem_bytes);
        scene.launch("bounded", config, args![out]);
        scene.run::<u32>(out)
    };
    assert_snapshot!(run(128, 0).unwrap_err(), @"plan `demo`, command 0 (launch of `bounded`): a block of [128, 1, 1] has 128 threads, but the kernel was compiled for at most 64; launch smaller blocks, or raise `max_threads` in its `#[kernel]`");
    assert_snapshot!(run(64, 256 << 10).unwrap_err(), @"plan `demo`, command 0 (launch of `bounded`): a block needs 262144 bytes of shared memory (0 declared in the kernel, 262144 asked for by the launch); the device allows 232448; use smaller tiles");
    assert_eq!(run(64, 64 << 10).unwrap(), (0..128).collect::<Vec<u32>>());
}

#[test]
fn arguments_that_do_not_fit() {
    let mut scene = Scene::new();
    let x = scene.input("x", &squares(64));
    let out = scene.input("out", &[0f32; 64]);
    // A slice is a pointer and a length.
    scene.launch("slope", LaunchConfig::new(2, 32), args![x, out]);
    assert_snapshot!(scene.run::<f32>(out).unwrap_err(), @"plan `demo`, command 0 (launch of `slope`): argument 1 of `args!`, counted from 1, is a buffer of f32, which is a slice with `.slice()`, but the kernel takes `x: &[f32]` there");
}

#[test]
fn an_instruction_that_the_emulated_device_does_not_know() {
    let run = |kernel| {
        let mut scene = Scene::new();
        let out = scene.input("out", &[0f32; 128]);
        scene.launch(kernel, LaunchConfig::new(1, 32), args![out]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("tensor_product")), @r"
    plan `demo`, command 0 (launch of `tensor_product`)
    not supported by the emulated device: modifier `.sp` of `mma` (in `mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2, %r3, %r4}, {%r5, %r5}, {%r5, %r5}, {%r1, %r2, %r3, %r4}, %r6, 0`)
      in kernel `tensor_product` at tests/bad-kernels/src/endings.rs:168 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_eq!(run("tensor_product_fixed").unwrap(), [4.0; 128]);
}
