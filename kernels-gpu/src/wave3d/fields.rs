//! One site in global memory: loads, update, store. The kernels differ in which sites they give to threads.

use super::Domain;
use super::update::{self, Neighbours, Scheme};

/// What a kernel knows of the damping of its sites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damping {
    /// Nothing: the table says.
    Unknown,
    /// There is none.
    Absent,
    /// There is some.
    Present,
}

/// The point source at one timestep.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its site's position in a field, or [`Source::NOWHERE`].
    pub index: u32,
    /// Its value w.
    pub value: f64,
}

impl Source {
    /// The index that no site has.
    pub const NOWHERE: u32 = u32::MAX;

    /// A source of this `value` at position `index`.
    #[inline(always)]
    pub fn new(index: u32, value: f64) -> Self {
        Self { index, value }
    }
}

/// Fields, tables and constants of one timestep.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// Extents.
    pub domain: Domain,
    /// Constants.
    pub scheme: Scheme,
    /// The second-last field, which the next one replaces.
    pub u_prev: *mut f64,
    /// The last field.
    pub u: &'a [f64],
    /// c^2 in m^2/s^2 by k.
    pub c2: &'a [f64],
    /// d in 1/s by column; not read where damping is absent.
    pub d: &'a [f64],
    /// The source.
    pub source: Source,
}

impl Step<'_> {
    /// Writes the next value of site (i, j, k).
    ///
    /// # Safety
    /// The site is in the domain, whose fields and tables these are, and nothing else accesses its element of `u_prev`
    /// meanwhile. The number of sites fits in 31 bits.
    #[inline(always)]
    pub unsafe fn advance(self, i: u32, j: u32, k: u32, damping: Damping) {
        let Domain { n_y, n_z, .. } = self.domain;
        let index = self.domain.index(i, j, k);
        // SAFETY: the index is in the field, and a site inside the border has all six neighbours.
        unsafe {
            let site = self.u_prev.add(index as usize);
            if self.domain.is_border(i, j, k) {
                *site = 0.0;
                return;
            }
            // All loads come first, so that they are under way together.
            let u = self.u.as_ptr().add(index as usize);
            let pair = |stride: u32| [*u.sub(stride as usize), *u.add(stride as usize)];
            let around = Neighbours {
                along_x: pair(n_y * n_z),
                along_y: pair(n_z),
                along_z: pair(1),
            };
            let (u_prev, u) = (*site, *u);
            let c2 = *self.c2.get_unchecked(k as usize);
            let d = match damping {
                Damping::Absent => 0.0,
                Damping::Unknown | Damping::Present => {
                    *self.d.get_unchecked(self.domain.column(i, j) as usize)
                }
            };
            let mut laplacian = update::laplacian(u, around);
            if index == self.source.index {
                laplacian += self.source.value;
            }
            let scheme = self.scheme;
            *site = match damping {
                Damping::Unknown => scheme.next(u_prev, u, laplacian, c2, d),
                Damping::Absent => scheme.undamped(u_prev, u, laplacian, c2),
                Damping::Present => scheme.damped(u_prev, u, laplacian, c2, d),
            };
        }
    }
}
