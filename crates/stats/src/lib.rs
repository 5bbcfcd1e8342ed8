//! Samples of a time: how many to take, what they say, and whether to believe it.
//!
//! | item             | what it holds                                                          |
//! |------------------|------------------------------------------------------------------------|
//! | [`interval`]     | confidence intervals of a median and of a ratio, free of distributions |
//! | [`Summary`]      | median, its interval, spread, every sample                             |
//! | [`Doubt`]        | why samples are no result                                              |
//! | [`SamplingRule`] | when enough samples are taken                                          |
//! | [`synthetic`]    | made-up times, for tests                                               |
//!
//! The choices and their sources are in `docs/measuring.md`.

mod doubt;
pub mod interval;
mod sampling;
mod summary;
pub mod synthetic;

pub use doubt::Doubt;
pub use interval::{Confidence, Interval};
pub use sampling::{Collector, RESULT_SAMPLES, Sample, SamplingRule};
pub use summary::{Discarded, Summary};

/// What the intervals of one run of the program cannot know: medians of another run, on the same
/// machine, may differ by this share more. Buffers lie elsewhere in memory then, which decides what
/// is near in L2. Medians of an H100 were up to 0.75 % apart between runs (`docs/measuring.md`);
/// each of two may be off by this much.
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
