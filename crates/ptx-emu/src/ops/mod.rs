//! What instructions compute, lane by lane.
//!
//! - `exact`: IEEE 754 in integers, for rounding directions the host has not;
//! - `float`, `divide`, `extremum`, `int`, `carry`, `bits`, `fields`, `compare`, `cvt`: a table each from operations of the
//!   program to functions on rows;
//! - `atomic`: read-modify-write functions.

pub(crate) mod atomic;
pub(crate) mod bits;
pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod cvt;
pub(crate) mod divide;
pub(crate) mod exact;
pub(crate) mod extremum;
pub(crate) mod fields;
pub(crate) mod float;
pub(crate) mod int;
