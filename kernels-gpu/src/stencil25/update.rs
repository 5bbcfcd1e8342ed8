//! The scheme for one point. Its order of operations is the course's definition of a right result.

use super::Coefficients;
use crate::real::Fused;

/// Sums of the two values of u at distance 1 to 4 from a point: u[+r] + u[-r].
#[derive(Clone, Copy, Debug)]
pub struct Pairs<T> {
    /// Along x.
    pub x: [T; 4],
    /// Along y.
    pub y: [T; 4],
    /// Along z.
    pub z: [T; 4],
}

/// The Laplacian at a point whose value is `u`. It sums the distances in ascending order, and for
/// each the axes x, y, z.
#[inline(always)]
pub fn laplacian<T: Fused>(c: &Coefficients, u: T, pairs: Pairs<T>) -> T {
    let mut sum = T::from_f32(c.centre) * u;
    for r in 0..4 {
        sum = T::from_f32(c.x[r]).fused(pairs.x[r], sum);
        sum = T::from_f32(c.y[r]).fused(pairs.y[r], sum);
        sum = T::from_f32(c.z[r]).fused(pairs.z[r], sum);
    }
    sum
}

/// The next value of a point inside the shell, from its last value `u` and its second-last value
/// `v`.
#[inline(always)]
pub fn inner<T: Fused>(u: T, v: T, vp: T, laplacian: T) -> T {
    let two = T::from_f32(2.0);
    two.fused(u, vp.fused(laplacian, -v))
}

/// The next value of a point in the shell, from its absorption `eta` and the old `phi`.
#[inline(always)]
pub fn shell<T: Fused>(u: T, v: T, vp: T, laplacian: T, eta: T, phi: T) -> T {
    let [dividend, divisor] = shell_parts(u, v, vp, laplacian, eta, phi);
    dividend / divisor
}

/// The dividend and the divisor of [`shell`].
#[inline(always)]
pub fn shell_parts<T: Fused>(u: T, v: T, vp: T, laplacian: T, eta: T, phi: T) -> [T; 2] {
    let (one, two) = (T::from_f32(1.0), T::from_f32(2.0));
    let a = two.fused(eta, (-eta).fused(eta, two));
    let dividend = a.fused(u, vp.fused(laplacian + phi, -v));
    [dividend, two.fused(eta, one)]
}

/// The next value of phi: `eta_change` and `u_change` are the differences, along x, y and z, of the
/// values at distance 1 after and before the point.
#[inline(always)]
pub fn phi<T: Fused>(c: &Coefficients, phi: T, eta: T, eta_change: [T; 3], u_change: [T; 3]) -> T {
    let [dividend, divisor] = phi_parts(c, phi, eta, eta_change, u_change);
    dividend / divisor
}

/// The dividend and the divisor of [`phi`].
#[inline(always)]
pub fn phi_parts<T: Fused>(
    c: &Coefficients,
    phi: T,
    eta: T,
    eta_change: [T; 3],
    u_change: [T; 3],
) -> [T; 2] {
    let slope = |axis: usize| T::from_f32(c.slopes[axis]);
    let product = |axis: usize| eta_change[axis] * u_change[axis];
    let sum = slope(0) * product(0);
    let sum = slope(1).fused(product(1), sum);
    let sum = slope(2).fused(product(2), sum);
    [phi - sum, T::from_f32(1.0) + eta]
}
