//! Layout, boxes, coefficients, formulas.

use proptest::prelude::*;
use std::mem::offset_of;
use std::vec::Vec;

use super::coefficients::{CENTRE, NEIGHBOURS};
use super::update::{Pairs, inner, laplacian, phi, shell};
use super::{Coefficients, Grid, LINE, RADIUS, Task};

proptest! {
    #[test]
    fn every_point_is_inside_or_in_one_box_of_the_shell(
        width in 1_u32..5,
        more in (1_u32..6, 1_u32..6, 1_u32..6),
    ) {
        let [n_x, n_y, n_z] = [more.0, more.1, more.2].map(|more| 2 * width + more);
        let grid = Grid::new([n_x, n_y, n_z]);
        for x in 0..n_x {
            for y in 0..n_y {
                for z in 0..n_z {
                    let is_inner = grid.inner(width).contains(x, y, z);
                    let boxes = grid.shell(width);
                    let holding = boxes.iter().filter(|region| region.contains(x, y, z)).count();
                    prop_assert_eq!(holding + usize::from(is_inner), 1, "({}, {}, {})", x, y, z);
                    let to_face = |position: u32, n: u32| position.min(n - 1 - position);
                    let depth = to_face(x, n_x).min(to_face(y, n_y)).min(to_face(z, n_z));
                    prop_assert_eq!(is_inner, depth >= width);
                }
            }
        }
    }

    #[test]
    fn points_and_halos_have_their_own_places(
        (n_x, n_y, n_z) in (1_u32..5, 1_u32..5, 1_u32..70)
    ) {
        let grid = Grid::new([n_x, n_y, n_z]);
        prop_assert!(grid.pitch >= n_z + RADIUS && grid.pitch < n_z + RADIUS + LINE);
        let mut points = Vec::new();
        for x in 0..n_x {
            for y in 0..n_y {
                prop_assert!(grid.index(x, y, 0).is_multiple_of(LINE));
                for z in 0..n_z {
                    points.push(grid.index(x, y, z));
                }
            }
        }
        prop_assert!(points.windows(2).all(|pair| pair[0] < pair[1]));
        // A point's neighbours in the halo are in the array, and are not points.
        let is_point = |index: u32| points.binary_search(&index).is_ok();
        for x in 0..n_x {
            for y in 0..n_y {
                for z in 0..n_z {
                    for r in 1..=RADIUS {
                        for (stride, position, n) in
                            [(grid.stride_x(), x, n_x), (grid.stride_y(), y, n_y), (1, z, n_z)]
                        {
                            let here = grid.index(x, y, z);
                            let (before, after) = (here - r * stride, here + r * stride);
                            prop_assert_eq!(is_point(before), position >= r);
                            prop_assert_eq!(is_point(after), position + r < n);
                            prop_assert!(u64::from(after) < grid.len());
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_bytes_of_a_task_are_those_in_memory() {
    let grid = Grid::new([5, 6, 7]);
    let task = Task {
        grid,
        region: grid.inner(2),
        coefficients: Coefficients::new([1.0, 2.0, 4.0]),
        source: 42,
    };
    let bytes = task.to_bytes();
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
        .collect();
    let at = |offset: usize| words[offset / 4];
    assert_eq!(words[..10], [5, 6, 7, 32, 2, 2, 2, 3, 4, 5]);
    assert_eq!(at(offset_of!(Task, region)), 2);
    let coefficients = offset_of!(Task, coefficients);
    let float = |offset: usize| f32::from_bits(at(coefficients + offset));
    assert_eq!(float(0), task.coefficients.centre);
    assert_eq!(
        float(offset_of!(Coefficients, y) + 12),
        task.coefficients.y[3]
    );
    assert_eq!(
        float(offset_of!(Coefficients, slopes)),
        task.coefficients.slopes[0]
    );
    assert_eq!(at(offset_of!(Task, source)), 42);
    assert_eq!(words.len(), 27);
}

#[test]
fn the_second_difference_is_exact_to_the_ninth_degree() {
    for degree in 0..=9 {
        let at = |r: i32| f64::from(r).powi(degree);
        let sum: f64 = (1..=4)
            .map(|r| NEIGHBOURS[r as usize - 1] * (at(r) + at(-r)))
            .sum();
        let exact = if degree == 2 { 2.0 } else { 0.0 };
        assert!((sum + CENTRE * at(0) - exact).abs() < 1e-11, "x^{degree}");
    }
}

#[test]
fn the_largest_eigenvalue_is_that_of_alternating_signs() {
    let spacing = [10.0, 5.0, 4.0];
    let c = Coefficients::new(spacing);
    let of = |r: i32| if r % 2 == 0 { 2.0 } else { -2.0 };
    let pairs = [1, 2, 3, 4].map(of);
    let pairs = Pairs {
        x: pairs,
        y: pairs,
        z: pairs,
    };
    let got = -laplacian(&c, 1.0_f64, pairs);
    let exact = Coefficients::largest_eigenvalue(spacing);
    assert!((got / exact - 1.0).abs() < 1e-6, "{got}, expected {exact}");
}

#[test]
fn no_absorption_is_the_limit_of_little() {
    let (u, v, vp, laplacian) = (0.3_f32, -0.7, 0.01, 1.9);
    let inside = inner(u, v, vp, laplacian);
    assert_eq!(shell(u, v, vp, laplacian, 0.0, 0.0), inside);
    assert!((inside - (2.0 * u - v + vp * laplacian)).abs() < 1e-6);
    // eta = 1/2: ((2 + 1 - 1/4) u - v + vp (laplacian + phi)) / 2.
    let damped = (2.75 * u - v + vp * (laplacian + 10.0)) / 2.0;
    assert!((shell(u, v, vp, laplacian, 0.5, 10.0) - damped).abs() < 1e-6);
}

#[test]
fn phi_follows_the_product_of_the_slopes() {
    // Slopes of eta 0.1, 0.2, 0.3 and of u 1, 2, 3 per metre, with spacings 2, 3 and 4.
    let spacing = [2.0_f64, 3.0, 4.0];
    let c = Coefficients::new(spacing);
    let change = |slopes: [f64; 3]| [0, 1, 2].map(|axis| 2.0 * spacing[axis] * slopes[axis]);
    let (eta_change, u_change) = (change([0.1, 0.2, 0.3]), change([1.0, 2.0, 3.0]));
    let got = phi(&c, 5.0, 0.25, eta_change, u_change);
    let exact = (5.0 - (0.1 + 0.4 + 0.9)) / 1.25;
    assert!((got - exact).abs() < 1e-6, "{got}, expected {exact}");
}
