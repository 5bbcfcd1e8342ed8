//! Interference.

use super::super::scene::{Domain, Region, Scene};
use super::oscillation::oscillation;

/// A plane wave from the left meets a wall with two slits: interference fringes behind it.
#[derive(Clone, Copy, Debug)]
pub struct DoubleSlit {
    domain: Domain,
}

impl DoubleSlit {
    /// The scene in `domain`.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    /// The column of source cells: just inside the damping layer.
    #[inline(always)]
    fn source_x(&self) -> u32 {
        self.domain.sponge_width() + 1
    }

    /// The wall's first and end column: three eighths in, so that the fringes have room behind it.
    #[inline(always)]
    fn wall(&self) -> (u32, u32) {
        let first = self.domain.n_x / 4;
        (first, first + 1 + self.domain.n_x / 128)
    }

    /// Whether a slit is at `y`: two of n_y / 24 cells, n_y / 6 apart from centre to centre.
    #[inline(always)]
    fn is_open(&self, y: u32) -> bool {
        let from_middle = y.abs_diff(self.domain.n_y / 2);
        let (centre, half_width) = (self.domain.n_y / 12, self.domain.n_y / 48);
        from_middle.abs_diff(centre) <= half_width
    }
}

impl Scene for DoubleSlit {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        let (first, end) = self.wall();
        first <= x && x < end && !self.is_open(y)
    }

    #[inline(always)]
    fn is_source(&self, x: u32, _: u32) -> bool {
        x == self.source_x()
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
        let column = |x_first, x_end| Region {
            x_first,
            x_end,
            ..region
        };
        let (first, end) = self.wall();
        let source_x = self.source_x();
        self.domain.is_undamped(region)
            && !region.meets(column(first, end))
            && !region.meets(column(source_x, source_x + 1))
    }
}
