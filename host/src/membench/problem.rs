//! The coalescing lab: the sum of all elements, modulo 2^32, which does not depend on the order.

use std::sync::LazyLock;

use kernels_gpu::membench::value;
use rayon::prelude::*;

use crate::kernels::kernels_of;
use crate::random;
use device::buffer::{NamedBuffers, elements, named};
use device::error::Error;
use lab::{
    CaseError, Cpu, InterfaceCase, Lab, LabCase, Parameter, Seed, Series, Values, Work, boxed,
};
use plan::Interface as _;
use terminal::progress::Progress;

/// The lab `membench`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::membench::MemBench::NAME,
    summary: "memory: coalesced and strided loads; latency and bandwidth of each level",
    parameters: PARAMETERS,
    outputs: plan::membench::MemBench::OUTPUTS,
    // Sums of integers are exact.
    rounds: false,
    seed_bits: 32,
    module: kernels_of("membench"),
    variants: crate::solutions::built_in!(membench),
    extents: &["n"],
    least_extent: 1,
    series: Series::USUAL,
    of_extent: |n| Ok(Box::new(MemBench::new(n, 1, 256, 1)?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable: |_| Ok(()),
    running: None,
    small: || boxed(small()),
    laptop: || boxed(laptop()),
    large: || boxed(large()),
});

const PARAMETERS: &[Parameter] = &[
    Parameter::new("n", "elements (u32), 1 to 2147483647", "16777216"),
    Parameter::new(
        "x",
        "elements that each thread loads: 1, 2, 4, 8, 16 or 32",
        "8",
    ),
    Parameter::new(
        "block",
        "threads of a block, a multiple of 32 up to 1024",
        "256",
    ),
    Parameter::new("seed", "seed of the elements, 0 to 2^32 - 1", "1"),
];

/// One problem: `n` elements; each thread loads `x` of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemBench {
    n: u32,
    x: u32,
    block: u32,
    seed: Seed,
}

impl MemBench {
    /// A problem of `n` elements. Each thread loads `x` of them, in blocks of `block` threads.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for an `n` of 0 or at least 2^31, or an `x` that is not a power of
    /// two up to 32. Also for a block that is not made of whole warps or has more than 1024
    /// threads.
    pub fn new(n: u32, x: u32, block: u32, seed: u32) -> Result<MemBench, CaseError> {
        if n == 0 || n > i32::MAX as u32 {
            return Err(CaseError::invalid(
                "n",
                n,
                "there are 1 to 2147483647 elements",
            ));
        }
        if !x.is_power_of_two() || x > 32 {
            let reason = "a thread loads 1, 2, 4, 8, 16 or 32 elements";
            return Err(CaseError::invalid("x", x, reason));
        }
        if block == 0 || block > 1024 || !block.is_multiple_of(32) {
            let reason = "a block has whole warps: a multiple of 32 threads, up to 1024";
            return Err(CaseError::invalid("block", block, reason));
        }
        let seed = Seed::Number(seed.into());
        Ok(MemBench { n, x, block, seed })
    }

    /// Takes the elements from another seed.
    fn with_seed(self, seed: Seed) -> MemBench {
        MemBench { seed, ..self }
    }

    /// The lab's own cases, each with a seed that is its number.
    fn numbered(cases: &[(u32, u32, u32)]) -> Vec<MemBench> {
        let cases = cases
            .iter()
            .zip(1..)
            .map(|(&(n, x, block), seed)| MemBench::new(n, x, block, seed));
        cases
            .collect::<Result<_, _>>()
            .expect("the lab's own cases are valid")
    }

    /// Threads of a block.
    pub fn block(&self) -> u32 {
        self.block
    }
}

/// The sum of the elements, modulo 2^32, computed on the CPU.
pub(super) fn sum(elements: &[u32], cpu: Cpu) -> u32 {
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
        write!(f, "{n} elements, {x} per thread, blocks of {block}")
    }
}

fn from_values(values: &Values<'_>) -> Result<MemBench, CaseError> {
    let case = MemBench::new(values.get("n")?, values.get("x")?, values.get("block")?, 1)?;
    Ok(case.with_seed(values.seed::<u32>("seed")?))
}

fn small() -> Vec<MemBench> {
    // Every x; sizes below a warp, a vector and a stride; whole tiles, and sizes with a part of
    // a tile.
    MemBench::numbered(&[
        (1, 1, 32),
        (3, 4, 32),
        (31, 32, 64),
        (1024, 1, 1024),
        (1000, 2, 64),
        (4097, 4, 128),
        (8192, 8, 256),
        (12_345, 16, 96),
        (40_001, 32, 256),
    ])
}

fn laptop() -> Vec<MemBench> {
    MemBench::numbered(&[(1 << 24, 8, 256)])
}

fn large() -> Vec<MemBench> {
    // 1 GiB: far more than any L2.
    MemBench::numbered(&[(1 << 28, 1, 256), (1 << 28, 8, 256), (1 << 28, 32, 256)])
}

impl InterfaceCase for MemBench {
    type Interface = plan::membench::MemBench;

    fn problem(&self) -> plan::membench::Problem {
        plan::membench::Problem {
            n: self.n,
            x: self.x,
        }
    }
}

impl LabCase for MemBench {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        let hashed = |seed, i| value(i, seed as u32);
        let src = random::array(self.seed, 0, self.n as usize, hashed, |bits| bits)?;
        Ok(named([("src", src.into()), ("sum", vec![0_u32].into())]))
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        _progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        let sum = sum(elements(inputs, "src")?, cpu);
        Ok(named([("sum", vec![sum].into())]))
    }

    fn work(&self) -> Work {
        let updates = self.n.into();
        Work {
            updates,
            unit: "loads",
            // Each element once. A variant wastes all bytes that it moves beyond these.
            bytes: 4 * u64::from(self.n),
            flops: 0,
        }
    }

    fn reduced(&self) -> Option<Box<dyn LabCase>> {
        // The largest tile has 32 elements for each of 1024 threads.
        let n = self.n.min(32_768 + self.n % 32_768);
        let reduced = MemBench::new(n, self.x, self.block, 1).ok()?;
        Some(Box::new(reduced))
    }
}
