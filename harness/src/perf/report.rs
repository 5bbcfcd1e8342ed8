//! What was measured, as a table and as JSON.

use host::Lab;
use serde::Serialize;

use super::kernels::{self, Coalescing};
use super::limits::Limits;
use super::row::{Clock, Figures, Outcome, Row, Verdict};
use crate::catalogue::first_variant;
use crate::failure::Ending;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use crate::units::three;

/// Above this, a row gets a note.
const NOISY: f64 = 0.03;

/// Everything.
#[derive(Debug, Serialize)]
pub struct Report<'l> {
    #[serde(flatten)]
    limits: &'l Limits,
    /// Case by case.
    pub cases: Vec<CaseReport>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseReport {
    lab: &'static str,
    /// What the column `vs_first` compares with.
    first_variant: &'static str,
    case: String,
    rows: Vec<Row>,
    /// Counted, if the case has a small one like it.
    coalescing: Option<Coalescing>,
}

impl Report<'_> {
    /// Without cases yet.
    pub fn new(limits: &Limits) -> Report<'_> {
        Report {
            limits,
            cases: Vec::new(),
        }
    }

    /// A wrong result outweighs what the machine lacks.
    pub fn ending(&self) -> Ending {
        let rows = || self.cases.iter().flat_map(|case| &case.rows);
        let is_wrong = |row: &Row| match &row.outcome {
            Outcome::Timed(figures) => figures.result == Verdict::Wrong,
            Outcome::Failed { .. } => true,
            Outcome::Skipped { .. } | Outcome::Lacking { .. } => false,
        };
        if rows().any(is_wrong) {
            Ending::Wrong
        } else if rows().any(|row| matches!(row.outcome, Outcome::Lacking { .. })) {
            Ending::Lacking
        } else {
            Ending::Fine
        }
    }
}

impl CaseReport {
    /// The rows of a case.
    pub fn new(
        lab: &dyn Lab,
        case: String,
        rows: Vec<Row>,
        coalescing: Option<Coalescing>,
    ) -> CaseReport {
        CaseReport {
            lab: lab.name(),
            first_variant: first_variant(lab),
            case,
            rows,
            coalescing,
        }
    }

    /// Title, table, notes.
    pub fn render(&self, look: Look) -> String {
        let title = format!("{}  {}", look.title(self.lab), self.case);
        let mut parts = vec![title, String::new(), self.table(look).render(2)];
        let notes = self.notes();
        if !notes.is_empty() {
            parts.push(String::new());
            parts.extend(notes.iter().map(|note| format!("  {note}")));
        }
        let kernels = kernels::render(&self.rows, self.coalescing.as_ref(), look);
        if let Some(kernels) = kernels {
            parts.extend([String::new(), kernels]);
        }
        parts.push(String::new());
        parts.join("\n")
    }

    fn table(&self, look: Look) -> Columns {
        let figures = || self.rows.iter().filter_map(Row::figures);
        let has_steps = figures().any(|figures| figures.timesteps.is_some());
        let vs_first = format!("vs {}\nx", self.first_variant);
        let mut table = Columns::with_header(
            look,
            &[
                ("device", Align::Left),
                ("variant", Align::Left),
                (
                    if has_steps {
                        "time/step\nus"
                    } else {
                        "time\nus"
                    },
                    Align::Right,
                ),
                ("noise\n%", Align::Right),
                ("rate\nG/s", Align::Right),
                ("bandwidth\nGB/s", Align::Right),
                ("of copy\n%", Align::Right),
                (&vs_first, Align::Right),
                ("vs CPU\nx", Align::Right),
                ("result", Align::Left),
            ],
        );
        for row in &self.rows {
            let is_fastest = row.figures().is_some_and(|figures| figures.is_fastest);
            let variant = if is_fastest {
                (format!("{} *", row.variant), Tone::Good)
            } else {
                (row.variant.to_owned(), Tone::Normal)
            };
            let names = [(row.device.clone(), Tone::Normal), variant];
            table.row(names.into_iter().chain(match &row.outcome {
                Outcome::Timed(figures) => timed(figures),
                Outcome::Skipped { message } => not_timed(head(message), Tone::Caution),
                Outcome::Failed { .. } => not_timed("FAILED", Tone::Bad),
                Outcome::Lacking { message } => not_timed(head(message), Tone::Bad),
            }));
        }
        table
    }

