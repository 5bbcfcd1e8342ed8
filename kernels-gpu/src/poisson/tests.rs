//! The promises of the grid.

use proptest::prelude::*;

use super::{Grid, update};

/// Compares -1 + 2 i / (n - 1) with p / q, exactly.
fn position_cmp(i: u32, n: u32, p: i64, q: i64) -> core::cmp::Ordering {
    let intervals = i64::from(n) - 1;
    ((2 * i64::from(i) - intervals) * q).cmp(&(p * intervals))
}

#[test]
fn the_source_is_the_box() {
    for n in [3, 4, 5, 17, 25, 48, 49] {
        let grid = Grid { n };
        for z in 0..n {
            for y in 0..n {
                for x in 0..n {
                    let inside = position_cmp(x, n, -3, 8).is_le()
                        && position_cmp(y, n, -1, 2).is_le()
                        && position_cmp(z, n, -2, 3).is_ge()
                        && position_cmp(z, n, 0, 1).is_le();
                    let expected = if inside { 200.0 } else { 0.0 };
                    assert_eq!(grid.source(x, y, z), expected, "n = {n}, ({x}, {y}, {z})");
                }
            }
        }
    }
}

#[test]
fn the_box_has_its_faces() {
    // 48 intervals put points on every face: x = 15, y = 12, z = 8 and 24.
    let grid = Grid { n: 49 };
    for (point, f) in [
        ((15, 12, 8), 200.0),
        ((16, 12, 8), 0.0),
        ((15, 13, 8), 0.0),
        ((15, 12, 7), 0.0),
        ((15, 12, 24), 200.0),
        ((15, 12, 25), 0.0),
        ((0, 0, 16), 200.0),
    ] {
        let (x, y, z) = point;
        assert_eq!(grid.source(x, y, z), f, "{point:?}");
    }
}

#[test]
fn the_largest_grid_is_numbered_by_32_bits() {
    let points = |n: u32| u64::from(n).pow(3);
    assert!(points(Grid::MAX_N) <= 1 << 32);
    assert!(points(Grid::MAX_N + 1) > 1 << 32);
    assert_eq!(4 * u64::from(Grid::MAX_N_IN_LAYERS).pow(2), 1 << 32);
    let last = Grid::MAX_N - 1;
    let index = Grid { n: Grid::MAX_N }.index(last, last, last);
    assert_eq!(index as u64, points(Grid::MAX_N) - 1);
}

/// One value on all sides.
fn around(v: f64) -> update::Neighbours {
    update::Neighbours {
        west: v,
        east: v,
        south: v,
        north: v,
        below: v,
        above: v,
    }
}

#[test]
fn a_balanced_point_stays() {
    assert_eq!(update::jacobi(around(2.0), 0.0), 2.0);
    assert_eq!(update::jacobi(around(0.0), 6.0), 1.0);
}

#[test]
fn a_sixth_of_a_zero_is_what_jacobi_makes_of_it() {
    let zero = around(-0.0);
    assert!(zero.sum().is_sign_negative());
    assert!(update::jacobi(zero, 0.0).is_sign_positive());
    assert!(update::sixth(zero.sum()).is_sign_positive());
}

proptest! {
    #[test]
    fn sixth_is_jacobi_without_a_source(values: [f64; 6]) {
        let [west, east, south, north, below, above] = values;
        let around = update::Neighbours { west, east, south, north, below, above };
        let (one, other) = (update::sixth(around.sum()), update::jacobi(around, 0.0));
        prop_assert!(one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan());
    }

    #[test]
    fn sixth_is_jacobi_of_any_sum(bits: u64, h2_f in 0.0..1e6_f64) {
        // The whole sum is in one neighbour: subnormal numbers and infinities occur as well.
        let west = f64::from_bits(bits);
        let around = update::Neighbours { west, east: -0.0, south: -0.0, north: -0.0, below: -0.0, above: -0.0 };
        for (one, other) in [
            (update::sixth(west), update::jacobi(around, 0.0)),
            (update::sixth(west + h2_f), update::jacobi(around, h2_f)),
        ] {
            prop_assert!(one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan());
        }
    }

    #[test]
    fn points_are_walls_or_inside(n in 3_u32..=1625, x in 0_u32..1625, y in 0_u32..1625, z in 0_u32..1625) {
        let grid = Grid { n };
        let inside = |i: u32| 1 <= i && i <= n - 2;
        prop_assert_eq!(grid.is_wall(x, y, z), !(inside(x) && inside(y) && inside(z)));
    }
}
