//! The scheme for one cell. Its order of operations is the course's definition of a right result.

use super::scene::{Domain, Scene};
use crate::real::{Fused, Real};

/// The values of the last field around a cell.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours<T> {
    /// At x - 1.
    pub west: T,
    /// At x + 1.
    pub east: T,
    /// At y - 1.
    pub north: T,
    /// At y + 1.
    pub south: T,
}

/// The next value of a free cell, which is not border, wall or source.
///
/// `u0` and `u1` are the cell's second-last and last values, `k` = (c dt/dx)^2, `d` the damping.
#[inline(always)]
pub fn free_cell<T: Real>(u0: T, u1: T, around: Neighbours<T>, k: T, d: T) -> T {
    let begun = begin_free_cell(u0, u1, [around.west, around.east, around.north], k, d);
    end_free_cell(begun, around.south, k)
}

/// The part of [`free_cell`] without the neighbour to the south: the sum of the others,
/// `west_east_north`, and the terms of u0 and u1.
#[inline(always)]
pub fn begin_free_cell<T: Real>(u0: T, u1: T, west_east_north: [T; 3], k: T, d: T) -> [T; 2] {
    let two = T::from_f32(2.0);
    let four = T::from_f32(4.0);
    let one = T::from_f32(1.0);
    let [west, east, north] = west_east_north;
    [
        west + east + north,
        (two - d - four * k) * u1 - (one - d) * u0,
    ]
}

/// Completes the value that [`begin_free_cell`] began.
#[inline(always)]
pub fn end_free_cell<T: Real>([sum, own]: [T; 2], south: T, k: T) -> T {
    own + k * (sum + south)
}

/// As [`free_cell`], with fused products and sums in this order: b = 1 - d, a = (1 - 4k) + b, and
/// the next value is k (west + south) + (k (north + east) + (a u1 - b u0)). Each product is rounded
/// together with its sum; b u0 is rounded before.
///
/// The sum north + east of a cell is west + south of the cell to the north-east. A kernel that goes
/// through the rows from north to south can keep these sums. It then has four operations for a cell
/// without damping, where a is a constant and b is 1.
#[inline(always)]
pub fn fused_cell<T: Fused>(u0: T, u1: T, around: Neighbours<T>, k: T, d: T) -> T {
    let b = T::from_f32(1.0) - d;
    let begun = begin_fused_cell(u0, u1, around.north + around.east, k, b);
    end_fused_cell(begun, around.west + around.south, k)
}

/// The part of [`fused_cell`] without the neighbours to the south and the west; `b` is 1 - d.
#[inline(always)]
pub fn begin_fused_cell<T: Fused>(u0: T, u1: T, north_east: T, k: T, b: T) -> T {
    let one = T::from_f32(1.0);
    let four = T::from_f32(4.0);
    let a = (one - four * k) + b;
    k.fused(north_east, a.fused(u1, -(b * u0)))
}

/// Completes the value that [`begin_fused_cell`] began.
#[inline(always)]
pub fn end_fused_cell<T: Fused>(begun: T, west_south: T, k: T) -> T {
    k.fused(west_south, begun)
}

/// The kind of a cell, independent of the fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Border or wall: its value is 0.
    Zero,
    /// Its value is the scene's source value.
    Source,
    /// Advanced by [`free_cell`].
    Free {
        /// The damping d.
        damping: f32,
    },
}

/// Codes of the kinds that have no damping.
const ZERO: f32 = -1.0;
/// The code of a source.
pub const SOURCE: f32 = -2.0;

impl Kind {
    /// The kind in one float, for tables: a free cell's damping, which is 0 or more, or a negative
    /// code.
    #[inline(always)]
    pub fn encode(self) -> f32 {
        match self {
            Self::Zero => ZERO,
            Self::Source => SOURCE,
            Self::Free { damping } => damping,
        }
    }

    /// The next value of a cell whose kind has `code`: `free` for a free cell, `source` for a
    /// source. Both are computed values: the compiler can select without a branch.
    #[inline(always)]
    pub fn choose<T: Real>(code: f32, free: T, source: T) -> T {
        if code >= 0.0 {
            free
        } else if code == SOURCE {
            source
        } else {
            T::from_f32(0.0)
        }
    }
}

/// The kind of cell (x, y). A wall on a source's cell hides the source.
#[inline(always)]
pub fn kind<S: Scene>(scene: &S, domain: Domain, x: u32, y: u32) -> Kind {
    if domain.is_border(x, y) || scene.is_wall(x, y) {
        Kind::Zero
    } else if scene.is_source(x, y) {
        Kind::Source
    } else {
        Kind::Free {
            damping: scene.damping(x, y),
        }
    }
}
