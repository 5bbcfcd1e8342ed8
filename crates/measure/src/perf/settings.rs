//! How long is measured, and how well.

use std::time::Duration;

use stats::SamplingRule;

/// How long is measured, and how well.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Work on a device before the first sample, so that clocks have risen and code is loaded.
    pub device_warm_up: Duration,
    /// When the samples of single runs on a device are enough; the patience is for each of those
    /// that are timed in turns.
    pub isolated: SamplingRule,
    /// When the samples of runs back to back are enough, with that patience.
    pub batched: SamplingRule,
    /// How long a sample of runs back to back takes at least; without one, runs back to back are
    /// not timed.
    pub batch: Option<Duration>,
    /// A run of this time and more is timed in parts, and not back to back.
    pub long: Duration,
    /// For how long the energy of runs is counted at least: [`ENERGY`]; not at all if `None`.
    pub energy: Option<Duration>,
    /// In how many more allocations of the buffers short runs are timed at most.
    pub elsewhere: usize,
    /// How long the CPU computes timesteps to compare results with.
    pub check: Duration,
    /// A CPU reference that took this long once is warm.
    pub cpu_warm_up: Duration,
    /// When the CPU's samples are enough: it is noisier, and not what is optimised here. A run of
    /// its least time and more is timed in parts.
    pub cpu: SamplingRule,
}

/// As many samples as it takes to tell 1.5 % apart with certainty: `docs/measure/method.md` has the
/// arithmetic.
const DEVICE: SamplingRule = SamplingRule {
    min_samples: 30,
    min_time: Duration::from_millis(100),
    max_samples: 1000,
    noise: 0.005,
    spread: 0.05,
    patience: Duration::from_secs(1),
};

const CPU: SamplingRule = SamplingRule {
    min_samples: 10,
    min_time: Duration::from_millis(300),
    max_samples: 100,
    noise: 0.02,
    spread: 0.25,
    patience: Duration::from_millis(700),
};

/// For how long energy is counted where it is asked for. NVML's counter of an H100 moves in steps
/// of 0.1 s, and sees a quarter of the time: over 0.2 s, it was 25 % off.
pub const ENERGY: Duration = Duration::from_secs(3);

impl Settings {
    /// As well as it goes within minutes for all labs.
    pub fn usual() -> Settings {
        Settings {
            device_warm_up: Duration::from_millis(150),
            isolated: DEVICE,
            batched: SamplingRule {
                min_time: Duration::from_millis(60),
                ..DEVICE
            },
            batch: Some(Duration::from_millis(10)),
            long: Duration::from_millis(100),
            energy: None,
            elsewhere: 2,
            check: Duration::from_secs(2),
            cpu_warm_up: Duration::from_millis(200),
            cpu: CPU,
        }
    }

    /// For a first look: `--quick`.
    pub fn quick() -> Settings {
        let usual = Settings::usual();
        let quick = |rule: SamplingRule| SamplingRule {
            min_samples: 10,
            min_time: Duration::from_millis(50),
            noise: 0.02,
            spread: 0.25,
            patience: Duration::from_millis(200),
            ..rule
        };
        Settings {
            device_warm_up: Duration::from_millis(100),
            isolated: quick(usual.isolated),
            batched: quick(usual.batched),
            batch: Some(Duration::from_millis(5)),
            long: usual.long,
            check: Duration::from_millis(300),
            cpu_warm_up: Duration::ZERO,
            cpu: quick(usual.cpu),
            energy: usual.energy,
            elsewhere: 0,
        }
    }

    /// Takes exactly this number of samples, within the same bounds.
    pub fn with_samples(self, samples: usize) -> Settings {
        let exactly = |rule: SamplingRule| SamplingRule {
            noise: rule.noise,
            spread: rule.spread,
            ..SamplingRule::exactly(samples)
        };
        Settings {
            isolated: exactly(self.isolated),
            batched: exactly(self.batched),
            cpu: exactly(self.cpu),
            // Samples are of whole runs.
            long: Duration::MAX,
            elsewhere: 0,
            ..self
        }
    }
}
