//! The elements that a fetch reads, and their weights (CUDA Programming Guide, "Texture Fetching").
//!
//! The guide gives weights in exact numbers, of coordinates with 8 bits behind the point. An H200
//! gives the products 8 bits too, such that they add up to 1, and keeps coordinates within the
//! image before it splits them, where the mode is to clamp. [`weights`] and [`axis`] do so: 512
//! fetches of each kind in `tests/cases/textures.cu` differ from that GPU's in the last place of a
//! sum at most.

use super::{AddressMode, Image, ImageKind, Sampler};

/// Weights have 8 bits behind the point: they are multiples of one part in this number.
pub(super) const PARTS: i64 = 256;
/// Coordinates beyond are taken for it: no image reaches as far, and it has a successor.
const FAR: f32 = (1u64 << 40) as f32;

/// An element and its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tap {
    /// None outside, where the border's colour is.
    pub(crate) at: Option<[u32; 3]>,
    pub(crate) weight: f64,
}

/// The elements that a fetch reads: up to two for each dimension.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Footprint {
    pub(crate) taps: Vec<Tap>,
}

/// The dimensions that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Coordinates behind the layer's number: 1 to 3.
    pub(crate) dimensions: usize,
    pub(crate) is_layered: bool,
    pub(crate) is_cube: bool,
}

/// The coordinates of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Coordinates {
    /// The layer's number.
    pub(crate) layer: u32,
    pub(crate) at: [f32; 3],
    /// Set if they are integers, which name an element.
    pub(crate) integers: Option<[i32; 3]>,
}

/// An element of a dimension, its successor, and the part that the successor has.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    elements: [Option<u32>; 2],
    part: i64,
}

/// The element that an index means.
fn addressed(index: i64, extent: u32, mode: AddressMode) -> Option<u32> {
    let count = i64::from(extent);
    if (0..count).contains(&index) {
        return Some(index as u32);
    }
    let inside = match mode {
        AddressMode::Clamp => index.clamp(0, count - 1),
        AddressMode::Wrap => index.rem_euclid(count),
        AddressMode::Mirror => match index.rem_euclid(2 * count) {
            before if before < count => before,
            behind => 2 * count - 1 - behind,
        },
        AddressMode::Border => return None,
    };
    Some(inside as u32)
}

/// The coordinate of the same element near the image, of one far outside that is repeated. Each of
/// its bits stays, of which the product with the extent would lose some.
fn first_period(coordinate: f32, mode: AddressMode) -> f32 {
    let periods = match mode {
        AddressMode::Wrap => coordinate.floor(),
        AddressMode::Mirror => 2.0 * (coordinate / 2.0).floor(),
        AddressMode::Clamp | AddressMode::Border => 0.0,
    };
    // Near the image the difference itself may be rounded.
    if periods.abs() < 4.0 {
        return coordinate;
    }
    coordinate - periods
}

fn axis(
    coordinate: f32,
    extent: u32,
    mode: AddressMode,
    sampler: &Sampler,
    is_gathered: bool,
) -> Axis {
    let scaled = if sampler.is_normalized {
        first_period(coordinate, mode) * extent as f32
    } else {
        coordinate
    };
    let x = match scaled {
        // A NaN is at 0.
        _ if scaled.is_nan() => 0.0,
        _ if scaled > FAR => FAR,
        _ if scaled < -FAR => -FAR,
        _ => scaled,
    };
    let repeats = matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
    let applied = if repeats && !sampler.is_normalized {
        AddressMode::Clamp
    } else {
        mode
    };
    if !sampler.is_linear {
        let element = addressed(x.floor() as i64, extent, applied);
        return Axis {
            elements: [element; 2],
            part: 0,
        };
    }
    // Elements lie at halves: the shift by one, and rounding to a part.
    let mut parts = ((f64::from(x) - 0.5) * PARTS as f64 + 0.5).floor() as i64;
    if applied == AddressMode::Clamp && !is_gathered {
        parts = parts.clamp(0, (i64::from(extent) - 1) * PARTS);
    }
    let first = parts.div_euclid(PARTS);
    Axis {
        elements: [first, first + 1].map(|index| addressed(index, extent, applied)),
        part: parts.rem_euclid(PARTS),
    }
}

