//! Results so far: Ctrl-C leaves them where `--json` and `--html` want them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::PageOf;
use super::results::{CaseResults, Results};
use crate::failure::{Ending, Failure};
use crate::interrupt::OnInterrupt;
use crate::json::JsonOut;
use crate::stdout::Out;
use output_files::OutputFile;

/// Results that are not complete yet.
pub struct PartialResults {
    state: Arc<Mutex<Option<State>>>,
    _on_interrupt: OnInterrupt,
}

/// Results, and where they go beside the terminal.
pub struct State {
    pub results: Results,
    pub json: JsonOut,
    pub html: Option<OutputFile>,
    /// What makes the page.
    pub page: PageOf,
    /// When the program was started.
    pub began: Instant,
}

impl State {
    fn write(mut self, out: &mut Out<'_>) -> Result<Ending, Failure> {
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
    /// Results without cases.
    pub fn new(state: State) -> PartialResults {
        let state = Arc::new(Mutex::new(Some(state)));
        let shared = Arc::clone(&state);
        PartialResults {
            state,
            _on_interrupt: OnInterrupt::new(move || interrupted(&shared)),
        }
    }

    /// Adds what is finished of a case, in place of what was added of it before.
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
    }

    /// Writes the files.
    pub fn finish(self, out: &mut Out<'_>) -> Result<Ending, Failure> {
        // Under the lock until it is written: an interruption waits, and then finds nothing left to write.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.take() {
            Some(state) => state.write(out),
            None => Err(Failure::Bug("the results are written twice".to_owned())),
        }
    }
}

fn interrupted(state: &Mutex<Option<State>>) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut state) = state.take() else {
        return;
    };
    state.results.interrupted = true;
    if let Err(failure) = state.write(&mut Out::stdout()) {
        eprintln!("error: {failure}");
    }
}
