//! Asynchronous copies: one word per thread, and in bulk.

use device::Error;
use insta::assert_snapshot;
use plan::{LaunchConfig, args};

use crate::message::{fault, redact};
use crate::scene::{Scene, ramp};

#[test]
fn words_that_nobody_waits_for() {
    let run = |kernel: &str, n: usize| {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(n));
        let out = scene.input("out", &vec![0f32; n]);
        let config = LaunchConfig::new(n.div_ceil(64) as u32, 64);
        scene.launch(kernel, config, args![x, out, n as u32]);
        scene.run::<f32>(out)
    };
    assert_snapshot!(fault(run("mean", 150)), @r"
    plan `demo`, command 0 (launch of `mean`)
    copy under way: load of 4 bytes at element 0 (byte 0) of the shared array made in line 8 (`bad_kernels::copies::mean`), to which a copy is under way: nothing has waited for it
      in kernel `mean` at tests/bad-kernels/src/copies.rs:19 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      copy started at tests/bad-kernels/src/copies.rs:13 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    for n in [1, 63, 64, 65, 150] {
        let x = ramp(n);
        let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
        let mean = |i: usize| (at(i.wrapping_sub(1)) + at(i) + at(i + 1)) / 3.0;
        let expected: Vec<f32> = (0..n).map(mean).collect();
        assert_eq!(run("mean_fixed", n).unwrap(), expected);
    }
}

/// Runs the kernel on `rows` rows of 128 cells, and one more cell.
fn rows(kernel: &str, rows: usize) -> Result<Vec<f32>, Error> {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(128 * rows + 1));
    let out = scene.input("out", &vec![0f32; 128 * rows]);
    scene.launch(kernel, LaunchConfig::new(1, 64), args![x, out, rows as u64]);
    scene.run::<f32>(out)
}

#[test]
fn rows_in_bulk() {
    for count in [1, 2, 3, 7] {
        let expected: Vec<f32> = ramp(128 * count).iter().map(|x| 2.0 * x).collect();
        assert_eq!(rows("rows_fixed", count).unwrap(), expected);
    }
}

#[test]
fn rows_that_nobody_waits_for() {
    assert_snapshot!(fault(rows("rows_at_once", 3)), @r"
    plan `demo`, command 0 (launch of `rows_at_once`)
    copy under way: load of 4 bytes at element 1 (byte 4) of the shared array made in line 50 (`bad_kernels::copies::double_rows`), to which a copy is under way: nothing has waited for it
      in kernel `rows_at_once` at tests/bad-kernels/src/copies.rs:76, called at tests/bad-kernels/src/copies.rs:94 (PTX line _), block (0, 0, 0), thread (1, 0, 0)
      copy started at tests/bad-kernels/src/copies.rs:64, called at tests/bad-kernels/src/copies.rs:94 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
}

#[test]
fn other_bytes_expected_than_copied() {
    assert_snapshot!(fault(rows("rows_in_part", 3)), @r"
    plan `demo`, command 0 (launch of `rows_in_part`)
    invalid barrier: copies of 512 bytes are under way to the mbarrier object at byte 0 of the shared array made in line 52 (`bad_kernels::copies::double_rows`), whose phase 0 expects 128: it would complete before they have arrived
      in kernel `rows_in_part` at tests/bad-kernels/src/copies.rs:64, called at tests/bad-kernels/src/copies.rs:100 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
    assert_snapshot!(fault(rows("rows_and_more", 3)), @r"
    plan `demo`, command 0 (launch of `rows_and_more`)
    deadlock: no thread of the block can go on
      in kernel `rows_and_more` at tests/bad-kernels/src/copies.rs:74, called at tests/bad-kernels/src/copies.rs:106 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
      64 threads wait for the mbarrier object (byte 0 of the shared array made in line 52 (`bad_kernels::copies::double_rows`); phase 0: 0 arrivals and 1024 bytes are missing) at tests/bad-kernels/src/copies.rs:74, called at tests/bad-kernels/src/copies.rs:106 (PTX line _) (first: thread (0, 0, 0))
    ");
}

#[test]
fn rows_that_do_not_begin_at_16_bytes() {
    // Where a buffer lies depends on the variables that the compiler makes.
    let message = fault(rows("rows_aslant", 3));
    assert_snapshot!(redact(&message, ", address ", ","), @r"
    plan `demo`, command 0 (launch of `rows_aslant`)
    misaligned access: load of 16 bytes at byte 4 of buffer `x`, address _, which is 4 bytes past a multiple of 16
      in kernel `rows_aslant` at tests/bad-kernels/src/copies.rs:64, called at tests/bad-kernels/src/copies.rs:112 (PTX line _), block (0, 0, 0), thread (0, 0, 0)
    ");
}
