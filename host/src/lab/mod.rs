//! What a lab offers to whoever tests, times or shows it.
//!
//! A new lab implements [`Lab`] and [`Case`] and is added to the list in [`crate::registry`].

mod built_in;
mod params;
mod progress;
mod traits;

pub(crate) use built_in::BuiltIn;
pub use params::{CaseError, CaseParams, Parameter};
pub use progress::{NoProgress, Progress};
pub use traits::{Case, Cpu, Lab, Variant, Work};
