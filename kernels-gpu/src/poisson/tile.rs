//! Tiles of a plane, for kernels that compute several iterations per launch. A warp has R rows of a
//! tile of W R rows, and a lane two neighbouring points of each.
//!
//! A point at the tile's edge lacks a neighbour: each iteration makes one more ring of points
//! wrong. A block writes the points that are right, and tiles overlap.

use cuda_std::warp::FULL_MASK;
use cuda_std::{hint, mem, thread, warp};

use super::Grid;
use super::update::{Neighbours, sixth};

/// Points of a tile along x: two for each lane.
pub const COLUMNS: u32 = 64;
/// Columns at either side of a tile that a block does not write, and the largest number of
/// iterations. The written columns begin at a sector.
pub const MARGIN: u32 = 4;
/// Points of a row of a tile.
pub const ROW: usize = COLUMNS as usize;

/// The columns in which a block has right values, at most. If n is odd, copies may begin one point
/// early, and lack the last one.
pub const fn columns(n: u32) -> u32 {
    COLUMNS - n % 2
}

/// Tiles along an axis of n points. Each tile has `points` points, and overlaps its neighbours by
/// `margin` at either side.
pub const fn tiles(n: u32, points: u32, margin: u32) -> u32 {
    let tiles = n.saturating_sub(2 * margin).div_ceil(points - 2 * margin);
    if tiles == 0 { 1 } else { tiles }
}

/// The task of a block in a launch.
#[derive(Clone, Copy)]
pub struct Task {
    /// The cube's plane 0, which need not be in memory.
    pub u: *const f64,
    /// The next field.
    pub u_next: *mut f64,
    /// Points along each axis.
    pub n: u32,
    /// The z of the first plane that the block writes, and of the one after the last.
    pub written: [u32; 2],
    /// Iterations: at most T.
    pub iterations: u32,
    /// Whether planes are numbered from the last.
    pub descends: bool,
    /// h^2 f in the source.
    pub h2_f: f64,
    /// The planes of u_next of both neighbours, as `u_next` is.
    pub neighbours: [*mut f64; 2],
    /// The planes that both neighbours have as halo: those before the first of these z, and those
    /// from the second on.
    pub seams: [u32; 2],
}

impl Task {
    /// The number of the element of memory, among those of 8 bytes, where plane 0 begins.
    #[inline(always)]
    pub fn element(&self) -> u32 {
        (self.u.addr() >> 3) as u32
    }
}

/// The warps before and after this one, of W. At the tile's edge it is this warp's own number:
/// points computed from its rows are wrong, and not written.
#[inline(always)]
pub fn warps_beside<const W: usize>() -> [usize; 2] {
    let warp = thread::thread_idx_y() as usize;
    [warp.max(1) - 1, (warp + 1).min(W - 1)]
}

/// A lane's two points of a row.
pub type Pair = [f64; 2];

/// A kind of planes of u, for which a function is compiled: any plane.
pub const ANY: u32 = 0;
/// Inner ones: each iteration computes a plane inside the walls along z.
pub const INNER: u32 = 1;
/// Inner planes of a tile without a column of the source.
pub const WALLED: u32 = 2;
/// Inner planes of a tile without a wall along x or y, too.
pub const PLAIN: u32 = 3;

/// A flag of a thread: whether it writes the second point of a row, if it writes the first.
pub const SECOND: u32 = 1;
/// Whether the thread writes its points in row 0; the next bits are for the rows after.
pub const WRITTEN: u32 = 1 << 8;
/// Whether the first point of row 0 is on a wall along x or y; the next bits are for the second
/// point and for the rows after.
pub const WALL: u32 = 1 << 16;
/// Whether the x of the first point of each row is in the source; the next bit is for the second
/// point.
pub const SOURCE: u32 = 1 << 24;
/// Whether the source is in the tile, and the y of row 0 in the source; the next bits are for the
/// rows after.
pub const SOURCE_ROW: u32 = 1 << 26;
/// All [`SOURCE_ROW`] bits.
const SOURCE_ROWS: u32 = 15 * SOURCE_ROW;

/// A thread's points in a tile.
#[derive(Clone, Copy)]
pub struct Points<'a, const R: usize> {
    /// The task of the block.
    pub task: &'a Task,
    /// Properties of the points, one bit each: one register holds all.
    pub flags: u32,
    /// The kind of the tile's inner planes: [`INNER`], [`WALLED`] or [`PLAIN`].
    pub tile: u32,
    /// The first point of each row, in a plane of u.
    pub copied: [u32; R],
    /// 1 if the first row of plane z = 0 begins at an odd element of memory, where n is odd.
    pub shift: u32,
}

