//! The trait of scenes: the contents of the domain.

/// The grid's extent in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Cells along x, the contiguous axis.
    pub n_x: u32,
    /// Cells along y.
    pub n_y: u32,
}

impl Domain {
    /// Whether (x, y) is outside the domain or on its border.
    #[inline(always)]
    pub fn is_border(self, x: u32, y: u32) -> bool {
        // 0 wraps to the largest number: one comparison serves both sides.
        x.wrapping_sub(1) >= self.n_x - 2 || y.wrapping_sub(1) >= self.n_y - 2
    }

    /// The number of cells between (x, y) and the nearest border cell; 0 on the border.
    #[inline(always)]
    pub fn depth(self, x: u32, y: u32) -> u32 {
        let from_x = x.min(self.n_x - 1 - x);
        let from_y = y.min(self.n_y - 1 - y);
        from_x.min(from_y)
    }

    /// The width of the damping layer along the borders: 32 cells, or less in a small domain.
    #[inline(always)]
    pub fn sponge_width(self) -> u32 {
        (self.n_x.min(self.n_y) / 8).min(32)
    }

    /// Damping that absorbs waves on their way to the border: it rises quadratically from 0 at
    /// the layer's inner edge to a quarter at the border, smoothly enough to reflect little.
    #[inline(always)]
    pub fn sponge(self, x: u32, y: u32) -> f32 {
        let width = self.sponge_width();
        let depth = self.depth(x, y);
        if depth >= width {
            return 0.0;
        }
        let into = (width - depth) as f32 / width as f32;
        0.25 * (into * into)
    }

    /// Whether every cell of `region` is inside the border.
    #[inline(always)]
    pub fn is_inside(self, region: Region) -> bool {
        self.has_margin(region, 1)
    }

    /// Whether every cell of `region` is inside the border and without [`sponge`](Self::sponge).
    #[inline(always)]
    pub fn is_undamped(self, region: Region) -> bool {
        self.has_margin(region, self.sponge_width().max(1))
    }

    #[inline(always)]
    fn has_margin(self, region: Region, margin: u32) -> bool {
        region.x_first >= margin
            && region.y_first >= margin
            && region.x_end <= self.n_x.saturating_sub(margin)
            && region.y_end <= self.n_y.saturating_sub(margin)
    }
}

/// A rectangle of cells: x_first <= x < x_end, y_first <= y < y_end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First x.
    pub x_first: u32,
    /// First x after it.
    pub x_end: u32,
    /// First y.
    pub y_first: u32,
    /// First y after it.
    pub y_end: u32,
}

impl Region {
    /// The region of one cell.
    #[inline(always)]
    pub fn cell((x, y): (u32, u32)) -> Self {
        Self {
            x_first: x,
            x_end: x + 1,
            y_first: y,
            y_end: y + 1,
        }
    }

    /// Whether the region has cells. A region that wrapped around has an end at or below its first,
    /// and has none.
    #[inline(always)]
    pub fn is_proper(self) -> bool {
        self.x_first < self.x_end && self.y_first < self.y_end
    }

    /// Whether some cell of this region is in `other`.
    #[inline(always)]
    pub fn meets(self, other: Region) -> bool {
        self.x_first < other.x_end
            && other.x_first < self.x_end
            && self.y_first < other.y_end
            && other.y_first < self.y_end
    }
}

/// The contents of the domain. The domain's border is a wall too.
///
/// CPU and GPU run the same code: both see the same scene.
pub trait Scene: Copy {
    /// Whether the cell is a wall: its value is always 0.
    fn is_wall(&self, x: u32, y: u32) -> bool;

    /// Whether the cell is a source: its value is [`source_value`](Self::source_value).
    fn is_source(&self, x: u32, y: u32) -> bool;

    /// The value of source cells at timestep `t`.
    fn source_value(&self, t: u32) -> f32;

    /// The damping d = gamma dt of the cell, 0 to 1.
    fn damping(&self, x: u32, y: u32) -> f32;

    /// Whether every cell of the proper `region` is inside the border and free, with no damping.
    /// False is always a right answer; true lets a kernel skip the tests above.
    fn is_plain(&self, region: Region) -> bool;
}
