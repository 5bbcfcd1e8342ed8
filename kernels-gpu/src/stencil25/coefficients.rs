//! The coefficients of the finite differences.

/// The coefficient of the point itself in the 8th-order central second difference, times the
/// squared spacing. [`NEIGHBOURS`] has those of its neighbours at distance 1 to 4.
///
/// This is the only symmetric difference of nine values that is exact for polynomials to the ninth
/// degree (Fornberg, "Generation of finite difference formulas on arbitrarily spaced grids",
/// Mathematics of Computation 51, 1988, table 1); a test checks that.
pub const CENTRE: f64 = -205.0 / 72.0;
/// See [`CENTRE`].
pub const NEIGHBOURS: [f64; 4] = [8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];

/// The coefficients of the scheme, divided by the squared spacings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Coefficients {
    /// The coefficient of the point itself, summed over the three axes, in 1/m^2.
    pub centre: f32,
    /// The coefficients of the neighbours along x, at distance 1 to 4, in 1/m^2.
    pub x: [f32; 4],
    /// The coefficients of the neighbours along y.
    pub y: [f32; 4],
    /// The coefficients of the neighbours along z.
    pub z: [f32; 4],
    /// 1/(4 d^2) for x, y and z, in 1/m^2: the coefficients of the product of two differences over
    /// two spacings.
    pub slopes: [f32; 3],
}

impl Coefficients {
    /// The coefficients for these grid spacings in metres, along x, y and z.
    pub fn new(spacing: [f64; 3]) -> Coefficients {
        let [x, y, z] = spacing.map(|d| NEIGHBOURS.map(|c| (c / (d * d)) as f32));
        let [to_x, to_y, to_z] = spacing.map(|d| 1.0 / (d * d));
        Coefficients {
            centre: (CENTRE * (to_x + to_y + to_z)) as f32,
            x,
            y,
            z,
            slopes: spacing.map(|d| (1.0 / (4.0 * d * d)) as f32),
        }
    }

    /// The largest eigenvalue of -lap in 1/m^2, for these spacings: that of the wave with the
    /// opposite sign at every neighbour.
    pub fn largest_eigenvalue(spacing: [f64; 3]) -> f64 {
        let [c1, c2, c3, c4] = NEIGHBOURS;
        let of_one_axis = 2.0 * (c1 - c2 + c3 - c4) - CENTRE;
        spacing.iter().map(|d| of_one_axis / (d * d)).sum()
    }

    pub(super) fn words(self) -> [u32; 16] {
        let Coefficients {
            centre,
            x,
            y,
            z,
            slopes,
        } = self;
        let mut words = [0; 16];
        let values = [centre].into_iter().chain(x).chain(y).chain(z);
        for (word, value) in words.iter_mut().zip(values.chain(slopes)) {
            *word = value.to_bits();
        }
        words
    }
}
