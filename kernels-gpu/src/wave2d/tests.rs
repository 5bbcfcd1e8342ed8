//! The promises of scenes to kernels.

use proptest::prelude::*;

use super::update::{Kind, Neighbours, free_cell, fused_cell, kind};
use super::{AnyScene, Domain, Region, Scene};

fn scenes(domain: Domain) -> impl Iterator<Item = (u32, AnyScene)> {
    (0..AnyScene::NAMES.len() as u32).map(move |number| (number, AnyScene::new(number, domain)))
}

#[test]
fn a_kind_s_code_chooses_the_cell_s_value() {
    let value = |kind: Kind| Kind::choose(kind.encode(), 3.0, 7.0);
    assert_eq!(value(Kind::Zero), 0.0);
    assert_eq!(value(Kind::Source), 7.0);
    for damping in [0.0, 0.25, 1.0] {
        let kind = Kind::Free { damping };
        assert_eq!((value(kind), kind.encode()), (3.0, damping));
    }
}

#[test]
fn the_fused_update_is_the_scheme_but_for_rounding() {
    let around = Neighbours {
        west: 0.3_f32,
        east: -0.7,
        north: 0.11,
        south: 0.9,
    };
    let exact_around = Neighbours {
        west: f64::from(around.west),
        east: f64::from(around.east),
        north: f64::from(around.north),
        south: f64::from(around.south),
    };
    for d in [0.0_f32, 0.1, 0.25, 1.0] {
        let fused = fused_cell(0.4, -0.6, around, 0.3, d);
        let wide = [0.4_f32, -0.6, 0.3, d].map(f64::from);
        let exact = free_cell(wide[0], wide[1], exact_around, wide[2], wide[3]);
        assert!(
            (f64::from(fused) - exact).abs() < 3e-7,
            "{d}: {fused}, {exact}"
        );
    }
    // Without damping, three products are not rounded.
    let begun = 0.25_f32.mul_add(around.north + around.east, 1.0_f32.mul_add(-0.6, -0.4));
    let by_hand = 0.25_f32.mul_add(around.west + around.south, begun);
    assert_eq!(fused_cell(0.4, -0.6, around, 0.25, 0.0), by_hand);
}

#[test]
fn every_scene_of_ordinary_size_has_free_cells_and_its_border_is_zero() {
    let domain = Domain { n_x: 200, n_y: 150 };
    for (number, scene) in scenes(domain) {
        let free = (0..150)
            .flat_map(|y| (0..200).map(move |x| (x, y)))
            .filter(|&(x, y)| matches!(kind(&scene, domain, x, y), Kind::Free { .. }))
            .count();
        assert!(free > 15_000, "scene {number} has {free} free cells");
        for (x, y) in [(0, 7), (199, 7), (7, 0), (7, 149), (200, 7), (7, u32::MAX)] {
            assert_eq!(kind(&scene, domain, x, y), Kind::Zero);
        }
    }
}

#[test]
fn the_slits_are_two_and_symmetric() {
    let domain = Domain { n_x: 600, n_y: 401 };
    let scene = AnyScene::new(1, domain);
    let wall_x = (0..600).find(|&x| scene.is_wall(x, 0)).unwrap();
    let open = |y| !scene.is_wall(wall_x, y);
    let edges = (1..401).filter(|&y| open(y) && !open(y - 1)).count();
    assert_eq!(edges, 2);
    for y in 1..401 {
        assert_eq!(open(y), open(400 - y), "y = {y}");
    }
}

#[test]
fn the_mirror_has_no_gap() {
    // Between neighbouring rows its cells overlap along x, so that no wave slips through.
    let domain = Domain { n_x: 400, n_y: 300 };
    let scene = AnyScene::new(3, domain);
    let extent = |y| {
        let cells = || (0..400).filter(|&x| scene.is_wall(x, y));
        cells().next().zip(cells().next_back())
    };
    let mut rows = 0;
    for y in 0..299 {
        if let (Some((first, last)), Some((next_first, next_last))) = (extent(y), extent(y + 1)) {
            assert!(first <= next_last && next_first <= last, "y = {y}");
            rows += 1;
        }
    }
    assert!(rows > 150, "{rows}");
}

proptest! {
    #[test]
    fn plain_regions_are_plain(
        (n_x, n_y) in (2_u32..400, 2_u32..400),
        (x, y) in (0.0..1.0, 0.0..1.0),
        (width, height) in (1_u32..140, 1_u32..70),
    ) {
        let domain = Domain { n_x, n_y };
        let (x_first, y_first) = ((f64::from(n_x) * x) as u32, (f64::from(n_y) * y) as u32);
        let region = Region { x_first, x_end: x_first + width, y_first, y_end: y_first + height };
        for (number, scene) in scenes(domain) {
            if !scene.is_plain(region) {
                continue;
            }
            for y in region.y_first..region.y_end {
                for x in region.x_first..region.x_end {
                    prop_assert_eq!(
                        kind(&scene, domain, x, y),
                        Kind::Free { damping: 0.0 },
                        "scene {} at ({}, {})", number, x, y
                    );
                }
            }
        }
    }

    #[test]
    fn damping_is_a_fraction_and_sources_are_bounded(
        (n_x, n_y) in (2_u32..3000, 2_u32..3000),
        (x, y) in (0.0..1.0, 0.0..1.0),
        t in any::<u32>(),
    ) {
        let domain = Domain { n_x, n_y };
        let (x, y) = ((f64::from(n_x) * x) as u32, (f64::from(n_y) * y) as u32);
        for (_, scene) in scenes(domain) {
            prop_assert!((0.0..=0.25).contains(&scene.damping(x, y)));
            prop_assert!(scene.source_value(t).abs() <= 1.000_001);
            // A kernel may compute the values of fixed cells, and zero cells hold +0.
            prop_assert!(scene.source_value(t).to_bits() != (-0.0_f32).to_bits());
        }
    }
}

#[test]
fn most_of_a_large_domain_is_plain() {
    // The fast path of the shared-memory kernel needs plain tiles.
    let domain = Domain {
        n_x: 3201,
        n_y: 3201,
    };
    for (number, scene) in scenes(domain) {
        let mut plain = 0;
        let mut all = 0;
        for y_first in (0..3200 - 64).step_by(48) {
            for x_first in (0..3200 - 128).step_by(112) {
                let region = Region {
                    x_first,
                    x_end: x_first + 128,
                    y_first,
                    y_end: y_first + 64,
                };
                plain += u32::from(scene.is_plain(region));
                all += 1;
            }
        }
        // Tiles outside the ellipse, and left of the mirror, are not plain.
        let least = if matches!(number, 2 | 3) { 60 } else { 90 };
        assert!(
            plain * 100 >= all * least,
            "scene {number}: {plain} of {all}"
        );
    }
}
