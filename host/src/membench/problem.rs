//! What the coalescing variants sum, and the CPU references.

use kernels_gpu::membench::value;
use rayon::prelude::*;

use crate::buffer::BufferError;
use crate::fill::filled;
use crate::lab::{CaseError, CaseParams, Cpu, Parameter};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "n",
        summary: "elements (u32), 1 to 2147483647",
        default: "16777216",
    },
    Parameter {
        name: "x",
        summary: "elements that each thread loads: 1, 2, 4, 8, 16 or 32",
        default: "8",
    },
    Parameter {
        name: "block",
        summary: "threads of a block, a multiple of 32 up to 1024",
        default: "256",
    },
    Parameter {
        name: "seed",
        summary: "seed of the elements, 0 to 2^32 - 1",
        default: "1",
    },
];

/// One problem: the sum of `n` elements, modulo 2^32, which does not depend on the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemBench {
    n: u32,
    x: u32,
    block: u32,
    seed: u32,
}

impl MemBench {
    /// `n` elements, of which each thread of blocks of `block` threads loads `x`.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for no elements or 2^31 and more, an `x` that is no power of two up to 32, a block that is
    /// not made of whole warps or has more than 1024 threads.
    pub fn new(n: u32, x: u32, block: u32, seed: u32) -> Result<MemBench, CaseError> {
        if n == 0 || n > i32::MAX as u32 {
            return Err(CaseError::invalid(
                "n",
                n,
                "there are 1 to 2147483647 elements",
            ));
        }
        if !x.is_power_of_two() || x > 32 {
            return Err(CaseError::invalid(
                "x",
                x,
                "a thread loads 1, 2, 4, 8, 16 or 32 elements",
            ));
        }
        if block == 0 || block > 1024 || !block.is_multiple_of(32) {
            return Err(CaseError::invalid(
                "block",
                block,
                "a block has whole warps: a multiple of 32 threads, up to 1024",
            ));
        }
        Ok(MemBench { n, x, block, seed })
    }

    /// A problem from `key=value` parameters.
    pub(super) fn from_params(params: &CaseParams) -> Result<MemBench, CaseError> {
        params.check_known(PARAMETERS)?;
        MemBench::new(
            params.value(PARAMETERS, "n")?,
            params.value(PARAMETERS, "x")?,
            params.value(PARAMETERS, "block")?,
            params.value(PARAMETERS, "seed")?,
        )
    }

    /// What a solution's host code gets.
    pub fn problem(&self) -> plan::membench::Problem {
        plan::membench::Problem {
            n: self.n,
            x: self.x,
        }
    }

    /// Fewest bytes that a sum moves: each element once. What a variant moves beyond that is what it wastes.
    pub(super) fn bytes(&self) -> u64 {
        4 * u64::from(self.n)
    }

    /// How many elements there are.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// How many of them each thread loads.
    pub fn x(&self) -> u32 {
        self.x
    }

    /// Threads of a block.
    pub fn block(&self) -> u32 {
        self.block
    }

    /// The elements.
    ///
    /// # Errors
    ///
    /// [`BufferError::OutOfMemory`].
    pub fn elements(&self) -> Result<Vec<u32>, BufferError> {
        filled(self.n as usize, |i| value(i as u32, self.seed))
    }
}

/// The sum of the elements, modulo 2^32, computed on the CPU.
pub fn sum(elements: &[u32], cpu: Cpu) -> u32 {
    match cpu {
        Cpu::Serial => elements.iter().fold(0, |sum, &v| sum.wrapping_add(v)),
        Cpu::Parallel => elements
            .par_iter()
            .copied()
            .with_min_len(1 << 16)
            .reduce(|| 0, u32::wrapping_add),
    }
}

impl std::fmt::Display for MemBench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MemBench { n, x, block, .. } = self;
        write!(f, "{n} elements, {x} a thread, blocks of {block}")
    }
}
