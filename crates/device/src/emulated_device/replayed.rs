//! The launch that a page replays.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plan::Plan;
use ptx_emu::{Executable, Fault, Machine, Printed, Recording};
use replay::{Facts, Mistake, Replayer, Wish};

use crate::check::CheckError;

/// The launches that are asked for, and the one that was kept.
#[derive(Debug, Default)]
pub struct Replays(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    chosen: Option<Chosen>,
    replay: Option<Replay>,
}

/// The launch to keep.
#[derive(Debug)]
struct Chosen {
    replayer: Replayer,
    wrong: Option<WrongValue>,
}

/// A byte of a buffer of a plan that has a wrong value after the plan ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongValue {
    /// The buffer's name.
    pub buffer: String,
    /// The byte of it.
    pub byte: u64,
    /// The message.
    pub text: String,
}

impl WrongValue {
    /// The first wrong value of a plan's outputs; none if they lack one, or have other sizes.
    pub fn first(plan: &Plan, error: &CheckError, text: &str) -> Option<WrongValue> {
        let CheckError::Mismatch(mismatch) = error else {
            return None;
        };
        let mut outputs = plan.outputs().iter();
        let (_, id) = outputs.find(|(output, _)| *output == mismatch.buffer)?;
        let buffer = &plan.buffers()[id.index()];
        Some(WrongValue {
            buffer: buffer.name.clone(),
            byte: (mismatch.index * buffer.element.size()) as u64,
            text: text.to_owned(),
        })
    }
}

/// The place of a byte in the memory of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BytePlace {
    /// Its address.
    pub address: u64,
    /// The name of the buffer there.
    pub buffer: String,
    /// The byte of that.
    pub byte: u64,
}

/// A launch of a plan that was recorded: the first with a fault, else the first; or the last one
/// that stored to a byte.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The recording.
    pub recording: Recording,
    /// The program of its kernel.
    pub executable: Arc<Executable>,
    /// The fault that ended it, or the wrong value that it stored.
    pub mistake: Option<Mistake>,
}

impl Replay {
    /// The page: see [`replay::page`].
    pub fn page(&self, facts: &Facts<'_>) -> String {
        let program = self.executable.program();
        replay::page(&self.recording, program, self.mistake.as_ref(), facts)
    }
}

impl Replays {
    /// Keeps a launch of the plans that run next: the last one that stores a wrong value, if there
    /// is one.
    pub fn choose(&self, wish: Wish, wrong: Option<WrongValue>) {
        *self.kept() = Kept {
            chosen: Some(Chosen {
                replayer: Replayer::new(wish),
                wrong,
            }),
            replay: None,
        };
    }

    /// Whether launches are recorded.
    pub fn are_asked_for(&self) -> bool {
        self.kept().chosen.is_some()
    }

    /// Takes the launch that was kept; later ones are not recorded.
    pub fn take(&self) -> Option<Replay> {
        std::mem::take(&mut *self.kept()).replay
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Launches, and keeps the launch if it is the one. `place` gives that of the wrong value; none
    /// if it is not in this process.
    pub fn launch<T>(
        &self,
        machine: &mut Machine,
        executable: &Arc<Executable>,
        grid: [u32; 3],
        place: impl Fn(&WrongValue) -> Option<BytePlace>,
        launch: impl Fn(&mut Machine) -> Result<T, Fault>,
    ) -> (Result<T, Fault>, Printed) {
        let unseen = |on: &mut Machine| (launch(on), on.take_printed());
        // Several threads launch at once, and hold no lock meanwhile.
        if !self.are_asked_for() {
            return unseen(machine);
        }
        let kept = &mut *self.kept();
        let Some(Chosen { replayer, wrong }) = &mut kept.chosen else {
            return unseen(machine);
        };
        let value = wrong
            .as_ref()
            .and_then(|wrong| Some((wrong, place(wrong)?)));
        let watched = value.as_ref().map(|(_, at)| at.address);
        let can_be = wrong.is_none() || value.is_some();
        // A grid without the block that is asked for is none to show.
        if !can_be || replayer.begin(machine, grid, watched).is_err() {
            return unseen(machine);
        }
        let (ended, printed) = unseen(machine);
        let fault = match &ended {
            Err(Fault::Program(fault)) if machine.is_undone() => Some(&**fault),
            Err(_) => {
                Replayer::stop(machine);
                return (ended, printed);
            }
            Ok(_) => None,
        };
        let recording = replayer.end(machine, grid, fault, |machine| {
            // It ends as it did.
            let _ = launch(machine);
            machine.take_printed();
        });
        if let Some(recording) = recording {
            let mistake = match (fault, value) {
                (Some(fault), _) => Some(Mistake::fault(&recording, fault)),
                (None, Some((WrongValue { text, .. }, BytePlace { buffer, byte, .. }))) => {
                    Some(Mistake::value(&recording, text.clone(), &buffer, byte))
                }
                (None, None) => None,
            };
            kept.replay = Some(Replay {
                mistake,
                executable: Arc::clone(executable),
                recording,
            });
        }
        (ended, printed)
    }
}
