//! Extents, the border, and the damped layers.

/// Sites of each damped layer, counted inwards from the border.
pub const LAYER: u32 = 4;

/// Positions at each end of the x and y axes that are not in the middle: the border and the layer.
pub const EDGE: u32 = 1 + LAYER;

/// The grid's extent in sites, at least 3 along each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain {
    /// Sites along x, counted by i.
    pub n_x: u32,
    /// Sites along y, counted by j.
    pub n_y: u32,
    /// Sites along z, counted by k, the contiguous axis.
    pub n_z: u32,
}

impl Domain {
    /// Whether the site is outside the domain or on its border.
    #[inline(always)]
    pub fn is_border(self, i: u32, j: u32, k: u32) -> bool {
        // 0 wraps to the largest number: one comparison serves both ends.
        i.wrapping_sub(1) >= self.n_x - 2
            || j.wrapping_sub(1) >= self.n_y - 2
            || k.wrapping_sub(1) >= self.n_z - 2
    }

    /// The position of a site of the domain in a field. It fits in 32 bits if the number of sites
    /// does.
    #[inline(always)]
    pub fn index(self, i: u32, j: u32, k: u32) -> u32 {
        self.column(i, j) * self.n_z + k
    }

    /// The position of a column of sites, along z, in a table over x and y.
    #[inline(always)]
    pub fn column(self, i: u32, j: u32) -> u32 {
        i * self.n_y + j
    }

    /// The depth of the column in a damped layer: 0 in the middle, 1 at a layer's inner edge,
    /// [`LAYER`] beside the border, [`EDGE`] on it.
    #[inline(always)]
    pub fn depth_in_layer(self, i: u32, j: u32) -> u32 {
        let along = |position: u32, n: u32| EDGE.saturating_sub(position.min(n - 1 - position));
        along(i, self.n_x).max(along(j, self.n_y))
    }
}

/// The number of an axis's `n` positions that are in one of its two edges. A short axis has only
/// such positions.
#[inline(always)]
pub const fn edge_len(n: u32) -> u32 {
    if n < 2 * EDGE { n } else { 2 * EDGE }
}

/// The position that is number `t` of those in the edges, for t < [`edge_len`].
#[inline(always)]
pub const fn edge_position(n: u32, t: u32) -> u32 {
    if t < EDGE { t } else { n - edge_len(n) + t }
}

/// The number of positions between the edges; they begin at [`EDGE`].
#[inline(always)]
pub const fn middle_len(n: u32) -> u32 {
    n - edge_len(n)
}
