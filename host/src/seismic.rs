//! The common part of the seismic labs, wave3d and stencil25: the source, and the fields that a run
//! starts from.

use std::f64::consts::PI;

use lab::{CaseError, Seed, Values};

/// The fields that a run starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// All zero: what moves comes from the source.
    Rest,
    /// A Gaussian pulse of height 1 and a standard deviation of three grid spacings in the middle,
    /// at rest.
    Pulse,
    /// Fields uniform in [-1, 1), independent at every point: nothing can be right by chance. A lab
    /// says what else is random.
    Random {
        /// Equal seeds give equal fields.
        seed: Seed,
    },
}

impl Start {
    /// The seed of a random start.
    pub(crate) fn seed(self) -> Option<Seed> {
        match self {
            Start::Random { seed } => Some(seed),
            Start::Rest | Start::Pulse => None,
        }
    }

    /// That of a case: its parameters `start` and `seed`.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for an unknown start, and for a seed that is not a number.
    pub(crate) fn of_case(values: &Values<'_>) -> Result<Start, CaseError> {
        let seed = values.seed::<u64>("seed")?;
        let start: String = values.get("start")?;
        match start.as_str() {
            "random" => Ok(Start::Random { seed }),
            "pulse" => Ok(Start::Pulse),
            "rest" => Ok(Start::Rest),
            other => {
                let known = ["random", "pulse", "rest"];
                Err(CaseError::unknown("start", other, known))
            }
        }
    }
}

/// A Ricker wavelet: the negative second derivative of a Gaussian, which starts at next to nothing,
/// peaks at 1 and has no mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ricker {
    /// Where its spectrum peaks, in Hz.
    pub frequency_hz: f64,
}

impl Ricker {
    /// That of a case, if it has one: its parameters `source` and `frequency`.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for an unknown source, and for a frequency that is not a number.
    pub(crate) fn of_case(values: &Values<'_>) -> Result<Option<Ricker>, CaseError> {
        let source: String = values.get("source")?;
        let frequency_hz = values.get("frequency")?;
        match source.as_str() {
            "ricker" => Ok(Some(Ricker { frequency_hz })),
            "none" => Ok(None),
            other => Err(CaseError::unknown("source", other, ["ricker", "none"])),
        }
    }

    /// Refuses a frequency that no source has.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] if it is not above 0, or beyond all bounds.
    pub(crate) fn check(self) -> Result<(), CaseError> {
        let Ricker { frequency_hz } = self;
        if (1e-60..=1e60).contains(&frequency_hz) {
            return Ok(());
        }
        let reason = "a frequency in Hz from 1e-60 to 1e60";
        Err(CaseError::invalid("frequency", frequency_hz, reason))
    }

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
        (1.0 - 2.0 * a) * libm::exp(-a)
    }
}

/// As text, to six digits, never above `value`: so that what a message allows is allowed.
pub(crate) fn rounded_down(value: f64) -> String {
    let parsed = |text: &str| text.parse::<f64>().expect("a formatted number");
    let nearest = parsed(&format!("{value:.5e}"));
    if nearest <= value {
        return nearest.to_string();
    }
    let last_digit = 10_f64.powi(value.log10().floor() as i32 - 5);
    parsed(&format!("{:.5e}", nearest - last_digit)).to_string()
}
