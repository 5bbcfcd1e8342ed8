//! The emulated device: plans on the PTX interpreter, with every access checked and every
//! instruction counted.

pub mod replayed;
mod session;
pub mod stores;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ptx_emu::{DeviceLimits, Options, Printed, Schedule, Undo};
use replay::Wish;

use crate::buffer::NamedBuffers;
use crate::error::Error;
use crate::info::{DeviceInfo, DeviceKind, LaunchLimits};
use crate::module::Module;
use crate::preparation::{Order, Preparation};
use crate::share::Share;
use crate::traits::{Device, TimedSession};
use crate::useful::Computed;
use crate::validate::{validate, validate_devices};
use plan::Plan;
use ranks::Link;
use replayed::{Replay, Replays, WrongValue};
use session::EmulatedSession;

/// Writes the text of a launch, where it is not kept.
static WRITER: OnceLock<fn(&str)> = OnceLock::new();

/// From now on, the text that kernels print on emulated devices is given to `write` after each
/// launch, unless it is kept: a program that draws on the terminal has its own way to write there.
/// The first call counts.
pub fn write_printed_by(write: fn(&str)) {
    // Another has been chosen before, and does the same for this program.
    let _ = WRITER.set(write);
}

fn to_stdout(text: &str) {
    // A reader that is gone misses nothing.
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The PTX interpreter as a device. Its limits are those of compute capability 9.0, or of the one
/// that it is given: [`EmulatedDevice::with_capability`].
pub struct EmulatedDevice {
    info: DeviceInfo,
    options: Options,
    share: Share,
    /// For each device of this process, to those of others.
    links: Vec<Arc<dyn Link>>,
    has_peer_access: bool,
    /// The text that kernels have printed, where it is kept.
    printed: Option<Mutex<Printed>>,
    replays: Replays,
    /// The exceptions where launches are sampled.
    sampling: Sampling,
}

/// Exceptions where launches are sampled ([`Options::most_blocks`]): kernels that run in full, and
/// copies that are left out.
#[derive(Debug, Clone, Default)]
pub struct Sampling {
    /// Kernels whose blocks all run, since the others decide by their results what to do.
    pub whole: BTreeSet<String>,
    /// The most bytes of a copy between buffers, if any are too many.
    pub copied_bytes: Option<u64>,
}

impl std::fmt::Debug for EmulatedDevice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EmulatedDevice")
            .field("info", &self.info)
            .field("options", &self.options)
            .field("share", &self.share)
            .finish_non_exhaustive()
    }
}

impl EmulatedDevice {
    /// With these checks, this order of execution, this bound on endless loops.
    pub fn new(options: Options) -> EmulatedDevice {
        let info = DeviceInfo {
            memory_bytes: Some(DeviceLimits::default().global_bytes),
            ..DeviceInfo::new(DeviceKind::Emulated, "PTX interpreter")
        };
        EmulatedDevice {
            info,
            options,
            share: Share::whole(1),
            links: Vec::new(),
            has_peer_access: true,
            printed: None,
            replays: Replays::default(),
            sampling: Sampling::default(),
        }
    }

    /// Says more of a sample than [`Options::most_blocks`].
    pub fn with_sampling(mut self, sampling: Sampling) -> EmulatedDevice {
        self.sampling = sampling;
        self
    }

    /// Emulates this number of devices, numbered from 0, each with a memory of its own and peer
    /// access to the others'.
    pub fn with_devices(mut self, devices: u32) -> EmulatedDevice {
        self.share = Share::whole(devices.max(1));
        self
    }

    /// Emulates those devices that are this process's, of a plan that several processes run. There
    /// is a link for each of them.
    pub fn with_share(mut self, share: Share, links: Vec<Arc<dyn Link>>) -> EmulatedDevice {
        assert_eq!(share.own.len(), links.len(), "each device has a link");
        (self.share, self.links) = (share, links);
        self
    }

    /// Keeps what kernels print for [`Device::take_printed`]. Otherwise it goes to standard output
    /// after each launch, as a GPU's driver writes it, or to [`write_printed_by`].
    pub fn keeping_printed(mut self) -> EmulatedDevice {
        self.printed = Some(Mutex::default());
        self
    }

    /// Keeps or writes what a launch has printed.
    fn show(&self, printed: Printed) {
        if printed == Printed::default() {
            return;
        }
        let Some(kept) = &self.printed else {
            let end = if printed.is_cut {
                "\n(more is left out)\n"
            } else {
                ""
            };
            let write = WRITER.get().copied().unwrap_or(to_stdout);
            write(&(printed.text + end));
            return;
        };
        kept.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(printed);
    }