/// The weights of the corners, in parts; the bits of a corner's number are its place in x, y and z.
/// `parts` has what the second element has in each dimension, and `whole` the level.
fn weights(parts: &[i64], whole: i64) -> Vec<i64> {
    let product = |weight: i64, part: i64| (weight * part + PARTS / 2).div_euclid(PARTS);
    let mut weights = vec![0; 1 << parts.len()];
    let layers = match parts.get(2) {
        None => vec![whole],
        Some(part) => {
            let second = product(whole, *part);
            vec![whole - second, second]
        }
    };
    for (z, layer) in layers.into_iter().enumerate() {
        let second = product(layer, parts[0]);
        let Some(part) = parts.get(1) else {
            return vec![layer - second, second];
        };
        let corner = |x: usize, y: usize| z << 2 | y << 1 | x;
        // Rounded is what lies on the diagonal; a half goes up.
        weights[corner(1, 1)] = product(second, *part);
        weights[corner(1, 0)] = second - weights[corner(1, 1)];
        weights[corner(0, 0)] = product(layer - second, PARTS - part);
        weights[corner(0, 1)] = layer - second - weights[corner(0, 0)];
    }
    weights
}

/// The face of a cube that a direction meets, and where, from 0 to 1 in both dimensions (CUDA
/// Programming Guide, "Cubemap Textures").
fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (number, major, s, t) = if x.abs() >= y.abs() && x.abs() >= z.abs() {
        if x >= 0.0 {
            (0, x, -z, -y)
        } else {
            (1, -x, z, -y)
        }
    } else if y.abs() >= z.abs() {
        if y >= 0.0 {
            (2, y, x, z)
        } else {
            (3, -y, x, -z)
        }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (number, [s, t].map(|one| (one / major + 1.0) / 2.0))
}

/// The change of a place on a face, where its direction changes: the derivative of the quotients
/// of [`face`].
pub(crate) fn face_changes([x, y, z]: [f32; 3], [dx, dy, dz]: [f32; 3]) -> [f32; 3] {
    let (number, [s, t]) = face([x, y, z]);
    let (major, change, ds, dt) = match number {
        0 => (x, dx, -dz, -dy),
        1 => (-x, -dx, dz, -dy),
        2 => (y, dy, dx, dz),
        3 => (-y, -dy, dx, -dz),
        4 => (z, dz, dx, -dy),
        _ => (-z, -dz, -dx, -dy),
    };
    let of = |place: f32, moved: f32| (moved - (2.0 * place - 1.0) * change) / (2.0 * major);
    [of(s, ds), of(t, dt), 0.0]
}

