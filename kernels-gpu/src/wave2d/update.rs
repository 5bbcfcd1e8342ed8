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

/// The next value of a free cell: neither border, wall nor source.
///
/// `u0` and `u1` are the cell's second-last and last values, `k` = (c dt/dx)^2, `d` the damping.
#[inline(always)]
pub fn free_cell<T: Real>(u0: T, u1: T, around: Neighbours<T>, k: T, d: T) -> T {
    let two = T::from_f32(2.0);
    let four = T::from_f32(4.0);
    let one = T::from_f32(1.0);
    let sum = around.west + around.east + around.north + around.south;
    (two - d - four * k) * u1 - (one - d) * u0 + k * sum
}

/// [`free_cell`] with fused products and sums, in this order: b = 1 - d, a = (1 - 4k) + b, and the next value is
/// k ((west + east) + (north + south)) + (a u1 - b u0), where each product is rounded with the sum that it is in; b u0 is rounded before.
///
/// Without damping a is a constant and b is 1: five operations.
#[inline(always)]
pub fn fused_cell<T: Fused>(u0: T, u1: T, around: Neighbours<T>, k: T, d: T) -> T {
    fused_cell_that_keeps(u0, u1, around, k, T::from_f32(1.0) - d)
}

/// [`fused_cell`] where b = 1 - d is known.
#[inline(always)]
pub fn fused_cell_that_keeps<T: Fused>(u0: T, u1: T, around: Neighbours<T>, k: T, b: T) -> T {
    let one = T::from_f32(1.0);
    let four = T::from_f32(4.0);
    let a = (one - four * k) + b;
    let sum = (around.west + around.east) + (around.north + around.south);
    k.fused(sum, a.fused(u1, -(b * u0)))
}

/// What a cell is, whatever the fields hold.
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
const SOURCE: f32 = -2.0;

impl Kind {
    /// The kind in one float, for tables: a free cell's damping, which is 0 or more, or a negative code.
    #[inline(always)]
    pub fn encode(self) -> f32 {
        match self {
            Self::Zero => ZERO,
            Self::Source => SOURCE,
            Self::Free { damping } => damping,
        }
    }

    /// The next value of a cell whose kind has `code`: `free` if it is a free one, `source` if it is a source. Both are
    /// values, so that this is a choice and no branch.
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

/// What cell (x, y) is. A wall on a source's cell hides the source.
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
