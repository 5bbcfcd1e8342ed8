//! Times as machines give them, from a fixed seed.

/// A source of times near 1.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// Uniform in (0, 1): SplitMix64.
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
    }

    /// Normal around 1, with this standard deviation: Box-Muller.
    pub fn normal(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        1.0 + deviation * radius * angle.cos()
    }

    /// Never much below 1, sometimes much above: exponential with this mean above 1.
    pub fn with_tail(&mut self, mean: f64) -> f64 {
        1.0 - mean * self.uniform().ln()
    }

    /// The median of [`Noise::with_tail`].
    pub fn median_with_tail(mean: f64) -> f64 {
        1.0 + mean * std::f64::consts::LN_2
    }
}