impl Footprint {
    /// Of a fetch from a level that has `whole` parts of [`PARTS`]. `is_gathered`: as a linear
    /// fetch, all four elements, whatever their weights.
    pub(crate) fn of(
        image: &Image,
        sampler: &Sampler,
        shape: Shape,
        at: &Coordinates,
        is_gathered: bool,
        whole: i64,
    ) -> Footprint {
        let [width, height, depth] = image.extent;
        if let Some([x, y, z]) = at.integers {
            let last = if shape.is_layered {
                at.layer.min(depth - 1) as i32
            } else {
                z
            };
            let found =
                [(x, width, 0), (y, height, 1), (last, depth, 2)].map(|(index, extent, k)| {
                    let mode = match image.kind {
                        ImageKind::Linear => AddressMode::Border,
                        _ => sampler.modes[k],
                    };
                    addressed(i64::from(index), extent, mode)
                });
            return Footprint::single(found, whole);
        }
        let mut applied = Sampler {
            is_linear: sampler.is_linear || is_gathered,
            ..*sampler
        };
        let (mut layer, mut point, mut dimensions) = (at.layer, at.at, shape.dimensions);
        if shape.is_cube {
            let (number, [s, t]) = face(point);
            (layer, point, dimensions) = (6 * layer + number, [s, t, 0.0], 2);
            // Filters stay within the face.
            applied.modes = [AddressMode::Clamp; 3];
            applied.is_normalized = true;
        }
        let extents = [width, height, depth];
        let axes: Vec<Axis> = (0..dimensions)
            .map(|k| {
                axis(
                    point[k],
                    extents[k],
                    applied.modes[k],
                    &applied,
                    is_gathered,
                )
            })
            .collect();
        let is_flat = shape.is_layered || shape.is_cube;
        let last = if is_flat { layer.min(depth - 1) } else { 0 };
        let mut taps = Vec::with_capacity(1 << dimensions);
        let parts: Vec<i64> = axes.iter().map(|axis| axis.part).collect();
        for (corner, weight) in weights(&parts, whole).into_iter().enumerate() {
            let mut place = [Some(0), Some(0), Some(last)];
            for (k, axis) in axes.iter().enumerate() {
                place[k] = axis.elements[corner >> k & 1];
            }
            if weight != 0 || is_gathered {
                taps.push(Tap {
                    at: whole_place(place),
                    weight: weight as f64 / PARTS as f64,
                });
            }
        }
        Footprint { taps }
    }

    fn single(place: [Option<u32>; 3], whole: i64) -> Footprint {
        let at = whole_place(place);
        Footprint {
            taps: vec![Tap {
                at,
                weight: whole as f64 / PARTS as f64,
            }],
        }
    }
}

