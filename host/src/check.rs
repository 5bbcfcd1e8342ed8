//! Outputs against expected outputs: every element, bit for bit or within a tolerance.

use thiserror::Error;

use crate::buffer::{Element, HostBuffer, NamedBuffers};

/// Elements of one buffer that differ. Positions count elements from the buffer's start.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The buffer's name.
    pub buffer: String,
    /// First element that differs.
    pub index: usize,
    /// What was expected there, as decimal and bits.
    pub expected: String,
    /// What was there, as decimal and bits.
    pub got: String,
    /// How many elements differ.
    pub count: usize,
    /// How many were compared: all.
    pub len: usize,
    /// Greatest distance in units in the last place among elements that are finite on both sides; `None` if there are
    /// none, or for integers.
    pub max_ulp: Option<u64>,
    /// How many elements are NaN or infinite that should not be.
    pub non_finite: usize,
}

/// Outputs that are not as expected.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CheckError {
    /// Elements differ.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// An output is missing.
    #[error("output `{buffer}` is missing")]
    Missing {
        /// Its name.
        buffer: String,
    },
    /// An output has another type or size.
    #[error(
        "output `{buffer}` should have {len} {element} elements, and has {got_len} of {got_element}"
    )]
    Shape {
        /// Its name.
        buffer: String,
        /// Type expected.
        element: Element,
        /// Elements expected.
        len: usize,
        /// Type found.
        got_element: Element,
        /// Elements found.
        got_len: usize,
    },
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` differs in {} of {} elements, first at [{}]: expected {}, got {}",
            self.buffer, self.count, self.len, self.index, self.expected, self.got
        )
    }
}

/// Every expected buffer must be in `got`, equal to the last bit, and finite.
///
/// # Errors
///
/// The first buffer that is not so.
pub fn exact(_expected: &NamedBuffers, _got: &NamedBuffers) -> Result<(), CheckError> {
    todo!()
}

/// As [`exact`], but elements may differ by `absolute + relative * |expected|`.
///
/// # Errors
///
/// The first buffer that is not so.
pub fn within(
    _expected: &NamedBuffers,
    _got: &NamedBuffers,
    _tolerance: Tolerance,
) -> Result<(), CheckError> {
    todo!()
}

/// The buffer of this name.
pub fn find<'b>(buffers: &'b NamedBuffers, name: &str) -> Option<&'b HostBuffer> {
    buffers
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, buffer)| buffer)
}

/// How far an element may be from what is expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// In the unit of the element.
    pub absolute: f64,
    /// As a share of the expected value.
    pub relative: f64,
}
