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
