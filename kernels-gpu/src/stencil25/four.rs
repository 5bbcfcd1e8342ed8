//! Four points of a thread, neighbours along z: one access moves their values.
//!
//! Kernels that stream along x have a plane of u around the points in shared memory, and values
//! along x in registers.

use cuda_std::mem;

use super::update::{self, Pairs};
use super::{Coefficients, RADIUS};
use crate::real::quotients;

/// Points of a thread.
pub const POINTS: usize = 4;
/// A value for each.
pub type Four = [f32; POINTS];

const HALO: usize = RADIUS as usize;

/// # Safety
/// `pointer` is aligned to 16 bytes, and points to four values.
#[inline(always)]
pub unsafe fn load(pointer: *const f32) -> Four {
    // SAFETY: the caller's.
    unsafe { mem::load_vector(pointer) }
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
