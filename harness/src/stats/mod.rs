//! Samples of a time: how many to take, what they say, and whether to believe it.
//!
//! | module       | what it holds                                                         |
//! |--------------|-----------------------------------------------------------------------|
//! | [`interval`] | confidence intervals of a median and of a ratio, free of distributions |
//! | [`Summary`]  | median, its interval, spread, every sample                            |
//! | [`Doubt`]    | why samples are no result                                             |
//! | [`Rule`]     | when enough samples are taken                                         |
//!
//! The choices and their sources are in `docs/measuring.md`.

mod doubt;
pub mod interval;
mod rule;
mod summary;
#[cfg(test)]
pub(crate) mod synthetic;

pub use doubt::{Bounds, Doubt, doubts};
pub use interval::Interval;
pub use rule::{Collector, Rule, Sample};
pub use summary::{Discarded, Summary};

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
