//! The devices of several processes as one: each process executes its share of a plan, and they
//! begin, end and fail together.

use std::sync::Arc;
use std::time::Duration;

use super::info::{Capture, DeviceInfo, Flushed, KernelInfo, Launching, Stray, Timing};
use super::pieces::{Piece, Pieces, pieces};
use super::preparation::Preparation;
use super::report::KernelReport;
use super::share::Share;
use super::traits::{Device, Session, TimedSession};
use crate::buffer::HostBuffer;
use crate::error::Error;
use crate::module::Module;
use plan::{BufferId, Plan};

/// A process's share of the devices of all. Every process calls the same functions in the same
/// order, with the same plans.
pub struct RankedDevice {
    own: Box<dyn Device>,
    share: Share,
    ranks: Arc<ranks::Session>,
}

impl RankedDevice {
    /// The devices of this process, which know their share, among the ranks that have met.
    pub fn new(own: Box<dyn Device>, share: Share, ranks: Arc<ranks::Session>) -> RankedDevice {
        RankedDevice { own, share, ranks }
    }
}

impl Device for RankedDevice {
    fn info(&self) -> &DeviceInfo {
        self.own.info()
    }

    fn count(&self) -> u32 {
        self.share.all
    }

    fn processes(&self) -> u32 {
        self.ranks.ranks() as u32
    }

    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        let own = self.own.prepare_as(module, plan, how)?;
        // One that cannot prepare the plan ends the others here.
        self.ranks.barrier()?;
        Ok(Box::new(RankedSession {
            own,
            share: &self.share,
            ranks: &self.ranks,
            plan: plan.clone(),
        }))
    }
}

/// This process's share of a prepared plan.
struct RankedSession<'d> {
    own: Box<dyn TimedSession + 'd>,
    share: &'d Share,
    ranks: &'d ranks::Session,
    plan: Plan,
}

/// Bytes of results that travel at once.
const MAX_AT_ONCE: usize = 16 << 20;

impl RankedSession<'_> {
    /// The longest time of any process, in all of them.
    fn longest(&self, timing: Timing) -> Result<Timing, Error> {
        let nanos = |time: Duration| (time.as_nanos() as u64).to_le_bytes();
        let device = timing.device.map_or(u64::MAX.to_le_bytes(), nanos);
        let mine = [nanos(timing.host), device].concat();
        let all = self.ranks.gather(&mine)?;
        let longest: Vec<u8> = all.map_or(Vec::new(), |all| {
            let of = |at: usize| all.iter().map(move |times| number(&times[8 * at..])).max();
            let longest = [of(0), of(1)].map(|time| time.unwrap_or(0).to_le_bytes());
            longest.concat()
        });
        let longest = self.ranks.broadcast(&longest)?;
        let of_device = number(&longest[8..]);
        Ok(Timing {
            host: Duration::from_nanos(number(&longest)),
            device: (of_device != u64::MAX).then(|| Duration::from_nanos(of_device)),
        })
    }

    /// Runs something that all processes begin together, and checks that all of them have done it.
    fn together(
        &mut self,
        run: impl FnOnce(&mut dyn TimedSession) -> Result<Timing, Error>,
    ) -> Result<Timing, Error> {
        self.ranks.barrier()?;
        let timing = run(self.own.as_mut());
        // A process that is lost explains an error of this one's devices.
        self.ranks.check()?;
        self.longest(timing?)
    }

    /// Brings what each process has of a buffer to all.
    fn gather(&self, id: BufferId, whole: &mut HostBuffer) -> Result<(), Error> {
        for Piece {
            part, whole: bytes, ..
        } in pieces(&self.plan, id, Pieces::Owned)
        {
            let device = self.plan.buffers()[part.index()].device;
            let owner = (device / self.share.own.len() as u32) as usize;
            let mut start = bytes.start;
            while start < bytes.end {
                let piece = start..bytes.end.min(start + MAX_AT_ONCE);
                start = piece.end;
                let mine: &[u8] = if owner == self.ranks.rank() {
                    &whole.bytes()[piece.clone()]
                } else {
                    &[]
                };
                let all = self.ranks.gather(mine)?;
                let theirs = all.map_or(Vec::new(), |mut all| all.swap_remove(owner));
                let theirs = self.ranks.broadcast(&theirs)?;
                whole.bytes_mut()[piece].copy_from_slice(&theirs);
            }
        }
        Ok(())
    }
}

/// The first eight bytes as a number.
fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"))
}

impl Session for RankedSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        self.own.write(id, from)
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.own.fill(id, byte)
    }

    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.own.poison(id)
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        let mut whole = self.own.read(id)?;
        self.gather(id, &mut whole)?;
        Ok(whole)
    }

    fn read_into(&mut self, id: BufferId, to: &mut HostBuffer) -> Result<(), Error> {
        self.own.read_into(id, to)?;
        self.gather(id, to)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.together(|own| own.run())
    }

    fn strays(&mut self) -> Result<Vec<Stray>, Error> {
        self.own.strays()
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.own.kernel_info(kernel)
    }

    fn reports(&self) -> &[KernelReport] {
        self.own.reports()
    }
}

impl TimedSession for RankedSession<'_> {
    fn run_times(&mut self, runs: u32, by: Launching) -> Result<Timing, Error> {
        self.together(|own| own.run_times(runs, by))
    }

    fn capture(&mut self) -> Result<Capture, Error> {
        self.own.capture()
    }

    fn flush(&mut self) -> Result<Flushed, Error> {
        self.own.flush()
    }

    fn keep(&mut self, id: BufferId) -> Result<(), Error> {
        self.own.keep(id)
    }

    fn recall(&mut self, id: BufferId) -> Result<bool, Error> {
        self.own.recall(id)
    }
}
