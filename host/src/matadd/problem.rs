//! What is to be computed, and the CPU references.

use kernels_gpu::matadd::add;

use crate::buffer::BufferError;
use crate::fill::{filled, reserved};
use crate::lab::{CaseError, CaseParams, Cpu, Parameter};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "n_x",
        summary: "elements of a row, at least 1",
        default: "4096",
    },
    Parameter {
        name: "n_y",
        summary: "rows, 1 to 65535",
        default: "4096",
    },
    Parameter {
        name: "seed",
        summary: "seed of the random matrices, 0 to 2^32 - 1",
        default: "1",
    },
];

/// A grid has no more blocks along y, and some mappings have a row of blocks for each row.
const MOST_ROWS: u32 = 65_535;

/// Kernels index elements with 32 bits, grids reach past the last one, and have no more blocks along x.
const MOST_ELEMENTS: u64 = (1 << 31) - 1;

/// A and B.
type Matrices = (Vec<f32>, Vec<f32>);

/// One problem: matrices of a size, with random elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatAdd {
    n_x: u32,
    n_y: u32,
    seed: u32,
}

impl MatAdd {
    /// Matrices of `n_y` rows of `n_x` elements.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for no element along an axis, more than 65535 rows, or 2^31 elements and more.
    pub fn new(n_x: u32, n_y: u32, seed: u32) -> Result<MatAdd, CaseError> {
        for (name, extent) in [("n_x", n_x), ("n_y", n_y)] {
            if extent == 0 {
                return Err(CaseError::invalid(
                    name,
                    extent,
                    "a matrix has at least 1 element along each axis",
                ));
            }
        }
        if n_y > MOST_ROWS {
            return Err(CaseError::invalid(
                "n_y",
                n_y,
                "a matrix has at most 65535 rows: a grid has so many blocks along y",
            ));
        }
        if u64::from(n_x) * u64::from(n_y) > MOST_ELEMENTS {
            return Err(CaseError::invalid(
                "n_x * n_y",
                format!("{n_x} * {n_y}"),
                "a matrix has at most 2147483647 elements",
            ));
        }
        Ok(MatAdd { n_x, n_y, seed })
    }

    /// A problem from `key=value` parameters.
    pub(super) fn from_params(params: &CaseParams) -> Result<MatAdd, CaseError> {
        params.check_known(PARAMETERS)?;
        MatAdd::new(
            params.value(PARAMETERS, "n_x")?,
            params.value(PARAMETERS, "n_y")?,
            params.value(PARAMETERS, "seed")?,
        )
    }

    /// What a solution's host code gets.
    pub fn problem(&self) -> plan::matadd::Problem {
        plan::matadd::Problem {
            n_x: self.n_x,
            n_y: self.n_y,
        }
    }

    /// Fewest bytes that an addition moves: two elements read, one written.
    pub(super) fn bytes(&self) -> u64 {
        12 * self.elements() as u64
    }

    /// Elements of a row.
    pub fn n_x(&self) -> u32 {
        self.n_x
    }

    /// Rows.
    pub fn n_y(&self) -> u32 {
        self.n_y
    }

    /// Elements of a matrix.
    pub fn elements(&self) -> usize {
        self.n_x as usize * self.n_y as usize
    }

    /// A and B: uniform in [-1, 1), independent in every element.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn matrices(&self) -> Result<Matrices, BufferError> {
        let matrix = |number: u32| {
            let seed = self.seed.wrapping_mul(2).wrapping_add(number);
            filled(self.elements(), |i| uniform(i as u32, seed))
        };
        Ok((matrix(0)?, matrix(1)?))
    }
}

/// C, computed on the CPU. A and B are of one size.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
pub fn sum(a: &[f32], b: &[f32], cpu: Cpu) -> Result<Vec<f32>, BufferError> {
    match cpu {
        Cpu::Serial => {
            let mut c = reserved(a.len())?;
            c.extend(a.iter().zip(b).map(|(&a, &b)| add(a, b)));
            Ok(c)
        }
        Cpu::Parallel => filled(a.len(), |i| add(a[i], b[i])),
    }
}

/// Bits without a pattern, as a number in [-1, 1): 24 of them, so that every value is exact.
fn uniform(i: u32, seed: u32) -> f32 {
    let bits = kernels_gpu::membench::value(i, seed.wrapping_mul(0x9e37_79b9));
    (bits >> 8) as f32 * (2.0 / 16_777_216.0) - 1.0
}

impl std::fmt::Display for MatAdd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.n_x, self.n_y)
    }
}
