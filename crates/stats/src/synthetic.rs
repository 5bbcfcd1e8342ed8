//! Times like those of real machines, from a fixed seed, for tests of code that uses samples.

/// A source of times near 1.
pub struct Noise(fastrand::Rng);

impl Noise {
    /// A source whose times follow from `seed`.
    pub fn new(seed: u64) -> Noise {
        Noise(fastrand::Rng::with_seed(seed))
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.f64().max(f64::MIN_POSITIVE)
    }

    /// Normal around 1, with this standard deviation: Box-Muller.
    pub fn normal(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let angle = std::f64::consts::TAU * self.uniform();
        1.0 + deviation * radius * angle.cos()
    }

    /// Never much below 1, sometimes much above: the excess is exponential with this mean.
    pub fn with_tail(&mut self, mean: f64) -> f64 {
        1.0 - mean * self.uniform().ln()
    }

    /// The median of [`Noise::with_tail`].
    pub fn median_with_tail(mean: f64) -> f64 {
        1.0 + mean * std::f64::consts::LN_2
    }
}
