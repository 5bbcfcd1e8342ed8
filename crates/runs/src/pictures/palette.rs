//! Colours: a diverging map, blue over white to red, and grey for walls.

/// Levels on either side of zero: with two more colours, a pixel has 5 bits, and 100 frames have
/// about 3 MB.
pub const LEVELS: u8 = 14;
/// The colour of walls.
pub const WALL: u8 = 2 * LEVELS + 1;
/// No colour: the pixel stays as it was in the frame before.
pub const UNCHANGED: u8 = WALL + 1;
/// Colours in all.
pub const COLOURS: usize = UNCHANGED as usize + 1;

/// From zero outwards: light, saturated, dark. Lightness falls steadily on both sides, so that the
/// map also reads in grey.
const NEGATIVE: [[f32; 3]; 4] = [
    [247.0, 247.0, 245.0],
    [146.0, 192.0, 222.0],
    [44.0, 112.0, 184.0],
    [8.0, 40.0, 96.0],
];
const POSITIVE: [[f32; 3]; 4] = [
    [247.0, 247.0, 245.0],
    [246.0, 169.0, 132.0],
    [205.0, 62.0, 56.0],
    [98.0, 4.0, 28.0],
];

/// The index of a value in [-1, 1]; what is beyond gets the last colour.
///
/// Weak waves are what pictures are looked at for: the exponent lifts them.
pub fn index(value: f32) -> u8 {
    let level = value.abs().min(1.0).powf(0.7) * f32::from(LEVELS);
    let level = level.round() as u8;
    if value < 0.0 {
        LEVELS - level
    } else {
        LEVELS + level
    }
}

/// Red, green and blue of every index.
pub fn rgb() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(3 * COLOURS);
    for index in 0..=2 * LEVELS {
        let level = i16::from(index) - i16::from(LEVELS);
        let stops = if level < 0 { &NEGATIVE } else { &POSITIVE };
        bytes.extend(between(
            stops,
            f32::from(level.unsigned_abs()) / f32::from(LEVELS),
        ));
    }
    bytes.extend([90, 92, 96]); // Walls.
    bytes.extend([0, 0, 0]); // Never seen.
    bytes
}

/// The colour at `position` in [0, 1] between evenly spaced stops.
fn between(stops: &[[f32; 3]; 4], position: f32) -> [u8; 3] {
    let position = position * (stops.len() - 1) as f32;
    let left = (position as usize).min(stops.len() - 2);
    let share = position - left as f32;
    std::array::from_fn(|channel| {
        let (a, b) = (stops[left][channel], stops[left + 1][channel]);
        (a + (b - a) * share).round() as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_and_the_middle() {
        assert_eq!(index(0.0), LEVELS);
        assert_eq!(index(-0.0), LEVELS);
        assert_eq!((index(-1.0), index(1.0)), (0, 2 * LEVELS));
        assert_eq!((index(-9.0), index(f32::INFINITY)), (0, 2 * LEVELS));
        assert_eq!(
            index(0.5) - LEVELS,
            9,
            "14 levels times 0.5 to the power of 0.7"
        );
    }

    #[test]
    fn lightness_falls_away_from_zero() {
        let rgb = rgb();
        assert_eq!(rgb.len(), 3 * COLOURS);
        let lightness = |index: u8| {
            let colour = &rgb[3 * usize::from(index)..][..3];
            299 * u32::from(colour[0]) + 587 * u32::from(colour[1]) + 114 * u32::from(colour[2])
        };
        for level in 0..LEVELS {
            assert!(lightness(LEVELS + level) > lightness(LEVELS + level + 1));
            assert!(lightness(LEVELS - level) > lightness(LEVELS - level - 1));
        }
    }
}
