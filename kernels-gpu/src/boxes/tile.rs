//! A block's box of a field in shared memory, with a ring of rows around it.

use cuda_std::warp::FULL_MASK;
use cuda_std::{hint, mem, shared, thread, warp};

use super::exchange::{Exchange, SIDES, first};
use super::{COLUMNS, Row};
use crate::unrolled;

/// Shared memory of a block whose box has this number of layers and rows, of `pairs` pairs per
/// lane.
pub const fn shared_mem_bytes(layers: u32, rows: u32, pairs: u32) -> u32 {
    8 * COLUMNS * pairs * (layers + 2) * (rows + 2)
}

/// A warp's R rows of L layers of its block's tile, and the rows around them. Rows and layers are
/// counted from the warp's first ones: -1 is the one before them.
#[derive(Clone, Copy)]
pub struct Tile<const L: usize, const R: usize, const P: usize> {
    exchange: Exchange,
    /// The field's extents along x, y and z.
    extents: [u32; 3],
    /// The number of this lane's first point of the first row in the tile.
    place: u32,
    /// The distance in the tile from a layer to the next.
    along_z: u32,
}

impl<const L: usize, const R: usize, const P: usize> Tile<L, R, P> {
    /// The distance in the tile from a row to the next.
    const ALONG_Y: u32 = COLUMNS * P as u32;
    /// Rows that are received together: their words are in registers.
    const BATCH: usize = if P == 1 { 4 } else { 2 };

    /// This warp's part of the tile, which is filled with 0, of a field with these extents along x,
    /// y and z.
    ///
    /// Grid: boxes along y and z. Block: 32 threads along x, warps along y and z. `inbox` has
    /// [`inbox_words`](super::Division::inbox_words) of 0.
    ///
    /// # Safety
    /// All threads of the block call together. The block's dynamic shared memory begins with
    /// [`shared_mem_bytes`], which no thread accesses meanwhile.
    #[inline(always)]
    pub unsafe fn new(inbox: *mut u64, extents: [u32; 3]) -> Self {
        let (warp_y, warp_z) = (thread::thread_idx_y(), thread::thread_idx_z());
        let (warps_y, warps_z) = (thread::block_dim_y(), thread::block_dim_z());
        let lane = thread::thread_idx_x();
        let [rows, layers] = [R as u32 * warps_y, L as u32 * warps_z];
        let along_z = (rows + 2) * Self::ALONG_Y;
        let [row, layer] = [R as u32 * warp_y + 1, L as u32 * warp_z + 1];
        let points = along_z * (layers + 2);
        let mut point = 32 * (warp_z * warps_y + warp_y) + lane;
        while point < points {
            // SAFETY: the caller's.
            unsafe { *shared::dynamic_shared_mem::<f64>().add(point as usize) = 0.0 };
            point += 32 * warps_y * warps_z;
        }
        thread::sync_threads();
        Self {
            exchange: Exchange::new(inbox, R as u32, L as u32),
            extents,
            place: layer * along_z + row * Self::ALONG_Y + 2 * lane,
            along_z,
        }
    }

    /// Hides the tile from the compiler, which would keep the place of each of its rows in a
    /// register of its own.
    #[inline(always)]
    pub fn opaque(self) -> Self {
        Self {
            exchange: self.exchange.opaque(),
            extents: self.extents,
            place: hint::opaque(self.place),
            along_z: hint::opaque(self.along_z),
        }
    }

    /// The x of this lane's first point of pair j.
    #[inline(always)]
    pub fn x(&self, j: usize) -> u32 {
        2 * thread::thread_idx_x() + COLUMNS * j as u32
    }

    /// The y and z of a row of the warp.
    #[inline(always)]
    pub fn row(&self, l: usize, r: usize) -> [u32; 2] {
        let [y, z] = first(hint::opaque(R as u32), hint::opaque(L as u32));
        [y + r as u32, z + l as u32]
    }

    #[inline(always)]
    fn at(&self, l: i32, r: i32) -> *mut f64 {
        let along_y = Self::ALONG_Y.wrapping_mul(r as u32);
        let along_z = self.along_z.wrapping_mul(l as u32);
        let place = self.place.wrapping_add(along_y).wrapping_add(along_z);
        shared::dynamic_shared_mem::<f64>().wrapping_add(place as usize)
    }

    /// This lane's points of a row.
    ///
    /// # Safety
    /// The row is in the tile, and no thread writes it.
    #[inline(always)]
    pub unsafe fn load(&self, l: i32, r: i32) -> Row<P> {
        let from = self.at(l, r);
        // SAFETY: the caller's.
        core::array::from_fn(|j| unsafe {
            mem::load_vector(from.wrapping_add(j * COLUMNS as usize))
        })
    }

