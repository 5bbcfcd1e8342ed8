//! Circular waves.

use super::super::scene::{Domain, Region, Scene};
use super::oscillation::oscillation;

/// One oscillating cell in the middle of an open domain: circular waves.
#[derive(Clone, Copy, Debug)]
pub struct PointSource {
    domain: Domain,
}

impl PointSource {
    /// The scene in `domain`.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    #[inline(always)]
    fn source(&self) -> (u32, u32) {
        (self.domain.n_x / 2, self.domain.n_y / 2)
    }
}

impl Scene for PointSource {
    #[inline(always)]
    fn is_wall(&self, _: u32, _: u32) -> bool {
        false
    }

    #[inline(always)]
    fn is_source(&self, x: u32, y: u32) -> bool {
        (x, y) == self.source()
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
        self.domain.is_undamped(region) && !region.meets(Region::cell(self.source()))
    }
}