fn whole_place([x, y, z]: [Option<u32>; 3]) -> Option<[u32; 3]> {
    Some([x?, y?, z?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(mode: AddressMode, is_linear: bool, is_normalized: bool) -> Sampler {
        Sampler {
            modes: [mode; 3],
            is_linear,
            is_normalized,
            ..Sampler::default()
        }
    }

    /// The figures of the CUDA Programming Guide: four elements, sampled at points.
    #[test]
    fn points_take_the_element_below() {
        let sampler = sampler(AddressMode::Clamp, false, false);
        for (x, element) in [
            (-1.0, 0),
            (0.0, 0),
            (0.99, 0),
            (1.0, 1),
            (3.99, 3),
            (7.0, 3),
        ] {
            assert_eq!(
                axis(x, 4, AddressMode::Clamp, &sampler, false).elements[0],
                Some(element),
                "{x}"
            );
        }
    }

    #[test]
    fn weights_have_eight_bits() {
        let sampler = sampler(AddressMode::Clamp, true, false);
        let at = |x| {
            let axis = axis(x, 4, AddressMode::Clamp, &sampler, false);
            (axis.elements.map(Option::unwrap), axis.part)
        };
        assert_eq!(at(1.5), ([1, 2], 0));
        assert_eq!(at(1.75), ([1, 2], 64));
        assert_eq!(at(1.0), ([0, 1], 128));
        assert_eq!(at(1.5 + 1.0 / 1024.0), ([1, 2], 0));
        assert_eq!(at(1.5 - 1.0 / 1024.0), ([1, 2], 0));
        assert_eq!(at(0.25), ([0, 1], 0));
        assert_eq!(at(f32::NAN), ([0, 1], 0));
        assert_eq!(at(f32::INFINITY), ([3, 3], 0));
    }

    /// Parts of x, y, z; the weights with which an H200 has filtered: x first, then y, then z.
    #[test]
    fn products_of_weights_have_eight_bits_too() {
        assert_eq!(weights(&[100], PARTS), [156, 100]);
        assert_eq!(weights(&[170, 209], PARTS), [16, 31, 70, 139]);
        assert_eq!(weights(&[183, 12], PARTS), [70, 174, 3, 9]);
        assert_eq!(
            weights(&[24, 73, 172], PARTS),
            [54, 6, 22, 2, 112, 11, 44, 5]
        );
        assert_eq!(weights(&[6, 80, 56], PARTS), [134, 3, 61, 2, 38, 1, 17, 0]);
        for parts in [[0, 0, 0], [255, 1, 128], [128, 128, 128], [3, 250, 77]] {
            assert_eq!(weights(&parts, PARTS).iter().sum::<i64>(), PARTS);
        }
    }

    #[test]
    fn coordinates_outside_follow_their_mode() {
        let at = |x: f32, mode| axis(x, 4, mode, &sampler(mode, false, true), false).elements[0];
        assert_eq!(at(1.3, AddressMode::Wrap), Some(1));
        assert_eq!(at(-0.1, AddressMode::Wrap), Some(3));
        assert_eq!(at(1.3, AddressMode::Mirror), Some(2));
        assert_eq!(at(-0.1, AddressMode::Mirror), Some(0));
        assert_eq!(at(1.0, AddressMode::Mirror), Some(3));
        assert_eq!(at(1.3, AddressMode::Border), None);
        assert_eq!(at(1.3, AddressMode::Clamp), Some(3));
    }

    /// Three times 2^20 + 5/8 has more bits than an `f32`.
    #[test]
    fn coordinates_far_outside_keep_their_bits() {
        let at = |x: f32, mode| axis(x, 3, mode, &sampler(mode, false, true), false).elements[0];
        let far = (1 << 20) as f32;
        for (part, wrapped) in [(0.125, 0), (0.5, 1), (0.625, 1), (0.75, 2)] {
            assert_eq!(at(far + part, AddressMode::Wrap), Some(wrapped), "{part}");
            assert_eq!(at(-far + part, AddressMode::Wrap), Some(wrapped), "{part}");
            assert_eq!(at(far + part, AddressMode::Mirror), Some(wrapped), "{part}");
            assert_eq!(
                at(far + 1.0 + part, AddressMode::Mirror),
                Some(2 - wrapped),
                "{part}"
            );
        }
        assert_eq!(at(1e30, AddressMode::Wrap), Some(0));
        assert_eq!(at(f32::INFINITY, AddressMode::Clamp), Some(2));
    }

    #[test]
    fn directions_meet_faces() {
        assert_eq!(face([2.0, 1.0, 1.0]), (0, [0.25, 0.25]));
        assert_eq!(face([-1.0, 0.0, 0.0]), (1, [0.5, 0.5]));
        assert_eq!(face([0.0, 1.0, 0.5]), (2, [0.5, 0.75]));
        assert_eq!(face([0.5, 0.0, -1.0]), (5, [0.25, 0.5]));
    }

    #[test]
    fn changes_of_directions_are_those_of_places_on_the_face() {
        for (direction, change) in [
            ([2.0, 1.0, 1.0], [0.0, 0.5, 0.0]),
            ([-2.0, 1.0, 1.0], [0.25, 0.0, 0.5]),
            ([0.5, 4.0, 1.0], [0.5, 0.5, 0.0]),
            ([0.5, -4.0, 1.0], [0.5, 0.5, 0.25]),
            ([0.5, 1.0, 2.0], [0.0, 0.125, 0.5]),
            ([0.5, 1.0, -2.0], [0.5, 0.0, 0.25]),
        ] {
            let step = 1.0 / 1024.0;
            let moved: [f32; 3] = std::array::from_fn(|k| direction[k] + step * change[k]);
            let ((before, from), (behind, to)) = (face(direction), face(moved));
            assert_eq!(before, behind);
            let found = face_changes(direction, change);
            for k in 0..2 {
                let steep = (to[k] - from[k]) / step;
                assert!(
                    (steep - found[k]).abs() < 1e-2,
                    "{direction:?}: {steep} {found:?}"
                );
            }
            assert_eq!(found[2], 0.0);
        }
    }
}