    /// Takes peer access away: a kernel cannot reach the memory of another device.
    pub fn without_peer_access(mut self) -> EmulatedDevice {
        self.has_peer_access = false;
        self
    }

    /// Sets the compute capability, major and minor: the device runs the kernels that such devices
    /// have, in blocks that they have room for, in clusters if they have them; and none whose PTX
    /// is for newer ones.
    pub fn with_capability(mut self, capability: (u32, u32)) -> EmulatedDevice {
        self.info.compute_capability = Some(capability);
        self.info.limits = LaunchLimits::of(capability);
        self
    }

    /// Refuses a module that a device of the generation that was asked for cannot run.
    fn check_target(&self, module: &Module) -> Result<(), Error> {
        match (module.capability(), self.info.compute_capability) {
            (Some(needed), Some(has)) if has < needed => Err(Error::Needs {
                what: format!("module `{}`", module.name()),
                needed,
                forms: String::new(),
                has,
            }),
            _ => Ok(()),
        }
    }

    /// The orders that a plan runs in if what it computes may depend on them: that of the options,
    /// and one of each kind of random ones (see [`Schedule::Random`]).
    const ORDERS: u32 = 9;

    /// The orders of a plan whose kernels update memory by atomics that give the same in any order:
    /// that of the options, and a random one. Other accesses beside them may not.
    const ORDERS_OF_UPDATES: u32 = 2;

    /// How it executes kernels.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How it executes them in this order.
    fn options_in(&self, order: Option<Order>) -> Options {
        let mut options = self.options.clone();
        if self.replays.are_asked_for() {
            // A launch with a fault is made again.
            options.undo = Undo::Always;
        }
        let Some(Order { number, seed }) = order else {
            return options;
        };
        let schedule = match number.checked_sub(1) {
            None => options.schedule,
            Some(other) => Schedule::Random {
                seed: seed & !7 | u64::from(other & 7),
            },
        };
        Options {
            schedule,
            seed,
            ..options
        }
    }
}

impl Default for EmulatedDevice {
    /// With every check on.
    fn default() -> EmulatedDevice {
        EmulatedDevice::new(Options::default())
    }
}

impl Device for EmulatedDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Every access is checked, and every session has memory and variables of its own: each is
    /// isolated.
    fn prepare_as<'d>(
        &'d self,
        module: &Module,
        plan: &Plan,
        how: &Preparation,
    ) -> Result<Box<dyn TimedSession + 'd>, Error> {
        let module = validate(module, plan, &self.info.limits)?;
        self.check_target(module)?;
        let reaches = |from, to| {
            self.has_peer_access && (self.share.has(from) == self.share.has(to) || from == to)
        };
        validate_devices(plan, self.share.all, reaches)?;
        Ok(Box::new(EmulatedSession::new(
            self, module, plan, how.order,
        )?))
    }

    fn count(&self) -> u32 {
        self.share.all
    }

    fn orders(&self, module: &Module, plan: &Plan) -> u32 {
        let Ok(executable) = module.executable() else {
            return 1;
        };
        let any = |has: &dyn Fn(&str) -> bool| plan.kernels().iter().any(|kernel| has(kernel));
        if any(&|kernel| executable.depends_on_order(kernel)) {
            Self::ORDERS
        } else if any(&|kernel| executable.updates_memory(kernel)) {
            Self::ORDERS_OF_UPDATES
        } else {
            1
        }
    }

    fn computed(
        &self,
        module: &Module,
        plan: &Plan,
        inputs: &NamedBuffers,
        outputs: &NamedBuffers,
        how: &Preparation,
    ) -> Result<Option<Computed>, Error> {
        let is_seen = self.share == Share::whole(self.share.all)
            && self.options.sanitize.races
            && self.options.most_blocks.is_none();
        // Of one device nothing is noted: all is its work.
        if !is_seen || plan.devices() == 1 {
            return Ok(None);
        }
        self.count_computed(module, plan, inputs, outputs, how.order)
            .map(Some)
    }

    fn take_printed(&self) -> Printed {
        let kept = self.printed.as_ref().map(|kept| kept.lock());
        kept.map_or_else(Printed::default, |kept| {
            std::mem::take(&mut *kept.unwrap_or_else(PoisonError::into_inner))
        })
    }

    fn record(&self, wish: Wish, wrong: Option<WrongValue>) -> bool {
        self.replays.choose(wish, wrong);
        true
    }

    fn take_replay(&self) -> Option<Replay> {
        self.replays.take()
    }
}
