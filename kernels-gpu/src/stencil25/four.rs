//! Four points of a thread, neighbours along z: one access moves their values.
//!
//! Kernels that stream along x have a plane of u around the points in shared memory, and values
//! along x in registers.

use cuda_std::mem;

use super::update::{self, Pairs};
use super::{Coefficients, RADIUS, Task};
use crate::real::quotients;

/// Points of a thread.
pub const POINTS: usize = 4;
/// A value for each.
pub type Four = [f32; POINTS];

const HALO: usize = RADIUS as usize;
/// Values along x that a timestep of a point needs.
pub const COLUMN: usize = 2 * HALO + 1;
/// These of each of the four points.
pub type Column = [Four; COLUMN];

/// # Safety
/// `pointer` is aligned to 16 bytes, and points to four values.
#[inline(always)]
pub unsafe fn load(pointer: *const f32) -> Four {
    // SAFETY: the caller's.
    unsafe { mem::load_vector(pointer) }
}

/// Four values of an array from an element on, if the thread has these, else zeros.
///
/// # Safety
/// If it has them, `array` has them too, aligned to 16 bytes, and nothing writes them meanwhile.
#[inline(always)]
pub unsafe fn load_if(has: bool, array: *const f32, element: u32) -> Four {
    // An ordinary load would become one from a chosen address, of four values or of a local
    // array of zeros.
    match has {
        // SAFETY: the caller's.
        true => unsafe { mem::load_early(array.add(element as usize).cast()) },
        false => [0.0; POINTS],
    }
}

/// u at the points and around them.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    own: Four,
    /// Along x, at distance 1 to 4: before and after the points.
    x: [[Four; 2]; HALO],
    /// Along y.
    y: [[Four; 2]; HALO],
    /// From the four values before the points to the four after them.
    z: [f32; 3 * POINTS],
}

impl Around {
    /// The values. Those along y and z are in shared memory: `here` is the points' place in a plane
    /// with rows of `row` values.
    ///
    /// # Safety
    /// Four rows before and after the place, and four values before and after the points, are in
    /// the plane. They are aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn load(own: Four, x: [[Four; 2]; HALO], here: *const f32, row: usize) -> Around {
        // SAFETY: the caller's.
        unsafe {
            let mut y = [[[0.0; POINTS]; 2]; HALO];
            for (r, y) in y.iter_mut().enumerate() {
                let distance = (r + 1) * row;
                *y = [load(here.sub(distance)), load(here.add(distance))];
            }
            let (before, after) = (load(here.sub(POINTS)), load(here.add(POINTS)));
            let mut z = [0.0; 3 * POINTS];
            for k in 0..POINTS {
                (z[k], z[POINTS + k], z[2 * POINTS + k]) = (before[k], own[k], after[k]);
            }
            Around { own, x, y, z }
        }
    }

    /// The Laplacians.
    #[inline(always)]
    pub fn laplacians(&self, c: &Coefficients) -> Four {
        let mut laplacians = [0.0; POINTS];
        for (k, laplacian) in laplacians.iter_mut().enumerate() {
            let mut pairs = Pairs {
                x: [0.0; HALO],
                y: [0.0; HALO],
                z: [0.0; HALO],
            };
            for r in 0..HALO {
                pairs.x[r] = self.x[r][1][k] + self.x[r][0][k];
                pairs.y[r] = self.y[r][1][k] + self.y[r][0][k];
                pairs.z[r] = self.z[POINTS + k + r + 1] + self.z[POINTS + k - r - 1];
            }
            *laplacian = update::laplacian(c, self.own[k], pairs);
        }
        laplacians
    }

    /// The next values inside the shell.
    #[inline(always)]
    pub fn inner(&self, v: Four, vp: Four, laplacians: Four) -> Four {
        let mut next = [0.0; POINTS];
        for k in 0..POINTS {
            next[k] = update::inner(self.own[k], v[k], vp[k], laplacians[k]);
        }
        next
    }

    /// The next values of u and phi in the shell. `eta` are the points' places in the plane behind
    /// theirs, in theirs, and in the one ahead, with rows of `row` values.
    ///
    /// # Safety
    /// Rows before and after the points' place, and a value before and after the points, are in the
    /// plane. Places are aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn shell(
        &self,
        c: &Coefficients,
        [v, vp, laplacians, phi]: [Four; 4],
        [behind, here, ahead]: [*const f32; 3],
        row: usize,
    ) -> [Four; 2] {
        // SAFETY: the caller's.
        unsafe {
            let own = load(here);
            let x = [load(behind), load(ahead)];
            let y = [load(here.sub(row)), load(here.add(row))];
            let mut z = [0.0; POINTS + 2];
            (z[0], z[POINTS + 1]) = (*here.sub(1), *here.add(POINTS));
            z[1..=POINTS].copy_from_slice(&own);
            let (mut dividends, mut divisors) = ([0.0; 2 * POINTS], [0.0; 2 * POINTS]);
            for k in 0..POINTS {
                let eta_change = [x[1][k] - x[0][k], y[1][k] - y[0][k], z[k + 2] - z[k]];
                let u_change = [
                    self.x[0][1][k] - self.x[0][0][k],
                    self.y[0][1][k] - self.y[0][0][k],
                    self.z[POINTS + k + 1] - self.z[POINTS + k - 1],
                ];
                let u = self.own[k];
                let next = update::shell_parts(u, v[k], vp[k], laplacians[k], own[k], phi[k]);
                let next_phi = update::phi_parts(c, phi[k], own[k], eta_change, u_change);
                [dividends[k], divisors[k]] = next;
                [dividends[POINTS + k], divisors[POINTS + k]] = next_phi;
            }
            let quotients = quotients(dividends, divisors);
            let (mut next, mut next_phi) = ([0.0; POINTS], [0.0; POINTS]);
            for k in 0..POINTS {
                (next[k], next_phi[k]) = (quotients[k], quotients[POINTS + k]);
            }
            [next, next_phi]
        }
    }
}