impl<const R: usize> Points<'_, R> {
    /// A plane's z.
    #[inline(always)]
    pub fn z(&self, plane: u32) -> u32 {
        match self.task.descends {
            true => self.task.n - 1 - plane,
            false => plane,
        }
    }

    /// A plane's first element. It is a product, not a running sum: LLVM would keep a separate
    /// pointer for every place at a fixed distance from the running sum.
    #[inline(always)]
    pub fn first_of(&self, plane: u32) -> usize {
        let n = self.task.n;
        (u64::from(self.z(plane) * n) * u64::from(n)) as usize
    }

    /// The next values of the points in plane z, which is of `PLANES`, from three planes of last
    /// values. `beside` are the points before and after them along y; `kept` has the [`WALL`] bits
    /// of those that keep their values.
    ///
    /// # Safety
    /// All lanes of the warp call together.
    #[inline(always)]
    pub unsafe fn advance<const PLANES: u32>(
        &self,
        [below, here, above]: [&[Pair; R]; 3],
        beside: [Pair; 2],
        kept: u32,
        z: u32,
    ) -> [Pair; R] {
        let mut sums = *here;
        for r in 0..R {
            // SAFETY: all lanes are here.
            let (west, east) = unsafe {
                (
                    warp::warp_shuffle_up(FULL_MASK, here[r][1], 1, 32).0,
                    warp::warp_shuffle_down(FULL_MASK, here[r][0], 1, 32).0,
                )
            };
            let south = if r == 0 { beside[0] } else { here[r - 1] };
            let north = if r == R - 1 { beside[1] } else { here[r + 1] };
            for e in 0..2 {
                let around = Neighbours {
                    west: if e == 0 { west } else { here[r][0] },
                    east: if e == 0 { here[r][1] } else { east },
                    south: south[e],
                    north: north[e],
                    below: below[r][e],
                    above: above[r][e],
                };
                sums[r][e] = around.sum();
            }
        }
        // Inner planes have no branch here: it would cut their schedule in two. Other planes have
        // one, because most of their tiles are not in the source.
        if PLANES == INNER || PLANES == ANY && self.flags & SOURCE_ROWS != 0 {
            self.heat(&mut sums, z);
        }
        let mut next = *here;
        for r in 0..R {
            for e in 0..2 {
                let value = sixth(sums[r][e]);
                // A wall keeps its value.
                next[r][e] = if PLANES != PLAIN && kept & WALL << (2 * r + e) != 0 {
                    here[r][e]
                } else {
                    value
                };
            }
        }
        next
    }

    /// Adds h^2 f to the sums around the points in plane z of a tile with the source, and 0 in
    /// other planes. That changes only -0, to +0, which [`sixth`] does as well.
    #[inline(always)]
    fn heat(&self, sums: &mut [Pair; R], z: u32) {
        let in_plane = match (Grid { n: self.task.n }).is_source_layer(z) {
            true => self.task.h2_f,
            false => 0.0,
        };
        let h2_f = |e: u32| match self.flags & SOURCE << e {
            0 => 0.0,
            _ => in_plane,
        };
        let h2_f = [h2_f(0), h2_f(1)];
        for (r, sum) in sums.iter_mut().enumerate() {
            if self.flags & SOURCE_ROW << r != 0 {
                // `opaque` gives additions that a predicate guards. LLVM would add first, and
                // choose afterwards.
                *sum = [
                    hint::opaque(sum[0] + h2_f[0]),
                    hint::opaque(sum[1] + h2_f[1]),
                ];
            }
        }
    }

    /// Writes the points of plane `at` to a field, those that `flags` say. If n is even, which it
    /// is unless `ODD`, the field begins at a multiple of 16 bytes.
    ///
    /// # Safety
    /// Points with the flag [`WRITTEN`] may be written, and nothing else accesses them.
    #[inline(always)]
    pub unsafe fn store<const ODD: bool>(
        &self,
        field: *mut f64,
        flags: u32,
        at: u32,
        plane: &[Pair; R],
    ) {
        let target = field.wrapping_add(self.first_of(at));
        // The thread's first point is the one that it copies. If that is clamped, it writes none.
        let target = target.wrapping_add(self.copied[0] as usize);
        for (r, &[first, second]) in plane.iter().enumerate() {
            if flags & WRITTEN << r == 0 {
                continue;
            }
            let to = target.wrapping_add(r * self.task.n as usize);
            // SAFETY: the points are in the cube, and no other thread writes them.
            unsafe {
                if !ODD {
                    mem::store_vector(to, [first, second]);
                } else {
                    *to = first;
                    if self.flags & SECOND != 0 {
                        *to.add(1) = second;
                    }
                }
            }
        }
    }
}
