//! A lab and a case, whatever the lab.

use std::time::Duration;

use terminal::progress::Progress;

use crate::lab::{CaseError, CaseParams, Parameter};
use device::buffer::NamedBuffers;
use device::check::CheckError;
use device::error::Error;
use device::module::Module;
use plan::Plan;

/// A built-in solution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// As users type it.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Whether its results equal the reference's to the last bit. Those of a fused variant equal
    /// another reference's.
    pub exact: bool,
    /// Whether it is measured only where its name is given, so that usual tables stay short. It is
    /// tested in any case. Such variants are the last of their lab.
    pub on_request: bool,
}

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

/// The work that a variant must do for a case, counted, not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Units of useful work.
    pub updates: u64,
    /// The name of a unit: `cell updates`.
    pub unit: &'static str,
    /// Fewest bytes that this variant must move between device memory and the multiprocessors.
    pub bytes: u64,
    /// Floating-point operations of the scheme.
    pub flops: u64,
}

/// A problem family.
pub trait Lab: Sync {
    /// As users type it.
    fn name(&self) -> &'static str;

    /// One line.
    fn summary(&self) -> &'static str;

    /// The kernels of the built-in variants.
    fn module(&self) -> &Module;

    /// The built-in solutions; the first is the plain one that others are compared with. A copy of
    /// the course without solutions has none.
    fn variants(&self) -> &[Variant];

    /// The variant in each shape in which it may be launched, the default one first. Their names
    /// are `NAME@LABEL`, which cases understand as they do `NAME`: that is the default shape. None
    /// for a variant without a choice, and for an unknown one.
    fn shapes(&self, _variant: &str) -> Vec<Variant> {
        Vec::new()
    }

    /// Whether results are rounded: whether its cases have an oracle, so that there is a distance
    /// from what is exact.
    fn rounds(&self) -> bool {
        true
    }

    /// The parameters that [`Lab::case`] understands.
    fn parameters(&self) -> &'static [Parameter];

    /// Cases that test correctness, quick on the emulated device too.
    fn small_cases(&self) -> Vec<Box<dyn Case>>;

    /// Cases that are timed by default: seconds on a GPU and on the CPU of a laptop.
    fn laptop_cases(&self) -> Vec<Box<dyn Case>>;

    /// Cases that only a GPU finishes in reasonable time.
    fn large_cases(&self) -> Vec<Box<dyn Case>>;

    /// A case of one's own.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for unknown parameters or values that the scheme does not allow.
    fn case(&self, params: &CaseParams) -> Result<Box<dyn Case>, CaseError>;

    /// The same parameters with inputs that follow from `seed`: every output depends on them.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for parameters that would keep the inputs from following the seed.
    fn seeded(&self, params: &CaseParams, seed: u64) -> Result<CaseParams, CaseError> {
        let mut params = params.clone();
        params.set("seed", seed);
        Ok(params)
    }
}

/// One size, parameters, seed.
pub trait Case: Send + Sync {
    /// Short and unique among the lab's cases: `201x201, 100 steps, double-slit`.
    fn label(&self) -> String;

    /// The problem as a submission's host code gets it: the JSON of the `Problem` of the lab's
    /// module in [`plan`](plan).
    fn problem_json(&self) -> serde_json::Value;

    /// Records the variant's plan, for one device. Its buffers have the names that [`Case::inputs`]
    /// uses, its outputs those of [`Case::reference`].
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for an unknown variant (see [`crate::find_variant`]); [`Error::Plan`].
    fn record(&self, variant: &str) -> Result<Plan, Error> {
        self.record_for(1, variant)
    }

    /// The same for `devices` devices; a variant may use fewer.
    ///
    /// # Errors
    ///
    /// As [`Case::record`].
    fn record_for(&self, devices: u32, variant: &str) -> Result<Plan, Error>;

    /// A plan with the buffers that the lab declares for this case, and nothing else.
    ///
    /// # Errors
    ///
    /// As [`Case::inputs`].
    fn declared(&self) -> Result<Plan, Error> {
        let mut plan = Plan::new("declared");
        for (name, buffer) in self.inputs()? {
            plan.buffer(name, buffer.element(), buffer.len());
        }
        Ok(plan)
    }

