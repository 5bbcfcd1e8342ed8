//! Coalescing: requests and sectors of global memory; the transpose, whose tiles are in shared memory.

use host::device::Counts;
use host::{Element, LaunchConfig, args};

use crate::emulated::{Scene, ramp};
use crate::{global, shared};

/// 8 warps copy 32 floats each.
#[test]
fn a_coalesced_copy() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(256));
    let y = scene.scratch("y", Element::F32, 256);
    scene.launch("copy", LaunchConfig::new(2, 128), args![x, y]);
    let report = scene.report();
    assert_eq!((report.total.blocks, report.total.threads), (2, 256));
    let counts = &report.total.counts;
    // 8 requests of 128 bytes: 4 sectors each.
    assert_eq!(counts.global_loads, global(8, 32, 32, 1024));
    assert_eq!(counts.global_stores, global(8, 32, 32, 1024));
    assert_eq!(counts.global_loads.efficiency(), 1.0);
    assert_eq!(counts.divergent_branches, 0);
    assert_eq!(scene.run::<f32>(y).unwrap(), ramp(256));
}

/// 2 warps read every `stride`th float: lane i reads byte 4 * stride * i.
#[test]
fn strided_loads() {
    // The span of a warp is 128 * stride bytes, every sector of it touched as long as the stride is at most 32 bytes;
    // beyond that, a sector for each lane.
    for (stride, sectors) in [(1u32, 4), (2, 8), (4, 16), (8, 32), (32, 32)] {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(64 * stride as usize));
        let y = scene.scratch("y", Element::F32, 64);
        scene.launch("gather", LaunchConfig::new(1, 64), args![x, y, stride]);
        let counts = scene.report().total.counts;
        let expected = global(2, 2 * sectors, 2 * 4, 256);
        assert_eq!(counts.global_loads, expected, "stride {stride}");
        assert_eq!(counts.global_loads.efficiency(), 4.0 / sectors as f64);
        assert_eq!(counts.global_stores, global(2, 8, 8, 256));
    }
}

/// All lanes read the same float: one sector, and no more is ideal.
#[test]
fn a_broadcast_load() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(1));
    let y = scene.scratch("y", Element::F32, 64);
    scene.launch("gather", LaunchConfig::new(1, 64), args![x, y, 0u32]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.global_loads, global(2, 2, 2, 256));
}

/// Off by one element, a warp's 128 bytes start 4 bytes into a sector and end 4 bytes into a fifth.
#[test]
fn a_copy_off_by_one_element() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(65));
    let y = scene.scratch("y", Element::F32, 64);
    scene.launch("copy", LaunchConfig::new(1, 64), args![x.at(1), y]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.global_loads, global(2, 2 * 5, 2 * 4, 256));
    assert_eq!(counts.global_stores, global(2, 8, 8, 256));
}

/// 16 bytes a lane: 512 contiguous bytes, 16 sectors, one request.
#[test]
fn a_copy_of_four_floats_a_thread() {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(256));
    let y = scene.scratch("y", Element::F32, 256);
    scene.launch("copy_by_four", LaunchConfig::new(1, 64), args![x, y]);
    let counts = scene.report().total.counts;
    assert_eq!(counts.global_loads, global(2, 32, 32, 1024));
    assert_eq!(counts.global_stores, global(2, 32, 32, 1024));
    assert_eq!(scene.run::<f32>(y).unwrap(), ramp(256));
}

/// Transposes a 64 by 64 matrix: 4096 floats, 128 warps' worth, 16384 bytes.
fn transpose(kernel: &str, grid: (u32, u32)) -> Counts {
    let mut scene = Scene::new();
    let x = scene.input("x", &ramp(4096));
    let y = scene.scratch("y", Element::F32, 4096);
    scene.launch(kernel, LaunchConfig::new(grid, (32, 8)), args![x, y, 64u32]);
    let transposed: Vec<f32> = (0..4096).map(|i| (i % 64 * 64 + i / 64) as f32).collect();
    assert_eq!(scene.run::<f32>(y).unwrap(), transposed);
    scene.report().total.counts
}

#[test]
fn an_uncoalesced_transpose() {
    let counts = transpose("transpose_naive", (2, 8));
    // A warp reads 32 elements of a row: 4 sectors.
    assert_eq!(counts.global_loads, global(128, 128 * 4, 128 * 4, 16384));
    // And writes 32 of a column, 256 bytes apart: 32 sectors.
    assert_eq!(counts.global_stores, global(128, 128 * 32, 128 * 4, 16384));
    assert_eq!(counts.global_stores.efficiency(), 0.125);
    assert_eq!(counts.bank_conflicts(), 0);
    assert_eq!(counts.barriers, 0);
}

#[test]
fn a_transpose_by_tiles() {
    let counts = transpose("transpose_tiled", (2, 2));
    // Rows along a warp on both sides.
    assert_eq!(counts.global_loads, global(128, 512, 512, 16384));
    assert_eq!(counts.global_stores, global(128, 512, 512, 16384));
    // A row of the tile lies in 32 banks.
    assert_eq!(counts.shared_stores, shared(128, 128, 128, 16384));
    // A column lies in one: word 32 i + row is in bank `row` for every i. 32-way conflicts.
    assert_eq!(counts.shared_loads, shared(128, 128 * 32, 128, 16384));
    assert_eq!(counts.bank_conflicts(), 128 * 31);
    // 4 blocks of 8 warps, one barrier.
    assert_eq!(counts.barriers, 32);
}

#[test]
fn a_transpose_by_padded_tiles() {
    let counts = transpose("transpose_padded", (2, 2));
    assert_eq!(counts.global_loads, global(128, 512, 512, 16384));
    assert_eq!(counts.global_stores, global(128, 512, 512, 16384));
    assert_eq!(counts.shared_stores, shared(128, 128, 128, 16384));
    // Word 33 i + row is in bank (i + row) mod 32: another for every i.
    assert_eq!(counts.shared_loads, shared(128, 128, 128, 16384));
    assert_eq!(counts.bank_conflicts(), 0);
}
