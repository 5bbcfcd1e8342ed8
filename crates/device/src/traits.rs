//! A device prepares plans, a session runs one, and times it.

use std::time::Duration;

use super::device_error::DeviceError;
use super::info::{Capture, DeviceInfo, Flushed, KernelInfo, Launching, Stray, Timing};
use super::preparation::Preparation;
use super::report::KernelReport;
use crate::buffer::{HostBuffer, NamedBuffers};
use crate::emulated_device::replayed::{Replay, WrongValue};
use crate::error::Error;
use crate::module::Module;
use crate::useful::Computed;
use plan::{BufferId, Plan};
use ptx_emu::Printed;
use replay::Wish;

/// A byte that makes NaN of every float and nonsense of every index.
pub const POISON: u8 = 0xff;

/// A device executes plans.
pub trait Device: Send + Sync {
    /// The known facts about it, or about the first if it is several.
    fn info(&self) -> &DeviceInfo;

    /// How many devices it is for a plan: 1, unless it is a group of them.
    fn count(&self) -> u32 {
        1
    }

    /// How many processes share these devices. With more than one, each does the same in the same
    /// order, and gets the same times.
    fn processes(&self) -> u32 {
        1
    }

    /// Checks the plan against the module and this device, loads the module, allocates the plan's
    /// buffers, or takes those of a pool.
    ///
    /// The buffers' contents are then undefined, or, in a pool, what the session before left there.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] and [`Error::Validation`] for a plan that cannot run anywhere or here;
    /// [`Error::Device`] where the module does not load or memory is short.
    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error>;

    /// Prepares a plan with buffers of its own, in the device's own order: [`Device::prepare_as`]
    /// with the default [`Preparation`].
    ///
    /// # Errors
    ///
    /// As [`Device::prepare_as`].
    fn prepare<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        self.prepare_as(module, plan, &Preparation::default())
    }

    /// In how many orders the plan is to run, for what it computes to show whether it depends on
    /// the order in which its threads run: see [`Preparation::order`]. 1 if it cannot, and on a
    /// device that has its own.
    fn orders(&self, _module: &Module, _plan: &Plan) -> u32 {
        1
    }

    /// Runs a plan for several devices once more, and counts the values of its results that each of
    /// them has computed: those that its kernels store and have not read, and the results depend
    /// on. `outputs` are those of a run with these inputs. What is copied, or moved by kernels,
    /// from device to device counts for the one that computed it; what is overwritten, or never
    /// read, for none. `None` for a plan of one device, and on a device that does not see accesses.
    ///
    /// # Errors
    ///
    /// As [`Device::prepare_as`] and [`Session::run`].
    fn computed(
        &self,
        _module: &Module,
        _plan: &Plan,
        _inputs: &NamedBuffers,
        _outputs: &NamedBuffers,
        _how: &Preparation,
    ) -> Result<Option<Computed>, Error> {
        Ok(None)
    }

    /// The text that kernels have printed since the last call, on a device that keeps it: see
    /// [`EmulatedDevice::keeping_printed`](crate::EmulatedDevice::keeping_printed). Others write it
    /// to standard output.
    fn take_printed(&self) -> Printed {
        Printed::default()
    }

    /// Records a launch of the plans that are prepared next, for a page that replays it: the first
    /// with a fault, else the first; or the last one that stores a wrong value. False where it
    /// cannot. Races are told where they are looked for.
    fn record(&self, _wish: Wish, _wrong: Option<WrongValue>) -> bool {
        false
    }

    /// Takes the launch that was recorded, and records no more.
    fn take_replay(&self) -> Option<Replay> {
        None
    }
}

/// A prepared plan and its buffers on a device: what a run of it needs.
pub trait Session {
    /// Copies a host buffer to a buffer of the plan, of the same type and length.
    ///
    /// # Errors
    ///
    /// [`DeviceError::WrongBuffer`]; [`Error::Plan`] for another plan's id; errors of the device.
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error>;

    /// Sets every byte of a buffer.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] for another plan's id; errors of the device.
    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error>;

    /// Makes a buffer's contents undefined: a kernel that reads it before writing it must not look
    /// right.
    ///
    /// Every byte becomes [`POISON`]. A device that tracks writes also reports such reads.
    ///
    /// # Errors
    ///
    /// As [`Session::fill`].
    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.fill(id, POISON)
    }

    /// Copies a buffer of the plan to the host.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] for another plan's id; [`Error::Buffer`] if the host has too little memory;
    /// errors of the device.
    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error>;

    /// As [`Session::read`], into a buffer of the same type and length.
    ///
    /// # Errors
    ///
    /// As [`Session::write`].
    fn read_into(&mut self, id: BufferId, to: &mut HostBuffer) -> Result<(), Error> {
        *to = self.read(id)?;
        Ok(())
    }

    /// Whether a buffer of the plan holds these values, to the last bit.
    ///
    /// # Errors
    ///
    /// As [`Session::read`].
    fn holds(&mut self, id: BufferId, expected: &HostBuffer) -> Result<bool, Error> {
        Ok(self.read(id)?.is_same(expected))
    }

    /// Executes every command of the plan once, in order, and waits until all have finished.
    ///
    /// # Errors
    ///
    /// [`DeviceError::LaunchRefused`] and [`DeviceError::KernelFault`] where a kernel is at fault;
    /// [`DeviceError::Lost`] after an earlier fault.
    fn run(&mut self) -> Result<Timing, Error>;

    /// Writes outside the plan's buffers since an isolated session was prepared, as far as guard
    /// bands reach. Always empty on a device that checks every access, where such a write is a
    /// fault.
    ///
    /// # Errors
    ///
    /// Errors of the device.
    fn strays(&mut self) -> Result<Vec<Stray>, Error> {
        Ok(Vec::new())
    }

    /// The resources that a kernel of the plan uses on the device.
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] for a kernel that the plan does not launch; errors of the device.
    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error>;

    /// Exact counts of the last run, for each kernel in the order of [`Plan::kernels`]. Empty
    /// before a run and on a device that does not count.
    fn reports(&self) -> &[KernelReport] {
        &[]
    }
}

