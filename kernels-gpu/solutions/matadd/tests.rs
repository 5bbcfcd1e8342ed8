//! Mappings, counts, refusals.

use proptest::prelude::*;

use crate::computed::assert_computes;
use crate::matadd::{IndexMap, LAB, MatAdd, check_index};
use device::Device;
use device::run::reset;
use device::validate::validate;
use device::{EmulatedDevice, GlobalTraffic, LaunchLimits};
use lab::{Cpu, LabCase, Variant};
use terminal::progress::NoProgress;

/// The owner of element (x, y), by each mapping's definition: its block and its thread in the
/// block, as CUDA numbers them.
fn expected_owner(name: &str, map: &IndexMap, x: u32, y: u32) -> (u32, u32) {
    let ([bx, by, _], n_x) = (map.config.block, map.n_x);
    let blocks_x = n_x.div_ceil(bx);
    if name.starts_with("grid2d") {
        let block = y / by * blocks_x + x / bx;
        (block, block * bx * by + y % by * bx + x % bx)
    } else if name.starts_with("grid1d") {
        (x / bx, x)
    } else {
        let thread = (y * n_x + x) % (4096 * bx);
        (thread / bx, thread)
    }
}
#[test]
fn check_index_shows_the_owner_of_every_element() {
    let device = EmulatedDevice::default();
    let (n_x, n_y) = (37, 19);
    for variant in &LAB.variants {
        let map = check_index(&device, variant, n_x, n_y).unwrap();
        for i in 0..(n_x * n_y) as usize {
            let (x, y) = (i as u32 % n_x, i as u32 / n_x);
            let (block, thread) = expected_owner(&variant.name, &map, x, y);
            let owner = map.owner(i);
            let context = format!("{}, x = {x}, y = {y}", variant.name);
            assert_eq!((owner.block, owner.thread), (block, thread), "{context}");
            assert_eq!(owner.element, [x, y], "{context}");
            // The coordinates lead back to the linear indices.
            let [grid_x, _, _] = map.config.grid;
            let [block_x, block_y, _] = map.config.block;
            let ([bx, by], [tx, ty]) = (owner.block_idx, owner.thread_idx);
            assert_eq!(by * grid_x + bx, block, "{context}");
            assert!(tx < block_x && ty < block_y, "{context}");
            assert_eq!(
                block * block_x * block_y + ty * block_x + tx,
                thread,
                "{context}"
            );
        }
    }
}
#[test]
fn a_thread_that_strides_over_the_grid_comes_back() {
    // More elements than the grid has threads.
    let device = EmulatedDevice::default();
    let threads = 4096 * 256;
    let map = check_index(
        &device,
        LAB.find("grid_stride_256").unwrap(),
        threads + 3,
        1,
    )
    .unwrap();
    assert_eq!(map.threads[threads as usize..], [0, 1, 2]);
    assert_eq!(map.threads[threads as usize - 1], threads - 1);
}
/// Traffic of the variant on a matrix of `n_x` by `n_y`: loads and stores.
fn traffic(variant: &Variant, n_x: u32, n_y: u32) -> (GlobalTraffic, GlobalTraffic) {
    let device = EmulatedDevice::default();
    let problem = MatAdd::new(n_x, n_y, 1).unwrap();
    let plan = variant.record(&problem).unwrap();
    let mut session = device.prepare(&LAB.module, &plan).unwrap();
    reset(session.as_mut(), &plan, &problem.inputs().unwrap()).unwrap();
    session.run().unwrap();
    let [report] = session.reports() else {
        panic!("one kernel")
    };
    let counts = &report.total.counts;
    (counts.global_loads, counts.global_stores)
}
#[test]
fn sectors_are_what_the_block_shape_says() {
    // 32 rows of 256 elements: 32 sectors per row.
    let ideal = 32 * 32;
    for variant in &LAB.variants {
        let (loads, stores) = traffic(variant, 256, 32);
        // In a block 8 wide, a warp's lanes load runs of 8 neighbouring elements: one sector each.
        // In a block 1 wide, every lane has its own sector.
        let worse = if variant.name.ends_with("1x256") {
            8
        } else {
            1
        };
        assert_eq!(loads.sectors, 2 * ideal * worse, "{}", variant.name);
        assert_eq!(stores.sectors, ideal * worse, "{}", variant.name);
        assert_eq!(loads.ideal_sectors, 2 * ideal, "{}", variant.name);
        let accesses = if variant.name.contains("vector4") {
            4
        } else {
            1
        };
        assert_eq!(loads.requests, 2 * 256 / accesses, "{}", variant.name);
    }
}
#[test]
fn a_reduced_case_coalesces_as_the_case() {
    let (large, odd) = (MatAdd::new(1024, 96, 1), MatAdd::new(777, 90, 1));
    let labels = [large.as_ref(), odd.as_ref()].map(|case| {
        let reduced = case.unwrap().reduced().unwrap();
        reduced.label()
    });
    assert_eq!(labels, ["256x64", "265x64"]);
    for variant in &LAB.variants {
        let (loads, stores) = traffic(variant, 256, 64);
        let (large_loads, large_stores) = traffic(variant, 1024, 96);
        assert_eq!(loads.efficiency(), large_loads.efficiency());
        assert_eq!(stores.efficiency(), large_stores.efficiency());
    }
}
#[test]
fn the_largest_matrices_fit_a_grid() {
    for (n_x, n_y) in [
        (65_535, 32_768),
        (4_294, 500_000),
        (32_768, 32_768),
        (i32::MAX as u32, 1),
        (1, 500_000),
    ] {
        let problem = MatAdd::new(n_x, n_y, 1).unwrap();
        for variant in &LAB.variants {
            let plan = variant.record(&problem).unwrap();
            validate(&LAB.module, &plan, &LaunchLimits::SM_90)
                .unwrap_or_else(|error| panic!("{}, {problem}: {error}", variant.name));
        }
    }
}
/// More rows than a grid has blocks along y: a second launch adds the rest.
#[test]
fn rows_beyond_a_grid_are_added_too() {
    let problem = MatAdd::new(2, 65_540, 1).unwrap();
    let expected = problem.reference(Cpu::Serial, &NoProgress).unwrap();
    for (name, launches) in [("grid2d_block1d_32", 2), ("grid2d_block2d_32x8", 1)] {
        let variant = LAB.find(name).unwrap();
        let plan = variant.record(&problem).unwrap();
        assert_eq!(plan.commands().len(), launches, "{name}");
        assert_computes(&LAB.module, &problem, &plan, &expected);
    }
}
proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_element_has_one_owner_who_is_in_the_grid(
        (n_x, n_y) in (1_u32..90, 1_u32..40),
        variant in 0..LAB.variants.len(),
    ) {
        let variant = &LAB.variants[variant];
        let map = check_index(&EmulatedDevice::default(), variant, n_x, n_y).unwrap();
        let blocks = map.config.blocks();
        for i in 0..map.threads.len() {
            let (x, y) = (i as u32 % n_x, i as u32 / n_x);
            prop_assert!(u128::from(map.blocks[i]) < blocks);
            let owner = (map.blocks[i], map.threads[i]);
            prop_assert_eq!(owner, expected_owner(&variant.name, &map, x, y));
        }
    }
}

#[test]
fn an_unknown_variant_is_named() {
    let unknown = LAB.find("grid2d_block2d_32x31");
    insta::assert_snapshot!(unknown.unwrap_err(), @"unknown variant `grid2d_block2d_32x31`; did you mean `grid2d_block2d_32x32`?");
}