    /// Writes this lane's points of a row.
    ///
    /// # Safety
    /// The row is in the tile, and no other thread accesses these points.
    #[inline(always)]
    pub unsafe fn write(&self, l: i32, r: i32, row: &Row<P>) {
        let to = self.at(l, r);
        for (j, &pair) in row.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { mem::store_vector(to.wrapping_add(j * COLUMNS as usize), pair) };
        }
    }

    /// This lane's points of a row of the warp in a field, 0 beyond the field.
    ///
    /// # Safety
    /// `field` has the tile's extents, and no thread writes the row.
    #[inline(always)]
    pub unsafe fn load_from(&self, field: *const f64, l: usize, r: usize) -> Row<P> {
        let (first, points) = self.in_field(l, r);
        let mut row = [[0.0; 2]; P];
        unrolled!(j in P => {
            unrolled!(e in 2 => {
                if self.x(j) + (e as u32) < points {
                    // SAFETY: the point is in the field.
                    row[j][e] = unsafe { *field.wrapping_add(first + self.x(j) as usize + e) };
                }
            });
        });
        row
    }

    /// Stores this lane's points of a row of the warp to a field, those that are in the field.
    ///
    /// # Safety
    /// `field` has the tile's extents, and no other thread accesses the row.
    #[inline(always)]
    pub unsafe fn store_to(&self, field: *mut f64, l: usize, r: usize, row: &Row<P>) {
        let (first, points) = self.in_field(l, r);
        unrolled!(j in P => {
            unrolled!(e in 2 => {
                if self.x(j) + (e as u32) < points {
                    // SAFETY: the point is in the field.
                    unsafe { *field.wrapping_add(first + self.x(j) as usize + e) = row[j][e] };
                }
            });
        });
    }

    /// The first point of a row of the warp in a field, and the number of points: none if the row
    /// is beyond the field.
    #[inline(always)]
    fn in_field(&self, l: usize, r: usize) -> (usize, u32) {
        // The compiler would keep what it computes from these in registers.
        let ([y, z], [points, rows, layers]) = (self.row(l, r), self.extents.map(hint::opaque));
        let first = (z as usize * rows as usize + y as usize) * points as usize;
        (first, if y < rows && z < layers { points } else { 0 })
    }

    /// Receives the rows of other blocks beside this warp's, and writes them to the tile.
    ///
    /// # Safety
    /// All lanes of the warp call together. The warps beside it [send](Self::send) the rows, and
    /// all blocks of the launch run at once. No other warp accesses the places around this one's
    /// rows that are not in the box.
    #[inline(always)]
    pub unsafe fn receive(&self, timestep: u32) {
        unrolled!(side in SIDES => {
            // SAFETY: the caller's.
            unsafe {
                if is_uniformly(self.exchange.is_beside(side)) {
                    let rows = if side < 2 { L } else { R };
                    unrolled!(batch in rows.div_ceil(Self::BATCH) => {
                        let first = batch * Self::BATCH;
                        match (rows - first).min(Self::BATCH) {
                            1 => self.receive_rows::<1>(side, first, timestep),
                            2 => self.receive_rows::<2>(side, first, timestep),
                            3 => self.receive_rows::<3>(side, first, timestep),
                            _ => self.receive_rows::<4>(side, first, timestep),
                        }
                    });
                }
            }
        });
    }

    /// # Safety
    /// As [`receive`](Self::receive), for some rows of a side.
    #[inline(always)]
    unsafe fn receive_rows<const ROWS: usize>(&self, side: usize, first: usize, timestep: u32) {
        // SAFETY: the caller's.
        unsafe {
            let rows: [Row<P>; ROWS] = self.exchange.receive(side, first, timestep);
            for (i, row) in rows.iter().enumerate() {
                let at = (first + i) as i32;
                let (l, r) = match side {
                    0 => (at, -1),
                    1 => (at, R as i32),
                    2 => (-1, at),
                    _ => (L as i32, at),
                };
                self.write(l, r, row);
            }
        }
    }

    /// Sends row r of layer l to each block that needs it.
    ///
    /// # Safety
    /// All lanes of the warp call together. The blocks' warps [receive](Self::receive) it.
    #[inline(always)]
    pub unsafe fn send(&self, l: usize, r: usize, row: &Row<P>, timestep: u32) {
        let is_outer = [r == 0, r == R - 1, l == 0, l == L - 1];
        unrolled!(side in SIDES => {
            // SAFETY: the caller's.
            unsafe {
                if is_outer[side] && is_uniformly(self.exchange.is_beside(side)) {
                    let number = if side < 2 { l } else { r };
                    self.exchange.send(side, number, row, timestep);
                }
            }
        });
    }
}

/// A condition that is the same in the whole warp. The vote tells ptxas so: branches on it do not
/// diverge, and shuffles after them need no code to converge.
///
/// # Safety
/// All lanes of the warp call together.
#[inline(always)]
pub unsafe fn is_uniformly(condition: bool) -> bool {
    // SAFETY: the caller's.
    unsafe { warp::warp_vote_any(FULL_MASK, condition) }
}

/// The points before each pair of a row along x, and those after. The first and the last point of
/// the row get others' values.
///
/// # Safety
/// All lanes of the warp call together.
#[inline(always)]
pub unsafe fn beyond<const P: usize>(row: &Row<P>) -> [[f64; P]; 2] {
    let lane = thread::thread_idx_x();
    // SAFETY: the caller's.
    let from = |value: f64, lane: u32| unsafe {
        warp::warp_shuffle_idx(FULL_MASK, value, lane % 32, 32).0
    };
    let before: [f64; P] = core::array::from_fn(|j| from(row[j][1], lane + 31));
    let after: [f64; P] = core::array::from_fn(|j| from(row[j][0], lane + 1));
    // The first lane's point before a pair is in the last lane's pair before.
    let first = |j: usize| match lane == 0 && j > 0 {
        true => before[j.max(1) - 1],
        false => before[j],
    };
    let last = |j: usize| match lane == 31 && j + 1 < P {
        true => after[(j + 1).min(P - 1)],
        false => after[j],
    };
    [core::array::from_fn(first), core::array::from_fn(last)]
}
