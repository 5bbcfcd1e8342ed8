//! The matrix addition lab: C = A + B, and ways to lay grid and blocks over the matrix.
//!
//! A matrix has n_y rows of n_x contiguous `f32`. Every variant is a mapping of threads to elements
//! with a block shape, and timing the lab's variants is the sweep over launch configurations.
//! [`check_index`] shows which thread gets which element.

mod index;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use kernels_gpu::matadd::add;
use kernels_gpu::random::value;

use crate::fill::{filled, reserved};
use crate::kernels::kernels_of;
use crate::random::{self, Scale};
use device::buffer::{BufferError, NamedBuffers, elements, named};
use device::error::Error;
use lab::{
    CaseError, Cpu, InterfaceCase, Lab, LabCase, Parameter, Seed, Series, Values, Work, boxed,
};
use plan::Interface as _;
use terminal::progress::Progress;

pub use index::{IndexMap, Owner, Stores, check_index, index_plan, stores};

/// The lab `matadd`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::matadd::MatAdd::NAME,
    summary: "matrix addition: shapes of grids and blocks",
    parameters: PARAMETERS,
    outputs: plan::matadd::MatAdd::OUTPUTS,
    rounds: true,
    seed_bits: 32,
    module: kernels_of("matadd"),
    variants: crate::solutions::built_in!(matadd),
    extents: &["n_x", "n_y"],
    least_extent: 1,
    series: Series::USUAL,
    of_extent: |n| Ok(Box::new(MatAdd::new(n, n, 1)?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable: |_| Ok(()),
    running: None,
    small: || boxed(small()),
    laptop: || boxed(laptop()),
    large: || boxed(large()),
});

const PARAMETERS: &[Parameter] = &[
    Parameter::new("n_x", "elements of a row, at least 1", "4096"),
    Parameter::new("n_y", "rows, 1 to 500000", "4096"),
    Parameter::new("seed", "seed of the random matrices, 0 to 2^32 - 1", "1"),
    Parameter::SCALE,
];

/// The rows that a grid of 65535 blocks along y covers, with eight rows per block, rounded down.
const MAX_ROWS: u32 = 500_000;

/// Kernels index elements with 32 bits, and grids reach past the last element. It is also the limit
/// of blocks along x.
const MAX_ELEMENTS: u64 = (1 << 31) - 1;

/// One problem: matrices of one size, with random elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatAdd {
    n_x: u32,
    n_y: u32,
    seed: Seed,
    scale: Scale,
}

impl MatAdd {
    /// Matrices of `n_y` rows of `n_x` elements.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for an axis without elements, more than 500000 rows, or 2^31 or more
    /// elements.
    pub fn new(n_x: u32, n_y: u32, seed: u32) -> Result<MatAdd, CaseError> {
        for (name, extent) in [("n_x", n_x), ("n_y", n_y)] {
            if extent == 0 {
                let reason = "a matrix has at least 1 element along each axis";
                return Err(CaseError::invalid(name, extent, reason));
            }
        }
        if n_y > MAX_ROWS {
            let reason =
                "a matrix has at most 500000 rows: a grid has at most 65535 blocks along y";
            return Err(CaseError::invalid("n_y", n_y, reason));
        }
        if u64::from(n_x) * u64::from(n_y) > MAX_ELEMENTS {
            let reason = "a matrix has at most 2147483647 elements";
            let extents = format!("{n_x} * {n_y}");
            return Err(CaseError::invalid("n_x * n_y", extents, reason));
        }
        let seed = Seed::Number(seed.into());
        let scale = Scale::default();
        Ok(MatAdd {
            n_x,
            n_y,
            seed,
            scale,
        })
    }

    /// Scales the elements.
    fn with_scale(self, scale: Scale) -> MatAdd {
        MatAdd { scale, ..self }
    }

    /// Takes the elements from another seed.
    fn with_seed(self, seed: Seed) -> MatAdd {
        MatAdd { seed, ..self }
    }

    /// The lab's own cases, each with a seed that is its number.
    fn numbered(shapes: &[(u32, u32)]) -> Vec<MatAdd> {
        let cases = shapes
            .iter()
            .zip(1..)
            .map(|(&(n_x, n_y), seed)| MatAdd::new(n_x, n_y, seed));
        cases
            .collect::<Result<_, _>>()
            .expect("the lab's own cases are valid")
    }

    /// Elements of a matrix.
    pub fn elements(&self) -> usize {
        self.n_x as usize * self.n_y as usize
    }

