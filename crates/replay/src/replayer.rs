//! The launch of a machine that a page shows.

use ptx_emu::{Machine, ProgramFault, Recording};

use crate::wish::{NoSuchBlock, Wish};

/// Chooses among the launches of a machine: the first with a fault, else the first. Where a value
/// is wrong, the last one that stored there.
///
/// ```
/// use ptx_emu::{DeviceLimits, Executable, LaunchConfig, Machine, Options, Undo};
/// use replay::{Replayer, Wish};
///
/// let options = Options { undo: Undo::Always, ..Options::default() };
/// let mut machine = Machine::new(DeviceLimits::default(), options);
/// let program = Executable::parse(
///     ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }",
/// )?;
/// let module = machine.load(program)?;
/// let config = LaunchConfig {
///     grid: [2, 1, 1],
///     block: [32, 1, 1],
///     shared_mem_bytes: 0,
///     cluster: [1; 3],
/// };
/// let mut replayer = Replayer::new(Wish { blocks: vec![1], ..Wish::default() });
/// replayer.begin(&mut machine, config.grid, None)?;
/// machine.launch(&module, "nothing", &config, Vec::<u8>::new())?;
/// let recording = replayer.end(&mut machine, config.grid, None, |_| ());
/// assert_eq!(recording.expect("it is the first").blocks, [1]);
/// // The first is shown, and no other without a fault.
/// replayer.begin(&mut machine, config.grid, None)?;
/// machine.launch(&module, "nothing", &config, Vec::<u8>::new())?;
/// assert_eq!(replayer.end(&mut machine, config.grid, None, |_| ()), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayer {
    wish: Wish,
    shown: Shown,
}

/// The launch that the page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// None yet.
    Nothing,
    /// One in which nothing was wrong.
    Right,
    /// A fault, and it stays.
    Fault,
}

impl Replayer {
    /// Nothing was launched yet.
    pub fn new(wish: Wish) -> Replayer {
        Replayer {
            wish,
            shown: Shown::Nothing,
        }
    }

    /// Records the launch that comes, if it may be the one to show: where the byte at an address is
    /// `watched`, if it stores there.
    ///
    /// # Errors
    ///
    /// A block that is asked for and that the grid does not have. The launch is not recorded, and
    /// a later one may be.
    pub fn begin(
        &self,
        machine: &mut Machine,
        grid: [u32; 3],
        watched: Option<u64>,
    ) -> Result<(), NoSuchBlock> {
        let plan = match (self.shown, watched) {
            (Shown::Fault, _) | (Shown::Right, None) => Ok(None),
            (_, Some(address)) => Ok(Some(self.wish.storing(address))),
            (Shown::Nothing, None) => self.wish.plan(grid, None).map(Some),
        };
        machine.record(plan.clone().ok().flatten());
        plan.map(drop)
    }

    /// Records no more. The recording of the launch that has ended, if there is one: of one that is
    /// not to be shown, a caller drops it.
    pub fn stop(machine: &mut Machine) -> Option<Recording> {
        machine.record(None);
        machine.take_recording()
    }

    /// The recording of the launch that has ended, if it is to be shown instead of those before.
    /// One with a fault is made again for it, by `again`, with the blocks that are asked for if it
    /// has them, else those of the fault; the machine has undone it.
    pub fn end(
        &mut self,
        machine: &mut Machine,
        grid: [u32; 3],
        fault: Option<&ProgramFault>,
        again: impl FnOnce(&mut Machine),
    ) -> Option<Recording> {
        let recording = Self::stop(machine);
        match fault {
            None => {
                let shown = recording.filter(|recording| !recording.blocks.is_empty())?;
                self.shown = Shown::Right;
                Some(shown)
            }
            Some(_) if self.shown == Shown::Fault => None,
            Some(fault) => {
                self.shown = Shown::Fault;
                let others = Wish {
                    blocks: Vec::new(),
                    ..self.wish
                };
                let plan = self.wish.plan(grid, Some(fault));
                machine.record(plan.or_else(|_| others.plan(grid, Some(fault))).ok());
                again(machine);
                Self::stop(machine)
            }
        }
    }
}
