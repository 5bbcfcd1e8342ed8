//! The lab `heat1d`: heat in a rod whose ends keep their temperatures.

use std::fmt;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kernels_gpu::heat1d::step;
use kernels_gpu::random::value;
use rayon::prelude::*;

use crate::fill::copied;
use crate::kernels::kernels_of;
use crate::random;
use device::buffer::{NamedBuffers, named, take};
use device::error::Error;
use lab::{
    CaseError, Cpu, InterfaceCase, Lab, LabCase, Lattice, Parameter, Running, Seed, Series, Values,
    View, Work, advance_copies, boxed,
};
use plan::Interface as _;
use terminal::progress::Progress;

/// The lab `heat1d`.
pub static LAB: LazyLock<Lab> = LazyLock::new(|| Lab {
    name: plan::heat1d::Heat1d::NAME,
    // TODO(lab): one line for `harness list`.
    summary: "heat in a rod: a first stencil",
    parameters: PARAMETERS,
    outputs: plan::heat1d::Heat1d::OUTPUTS,
    // Whether results are rounded: sums of whole numbers are not.
    rounds: true,
    seed_bits: 32,
    module: kernels_of("heat1d"),
    variants: crate::solutions::built_in!(heat1d),
    extents: &["n"],
    least_extent: 3,
    series: Series::USUAL,
    of_extent: |n| Ok(Box::new(Heat1d::new(n, 1, K)?)),
    from_values: |values| Ok(Box::new(from_values(values)?)),
    check_seedable: |_| Ok(()),
    // TODO(lab): one line for `harness run`, and the units of its files.
    running: Some(Running::in_chunks(
        "heat in a rod: cell updates a second, and the temperatures as files",
        "lengths in cells and times in timesteps",
    )),
    small: || boxed(small()),
    laptop: || boxed(numbered(&[(1 << 22, 50)])),
    large: || boxed(numbered(&[(1 << 26, 100)])),
});

// TODO(lab): what `--param` and lab.toml can set, with the default.
const PARAMETERS: &[Parameter] = &[
    Parameter::new("n", "cells, both ends included: at least 3", "4194304"),
    Parameter::steps("steps", "timesteps", "100"),
    Parameter::new("k", "conductivity dt/dx^2, above 0 and at most 0.5", "0.3"),
    Parameter::new("seed", "seed of the temperatures, 0 to 2^32 - 1", "1"),
];

/// The value of `k` in the lab's own cases: no power of two, so that every product is rounded.
const K: f32 = 0.3;

/// Kernels number cells with 32 bits, and grids reach past the last one.
const MAX_CELLS: u32 = 1 << 31;

/// One problem.
// TODO(lab): the case: what makes one problem differ from another.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat1d {
    n: u32,
    steps: u32,
    k: f32,
    seed: Seed,
}

impl Heat1d {
    /// A rod of `n` cells, of random temperatures from seed 1.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for fewer than 3 cells or 2^31 and more, and a `k` that is not
    /// stable.
    pub fn new(n: u32, steps: u32, k: f32) -> Result<Heat1d, CaseError> {
        // TODO(lab): say for each parameter what is wrong with a value, and what is allowed.
        if !(3..MAX_CELLS).contains(&n) {
            let reason = "a rod has at least 3 cells, two ends and one between, and below 2^31";
            return Err(CaseError::invalid("n", n, reason));
        }
        if !(k > 0.0 && k <= 0.5) {
            let reason = "the scheme is stable for k above 0 and at most 0.5";
            return Err(CaseError::invalid("k", k, reason));
        }
        let seed = Seed::Number(1);
        Ok(Heat1d { n, steps, k, seed })
    }

    /// Takes the temperatures from another seed.
    pub fn with_seed(self, seed: Seed) -> Heat1d {
        Heat1d { seed, ..self }
    }

