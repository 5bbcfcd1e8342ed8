//! The cases of a lab, and what all tables say of a row.

use lab::Cpu;
use stats::Summary;
use terminal::look::Look;
use terminal::table::Tone;
use units::count;

use crate::document::{CaseResults, Correctness, Figures, Outcome, Reference, Row};
use crate::ratios::{self, RowView, cpu, is_cpu};

/// The cases of a lab.
pub(super) struct LabResults<'c> {
    pub(super) cases: &'c [CaseResults],
    pub(super) references: &'c [Reference],
    /// The parts that the cases' labels have in common.
    pub(super) common: String,
    /// The parts in which they differ, of each case.
    pub(super) sizes: Vec<Differing<'c>>,
    /// The devices on which something was timed, or should have been; without the CPU.
    pub(super) devices: Vec<&'c str>,
}

/// The parts of a case's label that the others of its lab do not have in common; none of a case
/// that is alone.
pub(super) struct Differing<'c> {
    parts: Vec<&'c str>,
    /// All of them.
    pub(super) name: String,
}

impl<'c> Differing<'c> {
    /// The first of the parts, which is the size where cases differ by it.
    pub(super) fn first(&self) -> Option<&'c str> {
        self.parts.first().copied()
    }
}

impl<'c> LabResults<'c> {
    pub(super) fn new(cases: &'c [CaseResults], references: &'c [Reference]) -> LabResults<'c> {
        let parts_of = |case: &'c CaseResults| case.case.parts().collect::<Vec<&str>>();
        let labels: Vec<Vec<&str>> = cases.iter().map(parts_of).collect();
        let is_common = |at: usize, part: &str| {
            let mut others = labels.iter();
            others.all(|label| label.get(at) == Some(&part))
        };
        let parts = |label: &[&'c str], common: bool| -> Vec<&'c str> {
            let parts = label.iter().copied().enumerate();
            parts
                .filter(|(at, part)| is_common(*at, part) == common)
                .map(|(_, part)| part)
                .collect()
        };
        let differing = |label: &Vec<&'c str>| {
            let parts = parts(label, false);
            Differing {
                name: parts.join(", "),
                parts,
            }
        };
        let mut devices: Vec<&str> = Vec::new();
        for row in cases.iter().flat_map(|case| &case.rows) {
            let is_there = !matches!(row.outcome, Outcome::Skipped { .. }) && !is_cpu(row);
            if is_there && !devices.contains(&row.device.as_str()) {
                devices.push(&row.device);
            }
        }
        LabResults {
            cases,
            references,
            common: labels
                .first()
                .map_or(String::new(), |label| parts(label, true).join(", ")),
            sizes: labels.iter().map(differing).collect(),
            devices,
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = RowView<'c>> {
        ratios::rows(self.cases, self.references)
    }

    /// A case's name among the others; empty if there is only one.
    pub(super) fn size(&self, case: &CaseResults) -> &str {
        self.differing(case).map_or("", |own| &own.name)
    }

    /// The parts of its label that tell a case from the others.
    pub(super) fn differing(&self, case: &CaseResults) -> Option<&Differing<'c>> {
        let mut all = self.cases.iter().zip(&self.sizes);
        let own = all.find(|(other, _)| std::ptr::eq(*other, case));
        own.map(|(_, parts)| parts)
    }

    /// The lab, the device, the unit; and how fast the CPU is.
    pub(super) fn head(&self, is_by_size: bool, look: Look) -> String {
        let Some(first) = self.cases.first() else {
            return String::new();
        };
        let several = match self.cases.len() {
            1 => String::new(),
            sizes if self.common.is_empty() => count(sizes, "size"),
            sizes => format!("{}, ", count(sizes, "size")),
        };
        let mut lines = vec![format!(
            "{}  {several}{}",
            look.title(&first.lab),
            self.common
        )];
        let figures = self.rows().find_map(|one| one.row.figures());
        if let Some(figures) = figures {
            let on = match self.devices[..] {
                [device] => format!(" on {device}"),
                _ => String::new(),
            };
            let rest = if is_by_size {
                "; time, limit and ratios are those of the fastest (*)"
            } else {
                ""
            };
            lines.push(format!("  rates{on} in G {}/s{rest}", figures.work.unit));
        }
        lines.extend(self.cpu(first).map(|cpu| look.wrapped(&cpu, 2)));
        lines.join("\n")
    }

    /// `CPU: 1001x1001, 200 steps: serial 0.712, parallel 8.31 (11.7x)`.
    fn cpu(&self, first: &'c CaseResults) -> Option<String> {
        let rows = [Cpu::Serial, Cpu::Parallel]
            .into_iter()
            .filter_map(|of| cpu(self.references, first, of));
        let rates: Vec<String> = rows
            .clone()
            .filter_map(|row| {
                let figures = row.figures()?;
                let mut text = format!("{} {}", row.variant, figures.giga_updates_per_s());
                if figures.is_wrong() {
                    text += " (WRONG)";
                }
                let (references, case) = (self.references, first);
                let view = RowView {
                    references,
                    case,
                    row,
                };
                let ratio = view
                    .vs_serial()
                    .filter(|_| row.variant != Cpu::Serial.name());
                text += &ratio.map_or(String::new(), |ratio| format!(" ({}x)", ratio.short()));
                Some(text)
            })
            .collect();
        let case = rows.clone().next().map(|row| &row.case)?;
        let is_other = self.cases.len() > 1 || *case != first.case;
        let on = if is_other {
            format!("{case}: ")
        } else {
            String::new()
        };
        (!rates.is_empty()).then(|| format!("CPU: {on}{}", rates.join(", ")))
    }
}

/// Whether and how far the result is right.
pub(super) fn verdict(figures: &Figures) -> (String, Tone) {
    let (text, tone) = match figures.judgement.result {
        Correctness::Reference => ("reference", Tone::Normal),
        Correctness::Equal => ("bit-equal", Tone::Good),
        Correctness::Close => ("close", Tone::Good),
        Correctness::Wrong => ("WRONG", Tone::Bad),
        Correctness::Unchecked => ("unchecked", Tone::Caution),
    };
    let steps = figures
        .judgement
        .checked_steps
        .as_ref()
        .filter(|_| matches!(tone, Tone::Good));
    let steps = steps.map(|steps| format!(" {}+{}", steps.first, steps.last));
    (text.to_owned() + &steps.unwrap_or_default(), tone)
}

/// The text instead of figures.
pub(super) fn without_figures(outcome: &Outcome) -> (String, Tone) {
    let (text, tone) = match outcome {
        Outcome::Timed(figures) => return verdict(figures),
        Outcome::Computed { .. } => ("computed", Tone::Normal),
        Outcome::DoesNotFit => ("does not fit", Tone::Faint),
        Outcome::Skipped { .. } => ("skipped", Tone::Caution),
        Outcome::Failed { .. } => ("FAILED", Tone::Bad),
        Outcome::Lacking { .. } => ("lacking", Tone::Bad),
    };
    (text.to_owned(), tone)
}

/// A time of a step with its interval, unless it is withheld.
pub(super) fn time(figures: &Figures, run: &Summary) -> (String, Tone) {
    match run.withheld() {
        _ if figures.is_wrong() => dash(),
        None => (figures.us_of_step(run), Tone::Normal),
        Some(_) => ("withheld".to_owned(), Tone::Caution),
    }
}

pub(super) fn dash() -> (String, Tone) {
    ("-".to_owned(), Tone::Faint)
}

/// Whether it is our own, and not a peer's or the CPU's.
pub(super) fn is_variant(row: &Row) -> bool {
    row.language.is_none() && !is_cpu(row)
}
