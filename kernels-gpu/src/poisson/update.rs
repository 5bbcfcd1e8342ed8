//! The iteration for one point. Its order of operations is the course's definition of a right result.

/// The last values around a point.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours {
    /// At x - 1.
    pub west: f64,
    /// At x + 1.
    pub east: f64,
    /// At y - 1.
    pub south: f64,
    /// At y + 1.
    pub north: f64,
    /// At z - 1.
    pub below: f64,
    /// At z + 1.
    pub above: f64,
}

impl Neighbours {
    /// The values of `u` around element `i`, with `n` points along an axis.
    ///
    /// # Safety
    /// Element `i` of `u` is inside the walls of a cube of n^3 points, all of which `u` has.
    #[inline(always)]
    pub unsafe fn load(u: &[f64], i: usize, n: usize) -> Self {
        // SAFETY: a point inside the walls has all six neighbours.
        unsafe {
            Self {
                west: *u.get_unchecked(i - 1),
                east: *u.get_unchecked(i + 1),
                south: *u.get_unchecked(i - n),
                north: *u.get_unchecked(i + n),
                below: *u.get_unchecked(i - n * n),
                above: *u.get_unchecked(i + n * n),
            }
        }
    }
}

/// The next value of a point inside the walls; `h2_f` is h^2 f there, rounded to `f64`.
///
/// A product with 1/6, rounded, stands for the division by 6: a GPU divides with a dozen instructions.
#[inline(always)]
pub fn jacobi(around: Neighbours, h2_f: f64) -> f64 {
    let along_x = around.west + around.east;
    let along_y = around.south + around.north;
    let along_z = around.below + around.above;
    (along_x + along_y + along_z + h2_f) * (1.0 / 6.0)
}
