//! A run that is timed: a variant's, or a peer's from another language.

use device::run::{Digests, digests, holds, outputs, restore};
use device::{BufferPool, DeviceError, Segments};
use device::{
    Capture, Device, Error, KernelInfo, Launching, Module, NamedBuffers, Preparation, TimedSession,
    Timing,
};
use lab::{LabCase, Variant};
use plan::Plan;
use results::Language;
use thiserror::Error;

/// A prepared run of a case on a device, which can be repeated. Every method can fail with the
/// device's error.
pub struct TimedRun<'d> {
    session: Box<dyn TimedSession + 'd>,
    plan: Plan,
    /// The start of each run. Without inputs, a run goes on from what the one before left,
    /// with the caches as they are.
    inputs: Option<&'d NamedBuffers>,
    /// Whether this program launches the kernels, and so knows them.
    is_ours: bool,
}

/// A peer as its rows describe it.
#[derive(Debug, Clone)]
pub struct About {
    /// The language that it is written in.
    pub language: Language,
    /// The compiler with its version: `nvcc 13.0.88 -O3 -arch=compute_90 -fmad=false`.
    pub built_by: String,
    pub lab: &'static str,
    /// The variant that it is compared with, under whose rules its results are checked.
    pub variant: &'static str,
    /// SHA-256, in hexadecimal, of the code that the device is given, if it is known.
    pub code_sha256: Option<String>,
    /// Whether it fuses products and sums that the reference rounds each: right results are not
    /// equal to the last bit.
    pub rounds_differently: bool,
}

/// A program in another language that does what a variant does.
pub trait Peer {
    fn about(&self) -> &About;

    /// Prepares a case. Runs that are timed in turns with it share the memory. `launched` is its
    /// variant, or that in the shape in which it is timed.
    ///
    /// # Errors
    ///
    /// [`RunError::Unsuited`] for a case that it cannot do; the device's error.
    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn LabCase,
        launched: &Variant,
        inputs: &'p NamedBuffers,
        memory: &BufferPool,
    ) -> Result<TimedRun<'p>, RunError>;
}

#[derive(Default)]
pub struct Peers {
    pub found: Vec<Box<dyn Peer>>,
    /// Why others were not: `CUDA C++: nvcc not found`.
    pub missing: Vec<String>,
}

/// Why something could not be timed.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Host(Error),
    #[error("{0}")]
    Lacking(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Unsuited(String),
    /// The devices have less memory than it needs, beside what else is there.
    #[error("the devices have less memory than the case needs")]
    DoesNotFit,
}

impl RunError {
    /// Whether device memory is short.
    pub fn is_for_memory(&self) -> bool {
        let is_short =
            |error: &Error| matches!(error, Error::Device(DeviceError::OutOfMemory { .. }));
        match self {
            RunError::DoesNotFit => true,
            RunError::Host(error) => is_short(error),
            RunError::Lacking(_) | RunError::Failed(_) | RunError::Unsuited(_) => false,
        }
    }
}

/// How a peer's own program failed, as its [`TimedSession`] says it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct PeerFailure(pub String);

impl From<PeerFailure> for Error {
    fn from(failure: PeerFailure) -> Error {
        Error::Input(Box::new(failure))
    }
}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        match error {
            Error::Input(other) => match other.downcast::<PeerFailure>() {
                Ok(failure) => RunError::Failed(failure.0),
                Err(other) => RunError::Host(Error::Input(other)),
            },
            other => RunError::Host(other),
        }
    }
}

impl<'d> TimedRun<'d> {
    /// Prepares the plan on the device, in memory that other runs with the same inputs share. The
    /// plan has a buffer of each input's name.
    pub fn prepare(
        device: &'d dyn Device,
        module: &Module,
        plan: Plan,
        inputs: &'d NamedBuffers,
        memory: &BufferPool,
    ) -> Result<TimedRun<'d>, RunError> {
        Ok(TimedRun {
            session: device.prepare_as(module, &plan, &Preparation::in_pool(memory))?,
            plan,
            inputs: Some(inputs),
            is_ours: true,
        })
    }

    /// Runs of a program that launches its kernels itself.
    pub fn of_program(
        session: Box<dyn TimedSession + 'd>,
        plan: Plan,
        inputs: &'d NamedBuffers,
    ) -> TimedRun<'d> {
        TimedRun {
            session,
            plan,
            inputs: Some(inputs),
            is_ours: false,
        }
    }

    /// Runs that go on from one another, of a session that has its inputs.
    pub fn going_on(session: Box<dyn TimedSession + 'd>, plan: Plan) -> TimedRun<'d> {
        TimedRun {
            session,
            plan,
            inputs: None,
            is_ours: true,
        }
    }

    /// Makes every buffer as it is before a run: inputs written, the rest poisoned.
    pub fn reset(&mut self) -> Result<(), RunError> {
        match self.inputs {
            Some(inputs) => Ok(restore(self.session.as_mut(), &self.plan, inputs)?),
            None => Ok(()),
        }
    }

    /// Drives what earlier runs and copies left there out of the device's caches.
    pub fn flush(&mut self) -> Result<(), RunError> {
        if self.inputs.is_some() {
            self.session.flush()?;
        }
        Ok(())
    }

    /// Runs `runs` times back to back, each from what the one before left, and waits for the end.
    /// The times are those of all runs together.
    pub fn run_times(&mut self, runs: u32, by: Launching) -> Result<Timing, RunError> {
        Ok(self.session.run_times(runs, by)?)
    }

    /// Runs once, and times each of this number of parts of the run. `None` where that cannot be
    /// done, and for runs that go on from one another, which are timed whole.
    pub fn run_segments(&mut self, segments: u32) -> Result<Option<Segments>, RunError> {
        match self.inputs {
            Some(_) => Ok(self.session.run_segments(segments)?),
            None => Ok(None),
        }
    }

    /// The last run's result, named as the outputs of [`LabCase::reference`].
    pub fn outputs(&mut self) -> Result<NamedBuffers, RunError> {
        Ok(outputs(self.session.as_mut(), &self.plan)?)
    }

    /// Whether the last run's result is this one, to the last bit.
    pub fn holds(&mut self, result: &NamedBuffers) -> Result<bool, RunError> {
        Ok(holds(self.session.as_mut(), &self.plan, result)?)
    }

    /// A digest of each output of the last run, where the device makes some.
    pub fn digests(&mut self) -> Result<Option<Digests>, RunError> {
        Ok(digests(self.session.as_mut(), &self.plan)?)
    }

    /// Makes a graph of the run, for [`Launching::Graph`], if it can be one.
    pub fn capture(&mut self) -> Result<Capture, RunError> {
        Ok(self.session.capture()?)
    }

    /// The kernels as the device compiled them, if that is known.
    pub fn kernels(&self) -> Result<Vec<KernelInfo>, RunError> {
        let kernels = self.plan.kernels().iter().filter(|_| self.is_ours);
        let infos = kernels.map(|kernel| self.session.kernel_info(kernel));
        Ok(infos.collect::<Result<_, Error>>()?)
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Launches and copies of one run.
    pub fn commands(&self) -> u64 {
        self.plan.commands().len() as u64
    }
}
