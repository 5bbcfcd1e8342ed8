//! A thread's part of a box, in its block's two tiles, and the blocks that need its outer values.

use cuda_std::hint;

use super::{Beside, Inboxes};
use crate::unrolled;

/// A thread's points in the tiles of its block.
///
/// A thread has some rows in each of some planes of its block's box, one value of each. Each block
/// has two tiles in shared memory, its box with a ring of halo around it: one with the last field,
/// one for the next. They swap roles with each turn.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// Distances from a value of a tile to the next along planes and along rows, and from one tile
    /// to the other.
    pub strides: [u32; 3],
    /// The first point's place in the first tile.
    pub place: *mut f64,
    /// The blocks that need the first plane's values and the last one's.
    pub along_planes: [Beside<f64>; 2],
    /// The blocks that need the first row's values and the last one's.
    pub along_rows: [Beside<f64>; 2],
    /// Whether another block needs values.
    pub has_others: bool,
    /// The inboxes of the block.
    pub inboxes: Inboxes,
}

impl Tiles {
    /// Hides distances and blocks from the compiler, which would otherwise keep an address for each
    /// point and each neighbour in registers.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        Self {
            strides: self.strides.map(hint::opaque),
            along_planes: self.along_planes.map(Beside::opaque),
            along_rows: self.along_rows.map(Beside::opaque),
            ..self
        }
    }

    /// Writes the next field to a tile, the second if `ODD`, and sends the values that other blocks
    /// need.
    ///
    /// # Safety
    /// The thread has points, and all threads of the cluster that have some call in the same turn.
    /// Nothing else accesses the places of the tile, and the inboxes expect a value of each outer
    /// point.
    #[inline(always)]
    pub unsafe fn publish<const ODD: bool, const PLANES: usize, const ROWS: usize>(
        &self,
        next: &[[f64; ROWS]; PLANES],
    ) {
        const { assert!(PLANES <= 8 && ROWS <= 8) };
        let [to_plane, to_row, other] = self.strides.map(|stride| stride as usize);
        let to = if ODD { other } else { 0 };
        // SAFETY: the places are the thread's own, and their images in other blocks.
        unsafe {
            if self.has_others {
                let send = |Beside { rank, place }: Beside<f64>, offset: usize, value: f64| {
                    let place = place.wrapping_add(to + offset);
                    self.inboxes.send(rank, ODD, place, value);
                };
                for side in 0..2 {
                    if self.along_planes[side].is_there() {
                        unrolled!(row in ROWS => {
                            let value = next[side * (PLANES - 1)][row];
                            send(self.along_planes[side], row * to_row, value);
                        });
                    }
                    if self.along_rows[side].is_there() {
                        unrolled!(plane in PLANES => {
                            let value = next[plane][side * (ROWS - 1)];
                            send(self.along_rows[side], plane * to_plane, value);
                        });
                    }
                }
            }
            unrolled!(plane in PLANES => {
                unrolled!(row in ROWS => {
                    let place = self.place.wrapping_add(to + plane * to_plane + row * to_row);
                    *place = next[plane][row];
                });
            });
        }
    }
}
