//! References, mappings, counts, refusals.

use proptest::prelude::*;

use super::problem::sum;
use super::{LAB, Layout, MatAdd, check_index, layout};
use crate::Device;
use crate::device::{EmulatedDevice, GlobalTraffic, LaunchLimits};
use crate::lab::{Case, CaseParams, Cpu, Lab, NoProgress};
use crate::run::reset;
use crate::validate::validate;

#[test]
fn the_sum_is_the_sum_and_parallel_is_serial() {
    for (n_x, n_y) in [(1, 1), (33, 7), (700, 301)] {
        let problem = MatAdd::new(n_x, n_y, 9).unwrap();
        let (a, b) = problem.matrices().unwrap();
        let c = sum(&a, &b, Cpu::Serial).unwrap();
        assert_eq!(c.len(), (n_x * n_y) as usize);
        for i in 0..c.len() {
            // Elements have 24 significant bits: the exact sum has one rounding.
            let exact = f64::from(a[i]) + f64::from(b[i]);
            assert_eq!(c[i], exact as f32, "element {i}");
        }
        assert_eq!(c, sum(&a, &b, Cpu::Parallel).unwrap());
    }
}

#[test]
fn the_reference_is_at_most_half_a_unit_from_the_oracle() {
    let problem = MatAdd::new(700, 31, 9).unwrap();
    let inputs = problem.inputs().unwrap();
    let reference = problem
        .reference_from(&inputs, Cpu::Serial, &NoProgress)
        .unwrap();
    let oracle = problem.oracle_from(&inputs, &NoProgress).unwrap().unwrap();
    let (c, exact) = (
        reference[0].1.as_slice::<f32>().unwrap(),
        oracle[0].1.as_slice::<f64>().unwrap(),
    );
    assert_eq!((oracle[0].0.as_str(), exact.len()), ("c", c.len()));
    for (&c, &exact) in c.iter().zip(exact) {
        let ulp = f64::from(c.abs().next_up()) - f64::from(c.abs());
        assert!((f64::from(c) - exact).abs() <= ulp / 2.0, "{c} for {exact}");
    }
}

#[test]
fn matrices_are_random() {
    let problem = MatAdd::new(1000, 100, 1).unwrap();
    let (a, b) = problem.matrices().unwrap();
    assert!(a.iter().chain(&b).all(|v| (-1.0..1.0).contains(v)));
    let mean = |v: &[f32]| v.iter().map(|v| f64::from(*v)).sum::<f64>() / v.len() as f64;
    // The mean of 10^5 numbers from [-1, 1) has a standard deviation of 0.0018.
    assert!(mean(&a).abs() < 0.01 && mean(&b).abs() < 0.01);
    let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(equal < 10, "{equal} elements of A and B are equal");
    let (other, _) = MatAdd::new(1000, 100, 2).unwrap().matrices().unwrap();
    assert_ne!(a, other);
    assert_ne!(b, other);
}

/// Who owns element (x, y), by each mapping's definition: block and thread in it, as CUDA numbers them.
fn expected_owner(name: &str, layout: Layout, n_x: u32, x: u32, y: u32) -> (u32, u32) {
    let [bx, by] = layout.block;
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
    for variant in LAB.variants() {
        let layout = layout(variant.name).unwrap();
        let map = check_index(&device, layout, n_x, n_y).unwrap();
        for i in 0..(n_x * n_y) as usize {
            let (x, y) = (i as u32 % n_x, i as u32 / n_x);
            let (block, thread) = expected_owner(variant.name, layout, n_x, x, y);
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
    let layout = layout("grid_stride_256").unwrap();
    let threads = 4096 * 256;
    let map = check_index(&device, layout, threads + 3, 1).unwrap();
    assert_eq!(map.threads[threads as usize..], [0, 1, 2]);
    assert_eq!(map.threads[threads as usize - 1], threads - 1);
}

/// Traffic of the variant on a matrix of `n_x` by `n_y`: loads and stores.
fn traffic(variant: &str, n_x: u32, n_y: u32) -> (GlobalTraffic, GlobalTraffic) {
    let device = EmulatedDevice::default();
    let problem = MatAdd::new(n_x, n_y, 1).unwrap();
    let plan = problem.record(variant).unwrap();
    let mut session = device.prepare(LAB.module(), &plan).unwrap();
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
    // 32 rows of 256 elements: 32 sectors a row.
    let ideal = 32 * 32;
    for variant in LAB.variants() {
        let (loads, stores) = traffic(variant.name, 256, 32);
        // A warp of a block 8 wide has 8 neighbours, which is a sector. In a block 1 wide every lane has its own.
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
    for variant in LAB.variants() {
        let (loads, stores) = traffic(variant.name, 256, 64);
        let (large_loads, large_stores) = traffic(variant.name, 1024, 96);
        assert_eq!(loads.efficiency(), large_loads.efficiency());
        assert_eq!(stores.efficiency(), large_stores.efficiency());
    }
}

#[test]
fn the_largest_matrices_fit_a_grid() {
    for (n_x, n_y) in [
        (65_535, 32_768),
        (32_768, 32_768),
        (i32::MAX as u32, 1),
        (1, 65_535),
    ] {
        let problem = MatAdd::new(n_x, n_y, 1).unwrap();
        for variant in LAB.variants() {
            let plan = problem.record(variant.name).unwrap();
            validate(LAB.module(), &plan, &LaunchLimits::COMMON)
                .unwrap_or_else(|error| panic!("{}, {problem}: {error}", variant.name));
        }
    }
}

fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}

#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n_x=0"]), @"parameter `n_x` = `0`: a matrix has at least 1 element along each axis");
    insta::assert_snapshot!(refusal(&["n_y=0"]), @"parameter `n_y` = `0`: a matrix has at least 1 element along each axis");
    insta::assert_snapshot!(refusal(&["n_y=65536"]), @"parameter `n_y` = `65536`: a matrix has at most 65535 rows: a grid has so many blocks along y");
    insta::assert_snapshot!(refusal(&["n_x=2147483648", "n_y=2"]), @"parameter `n_x * n_y` = `2147483648 * 2`: a matrix has at most 2147483647 elements");
    insta::assert_snapshot!(refusal(&["n_x=-1"]), @"parameter `n_x` = `-1`: invalid digit found in string (elements of a row, at least 1)");
    insta::assert_snapshot!(refusal(&["seed=x"]), @"parameter `seed` = `x`: invalid digit found in string (seed of the random matrices, 0 to 2^32 - 1)");
    insta::assert_snapshot!(refusal(&["block=32x32"]), @"unknown parameter `block`; there are: n_x, n_y, seed");
    let unknown = MatAdd::new(2, 2, 1).unwrap().record("grid2d_block2d_32x31");
    insta::assert_snapshot!(unknown.unwrap_err(), @"unknown variant `grid2d_block2d_32x31`; did you mean `grid2d_block2d_32x32`?");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_element_has_one_owner_who_is_in_the_grid(
        (n_x, n_y) in (1_u32..90, 1_u32..40),
        variant in 0..LAB.variants().len(),
    ) {
        let name = LAB.variants()[variant].name;
        let layout = layout(name).unwrap();
        let map = check_index(&EmulatedDevice::default(), layout, n_x, n_y).unwrap();
        let blocks = map.config.blocks();
        for i in 0..map.threads.len() {
            let (x, y) = (i as u32 % n_x, i as u32 / n_x);
            prop_assert!(u128::from(map.blocks[i]) < blocks);
            let owner = (map.blocks[i], map.threads[i]);
            prop_assert_eq!(owner, expected_owner(name, layout, n_x, x, y));
        }
    }
}