    /// A (number 0) or B (number 1), independent in every element.
    fn matrix(&self, number: u32) -> Result<Vec<f32>, BufferError> {
        let hashed = |seed: u64, i| {
            let seed = (seed as u32).wrapping_mul(2).wrapping_add(number);
            value(i, seed.wrapping_mul(0x9e37_79b9))
        };
        let scaled = self.scale.among(self.elements());
        let element = |bits| scaled(element(bits));
        random::array(self.seed, number, self.elements(), hashed, element)
    }
}

/// A pseudo-random number between -2^8 and 2^8. Each of 16 exponents is equally likely: sums are
/// rounded, and an `f64` holds their exact values. One of 256 numbers is subnormal.
fn element(bits: u32) -> f32 {
    let sign_and_fraction = bits & 0x807f_ffff;
    let exponent = match bits >> 23 & 0xff {
        0xff => 0,
        choice => 127 - 8 + choice % 16,
    };
    f32::from_bits(sign_and_fraction | exponent << 23)
}

/// C, computed on the CPU. A and B are of one size.
///
/// # Errors
///
/// [`BufferError::OutOfMemory`].
fn sum(a: &[f32], b: &[f32], cpu: Cpu) -> Result<Vec<f32>, BufferError> {
    match cpu {
        Cpu::Serial => {
            let mut c = reserved(a.len())?;
            c.extend(a.iter().zip(b).map(|(&a, &b)| add(a, b)));
            Ok(c)
        }
        Cpu::Parallel => filled(a.len(), |i| add(a[i], b[i])),
    }
}

impl std::fmt::Display for MatAdd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.n_x, self.n_y)?;
        self.scale.fmt(f)
    }
}

fn from_values(values: &Values<'_>) -> Result<MatAdd, CaseError> {
    let case = MatAdd::new(values.get("n_x")?, values.get("n_y")?, 1)?;
    let case = case.with_seed(values.seed::<u32>("seed")?);
    Ok(case.with_scale(Scale::of_case(values)?))
}

fn small() -> Vec<MatAdd> {
    // A single element; less than a warp, a block, a vector; sizes that are not multiples of
    // any block; a long row, a long column.
    MatAdd::numbered(&[
        (1, 1),
        (3, 1),
        (1, 5),
        (31, 33),
        (64, 64),
        (97, 61),
        (257, 3),
        (1025, 2),
        (2, 300),
    ])
}

fn laptop() -> Vec<MatAdd> {
    MatAdd::numbered(&[(4096, 4096)])
}

fn large() -> Vec<MatAdd> {
    MatAdd::numbered(&[(16_384, 16_384), (32_768, 32_768)])
}

impl InterfaceCase for MatAdd {
    type Interface = plan::matadd::MatAdd;

    fn problem(&self) -> plan::matadd::Problem {
        plan::matadd::Problem {
            n_x: self.n_x,
            n_y: self.n_y,
        }
    }
}

impl LabCase for MatAdd {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let [a, b] = [self.matrix(0)?, self.matrix(1)?];
        Ok(named([("a", a.into()), ("b", b.into())]))
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        _progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let c = sum(elements(inputs, "a")?, elements(inputs, "b")?, cpu)?;
        Ok(named([("c", c.into())]))
    }

    fn work(&self) -> Work {
        let updates = self.elements() as u64;
        Work {
            updates,
            unit: "additions",
            // Two elements read, one written.
            bytes: 12 * self.elements() as u64,
            flops: updates,
        }
    }

    /// The exact sums. Elements are multiples of 2^-23 below 1, so that `f32` holds most sums too.
    fn oracle_from(
        &self,
        inputs: &NamedBuffers,
        _progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        let (a, b): (&[f32], &[f32]) = (elements(inputs, "a")?, elements(inputs, "b")?);
        let wide = |(left, right): (&f32, &f32)| f64::from(*left) + f64::from(*right);
        let c: Vec<f64> = a.iter().zip(b).map(wide).collect();
        Ok(Some(named([("c", c.into())])))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        vec![("x", self.n_x.into()), ("y", self.n_y.into())]
    }

    fn reduced(&self) -> Option<Box<dyn LabCase>> {
        // Rows start and end at the same places of a sector and a line as in the full case.
        let n_x = self.n_x.min(256 + self.n_x % 256);
        let reduced = MatAdd::new(n_x, self.n_y.min(64), 1).ok()?;
        Some(Box::new(reduced))
    }
}
