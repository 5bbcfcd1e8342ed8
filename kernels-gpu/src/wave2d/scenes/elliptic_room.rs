//! Focusing by a closed wall.

use super::super::scene::{Domain, Region, Scene};
use super::oscillation::oscillation;

/// An elliptic room with hard walls and a source in one focus: waves gather in the other.
#[derive(Clone, Copy, Debug)]
pub struct EllipticRoom {
    domain: Domain,
}

impl EllipticRoom {
    /// The semi-axes are 31/64 of the domain's sides. For sides in the ratio a : b the foci lie at
    /// sqrt(a^2 - b^2) from the centre; the source is placed as for a : b = 5 : 4, at 3/5 a, and a
    /// domain of other proportions shows what happens off focus.
    #[inline(always)]
    pub fn new(domain: Domain) -> Self {
        Self { domain }
    }

    #[inline(always)]
    fn source(&self) -> (u32, u32) {
        let middle = self.domain.n_x / 2;
        // 3/5 * 31/64 = 93/320; in two steps, so that no size overflows.
        let offset = self.domain.n_x / 320 * 93 + self.domain.n_x % 320 * 93 / 320;
        (middle - offset, self.domain.n_y / 2)
    }

    /// ((x - x_middle) / a)^2 + ((y - y_middle) / b)^2, 1 on the wall.
    #[inline(always)]
    fn radius_squared(&self, x: u32, y: u32) -> f32 {
        let along = |position: u32, n: u32| {
            let from_middle = position.abs_diff(n / 2) as f32;
            from_middle / (n as f32 * (31.0 / 64.0))
        };
        let (a, b) = (along(x, self.domain.n_x), along(y, self.domain.n_y));
        a * a + b * b
    }
}

impl Scene for EllipticRoom {
    #[inline(always)]
    fn is_wall(&self, x: u32, y: u32) -> bool {
        self.radius_squared(x, y) >= 1.0
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
    fn damping(&self, _: u32, _: u32) -> f32 {
        0.0
    }

    #[inline(always)]
    fn is_plain(&self, region: Region) -> bool {
        // An ellipse is convex: a rectangle is inside if its corners are. 0.999 leaves room for the
        // rounding of `radius_squared`, which need not be monotonic to the last bit.
        let inside = |x, y| self.radius_squared(x, y) < 0.999;
        let Region {
            x_first,
            x_end,
            y_first,
            y_end,
        } = region;
        let within =
            x_first >= 1 && y_first >= 1 && x_end < self.domain.n_x && y_end < self.domain.n_y;
        within
            && inside(x_first, y_first)
            && inside(x_first, y_end - 1)
            && inside(x_end - 1, y_first)
            && inside(x_end - 1, y_end - 1)
            && !region.meets(Region::cell(self.source()))
    }
}
