//! The cube: its points, walls and source.

/// The points of the cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// N: points along each axis, walls included. N is at least 3 and at most [`Grid::MAX_N`]. For
    /// kernels that get some layers of the cube, it is at most [`Grid::MAX_N_IN_LAYERS`].
    pub n: u32,
}

impl Grid {
    /// The largest N for which 32 bits can number all points.
    pub const MAX_N: u32 = 1625;

    /// The largest N for which 32 bits can number the points of four layers. A kernel computes one
    /// layer from three, and loads ahead.
    pub const MAX_N_IN_LAYERS: u32 = 1 << 15;

    /// f in the source.
    pub const SOURCE: f64 = 200.0;

    /// The point's place in a field. N is at most [`Grid::MAX_N`].
    #[inline(always)]
    pub fn index(self, x: u32, y: u32, z: u32) -> usize {
        ((z * self.n + y) * self.n + x) as usize
    }

    /// h^2 = (2 / (N - 1))^2.
    #[inline(always)]
    pub fn h2(self) -> f64 {
        let h = 2.0 / f64::from(self.n - 1);
        h * h
    }

    /// Whether the point is on a wall, or outside.
    #[inline(always)]
    pub fn is_wall(self, x: u32, y: u32, z: u32) -> bool {
        // 0 wraps to the largest number, so one comparison serves both sides.
        let outside = |i: u32| i.wrapping_sub(1) >= self.n - 2;
        outside(x) || outside(y) || outside(z)
    }

    /// The value that a point on a wall keeps: 0 at y = -1, that wall's edges included, else 20.
    #[inline(always)]
    pub fn wall_value(self, y: u32) -> f64 {
        if y == 0 { 0.0 } else { 20.0 }
    }

    /// Whether the point's x and y are those of the source: -1 <= x <= -3/8 and -1 <= y <= -1/2.
    ///
    /// The test uses integers, without rounding: -1 + 2 x / (N - 1) <= -3/8 if and only if
    /// 16 x <= 5 (N - 1). The test of y is similar.
    #[inline(always)]
    pub fn is_source_column(self, x: u32, y: u32) -> bool {
        let intervals = self.n - 1;
        16 * x <= 5 * intervals && 4 * y <= intervals
    }

    /// Whether the point's z is the source's: -2/3 <= z <= 0.
    #[inline(always)]
    pub fn is_source_layer(self, z: u32) -> bool {
        let intervals = self.n - 1;
        6 * z >= intervals && 2 * z <= intervals
    }

    /// f at the point.
    #[inline(always)]
    pub fn source(self, x: u32, y: u32, z: u32) -> f64 {
        if self.is_source_column(x, y) && self.is_source_layer(z) {
            Self::SOURCE
        } else {
            0.0
        }
    }
}
