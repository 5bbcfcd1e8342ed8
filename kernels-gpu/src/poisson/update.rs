//! The iteration for one point. Its order of operations is the course's definition of a right
//! result.

use cuda_std::float::GpuFloat;

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
    /// The sum of the values, in the order of the iteration.
    #[inline(always)]
    pub fn sum(self) -> f64 {
        let along_x = self.west + self.east;
        let along_y = self.south + self.north;
        let along_z = self.below + self.above;
        along_x + along_y + along_z
    }
}

const SIXTH: f64 = 1.0 / 6.0;

/// The next value of a point inside the walls; `h2_f` is h^2 f there, rounded to `f64`.
///
/// A product with 1/6, rounded, replaces the division by 6, for which a GPU needs a dozen
/// instructions.
#[inline(always)]
pub fn jacobi(around: Neighbours, h2_f: f64) -> f64 {
    (around.sum() + h2_f) * SIXTH
}

/// Equals [`jacobi`] where f is 0, from the [sum](Neighbours::sum) around the point, in one
/// operation instead of two.
///
/// The result is the same to the last bit. The addition of 0 changes only -0, to +0, before or
/// after the product. A product that is not 0 is rounded once either way.
#[inline(always)]
pub fn sixth(sum: f64) -> f64 {
    GpuFloat::mul_add(sum, SIXTH, 0.0)
}
