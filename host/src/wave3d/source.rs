//! The point source's wavelet.

use std::f64::consts::PI;

/// A Ricker wavelet: the negative second derivative of a Gaussian, which starts at next to nothing, peaks at 1 and has
/// no mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ricker {
    /// Where its spectrum peaks, in Hz.
    pub frequency_hz: f64,
}

impl Ricker {
    /// When it peaks, in seconds: 1.5 periods, where what comes before is below 1e-7.
    pub fn peak_s(self) -> f64 {
        1.5 / self.frequency_hz
    }

    /// The value (1 - 2 a) exp(-a) at time `t`, with a = (pi f (t - peak))^2.
    pub fn value(self, t_s: f64) -> f64 {
        let phase = PI * self.frequency_hz * (t_s - self.peak_s());
        let a = phase * phase;
        // For a beyond all bounds: no infinity times zero.
        if a > 700.0 {
            return 0.0;
        }
        (1.0 - 2.0 * a) * (-a).exp()
    }
}
