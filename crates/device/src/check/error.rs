//! How outputs differ.

use thiserror::Error;

use crate::buffer::Element;

/// Elements of one buffer that differ. Positions count elements from the buffer's start.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The buffer's name.
    pub buffer: String,
    /// First element that differs.
    pub index: usize,
    /// The expected value: decimal, and bits.
    pub expected: String,
    /// The value found: decimal, and bits.
    pub got: String,
    /// How many elements differ.
    pub count: usize,
    /// How many were compared: all.
    pub len: usize,
    /// Greatest distance in units in the last place among the elements that differ and are finite
    /// on both sides; `None` if there are none, or for integers.
    pub max_ulp: Option<u64>,
    /// How many elements are NaN or infinite.
    pub non_finite: usize,
}

/// Outputs that are not as expected.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CheckError {
    /// Elements differ.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// An output is missing.
    #[error("output `{buffer}` is missing; declare it with `plan.output`")]
    Missing {
        /// Its name.
        buffer: String,
    },
    /// An output that nothing is known about.
    #[error("output `{buffer}` is not one that the lab asks for; {suggestion}")]
    Unexpected {
        /// Its name.
        buffer: String,
        /// The nearest name, or all of them.
        suggestion: String,
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

impl CheckError {
    /// The message, with the place of the first wrong element in the problem's own coordinates
    /// where `locate` knows it, given the buffer's name and the position.
    pub fn located(&self, locate: impl FnOnce(&str, usize) -> Option<String>) -> String {
        let text = self.to_string();
        let CheckError::Mismatch(mismatch) = self else {
            return text;
        };
        let index = format!("[{}]", mismatch.index);
        match locate(&mismatch.buffer, mismatch.index) {
            Some(place) => text.replacen(&index, &format!("{index} ({place})"), 1),
            None => text,
        }
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` is wrong in {} of {} elements, first at [{}]: expected {}, got {}",
            self.buffer, self.count, self.len, self.index, self.expected, self.got
        )?;
        if self.non_finite > 0 {
            write!(f, "; NaN or infinite: {}", self.non_finite)?;
        }
        if let Some(max_ulp) = self.max_ulp {
            write!(f, "; at most {max_ulp} ulp apart")?;
        }
        Ok(())
    }
}
