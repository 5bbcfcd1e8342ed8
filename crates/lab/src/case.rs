//! A case of a lab: one size, parameters, seed.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use device::buffer::{NamedBuffers, copies, replace};
use device::check::{self, CheckError, Expected};
use device::error::Error;
use plan::{Interface, Plan};
use terminal::progress::{NoProgress, Progress};

use crate::view::View;

/// How a CPU reference runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cpu {
    /// On one core.
    Serial,
    /// On all of them. The result is the same to the last bit.
    Parallel,
}

impl Cpu {
    /// The name that users type and read.
    pub const fn name(self) -> &'static str {
        match self {
            Cpu::Serial => "serial",
            Cpu::Parallel => "parallel",
        }
    }
}

/// The work that a case takes, counted, not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Units of useful work.
    pub updates: u64,
    /// The name of a unit: `cell updates`.
    pub unit: &'static str,
    /// Fewest bytes that must move between device memory and the multiprocessors.
    pub bytes: u64,
    /// Floating-point operations of the scheme.
    pub flops: u64,
}

/// One size, parameters, seed of a lab. Each lab's type of cases implements it.
///
/// As text a case is its label: short, and unique among the lab's cases. It begins with the size;
/// commas part that from timesteps and what else the case has.
pub trait LabCase: Any + Display + Send + Sync {
    /// The problem as a submission's host code gets it: the JSON of the `Problem` of the lab's
    /// module in [`plan`].
    fn problem_json(&self) -> serde_json::Value;

    /// The contents of the plan's buffers of these names before a run. All others hold arbitrary
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if the host has too little memory.
    fn inputs(&self) -> Result<NamedBuffers, Error>;

