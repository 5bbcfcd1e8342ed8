//! Samples of a time: their number, their summary, and reasons to doubt it.
//!
//! | item             | what it holds                                                          |
//! |------------------|------------------------------------------------------------------------|
//! | [`interval`]     | confidence intervals of a median and of a ratio, free of distributions |
//! | [`Summary`]      | median, its interval, spread, every sample                             |
//! | [`Doubt`] | why samples are doubted |
//! | [`SamplingRule`] | when enough samples are taken                                          |
//! | [`synthetic`]    | made-up times, for tests                                               |
//!
//! The choices and their sources are in `docs/measure/method.md`.

mod doubt;
pub mod interval;
mod sampling;
mod summary;
pub mod synthetic;

pub use doubt::Doubt;
pub use interval::{Confidence, Interval};
pub use sampling::{Collector, RESULT_SAMPLES, Sample, SamplingRule};
pub use summary::{Discarded, Summary};

/// Medians of another run of the program, on the same machine, may differ by this share more than
/// the intervals of one run say. In another run, buffers are at other places in memory, and their
/// places in L2 are nearer or farther. Medians of an H100 were up to 0.75 % apart between runs
/// (`docs/measure/method.md`); each of two medians may be off by this share.
pub const BETWEEN_RUNS: f64 = 0.0075;

/// The value below which the share `q` of the sorted samples lies, by linear interpolation.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let below = sorted[position.floor() as usize];
    let above = sorted[position.ceil() as usize];
    below + (above - below) * position.fract()
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}
