//! Results so far: in the file of `--json` while the measurement goes on, and where a signal that ends it leaves them.

use std::io::{Write, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::PageOf;
use super::results::{CaseResults, Results};
use exit::{CommandError, Ending};
use output_files::OutputDocument;
use output_files::interrupt::OnInterrupt;
use terminal::json::JsonOut;
use terminal::stdout::Out;

/// Results that are not complete yet.
pub struct PartialResults {
    state: Arc<Mutex<Option<State>>>,
    _on_interrupt: OnInterrupt,
}

/// Results, and where they go beside the terminal.
pub struct State {
    pub results: Results,
    pub json: JsonOut,
    pub html: Option<OutputDocument>,
    /// What makes the page.
    pub page: PageOf,
    /// When the program was started.
    pub began: Instant,
}

impl State {
    /// The document, if it goes to a file.
    fn write_so_far(&mut self) -> Result<(), CommandError> {
        self.results.wall_s = self.began.elapsed().as_secs_f64();
        if matches!(self.json, JsonOut::File(_)) {
            let text = self.results.to_json()?;
            self.json.write_text(&text, &mut Out::stdout())?;
        }
        Ok(())
    }

    fn write(mut self, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        self.results.wall_s = self.began.elapsed().as_secs_f64();
        let ending = self.results.ending();
        if !matches!(self.json, JsonOut::No) {
            self.json.write_text(&self.results.to_json()?, out)?;
        }
        if let Some(html) = self.html {
            html.write_all((self.page)(&self.results).as_bytes())?;
        }
        Ok(ending)
    }
}

impl PartialResults {
    /// Results without cases. Until the end they are those of an interrupted measurement.
    pub fn new(mut state: State) -> PartialResults {
        state.results.interrupted = true;
        let state = Arc::new(Mutex::new(Some(state)));
        let shared = Arc::clone(&state);
        PartialResults {
            state,
            _on_interrupt: OnInterrupt::new(move || interrupted(&shared)),
        }
    }

    /// Adds what is finished of a case, in place of what was added of it before, and writes it to the file of `--json`: even
    /// a program that is killed keeps it.
    pub fn tell(&self, case: &CaseResults) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(state) = state.as_mut() else {
            return;
        };
        let cases = &mut state.results.cases;
        let is_same = |last: &CaseResults| last.lab == case.lab && last.case == case.case;
        match cases.last_mut().filter(|last| is_same(last)) {
            Some(last) => last.clone_from(case),
            None => cases.push(case.clone()),
        }
        // The measurement goes on: if there is still no writing in the end, that says so.
        let _ = state.write_so_far();
    }

    /// Writes the files.
    pub fn finish(self, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        // Under the lock until it is written: an interruption waits, and then finds nothing left to write.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.take() {
            Some(mut state) => {
                state.results.interrupted = false;
                state.write(out)
            }
            None => Err(CommandError::Bug(
                "the results are written twice".to_owned(),
            )),
        }
    }
}

fn interrupted(state: &Mutex<Option<State>>) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(state) = state.take() else {
        return;
    };
    if let Err(failure) = state.write(&mut Out::stdout()) {
        // The terminal may be gone.
        let _ = writeln!(stderr(), "error: {failure}");
    }
}
