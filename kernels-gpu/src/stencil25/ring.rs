//! Rings of planes in shared memory, for kernels that stream along x.

use cuda_std::{async_copy, thread};

use super::Grid;
use super::four::POINTS;

/// A ring of planes. The newest plane takes the place of the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Planes of the ring.
    pub planes: usize,
    /// Rows of a plane.
    pub rows: usize,
    /// Values of a row.
    pub row: usize,
}

impl Ring {
    /// Values of a plane.
    pub const fn plane(self) -> usize {
        self.rows * self.row
    }

    /// Values in all.
    pub const fn values(self) -> usize {
        self.planes * self.plane()
    }

    /// The place of the plane that is `planes` before the one at `place`. Places have 32 bits,
    /// which take half the instructions.
    #[inline(always)]
    pub const fn before(self, place: u32, planes: usize) -> u32 {
        let back = (planes * self.plane()) as u32;
        if place >= back {
            place - back
        } else {
            place + self.values() as u32 - back
        }
    }

    /// The place of the next plane.
    #[inline(always)]
    pub const fn next(self, place: u32) -> u32 {
        self.before(place, self.planes - 1)
    }
}

/// The copies of four values each that a thread makes for a plane of a ring, at most `N`.
#[derive(Clone, Copy, Debug)]
pub struct Copies<const N: usize>([u32; N]);

impl<const N: usize> Copies<N> {
    /// No copy.
    const NONE: u32 = u32::MAX;

    /// Those of a thread of a block, which has `threads` along x, for a ring whose planes begin at
    /// (y, z) = `first`: the groups of values from (y, z) on with `is_needed`.
    #[inline(always)]
    pub fn new(
        ring: Ring,
        threads: usize,
        grid: Grid,
        first: [i32; 2],
        is_needed: impl Fn(i32, i32) -> bool,
    ) -> Self {
        let mut copies = [Self::NONE; N];
        let mut number = thread::thread_idx_x() as usize;
        for copy in &mut copies {
            let (row, four) = (number / (ring.row / POINTS), number % (ring.row / POINTS));
            let (y, z) = (first[0] + row as i32, first[1] + (four * POINTS) as i32);
            if row < ring.rows && is_needed(y, z) {
                *copy = grid.in_plane(y, z);
            }
            number += threads;
        }
        Copies(copies)
    }

    /// Starts them, from a plane of an array to the place of a plane in shared memory.
    ///
    /// # Safety
    /// `plane` is a plane of values, beginning with its first row of halo; its rows and the tile
    /// are aligned to 16 bytes. No thread accesses the place. `threads` are as in [`Copies::new`].
    #[inline(always)]
    pub unsafe fn start(&self, place: *mut f32, plane: *const f32, threads: usize) {
        let mut at = POINTS * thread::thread_idx_x() as usize;
        for &copy in &self.0 {
            if copy != Self::NONE {
                // SAFETY: the caller's. No other copy has this place.
                unsafe { async_copy::copy_16_at(place.wrapping_add(at), plane, copy) }
            }
            at += POINTS * threads;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn places_go_round() {
        let ring = Ring {
            planes: 3,
            rows: 2,
            row: 8,
        };
        assert_eq!((ring.plane(), ring.values()), (16, 48));
        assert_eq!([0, 16, 32].map(|place| ring.next(place)), [16, 32, 0]);
        assert_eq!([0, 16, 32].map(|place| ring.before(place, 1)), [32, 0, 16]);
        assert_eq!([0, 16, 32].map(|place| ring.before(place, 2)), [16, 32, 0]);
    }
}