    /// What the table has no room for.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(unit) = self.rows.iter().find_map(|row| Some(row.figures()?.unit)) {
            notes.push(format!("rate: {unit}"));
        }
        if self
            .rows
            .iter()
            .filter_map(Row::figures)
            .any(|figures| figures.is_fastest)
        {
            notes.push("*: the fastest".to_owned());
        }
        for row in &self.rows {
            let name = format!("{} on {}", row.variant, row.device);
            match &row.outcome {
                Outcome::Timed(figures) => {
                    notes.extend(cautions(figures).map(|caution| format!("{name}: {caution}")));
                }
                Outcome::Failed { message } | Outcome::Lacking { message } => {
                    notes.push(format!("{name}: {message}"));
                }
                Outcome::Skipped { message } => {
                    let note = format!("{} skipped: {message}", row.device);
                    if notes.last() != Some(&note) {
                        notes.push(note);
                    }
                }
            }
        }
        let elsewhere = |row: &&Row| row.figures().is_some() && row.case != self.case;
        if let Some(row) = self.rows.iter().find(elsewhere) {
            notes.push(format!(
                "{}: timed on {}, compared by rate",
                row.device, row.case
            ));
        }
        notes
    }
}

fn timed(figures: &Figures) -> Vec<(String, Tone)> {
    let cell = |value: Option<f64>| (value.map_or("-".to_owned(), three), Tone::Normal);
    let percent = |share: Option<f64>| {
        let text = share.map_or("-".to_owned(), |share| {
            let decimals = usize::from(share < 0.1);
            format!("{:.decimals$}", 100.0 * share)
        });
        (text, Tone::Normal)
    };
    let noise = figures
        .run
        .noise
        .map_or("-".to_owned(), |noise| format!("{:.1}", 100.0 * noise));
    let is_noisy = figures.run.noise.is_some_and(|noise| noise > NOISY);
    let (result, tone) = match figures.result {
        Verdict::Reference => ("reference", Tone::Normal),
        Verdict::Equal => ("bit-equal", Tone::Good),
        Verdict::Close => ("close", Tone::Good),
        Verdict::Wrong => ("WRONG", Tone::Bad),
        Verdict::Unchecked => ("unchecked", Tone::Caution),
    };
    let ratio = |value: Option<f64>| {
        let text = value.map_or("-".to_owned(), |value| {
            if value < 100.0 {
                format!("{value:.2}")
            } else {
                three(value)
            }
        });
        (text, Tone::Normal)
    };
    vec![
        cell(Some(figures.step_s() * 1e6)),
        (
            noise,
            if is_noisy {
                Tone::Caution
            } else {
                Tone::Normal
            },
        ),
        cell(Some(figures.updates_per_s / 1e9)),
        cell(figures.bytes_per_s.map(|rate| rate / 1e9)),
        percent(figures.of_copy),
        ratio(figures.vs_first),
        ratio(figures.vs_cpu),
        (result.to_owned(), tone),
    ]
}

/// Dashes where the figures would be.
fn not_timed(result: &str, tone: Tone) -> Vec<(String, Tone)> {
    let mut cells = vec![("-".to_owned(), Tone::Faint); 7];
    cells.push((result.to_owned(), tone));
    cells
}

/// The part of a message before its details.
fn head(message: &str) -> &str {
    message.split(": ").next().unwrap_or(message)
}

fn cautions(figures: &Figures) -> impl Iterator<Item = String> + '_ {
    let mismatch = figures.mismatch.clone();
    let noise = figures
        .run
        .noise
        .filter(|noise| *noise > NOISY)
        .map(|noise| {
            format!(
                "{:.0} % noise over {} samples; end other work on the machine, or raise --samples",
                100.0 * noise,
                figures.run.samples_s.len()
            )
        });
    let clocks = disagreement(figures).then(|| {
        format!(
            "device events say {} ms a run, the host's clock {} ms: do not trust the time",
            three(figures.run.median_s * 1e3),
            three(figures.host_median_s * 1e3)
        )
    });
    let clock = (figures.clock == Clock::Host && figures.bytes_per_s.is_some())
        .then(|| "timed by the host's clock: the device has none".to_owned());
    let spilling = figures
        .kernels
        .iter()
        .filter(|kernel| kernel.local_bytes > 0);
    let spills = spilling.map(|kernel| {
        format!(
            "kernel `{}` keeps {} bytes a thread in local memory, which is slow",
            kernel.name, kernel.local_bytes
        )
    });
    [mismatch, noise, clocks, clock]
        .into_iter()
        .flatten()
        .chain(spills)
}

/// Events lie within what the host measures, and the host adds little: starting and waiting.
fn disagreement(figures: &Figures) -> bool {
    let (device, host) = (figures.run.median_s, figures.host_median_s);
    figures.clock == Clock::Device && (device > 1.01 * host || host > 1.1 * device + 1e-3)
}
