//! The page that replays a launch: the first with a fault, else the first.

use ptx_emu::{Fault, LaunchReport, ProgramFault, Recording};
use replay::{Facts, Mistake, Replayer, extent};

use super::Driver;
use crate::objects::launch::Launch;
use crate::report;
use crate::settings::Settings;

impl Driver {
    /// Records a launch, if it may be the one to show.
    pub(super) fn begin_replay(&mut self, launch: &Launch) {
        let Some(replayer) = &self.replayer else {
            return;
        };
        let grid = launch.config.grid;
        if let Err(error) = replayer.begin(&mut self.machine, grid, None)
            && self.told.insert((String::new(), "replay", 0))
        {
            report::note(&format!("{error}; a later launch may have it"));
        }
    }

    /// Writes the page of a launch that has ended, if it is the one to show.
    pub(super) fn end_replay(&mut self, launch: &Launch, ended: &Result<LaunchReport, Fault>) {
        let Some(replayer) = &mut self.replayer else {
            return;
        };
        let fault = match ended {
            Ok(_) => None,
            Err(Fault::Program(fault))
                if self.machine.is_undone() && Settings::get().known.reason(fault).is_none() =>
            {
                Some(&**fault)
            }
            Err(_) => {
                Replayer::stop(&mut self.machine);
                return;
            }
        };
        let grid = launch.config.grid;
        let recording = replayer.end(&mut self.machine, grid, fault, |machine| {
            // It ends as it did, and prints it again. Where it is made once more, without checks,
            // that prints it.
            let printed = machine.take_printed();
            if fault.is_some_and(|fault| !fault.kind.is_unnoticed_by_a_gpu()) {
                report::printed(&printed);
            }
            let _ = launch.start(machine);
            machine.take_printed();
        });
        if let Some(recording) = recording {
            write(launch, &recording, fault);
        }
    }
}

/// Writes the page, and says so.
fn write(launch: &Launch, recording: &Recording, fault: Option<&ProgramFault>) {
    let Some((path, _)) = &Settings::get().replay else {
        return;
    };
    let mistake = fault.map(|fault| Mistake::fault(recording, fault));
    let program = launch.module.program();
    let page = replay::page(recording, program, mistake.as_ref(), &Facts::LOCAL);
    match std::fs::write(path, page) {
        Ok(()) => report::note(&format!(
            "wrote {}: {}",
            path.display(),
            extent(recording, mistake.as_ref())
        )),
        Err(error) => report::note(&format!(
            "--replay: cannot write {}: {error}",
            path.display()
        )),
    }
}
