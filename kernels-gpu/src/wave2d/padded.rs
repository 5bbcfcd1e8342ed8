//! Fields with padding around the domain, in strips: every row begins at a multiple of 16 bytes,
//! and a strip's edge reads values within the field.
//!
//! A kernel of several timesteps per launch divides the domain into strips of [`STRIP`] columns.
//! They overlap by `halo` columns on each side, because one more column is wrong after each
//! timestep. Strips have more columns than the domain. Half of the spare ones are on each side: as
//! few strips as possible are near the domain's left and right borders.

use cuda_std::prelude::*;

use super::kinds;

/// Columns of a strip: four neighbouring ones for each lane of a warp.
pub const STRIP: u32 = 128;

/// Rows of padding before the domain's first row and after its last.
pub const MARGIN: u32 = 32;

/// The layout of the cells in such fields, of a domain or of some of its rows. Rows have at least
/// `halo` floats of padding before the domain's first column, and after its last. Two fields follow
/// each other: the last, then the second-last, a [`plane`](Self::plane) behind it.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Columns of the domain, 1 or more.
    pub n_x: u32,
    /// Its rows that are in the fields, 1 or more.
    pub n_y: u32,
    /// Columns that strips overlap by on each side: a multiple of 4, below 64.
    pub halo: u32,
}

impl Layout {
    /// The number of columns of a strip that no other strip has. They begin `halo` columns after
    /// the strip's first column. The first strip's first column is a row's first float.
    #[inline(always)]
    pub fn own(self) -> u32 {
        STRIP - 2 * self.halo
    }

    /// Strips side by side.
    #[inline(always)]
    pub fn strips(self) -> u32 {
        self.n_x.div_ceil(self.own())
    }

    /// Floats of padding before the first row. With it, a strip's own columns begin at a multiple
    /// of 32 bytes, which L2 and device memory move at once. Otherwise two strips' warps would each
    /// store a part of these bytes.
    #[inline(always)]
    fn lead(self) -> u32 {
        self.halo.wrapping_neg() % 8
    }

    /// Floats from a row to the next: a multiple of 8.
    #[inline(always)]
    pub fn pitch(self) -> u32 {
        self.strips() * self.own() + 2 * self.halo
    }

    /// Floats of padding before a row's first column: a multiple of 4.
    #[inline(always)]
    pub fn before(self) -> u32 {
        let spare = self.strips() * self.own() - self.n_x;
        self.halo + spare / 8 * 4
    }

    /// Rows, with padding.
    #[inline(always)]
    pub fn rows(self) -> u32 {
        self.n_y + 2 * MARGIN
    }

    /// Floats of a field: a multiple of 8.
    #[inline(always)]
    pub fn plane(self) -> usize {
        (2 * self.lead()) as usize + self.pitch() as usize * self.rows() as usize
    }

    /// The first float of row `y` of the domain, which is that of its first strip. Numbers that
    /// wrap around below 0, and numbers from `n_y` on, mean rows of the padding.
    #[inline(always)]
    pub fn row(self, y: u32) -> usize {
        self.lead() as usize + y.wrapping_add(MARGIN) as usize * self.pitch() as usize
    }

    /// Cell number `cell` of a field without padding.
    #[inline(always)]
    pub fn cell(self, cell: u32) -> usize {
        let (x, y) = (cell % self.n_x, cell / self.n_x);
        self.row(y) + (x + self.before()) as usize
    }
}

/// Copies two fields to a padded layout: writes the layout's cells, and leaves the padding
/// unchanged.
///
/// Block: any. Grid: a thread for each cell.
///
/// # Safety
/// - `u0` and `u1` have n_x * n_y elements, at most 2^31. `fields` points to two planes of the
///   [`Layout`], which nothing else accesses during the launch.
#[inline(always)]
pub unsafe fn pad(u0: &[f32], u1: &[f32], fields: *mut f32, layout: Layout) {
    let cell = thread::index_1d();
    if cell < layout.n_x * layout.n_y {
        let at = layout.cell(cell);
        // SAFETY: the cell is one of the domain's.
        unsafe {
            *fields.add(at) = *u1.get_unchecked(cell as usize);
            *fields.add(at + layout.plane()) = *u0.get_unchecked(cell as usize);
        }
    }
}

/// Copies `len` rows from row `first` on back from the padded layout. If `skips`, kernels have not
/// written rows far inside walls: cells of border and walls are then 0.
///
/// Block: any. Grid: a thread for each cell.
///
/// # Safety
/// - The rows are the layout's. `fields` has two planes of the [`Layout`], `kinds` one; `u0` and
///   `u1` point to the rows, at most 2^31 elements, which nothing else accesses during the launch.
#[inline(always)]
pub unsafe fn unpad(
    fields: &[f32],
    kinds: &[f32],
    [u0, u1]: [*mut f32; 2],
    layout: Layout,
    [first, len]: [u32; 2],
    skips: bool,
) {
    let cell = thread::index_1d();
    if cell < layout.n_x * len {
        let at = layout.cell(layout.n_x * first + cell);
        // SAFETY: the cell is one of the layout's.
        unsafe {
            let is_zero = skips && kinds::is_zero(*kinds.get_unchecked(at));
            let value = |at| {
                if is_zero {
                    0.0
                } else {
                    *fields.get_unchecked(at)
                }
            };
            *u1.add(cell as usize) = value(at);
            *u0.add(cell as usize) = value(at + layout.plane());
        }
    }
}