/// A session whose runs are timed, again and again: what a measurement asks for beyond a run.
///
/// Each method says what it does on a device that has no means of its own for it. A device without
/// any implements none of them.
pub trait TimedSession: Session {
    /// Executes the plan `runs` times back to back, waits until all have finished, and returns
    /// their total time.
    ///
    /// Each run starts from what the one before left in the buffers. [`Launching::Graph`] takes
    /// effect once the plan has been captured ([`TimedSession::capture`]); otherwise, runs go by
    /// stream.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    fn run_times(&mut self, runs: u32, _by: Launching) -> Result<Timing, Error> {
        let mut total = Timing {
            device: Some(Duration::ZERO),
            host: Duration::ZERO,
        };
        for _ in 0..runs {
            let timing = self.run()?;
            total.host += timing.host;
            total.device = total.device.zip(timing.device).map(|(sum, one)| sum + one);
        }
        Ok(total)
    }

    /// Executes the plan once by stream, or, if it has been captured as a graph of repetitions, by
    /// that, and times this many parts of it. Parts are consecutive commands, of nearly equal
    /// numbers. `None` on a device that cannot, and for a plan of fewer commands.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    fn run_segments(&mut self, _segments: u32) -> Result<Option<Segments>, Error> {
        Ok(None)
    }

    /// Captures the plan as a graph, so that [`TimedSession::run_times`] can replay it with one
    /// call to the driver. Further calls do nothing more.
    ///
    /// # Errors
    ///
    /// [`DeviceError::LaunchRefused`] where a launch is at fault; other errors of the device. A
    /// device without graphs or a plan too long for one is not an error: see [`Capture::Stream`].
    fn capture(&mut self) -> Result<Capture, Error> {
        Ok(Capture::Stream {
            reason: "this device has no graphs".to_owned(),
        })
    }

    /// Overwrites the device's last-level cache, so that the next run starts with a cold one. Waits
    /// until that is done.
    ///
    /// # Errors
    ///
    /// Errors of the device.
    fn flush(&mut self) -> Result<Flushed, Error> {
        Ok(Flushed::NoCache)
    }

    /// Keeps what a buffer holds, on the device, for [`TimedSession::recall`] by this session and
    /// others that share its memory. Does nothing where memory is short, or not shared.
    ///
    /// # Errors
    ///
    /// As [`Session::fill`].
    fn keep(&mut self, _id: BufferId) -> Result<(), Error> {
        Ok(())
    }

    /// Makes a buffer hold again what was kept of it; `false` if nothing was.
    ///
    /// # Errors
    ///
    /// As [`Session::fill`].
    fn recall(&mut self, _id: BufferId) -> Result<bool, Error> {
        Ok(false)
    }

    /// A digest of what a buffer of the plan holds, computed where it is. In one process, buffers
    /// of one length on one device have the same digest if they hold the same, and else another
    /// with a probability of 1 - 2^-64. None where the device makes none.
    ///
    /// # Errors
    ///
    /// As [`Session::run`].
    fn digest(&mut self, _id: BufferId) -> Result<Option<[u64; 2]>, Error> {
        Ok(None)
    }
}

/// The time of a run of a plan, part by part: see [`TimedSession::run_segments`].
#[derive(Debug, Clone, PartialEq)]
pub struct Segments {
    /// The commands of each part, and how long they took, in order.
    pub parts: Vec<(u64, Duration)>,
    /// The whole run.
    pub whole: Timing,
    /// How the commands reached the device.
    pub by: Launching,
}

/// Checks that a host buffer has the type and length of the plan's.
///
/// # Errors
///
/// [`Error::Device`] if it has others; [`Error::Plan`] if the plan has no such buffer.
pub fn check_buffer(plan: &Plan, id: BufferId, host: &HostBuffer) -> Result<(), Error> {
    let buffer = plan.buffer_info(id)?;
    if buffer.element == host.element() && buffer.len == host.len() as u64 {
        return Ok(());
    }
    Err(DeviceError::WrongBuffer {
        plan: plan.name().to_owned(),
        buffer: buffer.name.clone(),
        element: buffer.element,
        len: buffer.len,
        got_element: host.element(),
        got_len: host.len() as u64,
    }
    .into())
}