    /// One timestep, from `u` to `next`.
    fn step(&self, u: &[f32], next: &mut [f32], cpu: Cpu) {
        let last = u.len() - 1;
        let cell = |(at, value): (usize, &mut f32)| {
            *value = match at {
                0 => u[0],
                i if i == last => u[last],
                i => step(u[i - 1], u[i], u[i + 1], self.k),
            };
        };
        match cpu {
            Cpu::Serial => next.iter_mut().enumerate().for_each(cell),
            Cpu::Parallel => next
                .par_iter_mut()
                .enumerate()
                .with_min_len(1 << 14)
                .for_each(cell),
        }
    }
}

/// The lab's own cases, each with a seed that is its number.
fn numbered(cases: &[(u32, u32)]) -> Vec<Heat1d> {
    let cases: Result<_, CaseError> = cases
        .iter()
        .zip(1..)
        .map(|(&(n, steps), seed)| Ok(Heat1d::new(n, steps, K)?.with_seed(Seed::Number(seed))))
        .collect();
    cases.expect("the lab's own cases are valid")
}

fn from_values(values: &Values<'_>) -> Result<Heat1d, CaseError> {
    let case = Heat1d::new(values.get("n")?, values.get("steps")?, values.get("k")?)?;
    Ok(case.with_seed(values.seed::<u32>("seed")?))
}

fn small() -> Vec<Heat1d> {
    // TODO(lab): sizes just below, at and above a warp and a block, the smallest of all, no steps.
    numbered(&[
        (3, 0),
        (3, 1),
        (4, 5),
        (31, 7),
        (32, 2),
        (257, 10),
        (1000, 20),
    ])
}

impl InterfaceCase for Heat1d {
    type Interface = plan::heat1d::Heat1d;

    fn problem(&self) -> plan::heat1d::Problem {
        plan::heat1d::Problem {
            n: self.n,
            steps: self.steps,
            k: self.k,
        }
    }
}

impl LabCase for Heat1d {
    fn problem_json(&self) -> serde_json::Value {
        serde_json::to_value(self.problem()).expect("plain numbers")
    }

    fn inputs(&self) -> Result<NamedBuffers, Error> {
        // TODO(lab): inputs that every output depends on: a wrong result is not right by chance.
        // In a graded run they follow from a key, so that a kernel cannot compute them.
        let hashed = |seed, i| value(i, seed as u32);
        let temperature = |bits| bits as f32 / u32::MAX as f32;
        let u = random::array(self.seed, 0, self.n as usize, hashed, temperature)?;
        Ok(named([("u", u.into())]))
    }

    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error> {
        advance_copies(self, inputs, cpu, progress)
    }

    fn work(&self) -> Work {
        // TODO(lab): the unit of work that rates count, and the bytes that must move.
        let updates = u64::from(self.n - 2) * u64::from(self.steps);
        Work {
            updates,
            unit: "cell updates",
            // With a launch per timestep, each field is read once and written once.
            bytes: 8 * u64::from(self.n) * u64::from(self.steps),
            flops: 5 * updates,
        }
    }

    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let mut u: Vec<f32> = take(buffers, "u")?.try_into()?;
        let mut next = copied(&u)?;
        let began = Instant::now();
        for done in 1..=self.steps {
            self.step(&u, &mut next, cpu);
            std::mem::swap(&mut u, &mut next);
            progress.update(done.into(), self.steps.into());
        }
        let time = began.elapsed();
        buffers.extend(named([("u", u.into())]));
        Ok(time)
    }

    fn view(&self) -> Option<View> {
        Some(View {
            lattice: Lattice::new("u", self.axes("u"), 0.0, 1.0),
            timestep: 1.0,
            slice: None,
            line: None,
        })
    }

    fn timesteps(&self) -> Option<u64> {
        Some(self.steps.into())
    }

    fn part(&self, _first: u32, steps: u32) -> Option<Box<dyn LabCase>> {
        Some(Box::new(Heat1d {
            steps,
            ..self.clone()
        }))
    }

    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        vec![("x", self.n.into())]
    }
}

impl fmt::Display for Heat1d {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // TODO(lab): the label of a case: short, and unique among the lab's.
        let plural = if self.steps == 1 { "" } else { "s" };
        write!(f, "{} cells, {} step{plural}", self.n, self.steps)
    }
}
