//! What wrong values look like: which cells, which pattern, and what that suggests.
//!
//! | module      | what it holds                                    |
//! |-------------|--------------------------------------------------|
//! | [`finding`] | the result of a diagnosis, as data               |

pub mod finding;

pub use finding::{
    Axis, Diagnosis, FieldDamage, FirstWrongStep, HeatMap, Pattern, Value, WrongCell,
};
