//! A launch's parameters except the arrays.

use super::{Coefficients, Grid, Region};

/// The task of one launch: a kernel gets it by value. The source's value, which changes with each
/// timestep, is a separate parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Task {
    /// The arrays' layout.
    pub grid: Grid,
    /// The points that the launch advances.
    pub region: Region,
    /// The scheme's coefficients.
    pub coefficients: Coefficients,
    /// The element of the source's point, or `u32::MAX` without a source.
    pub source: u32,
}

impl Task {
    /// The next value of the point whose element is `index`, with the source's value added at the
    /// source's point.
    #[inline(always)]
    pub fn with_source(&self, index: u32, next: f32, value: f32) -> f32 {
        if index == self.source {
            next + value
        } else {
            next
        }
    }

    /// The bytes of the task, as in a launch's argument.
    pub fn to_bytes(self) -> [u8; size_of::<Task>()] {
        let words = self.grid.words().into_iter().chain(self.region.words());
        let words = words.chain(self.coefficients.words()).chain([self.source]);
        let mut bytes = [0; size_of::<Task>()];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}
