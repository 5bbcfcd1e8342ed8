//! The scheme for one site. Its order of operations is the course's definition of a right result.

use cuda_std::float::GpuFloat;

/// The values of the last field around a site.
#[derive(Clone, Copy, Debug)]
pub struct Neighbours {
    /// At i - 1 and i + 1.
    pub along_x: [f64; 2],
    /// At j - 1 and j + 1.
    pub along_y: [f64; 2],
    /// At k - 1 and k + 1.
    pub along_z: [f64; 2],
}

/// dx^2 times the 7-point Laplacian of the last field `u`.
#[inline(always)]
pub fn laplacian(u: f64, around: Neighbours) -> f64 {
    let [west, east] = around.along_x;
    let [south, north] = around.along_y;
    let [above, below] = around.along_z;
    (west + east) + (south + north) + (above + below) - 6.0 * u
}

/// The factors of a step for a column of sites, from its damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    /// 1 - d dt.
    pub of_u_prev: f64,
    /// 1 + d dt, positive and at most 2^400.
    pub divisor: f64,
    /// 1 / divisor, rounded.
    pub inverse: f64,
}

impl Factors {
    /// value / divisor, as IEEE 754 rounds it, in five operations. The result is right if
    /// [`is_sure`](Self::is_sure) holds for the value.
    ///
    /// A product with the rounded inverse is at most 1.5 units in the last place off. The first
    /// correction brings it within one unit. The inverse is rounded right, so the second correction
    /// rounds right (Markstein).
    #[inline(always)]
    pub fn quotient(self, value: f64) -> f64 {
        let correct = |quotient: f64| {
            let rest = GpuFloat::mul_add(-self.divisor, quotient, value);
            GpuFloat::mul_add(rest, self.inverse, quotient)
        };
        // The corrections lose the sign of 0.
        correct(correct(value * self.inverse)).copysign(value)
    }

    /// Whether the [`quotient`](Self::quotient) of `value` is sure to be right: no intermediate
    /// result is subnormal. The divisor is at most 2^400: finite values from 2^-500 on are safe,
    /// and 0.
    #[inline(always)]
    pub fn is_sure(value: f64) -> bool {
        const SMALLEST: u32 = (1023 - 500) << 20;
        const INFINITE: u32 = 0x7ff << 20;
        let (high, low) = ((value.to_bits() >> 32) as u32, value.to_bits() as u32);
        let magnitude = high & 0x7fff_ffff;
        magnitude.wrapping_sub(SMALLEST) < INFINITE - SMALLEST || magnitude | low == 0
    }
}

/// Constants of the scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// The timestep in seconds.
    pub dt: f64,
    /// dt^2/dx^2.
    pub ratio: f64,
}

impl Scheme {
    /// The scheme for timesteps of `dt` seconds on a grid with spacing `dx` metres.
    #[inline(always)]
    pub fn new(dt: f64, dx: f64) -> Self {
        Self {
            dt,
            ratio: (dt * dt) / (dx * dx),
        }
    }

    /// The next value of a site without damping.
    ///
    /// `laplacian` is that of `u`, with the source's value if the site is the source; `c2` is c^2.
    #[inline(always)]
    pub fn undamped(self, u_prev: f64, u: f64, laplacian: f64, c2: f64) -> f64 {
        2.0 * u - u_prev + self.ratio * c2 * laplacian
    }

    /// The next value of a site with damping `d` in 1/s.
    #[inline(always)]
    pub fn damped(self, u_prev: f64, u: f64, laplacian: f64, c2: f64, d: f64) -> f64 {
        let d_dt = d * self.dt;
        (2.0 * u - (1.0 - d_dt) * u_prev + self.ratio * c2 * laplacian) / (1.0 + d_dt)
    }

    /// The factors of a site's step with damping `d`, in 1/s, for [`undivided`](Self::undivided).
    #[inline(always)]
    pub fn factors(self, d: f64) -> Factors {
        let d_dt = d * self.dt;
        let divisor = 1.0 + d_dt;
        Factors {
            of_u_prev: 1.0 - d_dt,
            divisor,
            inverse: 1.0 / divisor,
        }
    }

    /// Equals [`undamped`](Self::undamped) to the last bit. It takes the product `ratio_c2` of
    /// ratio and c^2, and saves a product and a sum.
    ///
    /// 2 u is exact, so the fused difference rounds where the plain one does.
    #[inline(always)]
    pub fn undamped_by(ratio_c2: f64, u_prev: f64, u: f64, laplacian: f64) -> f64 {
        GpuFloat::mul_add(u, 2.0, -u_prev) + ratio_c2 * laplacian
    }

    /// Equals [`damped`](Self::damped) to the last bit, without the division by 1 + d dt. It takes
    /// the product `ratio_c2` of ratio and c^2, and the damping's factors.
    #[inline(always)]
    pub fn undivided(ratio_c2: f64, factors: Factors, u_prev: f64, u: f64, laplacian: f64) -> f64 {
        let before = factors.of_u_prev * u_prev;
        GpuFloat::mul_add(u, 2.0, -before) + ratio_c2 * laplacian
    }

    /// The next value of a site whose damping `d` may be 0.
    #[inline(always)]
    pub fn next(self, u_prev: f64, u: f64, laplacian: f64, c2: f64, d: f64) -> f64 {
        if d > 0.0 {
            self.damped(u_prev, u, laplacian, c2, d)
        } else {
            self.undamped(u_prev, u, laplacian, c2)
        }
    }
}
