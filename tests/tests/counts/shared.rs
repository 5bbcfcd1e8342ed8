//! Bank conflicts.

use host::{Element, LaunchConfig, args};

use crate::emulated::{Scene, ramp};
use crate::{at, global, shared};

/// One warp stores and loads word stride * i in lane i: bank stride * i mod 32.
#[test]
fn bank_conflicts_of_4_byte_accesses() {
    // 32 lanes fall into 32 / gcd(stride, 32) banks: gcd(stride, 32) words in each.
    for (stride, ways) in [
        (1, 1),
        (2, 2),
        (3, 1),
        (4, 4),
        (8, 8),
        (16, 16),
        (32, 32),
        (33, 1),
    ] {
        let mut scene = Scene::new();
        let x = scene.input("x", &(0..32).collect::<Vec<u32>>());
        let y = scene.scratch("y", Element::U32, 32);
        let args = args![x, y, stride as u32];
        scene.launch("shared_stride", LaunchConfig::new(1, 32), args);
        let counts = scene.report().total.counts;
        let expected = shared(1, ways, 1, 128);
        assert_eq!(counts.shared_stores, expected, "stride {stride}");
        assert_eq!(counts.shared_loads, expected, "stride {stride}");
        assert_eq!(counts.bank_conflicts(), 2 * (ways - 1));
    }
}

#[test]
fn broadcasts_from_shared_memory() {
    let mut scene = Scene::new();
    let x = scene.input("x", &(0..64).collect::<Vec<u32>>());
    let y = scene.scratch("y", Element::U32, 32);
    scene.launch("shared_broadcast", LaunchConfig::new(1, 32), args![x, y]);
    let report = scene.report();
    // Two words of one bank, each to 16 lanes.
    assert_eq!(at(&report, "half").shared_loads, shared(1, 2, 1, 128));
    // One word to all lanes.
    assert_eq!(at(&report, "one").shared_loads, shared(1, 1, 1, 128));
    assert_eq!(report.total.counts.bank_conflicts(), 1);
}

/// 8 bytes a lane: half a warp, 128 bytes, at once. Lane i is at word 2 * stride * i.
#[test]
fn bank_conflicts_of_8_byte_accesses() {
    // Of 16 lanes, those that start in the same bank: with stride 1 none; with stride 2, lanes i and i + 8, at words 4 i
    // and 4 i + 32; with stride 16 all, 32 words apart.
    for (stride, ways) in [(1, 1), (2, 2), (16, 16)] {
        let mut scene = Scene::new();
        let x = scene.input("x", &[1f64; 32]);
        let y = scene.scratch("y", Element::F64, 32);
        let args = args![x, y, stride as u32];
        scene.launch("shared_wide_8", LaunchConfig::new(1, 32), args);
        let counts = scene.report().total.counts;
        let expected = shared(1, 2 * ways, 2, 256);
        assert_eq!(counts.shared_stores, expected, "stride {stride}");
        assert_eq!(counts.shared_loads, expected, "stride {stride}");
        assert_eq!(counts.global_loads, global(1, 8, 8, 256));
    }
}

/// 16 bytes a lane: a quarter of a warp, 128 bytes, at once. Lane i is at word 4 * stride * i.
#[test]
fn bank_conflicts_of_16_byte_accesses() {
    // Of 8 lanes, those that start in the same bank: with stride 1 none; with stride 2, lanes i and i + 4, at words 8 i
    // and 8 i + 32; with stride 8 all, 32 words apart.
    for (stride, ways) in [(1, 1), (2, 2), (8, 8)] {
        let mut scene = Scene::new();
        let x = scene.input("x", &ramp(128));
        let y = scene.scratch("y", Element::F32, 128);
        let args = args![x, y, stride as u32];
        scene.launch("shared_wide_16", LaunchConfig::new(1, 32), args);
        let counts = scene.report().total.counts;
        let expected = shared(1, 4 * ways, 4, 512);
        assert_eq!(counts.shared_stores, expected, "stride {stride}");
        assert_eq!(counts.shared_loads, expected, "stride {stride}");
        assert_eq!(counts.global_loads, global(1, 16, 16, 512));
    }
}
