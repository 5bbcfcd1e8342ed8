//! What is timed in turns for a case: every variant, and peers of them from other languages.

use device::run::{outputs_into, restore};
use device::{BufferPool, Segments};
use device::{
    Capture, Device, Error, KernelInfo, Launching, Module, NamedBuffers, Session, Timing,
};
use host::Case;
use plan::Plan;
use thiserror::Error;

/// A prepared run of a case on a device, which can be repeated. Every method can fail with the device's error.
pub trait TimedRun {
    /// Makes every buffer as it is before a run: inputs written, the rest poisoned.
    fn reset(&mut self) -> Result<(), Trouble>;

    /// Drives what earlier runs and copies left there out of the device's caches.
    fn flush(&mut self) -> Result<(), Trouble>;

    /// Runs so many times back to back, each from what the one before left, and waits for the end. The times are those of
    /// all runs together.
    fn run_times(&mut self, runs: u32, by: Launching) -> Result<Timing, Trouble>;

    /// Runs once by stream, and times so many parts of the run. `None` if that cannot be done.
    fn run_segments(&mut self, _segments: u32) -> Result<Option<Segments>, Trouble> {
        Ok(None)
    }

    /// Reads what the last run gave, named as the outputs of [`Case::reference`], in place of what `to` holds.
    fn outputs(&mut self, to: &mut NamedBuffers) -> Result<(), Trouble>;

    /// Makes a graph of the run, for [`Launching::Graph`], if it can be one.
    fn capture(&mut self) -> Result<Capture, Trouble> {
        Ok(Capture::Stream {
            reason: "it is not launched by this program".to_owned(),
        })
    }

    /// The kernels as the device compiled them, if that is known.
    fn kernels(&self) -> Result<Vec<KernelInfo>, Trouble> {
        Ok(Vec::new())
    }

    /// Launches and copies of one run, if that is known.
    fn commands(&self) -> Option<u64> {
        None
    }
}

#[derive(Debug, Clone)]
pub struct About {
    /// What it is written in, as a row shows it: `CUDA C++`.
    pub language: String,
    /// What built it, with its version: `nvcc 13.0.88 -O3 -arch=compute_90 -fmad=false`.
    pub built_by: String,
    pub lab: &'static str,
    /// The variant that it is compared with, under whose rules its results are checked.
    pub variant: &'static str,
    /// SHA-256, in hexadecimal, of the code that the device is given, if it is known.
    pub code_sha256: Option<String>,
    /// Whether it fuses products and sums that the reference rounds each: right results are not equal to the last bit.
    pub rounds_differently: bool,
}

/// A program in another language that does what a variant does.
pub trait Peer {
    fn about(&self) -> &About;

    /// Prepares a case. What is timed in turns with it shares the memory. `launched` is its variant, or that in the shape in which it is timed.
    ///
    /// # Errors
    ///
    /// [`Trouble::Unsuited`] for a case that it cannot do; the device's error.
    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn Case,
        launched: &str,
        inputs: &'p NamedBuffers,
        memory: &BufferPool,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble>;
}

#[derive(Default)]
pub struct Peers {
    pub found: Vec<Box<dyn Peer>>,
    /// Why others were not: `CUDA C++: nvcc not found`.
    pub missing: Vec<String>,
}

/// Why something could not be timed.
#[derive(Debug, Error)]
pub enum Trouble {
    #[error(transparent)]
    Host(#[from] Error),
    #[error("{0}")]
    Lacking(String),
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Unsuited(String),
}

/// A run of a plan of ours.
pub struct PlanRun<'d> {
    session: Box<dyn Session + 'd>,
    plan: Plan,
    inputs: &'d NamedBuffers,
}

impl<'d> PlanRun<'d> {
    /// Prepares the plan on the device, in memory that other runs with the same inputs share. Its inputs are the buffers of
    /// these names.
    pub fn prepare(
        device: &'d dyn Device,
        module: &Module,
        plan: Plan,
        inputs: &'d NamedBuffers,
        memory: &BufferPool,
    ) -> Result<Box<dyn TimedRun + 'd>, Trouble> {
        Ok(Box::new(PlanRun {
            session: device.prepare_in(module, &plan, memory)?,
            plan,
            inputs,
        }))
    }
}

impl TimedRun for PlanRun<'_> {
    fn reset(&mut self) -> Result<(), Trouble> {
        Ok(restore(self.session.as_mut(), &self.plan, self.inputs)?)
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        self.session.flush()?;
        Ok(())
    }

    fn run_times(&mut self, runs: u32, by: Launching) -> Result<Timing, Trouble> {
        Ok(self.session.run_times(runs, by)?)
    }

    fn run_segments(&mut self, segments: u32) -> Result<Option<Segments>, Trouble> {
        Ok(self.session.run_segments(segments)?)
    }

    fn outputs(&mut self, to: &mut NamedBuffers) -> Result<(), Trouble> {
        Ok(outputs_into(self.session.as_mut(), &self.plan, to)?)
    }

    fn capture(&mut self) -> Result<Capture, Trouble> {
        Ok(self.session.capture()?)
    }

    fn kernels(&self) -> Result<Vec<KernelInfo>, Trouble> {
        let kernels = self.plan.kernels().iter();
        let infos = kernels.map(|kernel| self.session.kernel_info(kernel));
        Ok(infos.collect::<Result<_, Error>>()?)
    }

    fn commands(&self) -> Option<u64> {
        Some(self.plan.commands().len() as u64)
    }
}
