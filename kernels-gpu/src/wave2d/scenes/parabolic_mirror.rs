//! Circular waves made plane.

use super::super::scene::{Domain, Region, Scene};
use super::oscillation::oscillation;

/// A parabolic mirror with a source in its focus: circular waves go in, plane waves come out.
#[derive(Clone, Copy, Debug)]
pub struct ParabolicMirror {
    domain: Domain,
}

impl ParabolicMirror {
    /// The scene in `domain`; the mirror opens to the right.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The vertex's x and the focal length, in cells.
    #[inline(always)]
    fn shape(&self) -> (u32, u32) {
        (self.domain.n_x / 8, self.domain.n_y / 8)
    }

    /// The mirror's half height.
    #[inline(always)]
    fn half_height(&self) -> u32 {
        self.domain.n_y / 3
    }
}

impl Scene for ParabolicMirror {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        let from_axis = y.abs_diff(self.domain.n_y / 2);
        let (vertex, focal_length) = self.shape();
        if from_axis > self.half_height() || focal_length == 0 || x < vertex {
            return false;
        }
        // Two cells thick along x plus the slope, so that no wave slips between two rows.
        // x - vertex = from_axis^2 / (4 focal length), in f32: a square may exceed 32 bits.
        let from_axis = from_axis as f32;
        let four_focal = 4.0 * focal_length as f32;
        let surface = from_axis * from_axis / four_focal;
        let slope = 2.0 * from_axis / four_focal;
        let behind = surface - (x - vertex) as f32;
        0.0 <= behind && behind <= 2.0 + slope
    }

    #[inline(always)]
    fn is_source(&self, x: u32, y: u32) -> bool {
        let (vertex, focal_length) = self.shape();
        (x, y) == (vertex + focal_length, self.domain.n_y / 2)
    }

    #[inline(always)]
    fn source_value(&self, t: u32) -> f32 {
        oscillation(t)
    }

    #[inline(always)]
    fn damping(&self, x: u32, y: u32) -> f32 {
        self.domain.sponge(x, y)
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        // Right of the mirror's rim there is nothing, and the source is left of it.
        let (vertex, focal_length) = self.shape();
        let half_height = self.half_height() as f32;
        let rim = half_height * half_height / (4.0 * focal_length as f32);
        let rim = (vertex as f32 + rim) as u32;
        let right = rim.max(vertex + focal_length).saturating_add(2);
        self.domain.is_undamped(region) && focal_length > 0 && region.x_first > right
    }
}
