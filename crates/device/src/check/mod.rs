//! Outputs against expected outputs: every element, bit for bit or within a tolerance.
//!
//! A NaN or an infinity fails always, even where one was expected: no scheme of ours produces them,
//! and two equal NaNs would hide a reference that is as broken as the result.

mod compare;
mod element;
mod error;
mod expected;

pub use compare::{Tolerance, exact, find, for_each_wrong, within};
pub use element::Value;
pub use error::{CheckError, Mismatch};
pub use expected::{Expected, Noise, ROUNDING, bounds_by_sample, near};