    /// The contents of the plan's buffers of these names before a run. All others hold arbitrary
    /// bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Buffer`] if the host has too little memory.
    fn inputs(&self) -> Result<NamedBuffers, Error>;

    /// The expected outputs, computed on the CPU from what [`Case::inputs`] gave.
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

    /// The same on the current threads, in place: `buffers` holds what [`Case::inputs`] names, and
    /// afterwards the outputs, where they have an input's name in its place. How long it took,
    /// without setup.
    ///
    /// # Errors
    ///
    /// As [`Case::reference_from`]. Then some of the buffers may be gone.
    fn advance(
        &self,
        buffers: &mut NamedBuffers,
        cpu: Cpu,
        progress: &dyn Progress,
    ) -> Result<Duration, Error>;

    /// The names of the outputs: of [`Case::reference`], and of every plan.
    fn output_names(&self) -> &'static [&'static str];

    /// The same case with `steps` timesteps, numbered from `first` on. The next part takes the
    /// outputs of this one instead of the inputs of the same names. None for a lab without
    /// timesteps.
    fn part(&self, _first: u32, _steps: u32) -> Option<Box<dyn Case>> {
        None
    }

    /// The expected outputs, from inputs that are made for this alone.
    ///
    /// # Errors
    ///
    /// As [`Case::inputs`] and [`Case::reference_from`].
    fn reference(&self, cpu: Cpu, progress: &dyn Progress) -> Result<NamedBuffers, Error> {
        self.reference_from(&self.inputs()?, cpu, progress)
    }

    /// The outputs of the same discrete scheme with next to no rounding, all of them `f64`, from
    /// what [`Case::inputs`] gave. None for a lab that does not round, or has no oracle.
    ///
    /// # Errors
    ///
    /// As [`Case::reference_from`].
    fn oracle_from(
        &self,
        _inputs: &NamedBuffers,
        _progress: &dyn Progress,
    ) -> Result<Option<NamedBuffers>, Error> {
        Ok(None)
    }

    /// Compares every element of every output of an exact variant with `expected`, the reference's,
    /// bit for bit; those of a fused variant with the fused reference's for `inputs`, bit for bit,
    /// too. Those of another variant are compared with the oracle for `inputs`, and may be
    /// [`ROUNDING`](device::check::ROUNDING) times as far from it as the reference is. For a case
    /// too large for that, they are compared with `expected` itself, and how far the reference is
    /// from an oracle is known from a smaller case, relative to the largest value. What differs is
    /// the inner error.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for an unknown variant; [`Case::oracle_from`]'s.
    fn check(
        &self,
        variant: &str,
        inputs: &NamedBuffers,
        expected: &NamedBuffers,
        got: &NamedBuffers,
    ) -> Result<Result<(), CheckError>, Error>;

    /// Whether [`Case::check`] needs the inputs for this variant: where not, none need be kept.
    fn checks_from_inputs(&self, _variant: &str) -> bool {
        false
    }

    /// How many timesteps the case has, if it has any.
    fn timesteps(&self) -> Option<u64> {
        None
    }

    /// Where element `index` of a buffer is, in the problem's own coordinates: `x = 3, y = 1`.
    fn locate(&self, _buffer: &str, _index: usize) -> Option<String> {
        None
    }

    /// A case that the emulated device runs in a moment, and in which the threads' accesses to
    /// memory lie as they do in this one: what its sectors say of coalescing, and the bytes of an
    /// update of each level of the caches, hold here too. None where a small case says little of a
    /// large one.
    fn reduced(&self) -> Option<Box<dyn Case>> {
        None
    }

    /// The axes of a buffer and their extents, the fastest-varying first; none if its elements are
    /// just a line.
    fn axes(&self, _buffer: &str) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The largest case like this one whose buffers, with this variant, are no more than `bytes`:
    /// its parameters, as `n = 1290`. None if none is so small, or for an unknown variant.
    fn largest_within(&self, _variant: &str, _bytes: u64) -> Option<String> {
        None
    }

    /// The work of the variant; for any other name, the work of a plain solution.
    fn work(&self, variant: &str) -> Work;
}
