//! Which levels of a mipmap a fetch reads.
//!
//! The CUDA Programming Guide has no formulas for this. An H200 gives a level 8 bits behind the
//! point, cuts off what is below, and adds a bias of 8 bits too. It takes the lengths of changes by
//! [`length`], and of two changes and of their sum and difference the longest: of 1300 fetches with
//! one, two and three coordinates, the level is at most two parts of 256 away from that GPU's.

use super::Sampler;
use super::sampling::PARTS;

/// Levels have 8 bits behind the point, as weights have.
const BITS: f32 = PARTS as f32;

/// The levels of a fetch, each with its parts of [`PARTS`]. `detail` is the level that
/// the fetch names; one that names none has the first, without a bias.
pub(crate) fn chosen(
    count: usize,
    sampler: &Sampler,
    detail: Option<f32>,
) -> impl Iterator<Item = (usize, i64)> + use<> {
    let [least, greatest] = sampler.levels;
    let last = (count - 1) as f32;
    let cut = |level: f32| (level * BITS).floor() / BITS;
    let biased = match detail {
        None => 0.0,
        // Not a number counts as a level before all others.
        Some(level) if level.is_nan() => f32::NEG_INFINITY,
        Some(level) => cut(level) + (sampler.level_bias * BITS).trunc() / BITS,
    };
    let allowed = between(biased, least, greatest);
    let level = between(cut(allowed), 0.0, last);
    let (first, part) = if sampler.is_linear_between_levels {
        (level.floor(), (level.fract() * BITS) as i64)
    } else {
        ((level + 0.5).floor(), 0)
    };
    let first = (first as usize).min(count - 1);
    let second = (part > 0).then_some((first + 1, part));
    [(first, PARTS - part)].into_iter().chain(second)
}

/// The level of a fetch by the changes of its coordinates to the pixels beside and below, which
/// are from 0 to 1 in an image of this extent.
pub(crate) fn of_changes(extent: [u32; 3], [right, down]: [[f32; 3]; 2]) -> f32 {
    let in_elements =
        |change: [f32; 3]| -> [f32; 3] { std::array::from_fn(|k| change[k] * extent[k] as f32) };
    let (right, down) = (in_elements(right), in_elements(down));
    let sum = std::array::from_fn(|k| right[k] + down[k]);
    let difference = std::array::from_fn(|k| right[k] - down[k]);
    let across = [sum, difference].map(|change| length(change) * 11.0 / 16.0);
    let lengths = [length(right), length(down), across[0], across[1]];
    let longest = lengths
        .into_iter()
        .fold(0.0, |most, one| if one > most { one } else { most });
    (libm::log2f(longest) * BITS).round() / BITS
}

fn between(value: f32, least: f32, greatest: f32) -> f32 {
    if value < least {
        least
    } else if value > greatest {
        greatest
    } else {
        value
    }
}

/// A length, about: the greatest part, and fixed parts of the others.
fn length(of: [f32; 3]) -> f32 {
    let mut parts = of.map(f32::abs);
    parts.sort_by(f32::total_cmp);
    let [least, middle, greatest] = parts;
    greatest + middle * 11.0 / 32.0 + least / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(is_linear_between_levels: bool) -> Sampler {
        Sampler {
            is_linear_between_levels,
            levels: [0.0, 100.0],
            ..Sampler::default()
        }
    }

    fn of(sampler: &Sampler, detail: Option<f32>) -> Vec<(usize, i64)> {
        chosen(7, sampler, detail).collect()
    }

    /// As an H200 has chosen.
    #[test]
    fn levels_are_cut_and_biased_in_parts() {
        let linear = sampler(true);
        assert_eq!(of(&linear, None), [(0, 256)]);
        assert_eq!(of(&linear, Some(-3.0)), [(0, 256)]);
        assert_eq!(of(&linear, Some(f32::NAN)), [(0, 256)]);
        assert_eq!(of(&linear, Some(f32::INFINITY)), [(6, 256)]);
        let half = 128;
        assert_eq!(of(&linear, Some(0.5)), [(0, half), (1, half)]);
        assert_eq!(of(&linear, Some(0.4999))[1], (1, 127));
        let biased = Sampler {
            level_bias: 0.3,
            levels: [0.5, 3.25],
            ..linear
        };
        assert_eq!(of(&biased, Some(0.5))[1], (1, 204));
        assert_eq!(of(&biased, Some(0.4999))[1], (1, 203));
        assert_eq!(
            of(&biased, None)[1],
            (1, half),
            "no bias, and the least level"
        );
        assert_eq!(of(&biased, Some(9.0)), [(3, 192), (4, 64)]);
    }

    #[test]
    fn a_filter_by_points_takes_the_nearest_level() {
        let nearest = sampler(false);
        for (detail, level) in [
            (0.0, 0),
            (0.498, 0),
            (0.5, 1),
            (2.49, 2),
            (2.5, 3),
            (99.0, 6),
        ] {
            assert_eq!(of(&nearest, Some(detail)), [(level, 256)], "{detail}");
        }
    }

    /// Levels in parts, of an image of 64 x 64 and of one of 32 x 16 x 8, as an H200 has them.
    #[test]
    fn changes_have_the_level_of_their_longest() {
        let flat = |right: [f32; 2], down: [f32; 2]| {
            let [right, down] = [right, down].map(|[x, y]| [x, y, 0.0]);
            of_changes([64, 64, 1], [right, down]) * 256.0
        };
        let is_near = |one: f32, other: f32| (one - other).abs() <= 2.0;
        for (right, down, found) in [
            ([1.0 / 16.0, 0.0], [0.0; 2], 512.0),
            ([-0.08894, 0.06334], [0.0; 2], 723.0),
            ([-0.48219, 0.25869], [0.0; 2], 1329.0),
            ([0.03306, -0.02121], [0.0; 2], 350.0),
        ] {
            let level = flat(right, down);
            assert!(is_near(level, found), "{right:?} {down:?}: {level}");
        }
        let deep = [[0.03794, 0.0, 0.06408], [0.0, 0.0, -0.04242]];
        let in_depth = of_changes([32, 16, 8], deep) * 256.0;
        assert!(is_near(in_depth, 121.0), "{in_depth}");
        let along = [[0.1657, 0.0, 0.0], [0.25506, 0.0, 0.0]];
        let of_row = of_changes([128, 1, 1], along) * 256.0;
        assert!(is_near(of_row, 1334.0), "{of_row}");
    }
}
