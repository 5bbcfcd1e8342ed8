//! The places of sites, and the scheme's two formulas.

use proptest::prelude::*;

use super::domain::{edge_len, edge_position, middle_len};
use super::update::{Factors, Neighbours, Scheme, laplacian};
use super::{Domain, EDGE, LAYER};

/// Numbers of all sizes that a field may have: of order one, tiny, and both zeros.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        -1.0_f64..1.0,
        (-1.0_f64..1.0, -1074_i32..0).prop_map(|(value, exponent)| value * 2_f64.powi(exponent)),
        prop_oneof![Just(0.0), Just(-0.0)],
    ]
}

proptest! {
    #[test]
    fn edges_and_middle_are_the_whole_axis(n in 3_u32..200) {
        let edges = (0..edge_len(n)).map(|t| edge_position(n, t));
        let middle = (0..middle_len(n)).map(|t| EDGE + t);
        let mut all: std::vec::Vec<u32> = edges.chain(middle).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..n).collect::<std::vec::Vec<_>>());
    }

    #[test]
    fn just_the_edges_are_deep_in_a_layer((n_x, n_y) in (3_u32..40, 3_u32..40)) {
        let domain = Domain { n_x, n_y, n_z: 3 };
        let in_edge = |n, position| (0..edge_len(n)).any(|t| edge_position(n, t) == position);
        for i in 0..n_x {
            for j in 0..n_y {
                let depth = domain.depth_in_layer(i, j);
                prop_assert_eq!(depth > 0, in_edge(n_x, i) || in_edge(n_y, j), "({}, {})", i, j);
                prop_assert_eq!(depth == EDGE, domain.is_border(i, j, 1), "({}, {})", i, j);
            }
        }
    }

    #[test]
    fn factors_give_the_same_bits(
        (d, u_prev, u, laplacian) in (0.0_f64..500.0, number(), number(), number()),
        (ratio, c2) in (1e-9_f64..1e-7, 1e6_f64..1e7),
    ) {
        let scheme = Scheme { dt: 0.002, ratio };
        let got = Scheme::undamped_by(ratio * c2, u_prev, u, laplacian);
        let expected = scheme.undamped(u_prev, u, laplacian, c2);
        prop_assert_eq!(got.to_bits(), expected.to_bits());
        let factors = scheme.factors(d);
        let undivided = Scheme::undivided(ratio * c2, factors, u_prev, u, laplacian);
        let got = match Factors::is_sure(undivided) {
            true => factors.quotient(undivided),
            false => undivided / factors.divisor,
        };
        let expected = scheme.damped(u_prev, u, laplacian, c2, d);
        prop_assert_eq!(got.to_bits(), expected.to_bits());
    }

    #[test]
    fn quotients_are_the_processors_where_they_are_sure(
        (mantissas, exponent) in (proptest::array::uniform32(any::<(u64, u64)>()), 0_u64..0x800),
        divisor_exponent in prop_oneof![Just(0_u64), 0_u64..400],
    ) {
        // Mantissas at both ends are the hard ones.
        for (a, b) in mantissas {
            for shift in [12, 40, 60] {
                for flip in [0, u64::MAX >> 12] {
                    let value = f64::from_bits(a << 63 | exponent.min(0x7ff) << 52 | ((a >> shift) ^ flip));
                    let d_dt = f64::from_bits((1023 + divisor_exponent) << 52 | ((b >> shift) ^ flip)) - 1.0;
                    let factors = Scheme { dt: 1.0, ratio: 1.0 }.factors(d_dt);
                    let (got, expected) = (factors.quotient(value), value / factors.divisor);
                    prop_assert!(
                        !Factors::is_sure(value) || got.to_bits() == expected.to_bits(),
                        "{value:e} / {:e}: {got:e}, expected {expected:e}", factors.divisor
                    );
                    let is_normal = value.is_finite() && (value == 0.0 || value.abs() >= 2.0_f64.powi(-500));
                    prop_assert_eq!(Factors::is_sure(value), is_normal);
                }
            }
        }
    }

    #[test]
    fn positions_are_all_different_and_k_is_contiguous(
        (n_x, n_y, n_z) in (3_u32..9, 3_u32..9, 3_u32..9)
    ) {
        let domain = Domain { n_x, n_y, n_z };
        let mut expected = 0;
        for i in 0..n_x {
            for j in 0..n_y {
                for k in 0..n_z {
                    prop_assert_eq!(domain.index(i, j, k), expected);
                    expected += 1;
                }
            }
        }
    }
}

#[test]
fn a_layer_has_its_sites_between_border_and_middle() {
    let domain = Domain {
        n_x: 20,
        n_y: 30,
        n_z: 3,
    };
    let depths: std::vec::Vec<u32> = (0..20).map(|i| domain.depth_in_layer(i, 15)).collect();
    assert_eq!(
        depths,
        [5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]
    );
    assert_eq!(
        depths.iter().filter(|&&depth| depth > 0).count() as u32,
        2 * (LAYER + 1)
    );
    assert_eq!(
        domain.depth_in_layer(2, 1),
        4,
        "the deeper of the two counts"
    );
}

#[test]
fn the_border_is_the_outermost_sites_and_what_is_outside() {
    let domain = Domain {
        n_x: 3,
        n_y: 4,
        n_z: 5,
    };
    let inside: std::vec::Vec<_> = (0..6)
        .flat_map(|i| (0..6).flat_map(move |j| (0..6).map(move |k| (i, j, k))))
        .filter(|&(i, j, k)| !domain.is_border(i, j, k))
        .collect();
    assert_eq!(
        inside,
        [
            (1, 1, 1),
            (1, 1, 2),
            (1, 1, 3),
            (1, 2, 1),
            (1, 2, 2),
            (1, 2, 3)
        ]
    );
}

#[test]
fn the_laplacian_of_a_quadratic_is_exact() {
    // u = x^2 + 3 y^2 - 2 z^2 + x at (5, 7, 11): second derivatives 2 + 6 - 4.
    let u = |x: f64, y: f64, z: f64| x * x + 3.0 * y * y - 2.0 * z * z + x;
    let around = Neighbours {
        along_x: [u(4.0, 7.0, 11.0), u(6.0, 7.0, 11.0)],
        along_y: [u(5.0, 6.0, 11.0), u(5.0, 8.0, 11.0)],
        along_z: [u(5.0, 7.0, 10.0), u(5.0, 7.0, 12.0)],
    };
    assert_eq!(laplacian(u(5.0, 7.0, 11.0), around), 4.0);
}

#[test]
fn no_damping_is_the_limit_of_little() {
    let scheme = Scheme::new(0.5, 2.0);
    assert_eq!(scheme.ratio, 0.0625);
    let (u_prev, u, laplacian, c2) = (0.3, -0.7, 1.9, 4.0);
    let undamped = 2.0 * u - u_prev + 0.25 * laplacian;
    assert_eq!(scheme.undamped(u_prev, u, laplacian, c2), undamped);
    assert_eq!(scheme.next(u_prev, u, laplacian, c2, 0.0), undamped);
    assert_eq!(scheme.damped(u_prev, u, laplacian, c2, 0.0), undamped);
    // d dt = 1/2.
    let damped = (2.0 * u - 0.5 * u_prev + 0.25 * laplacian) / 1.5;
    assert_eq!(scheme.next(u_prev, u, laplacian, c2, 1.0), damped);
}
