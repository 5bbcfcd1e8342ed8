//! The emulated device with a clock of ours.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use device::{
    Device, DeviceInfo, DeviceKind, Error, HostBuffer, KernelInfo, Module, Session, Timing,
};
use device::{EmulatedDevice, Options, Preparation, Sanitize, Stray, TimedSession};
use plan::{BufferId, Plan};

type Clock = dyn Fn(Who, u32) -> f64 + Send + Sync;

/// Whose run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Submission,
    Reference,
    /// Copies that measure bandwidth.
    Copies,
}

/// Says that it is a GPU, takes as long as is set, in microseconds, and makes the mistakes that are
/// set.
pub struct Clocked {
    inner: EmulatedDevice,
    info: DeviceInfo,
    clock: Box<Clock>,
    runs: [AtomicU32; 3],
    /// From which run of the submission on its outputs are spoiled.
    pub spoiled_from: u32,
    /// The host's time minus the device's, for the submission.
    pub hidden: Duration,
    pub strays: Vec<Stray>,
    /// Whose runs there were, on which inputs.
    pub log: Mutex<Vec<(Who, u64)>>,
}

impl Clocked {
    pub fn new(clock: impl Fn(Who, u32) -> f64 + Send + Sync + 'static) -> Clocked {
        // As a GPU, it shows no race and no read of unwritten memory.
        let inner = EmulatedDevice::new(Options {
            sanitize: Sanitize::NONE,
            ..Options::default()
        });
        let info = DeviceInfo {
            kind: DeviceKind::Cuda,
            name: "Clocked 1".to_owned(),
            multiprocessors: Some(1),
            clock_khz: Some(1_000_000),
            l2_bytes: Some(0),
            // An eighth is copied: 8 KiB.
            memory_bytes: Some(64 << 10),
            ..inner.info().clone()
        };
        Clocked {
            inner,
            info,
            clock: Box::new(clock),
            runs: Default::default(),
            spoiled_from: u32::MAX,
            hidden: Duration::ZERO,
            strays: Vec::new(),
            log: Mutex::default(),
        }
    }
}

impl Device for Clocked {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        _: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        let who = match (module.name(), plan.name()) {
            ("submission", _) => Who::Submission,
            (_, "copy bandwidth") => Who::Copies,
            _ => Who::Reference,
        };
        Ok(Box::new(ClockedSession {
            device: self,
            inner: self.inner.prepare(module, plan)?,
            plan: plan.clone(),
            who,
            written: 0,
        }))
    }
}

struct ClockedSession<'d> {
    device: &'d Clocked,
    inner: Box<dyn Session + 'd>,
    plan: Plan,
    who: Who,
    /// A digest of what was written.
    written: u64,
}

impl Session for ClockedSession<'_> {
    fn write(&mut self, id: BufferId, from: &HostBuffer) -> Result<(), Error> {
        let mut digest = DefaultHasher::new();
        (self.written, from.bytes()).hash(&mut digest);
        self.written = digest.finish();
        self.inner.write(id, from)
    }

    fn fill(&mut self, id: BufferId, byte: u8) -> Result<(), Error> {
        self.inner.fill(id, byte)
    }

    fn poison(&mut self, id: BufferId) -> Result<(), Error> {
        self.inner.poison(id)
    }

    fn read(&mut self, id: BufferId) -> Result<HostBuffer, Error> {
        self.inner.read(id)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.inner.run()?;
        self.device
            .log
            .lock()
            .unwrap()
            .push((self.who, self.written));
        let run = self.device.runs[self.who as usize].fetch_add(1, Ordering::Relaxed);
        if self.who == Who::Submission && run >= self.device.spoiled_from {
            let (_, id) = self.plan.outputs()[0];
            self.inner.fill(id, 1)?;
        }
        let time = Duration::from_secs_f64((self.device.clock)(self.who, run) * 1e-6);
        let hidden = match self.who {
            Who::Submission => self.device.hidden,
            _ => Duration::ZERO,
        };
        Ok(Timing {
            device: Some(time),
            host: time + hidden,
        })
    }

    fn strays(&mut self) -> Result<Vec<Stray>, Error> {
        Ok(match self.who {
            Who::Submission => self.device.strays.clone(),
            _ => Vec::new(),
        })
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.inner.kernel_info(kernel)
    }
}

impl TimedSession for ClockedSession<'_> {}
