//! The kinds of cells, in tables that a run writes once, for kernels with [padded](super::padded)
//! fields.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use super::padded::{Layout, MARGIN, STRIP};
use super::scene::Domain;
use super::scenes::AnyScene;
use super::update::{self, Kind};

/// A table's code for a border or wall cell. The ring has it for cells outside the domain too.
pub const ZERO: f32 = 0.0;
/// A source's code.
pub const SOURCE: f32 = 1.0;

/// Whether a code is that of a cell that is zero: [`ZERO`], but not -0, which is an undamped
/// cell's.
#[inline(always)]
pub fn is_zero(code: f32) -> bool {
    code.to_bits() == ZERO.to_bits()
}

/// The code of a cell. A free cell's code has the sign bit. It is -d if `exact`, and otherwise d -
/// 1, as -(1 - d): both orders of operations thus have the number that they start with.
#[inline(always)]
pub fn encode(kind: Kind, exact: bool) -> f32 {
    match kind {
        Kind::Zero => ZERO,
        Kind::Source => SOURCE,
        Kind::Free { damping } if exact => -damping,
        Kind::Free { damping } => -(1.0 - damping),
    }
}

/// A bit of a row of a strip: some cell is not plain.
pub const IS_ROUGH: u32 = 1;
/// A bit of a row of a strip: all cells are border, wall, or outside the domain.
pub const IS_ZERO: u32 = 2;
/// A bit of a row of a strip: some cell's code differs from that of the cell above it.
pub const IS_CHANGED: u32 = 4;
/// A bit of a row of a strip: some cell is not plain and not zero.
pub const IS_OTHER: u32 = 8;

/// Writes the code of each of the layout's cells to `kinds`, with padding. Writes the bits of each
/// row of each strip to `rough`, rows of the padding included: those that are in the domain have
/// the bits that they have there. The layout's rows are those of a domain of `rows` rows from
/// `first` on.
///
/// Block: 32 x any. Grid: strips, and rows with margins / the block's y, rounded up.
///
/// # Safety
/// - `kinds` points to a plane of the [`Layout`], `rough` to a number for each of its rows and
///   strips, which nothing else accesses during the launch.
/// - n_x and `rows` are at least 2, n_x * `rows` is at most 2^31. The domain has the layout's rows.
#[inline(always)]
pub unsafe fn write(
    kinds: *mut f32,
    rough: *mut u32,
    layout: Layout,
    [first_y, rows]: [u32; 2],
    scene: u32,
    exact: bool,
) {
    let (strip, lane) = (thread::block_idx_x(), thread::thread_idx_x());
    let row = thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    let Layout { n_x, n_y, halo } = layout;
    if row >= layout.rows() {
        return;
    }
    let domain = Domain { n_x, n_y: rows };
    let scene = AnyScene::new(scene, domain);
    // Outside the domain these wrap around.
    let y = row.wrapping_sub(MARGIN);
    let first = (strip * layout.own()).wrapping_sub(layout.before());
    let plain = encode(Kind::Free { damping: 0.0 }, exact);
    let (mut all_plain, mut all_zero, mut all_same, mut any_other) = (true, true, true, false);
    // Cells outside the domain count as border.
    let code = |x: u32, y: u32| {
        let y = y.wrapping_add(first_y);
        if x < n_x && y < rows {
            encode(update::kind(&scene, domain, x, y), exact)
        } else {
            ZERO
        }
    };
    // The loop takes one column at a time, because its code contains all scenes.
    let mut column = lane;
    while column < STRIP {
        let x = first.wrapping_add(column);
        let [above, code] = [y.wrapping_sub(1), y].map(|y| code(x, y));
        if x < n_x && y < n_y && column.wrapping_sub(halo) < layout.own() {
            // SAFETY: (x, y) is in the layout, and in the part of this strip that no other strip
            // has.
            unsafe { *kinds.add(layout.row(y) + (x + layout.before()) as usize) = code }
        }
        let (is_plain, is_zero) = (code.to_bits() == plain.to_bits(), is_zero(code));
        all_plain &= is_plain;
        all_zero &= is_zero;
        any_other |= !is_plain && !is_zero;
        all_same &= code.to_bits() == above.to_bits();
        column += 32;
    }
    // SAFETY: all lanes are here; `row` and `strip` are below the extents that the caller states.
    unsafe {
        let plain = warp::warp_vote_all(FULL_MASK, all_plain);
        let zero = warp::warp_vote_all(FULL_MASK, all_zero);
        let same = warp::warp_vote_all(FULL_MASK, all_same);
        let other = warp::warp_vote_any(FULL_MASK, any_other);
        if lane == 0 {
            let row = rough.add((strip * layout.rows() + row) as usize);
            *row = if plain { 0 } else { IS_ROUGH }
                | if zero { IS_ZERO } else { 0 }
                | if same { 0 } else { IS_CHANGED }
                | if other { IS_OTHER } else { 0 };
        }
    }
}