    /// The expected outputs, computed on the CPU from what [`LabCase::inputs`] gave.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if the host has too little memory, or the inputs are another case's.
    fn reference_from(
        &self,
        inputs: &NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<NamedBuffers, Error>;

    /// The work of the case, with the bytes that a plain solution must move.
    fn work(&self) -> Work;

    /// Short and unique among the lab's cases: `201x201, 100 steps, double-slit`.
    fn label(&self) -> String {
        self.to_string()
    }

    /// The expected outputs, from inputs that are made for this alone.
    ///
    /// # Errors
    ///
    /// As [`LabCase::inputs`] and [`LabCase::reference_from`].
    fn reference(&self, cpu: Cpu, progress: &dyn Progress) -> Result<NamedBuffers, Error> {
        self.reference_from(&self.inputs()?, cpu, progress)
    }

    /// The reference on the current threads, in place: `buffers` holds what [`LabCase::inputs`]
    /// names, and afterwards the outputs, where they have an input's name in its place. Returns
    /// the time that it took, without setup. A lab with timesteps computes in place.
    ///
    /// # Errors
    ///
    /// As [`LabCase::reference_from`]. Then some of the buffers may be gone.
    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error> {
        let began = Instant::now();
        let outputs = self.reference_from(buffers, cpu, progress)?;
        let time = began.elapsed();
        replace(buffers, outputs);
        Ok(time)
    }

    /// How many timesteps the case has, if it has any.
    fn timesteps(&self) -> Option<u64> {
        None
    }

    /// A part of the case: `steps` timesteps, numbered from `first` on. The next part takes the
    /// outputs of this one instead of the inputs of the same names. None for a lab without
    /// timesteps.
    fn part(&self, _first: u32, _steps: u32) -> Option<Box<dyn LabCase>> {
        None
    }

    /// The outputs of the same discrete scheme with next to no rounding, all of them `f64`, from
    /// what [`LabCase::inputs`] gave. None for a lab that does not round, or has no oracle.
    ///
    /// # Errors
    ///
    /// As [`LabCase::reference_from`].
    fn oracle_from(
        &self,
        _inputs: &NamedBuffers,
        _progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        Ok(None)
    }

    /// The results of [`LabCase::reference_from`] with fused products and sums, in an order that
    /// the lab states: see [`Arithmetic::Fused`](crate::Arithmetic::Fused).
    ///
    /// # Errors
    ///
    /// As [`LabCase::reference_from`].
    fn fused_reference(&self, _inputs: &NamedBuffers) -> Result<Option<NamedBuffers>, Error> {
        Ok(None)
    }

    /// A smaller case that rounds like this one, where this one's own oracle would take too long
    /// or too much memory. The parts of a case with timesteps are alike in both.
    fn rounding_sample(&self) -> Option<Box<dyn LabCase>> {
        None
    }

    /// Compares the outputs of a solution that rounds differently with the oracle for `inputs`:
    /// each may be [`ROUNDING`](check::ROUNDING) times as far from it as the reference's. For a
    /// case with a [`rounding_sample`](LabCase::rounding_sample), they are compared with
    /// `expected`, the reference's outputs; the sample says how far the reference is from an
    /// oracle, relative to the largest value. The inner error is a difference.
    ///
    /// # Errors
    ///
    /// Those of [`LabCase::oracle_from`].
    fn check_reordered(
        &self,
        inputs: &NamedBuffers,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<Result<(), CheckError>, Error> {
        let missing = "a lab with a variant that rounds differently has an oracle";
        let Some(sample) = self.rounding_sample() else {
            let oracle = self.oracle_from(inputs, &NoProgress)?.expect(missing);
            let (expected, _) = Expected::rounding(check::ROUNDING, expected, &oracle);
            return Ok(expected.check(got));
        };
        let sample_inputs = sample.inputs()?;
        let reference = sample.reference_from(&sample_inputs, Cpu::Parallel, &NoProgress)?;
        let oracle = sample
            .oracle_from(&sample_inputs, &NoProgress)?
            .expect(missing);
        let (_, noise) = Expected::rounding(check::ROUNDING, &reference, &oracle);
        let bounds = check::bounds_by_sample(&noise, &reference, expected);
        Ok(check::near(expected, got, &bounds))
    }

    /// The axes of a buffer and their extents, the fastest-varying first; none if its elements are
    /// just a line.
    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The place of element `index` of a buffer, in the problem's own coordinates: `x = 3, y = 1`.
    fn locate(&self, buffer: &str, index: usize) -> Option<String> {
        let mut rest = index as u64;
        let mut place = Vec::new();
        for (axis, extent) in self.axes(buffer) {
            place.push(format!("{axis} = {}", rest % extent));
            rest /= extent;
        }
        place.sort_unstable();
        (!place.is_empty()).then(|| place.join(", "))
    }

    /// The field as files and pictures have it, where there is something to see.
    fn view(&self) -> Option<View> {
        None
    }

    /// The bytes of a run from which rates are usually quoted, where they are quoted in bytes: see
    /// [`LabCase::work`] for those that must move.
    fn quoted_bytes(&self) -> Option<u64> {
        None
    }

    /// A case that the emulated device runs in a moment, and in which the threads' accesses to
    /// memory lie as they do in this one: its sectors tell of coalescing, and the bytes of an
    /// update of each level of the caches hold here too. None where a small case says little of a
    /// large one.
    fn reduced(&self) -> Option<Box<dyn LabCase>> {
        None
    }
}

/// A case whose solutions are recorded through an interface of [`plan`]: see
/// [`Variant::new`](crate::Variant::new).
pub trait InterfaceCase: LabCase {
    /// The lab as a solution sees it: its name, problem, buffers and outputs.
    type Interface: Interface;

    /// The problem that a solution's host code gets.
    fn problem(&self) -> <Self::Interface as Interface>::Problem;
}

/// [`LabCase::reference_from`] of a lab whose [`LabCase::advance`] computes in place: in copies of
/// the inputs.
///
/// # Errors
///
/// As [`LabCase::reference_from`].
pub fn advance_copies<C: InterfaceCase>(
    case: &C,
    inputs: &NamedBuffers,
    cpu: Cpu,
    progress: &dyn Progress,
) -> Result<NamedBuffers, Error> {
    let mut buffers = copies(inputs, |_| true)?;
    case.advance(&mut buffers, cpu, progress)?;
    buffers.retain(|(name, _)| C::Interface::OUTPUTS.contains(&name.as_str()));
    Ok(buffers)
}
/// The axes of buffers by the buffers' names, each with its extent, the fastest-varying first.
pub type Axes = BTreeMap<String, Vec<(String, u64)>>;

/// The axes of a plan's buffers, as [`LabCase::axes`] has them. A buffer that is an
/// output has that one's, whatever its own name.
pub fn axes(plan: &Plan, case: &dyn LabCase) -> Axes {
    let buffers = plan.buffer_ids().zip(plan.buffers());
    buffers
        .map(|(id, buffer)| {
            let mut outputs = plan.outputs().iter();
            let output = outputs.find(|(_, of)| *of == id);
            let named = output.map_or(&buffer.name, |(output, _)| output);
            let axes = case.axes(named).into_iter();
            (
                buffer.name.clone(),
                axes.map(|(name, extent)| (name.to_owned(), extent))
                    .collect(),
            )
        })
        .collect()
}
