//! The files of a run with timesteps. They hold all results until now, also after a signal or an
//! error.

use std::io::{Write, stderr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device::NamedBuffers;
use exit::CommandError;
use output_files::interrupt::OnInterrupt;
use units::grouped;

use super::field_files::FieldSeries;
use super::receivers::Receivers;
use super::recordings::{Seismogram, Slices};

/// The files that a run writes, if any.
#[derive(Default)]
pub struct Records {
    /// The fields after each chunk.
    pub series: Option<FieldSeries>,
    /// A slice of a field after each chunk.
    pub slices: Option<Slices>,
    /// The recording of the receivers.
    pub seismogram: Option<Seismogram>,
}

impl Records {
    fn add(
        &mut self,
        step: u32,
        fields: &NamedBuffers,
        receivers: Option<&mut Receivers>,
    ) -> Result<(), CommandError> {
        // Those that need no disk come first.
        if let Some((seismogram, receivers)) = self.seismogram.as_mut().zip(receivers) {
            seismogram.take(receivers);
        }
        if let Some(slices) = &mut self.slices {
            slices.record(fields)?;
        }
        if let Some(series) = &mut self.series {
            series.record(step, fields)?;
        }
        Ok(())
    }

    /// Completes the files. Each tells what was written, or why it could not be.
    fn finish(self) -> Vec<Result<String, CommandError>> {
        let series = self.series.map(|series| Ok(series.finish()));
        let seismogram = self.seismogram.map(Seismogram::finish);
        let slices = self.slices.map(Slices::finish);
        [series, slices, seismogram].into_iter().flatten().collect()
    }

    /// Completes those in which there is something, and says which.
    fn keep(self) -> Option<String> {
        if self.series.is_none() && self.slices.is_none() && self.seismogram.is_none() {
            return None;
        }
        let started = Records {
            series: self.series.filter(|series| !series.is_empty()),
            slices: self.slices.filter(|slices| !slices.is_empty()),
            seismogram: self.seismogram.filter(|seismogram| !seismogram.is_empty()),
        };
        let (kept, failed): (Vec<_>, Vec<_>) =
            started.finish().into_iter().partition(Result::is_ok);
        let mut words = Vec::new();
        if !kept.is_empty() {
            let kept: Vec<String> = kept.into_iter().flatten().collect();
            words.push(format!("kept {}", kept.join("; ")));
        }
        let failed = failed.into_iter().filter_map(Result::err);
        words.extend(failed.map(|failure| failure.to_string()));
        if words.is_empty() {
            words.push(NOTHING.to_owned());
        }
        Some(words.join("; "))
    }
}

/// Said of a run that ends before its first chunk does.
const NOTHING: &str =
    "kept nothing, since no chunk was finished; a shorter --out-period finishes fields sooner";

/// The files while the run goes on. If a signal ends the program, they are completed with what is
/// there.
pub struct Keeper {
    state: Arc<Mutex<State>>,
    _on_interrupt: OnInterrupt,
}

struct State {
    records: Records,
    /// Timesteps that are done, and all.
    done: [u32; 2],
}

impl Keeper {
    /// Keeps these files of a run of `all` timesteps.
    pub fn new(records: Records, all: u32) -> Keeper {
        let done = [0, all];
        let state = Arc::new(Mutex::new(State { records, done }));
        let shared = Arc::clone(&state);
        let on_interrupt = OnInterrupt::new(move || {
            let mut locked = lock(&shared);
            let kept = locked.keep();
            let kept = kept.map_or(String::new(), |kept| format!("; {kept}"));
            let after = locked.after();
            // The terminal may be gone.
            let _ = writeln!(stderr(), "interrupted {after}{kept}");
        });
        Keeper {
            state,
            _on_interrupt: on_interrupt,
        }
    }

    /// Adds what there is after `step` timesteps. The receivers' samples are taken from them.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`], typically since the disk is full.
    pub fn add(
        &self,
        step: u32,
        fields: &NamedBuffers,
        receivers: Option<&mut Receivers>,
    ) -> Result<(), CommandError> {
        let mut state = lock(&self.state);
        state.done[0] = step;
        state.records.add(step, fields, receivers)
    }

    /// Completes the files. Each tells what was written, or why it could not be.
    pub fn finish(self) -> Vec<Result<String, CommandError>> {
        // A signal waits for the lock, and then finds nothing left to complete.
        let mut state = lock(&self.state);
        std::mem::take(&mut state.records).finish()
    }

    /// Completes the files of a run that failed, and adds to the error what is kept.
    pub fn keep_after(self, failure: CommandError) -> CommandError {
        let mut state = lock(&self.state);
        match state.keep() {
            Some(kept) => failure.followed_by(format!("{}, {kept}", state.after())),
            None => failure,
        }
    }
}

impl State {
    fn keep(&mut self) -> Option<String> {
        std::mem::take(&mut self.records).keep()
    }

    fn after(&self) -> String {
        let [done, all] = self.done.map(|steps| grouped(steps.into()));
        format!("after {done} of {all} timesteps")
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
