//! The scheme for one site. Its order of operations is the course's definition of a right result.

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
    /// `laplacian` is that of `u` with the source's value, if the site is the source; `c2` is c^2.
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
