//! The arrays' layout, the inside and the six boxes of the shell.

/// The number of neighbours in each direction that the Laplacian uses: the halo's width.
pub const RADIUS: u32 = 4;

/// Values of `f32` in a cache line of 128 bytes: every row of points begins at the start of a line.
pub const LINE: u32 = 32;

/// The number of points along each axis, and their layout in an array: z contiguous, then y, then
/// x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Grid {
    /// Points along x.
    pub n_x: u32,
    /// Points along y.
    pub n_y: u32,
    /// Points along z.
    pub n_z: u32,
    /// Values from the start of a row of points to that of the next.
    pub pitch: u32,
}

impl Grid {
    /// The grid of this many points along x, y and z, each at most 2^31.
    pub const fn new([n_x, n_y, n_z]: [u32; 3]) -> Grid {
        Grid {
            n_x,
            n_y,
            n_z,
            pitch: (n_z + RADIUS).next_multiple_of(LINE),
        }
    }

    /// Points along x, y and z.
    pub const fn shape(self) -> [u32; 3] {
        [self.n_x, self.n_y, self.n_z]
    }

    /// Rows with the same x, those of the halo included.
    pub const fn rows_of_plane(self) -> usize {
        self.n_y as usize + 2 * RADIUS as usize
    }

    /// x and y of a row by its number; none for a row of the halo.
    pub const fn column(self, row: usize) -> Option<[u32; 2]> {
        // Before the first row, these wrap to numbers beyond the last.
        let x = (row / self.rows_of_plane()).wrapping_sub(RADIUS as usize);
        let y = (row % self.rows_of_plane()).wrapping_sub(RADIUS as usize);
        if x < self.n_x as usize && y < self.n_y as usize {
            Some([x as u32, y as u32])
        } else {
            None
        }
    }

    /// Values of an array. The number fits in 32 bits for every grid that a problem allows.
    pub const fn len(self) -> u64 {
        let planes = self.n_x as u64 + 2 * RADIUS as u64;
        planes * self.rows_of_plane() as u64 * self.pitch as u64
    }

    /// Whether the array has no values; it always has some.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Points in all.
    pub const fn points(self) -> u64 {
        self.n_x as u64 * self.n_y as u64 * self.n_z as u64
    }

    /// Values from a point to the next along x.
    #[inline(always)]
    pub const fn stride_x(self) -> u32 {
        (self.n_y + 2 * RADIUS) * self.pitch
    }

    /// Values from a point to the next along y.
    #[inline(always)]
    pub const fn stride_y(self) -> u32 {
        self.pitch
    }

    /// The element of point (x, y, z) in an array.
    #[inline(always)]
    pub const fn index(self, x: u32, y: u32, z: u32) -> u32 {
        ((x + RADIUS) * (self.n_y + 2 * RADIUS) + (y + RADIUS)) * self.pitch + z
    }

    /// The element of point (y, z) in a plane; positions may be in the halo.
    #[inline(always)]
    pub const fn in_plane(self, y: i32, z: i32) -> u32 {
        ((y + RADIUS as i32) as u32 * self.pitch).wrapping_add(z as u32)
    }

    /// All points.
    pub const fn all(self) -> Region {
        Region {
            low: [0; 3],
            high: self.shape(),
        }
    }

    /// The points that are not in a shell of this width. Twice the width is at most the grid's
    /// extent along any axis.
    pub const fn inner(self, shell: u32) -> Region {
        Region {
            low: [shell; 3],
            high: [self.n_x - shell, self.n_y - shell, self.n_z - shell],
        }
    }

    /// The shell's six boxes: left and right (along x) with all of their points; top and bottom
    /// (along y) between those; front and back (along z) between these. Every point of the shell is
    /// in exactly one of them, and no other point is in any.
    pub const fn shell(self, shell: u32) -> [Region; 6] {
        let Region { low, high } = self.inner(shell);
        let [n_x, n_y, n_z] = self.shape();
        [
            Region {
                low: [0, 0, 0],
                high: [low[0], n_y, n_z],
            },
            Region {
                low: [high[0], 0, 0],
                high: [n_x, n_y, n_z],
            },
            Region {
                low: [low[0], 0, 0],
                high: [high[0], low[1], n_z],
            },
            Region {
                low: [low[0], high[1], 0],
                high: [high[0], n_y, n_z],
            },
            Region {
                low: [low[0], low[1], 0],
                high: [high[0], high[1], low[2]],
            },
            Region {
                low: [low[0], low[1], high[2]],
                high: [high[0], high[1], n_z],
            },
        ]
    }

    pub(super) fn words(self) -> [u32; 4] {
        [self.n_x, self.n_y, self.n_z, self.pitch]
    }
}

/// A box of points: those with low <= position < high along x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Region {
    /// The first position along x, y and z.
    pub low: [u32; 3],
    /// One past the last.
    pub high: [u32; 3],
}

impl Region {
    /// Points along x, y and z.
    pub const fn shape(self) -> [u32; 3] {
        let Region { low, high } = self;
        [high[0] - low[0], high[1] - low[1], high[2] - low[2]]
    }

    /// Whether the point is in the region.
    #[inline(always)]
    pub const fn contains(self, x: u32, y: u32, z: u32) -> bool {
        let Region { low, high } = self;
        // A position below the first wraps to a large number: one comparison serves both ends.
        x.wrapping_sub(low[0]) < high[0] - low[0]
            && y.wrapping_sub(low[1]) < high[1] - low[1]
            && z.wrapping_sub(low[2]) < high[2] - low[2]
    }

    /// The start of the cache line that holds a row's first point: the first position for a warp.
    #[inline(always)]
    pub const fn line_z(self) -> u32 {
        self.low[2] / LINE * LINE
    }

    /// The bytes of the region, as in a launch's argument.
    pub fn to_bytes(self) -> [u8; size_of::<Region>()] {
        let mut bytes = [0; size_of::<Region>()];
        for (to, word) in bytes.chunks_exact_mut(4).zip(self.words()) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(super) fn words(self) -> [u32; 6] {
        let Region { low, high } = self;
        [low[0], low[1], low[2], high[0], high[1], high[2]]
    }
}
