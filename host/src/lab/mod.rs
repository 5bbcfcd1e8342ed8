//! The traits for testing, timing and showing a lab, and the one that a new lab implements.
//!
//! A new lab implements [`Declaration`] for the type of its cases, has a `static` [`DeclaredLab`],
//! and a line in [`plan::labs!`]. Everything else follows: [`Lab`] and [`Case`], which are all that
//! others see of a lab.

mod declaration;
mod largest;
mod params;
mod shapes;
mod traits;

pub use declaration::{BuiltIn, Declaration, DeclaredLab, advance_copies, largest_extent};
pub use params::{CaseError, CaseParams, Parameter, Values};
pub use shapes::{SHAPE, Shaped, find_shaped, shapes};
pub use traits::{Case, Cpu, Lab, Variant, Work};
