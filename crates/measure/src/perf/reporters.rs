//! The events of a measurement, and their consumers: text on the terminal, the file of `--json`,
//! the page of `--html`.
//!
//! The finished results are in the file of `--json` while the measurement goes on. A signal that
//! ends it leaves them there, and in the page.

use std::io::{Write, stderr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use exit::{CommandError, Ending};
use output_files::OutputDocument;
use output_files::interrupt::OnInterrupt;
use terminal::json::{JsonArg, JsonOut};
use terminal::stdout::Out;

use results::spent::{self, Spent};
use results::tables;
use results::{CaseResults, Reference, Results};

/// News of a measurement while it goes on.
pub enum Event {
    /// The CPU references of a lab are timed.
    References(Vec<Reference>),
    /// The rows of one device more are measured. The case is as far as it is finished.
    Measured(CaseResults),
    /// A case is complete.
    CaseDone(CaseResults),
    /// All cases of the lab that the last one belongs to are complete, in this time.
    LabDone(Spent),
}

/// How results look as a page.
pub type PageOf = fn(&Results) -> String;

/// The files for the results.
pub struct Outputs {
    pub json: JsonOut,
    pub html: Option<OutputDocument>,
    /// Makes the page.
    pub page: PageOf,
}

impl Outputs {
    /// Prepares the files.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for one that cannot be written.
    pub fn open(
        json: &JsonArg,
        html: Option<&Path>,
        page: PageOf,
    ) -> Result<Outputs, CommandError> {
        let json = json.open()?;
        let html = html
            .map(|path| OutputDocument::create("--html", path))
            .transpose()?;
        Ok(Outputs { json, html, page })
    }
}

/// The consumers of events.
pub struct Reporters<'o, 'w> {
    documents: Documents,
    out: &'o mut Out<'w>,
    text: Option<Text>,
}

/// The report on the terminal.
#[derive(Clone, Copy)]
struct Text {
    has_notes: bool,
}

/// The finished results, and their files.
struct Documents {
    state: Arc<Mutex<Option<State>>>,
    began: Instant,
    _on_interrupt: OnInterrupt,
}

struct State {
    results: Results,
    outputs: Outputs,
    /// When the program was started.
    began: Instant,
}

impl<'o, 'w> Reporters<'o, 'w> {
    /// Shows what is measured on. `results` have no cases yet, and `began` is when the program was
    /// started.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the terminal is gone.
    pub fn begin(
        results: Results,
        outputs: Outputs,
        began: Instant,
        has_notes: bool,
        out: &'o mut Out<'w>,
    ) -> Result<Reporters<'o, 'w>, CommandError> {
        let text = outputs.json.wants_text().then_some(Text { has_notes });
        if text.is_some() {
            out.line(tables::head(&results, out.look()))?;
        }
        Ok(Reporters {
            documents: Documents::new(results, outputs, began),
            out,
            text,
        })
    }

    /// Seconds since the program was started.
    pub fn elapsed_s(&self) -> f64 {
        self.documents.began.elapsed().as_secs_f64()
    }

    /// Gives the event to all.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the terminal is gone.
    pub fn tell(&mut self, event: Event) -> Result<(), CommandError> {
        let is_lab_done = matches!(event, Event::LabDone(_));
        self.documents.tell(event);
        let Some(Text { has_notes }) = self.text.filter(|_| is_lab_done) else {
            return Ok(());
        };
        let look = self.out.look();
        let body = self
            .documents
            .read(|results| tables::last_lab(results, has_notes, look));
        body.map_or(Ok(()), |body| self.out.line(body))
    }

    /// Says something below the tables.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the terminal is gone.
    pub fn remark(&mut self, remark: &str) -> Result<(), CommandError> {
        match self.text {
            Some(_) => self.out.line(self.out.look().wrapped(remark, 0)),
            None => Ok(()),
        }
    }

    /// The results, as far as they are finished.
    ///
    /// # Errors
    ///
    /// [`CommandError::Bug`] where it was written already.
    pub fn results(&self) -> Result<Results, CommandError> {
        let finished = |results: &Results| Results {
            interrupted: false,
            ..results.clone()
        };
        let results = self.documents.read(finished);
        results.ok_or_else(|| CommandError::Bug("the results are gone before the end".to_owned()))
    }

    /// Whether there is text on the terminal.
    pub fn has_text(&self) -> bool {
        self.text.is_some()
    }

    /// Says where the time of a long measurement went, and writes the files.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] for a file that cannot be written.
    pub fn finish(mut self) -> Result<Ending, CommandError> {
        let spent = self
            .documents
            .read(|results| spent::in_words(&results.spent));
        if let Some(spent) = spent.flatten() {
            self.remark(&spent)?;
        }
        self.documents.finish(self.out)
    }
}

impl Event {
    /// Adds what it tells to the results.
    fn add_to(self, results: &mut Results) {
        match self {
            Event::References(rows) => results.references.extend(rows),
            // The case as far as it is finished replaces what was told of it before.
            Event::Measured(case) | Event::CaseDone(case) => {
                let is_same = |last: &CaseResults| last.lab == case.lab && last.case == case.case;
                match results.cases.last_mut().filter(|last| is_same(last)) {
                    Some(last) => *last = case,
                    None => results.cases.push(case),
                }
            }
            Event::LabDone(spent) => results.spent.push(spent),
        }
    }
}

impl State {
    /// The document, if it goes to a file: even a program that is killed keeps it.
    fn write_so_far(&mut self) -> Result<(), CommandError> {
        self.results.wall_s = self.began.elapsed().as_secs_f64();
        if matches!(self.outputs.json, JsonOut::File(_)) {
            let text = self.results.to_json()?;
            self.outputs.json.write_text(&text, &mut Out::stdout())?;
        }
        Ok(())
    }

    fn write(mut self, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        self.results.wall_s = self.began.elapsed().as_secs_f64();
        let ending = self.results.ending();
        let Outputs { json, html, page } = self.outputs;
        if !matches!(json, JsonOut::No) {
            json.write_text(&self.results.to_json()?, out)?;
        }
        if let Some(html) = html {
            html.write_all(page(&self.results).as_bytes())?;
        }
        Ok(ending)
    }
}

impl Documents {
    /// Until the end, the results are those of an interrupted measurement.
    fn new(mut results: Results, outputs: Outputs, began: Instant) -> Documents {
        results.interrupted = true;
        let state = Arc::new(Mutex::new(Some(State {
            results,
            outputs,
            began,
        })));
        let shared = Arc::clone(&state);
        Documents {
            state,
            began,
            _on_interrupt: OnInterrupt::new(move || interrupted(&shared)),
        }
    }

    fn tell(&self, event: Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = state.as_mut() {
            event.add_to(&mut state.results);
            // The measurement goes on: if there is still no writing in the end, that says so.
            let _ = state.write_so_far();
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Results) -> T) -> Option<T> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Some(read(&state.as_ref()?.results))
    }

    fn finish(self, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        // Under the lock until it is written: an interruption waits, and then finds nothing left to
        // write.
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
    if let Err(error) = state.write(&mut Out::stdout()) {
        // The terminal may be gone.
        let _ = writeln!(stderr(), "error: {error}");
    }
}
