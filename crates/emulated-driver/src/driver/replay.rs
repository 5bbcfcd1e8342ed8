//! The page that replays a launch: the first with a fault, else the first.

use ptx_emu::{Fault, LaunchReport, ProgramFault, Recording};
use replay::extent;

use super::Driver;
use crate::objects::launch::Launch;
use crate::report;
use crate::settings::Settings;

/// The launch that the page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Replayed {
    /// None yet.
    #[default]
    Nothing,
    /// The first launch, in which nothing was wrong.
    First,
    /// A fault, and it stays.
    Fault,
}

impl Driver {
    /// Records a launch, if it is the first of a program that is to be replayed.
    pub(super) fn begin_replay(&mut self, launch: &Launch) {
        if let Some((_, wish)) = &Settings::get().replay
            && self.replayed == Replayed::Nothing
        {
            self.machine
                .record(wish.plan(launch.config.grid, None).ok());
        }
    }

    /// Writes the page of a launch that has ended, if it is the one to show. One with a fault is
    /// made again for it, with the blocks of the fault.
    pub(super) fn end_replay(&mut self, launch: &Launch, ended: &Result<LaunchReport, Fault>) {
        let Some((_, wish)) = &Settings::get().replay else {
            return;
        };
        self.machine.record(None);
        let first = self.machine.take_recording();
        match (self.replayed, ended) {
            (Replayed::Nothing, Ok(_)) => {
                self.replayed = Replayed::First;
                if let Some(recording) = first {
                    write(launch, &recording, None);
                }
            }
            (Replayed::Nothing | Replayed::First, Err(Fault::Program(fault)))
                if self.machine.is_undone() && Settings::get().known.reason(fault).is_none() =>
            {
                self.replayed = Replayed::Fault;
                let plan = wish.plan(launch.config.grid, Some(fault));
                self.machine.record(plan.ok());
                // It ends as it did, and prints it again. Where it is made once more, without
                // checks, that prints it.
                let printed = self.machine.take_printed();
                if !fault.kind.is_unnoticed_by_a_gpu() {
                    report::printed(&printed);
                }
                let _ = launch.start(&mut self.machine);
                self.machine.take_printed();
                self.machine.record(None);
                if let Some(recording) = self.machine.take_recording() {
                    write(launch, &recording, Some(fault));
                }
            }
            _ => {}
        }
    }
}

/// Writes the page, and says so.
fn write(launch: &Launch, recording: &Recording, fault: Option<&ProgramFault>) {
    let Some((path, _)) = &Settings::get().replay else {
        return;
    };
    let program = launch.module.program();
    let page = replay::page(recording, program, fault);
    match std::fs::write(path, page) {
        Ok(()) => report::note(&format!(
            "wrote {}: {}",
            path.display(),
            extent(recording, fault)
        )),
        Err(error) => report::note(&format!(
            "--replay: cannot write {}: {error}",
            path.display()
        )),
    }
}