/// Four points of a timestep.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The launch's task.
    pub task: &'a Task,
    /// The position of the first.
    pub position: [u32; 3],
    /// Its element.
    pub element: u32,
    /// The source's value.
    pub value: f32,
    /// The second-last field there.
    pub v: Four,
    /// Velocity^2 dt^2 there.
    pub vp: Four,
    /// Whether some are in the shell.
    pub has_shell: bool,
}

impl Points<'_> {
    /// Their next values, and those of phi where they are in the shell. Without `SHELL`, all points
    /// exist, none is in the shell, and none is the source's. `here` and `eta` are their places in
    /// shared memory: those of eta for the plane behind, their own, and the one ahead. Rows have
    /// `row` values, those of eta `eta_row`.
    ///
    /// # Safety
    /// The values around the points are at these places.
    #[inline(always)]
    pub unsafe fn next<const SHELL: bool>(
        &self,
        column: &Column,
        (here, row): (*const f32, usize),
        (eta, eta_row): (impl Fn() -> [*const f32; 3], usize),
        phi: &mut Four,
    ) -> Four {
        let Task { grid, region, .. } = *self.task;
        let c = &self.task.coefficients;
        let along_x = [1, 2, 3, 4].map(|r| [column[HALO - r], column[HALO + r]]);
        // SAFETY: the caller's.
        let around = unsafe { Around::load(column[HALO], along_x, here, row) };
        let laplacians = around.laplacians(c);
        let mut next = around.inner(self.v, self.vp, laplacians);
        if !SHELL {
            return next;
        }
        let [x, y, z] = self.position;
        if self.has_shell {
            let own = [self.v, self.vp, laplacians, *phi];
            // SAFETY: the caller's.
            let [of_shell, next_phi] = unsafe { around.shell(c, own, eta(), eta_row) };
            for k in 0..POINTS {
                let z = z + k as u32;
                if z < grid.n_z && !region.contains(x, y, z) {
                    (next[k], phi[k]) = (of_shell[k], next_phi[k]);
                }
            }
        }
        if self.task.source.wrapping_sub(self.element) < POINTS as u32 {
            for (k, next) in (0..).zip(&mut next) {
                *next = self.task.with_source(self.element + k, *next, self.value);
            }
        }
        if z + POINTS as u32 > grid.n_z {
            for (z, next) in (z..).zip(&mut next) {
                if z >= grid.n_z {
                    *next = 0.0;
                }
            }
        }
        next
    }
}
