//! The report: all counts of each variant, and the variants side by side.

use lab::{Variant, Work};
use serde::Serialize;

use super::figures::{Figures, SECTOR_BYTES, share};
use super::kernel::KernelProfile;
use exit::Ending;
use terminal::look::Look;
use terminal::table::{Align, Table, Tone};
use units::{percent, three};

/// A lab's variants on one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    lab: &'static str,
    case: String,
    /// The size of the case, the same for every variant.
    updates: u64,
    /// The unit of `updates`.
    unit: &'static str,
    /// In the order they were run.
    pub variants: Vec<VariantProfile>,
}

/// A variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantProfile {
    variant: &'static str,
    /// The fewest bytes that it has to move.
    must_move_bytes: u64,
    /// The fewest floating-point operations.
    flops: u64,
    is_exact: bool,
    #[serde(flatten)]
    outcome: Outcome,
}

/// How a variant ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran, and was counted.
    Counted {
        /// In the order of their first launch.
        kernels: Vec<KernelProfile>,
        /// The difference, if the result is wrong.
        mismatch: Option<String>,
    },
    /// A kernel failed.
    Failed {
        /// How.
        message: String,
    },
    /// The machine lacks something.
    Lacking {
        /// What.
        message: String,
    },
}

impl Report {
    /// Without variants yet.
    pub fn new(lab: &'static str, case: String, work: Work) -> Report {
        Report {
            lab,
            case,
            updates: work.updates,
            unit: work.unit,
            variants: Vec::new(),
        }
    }

    /// A wrong result counts more than what the machine lacks.
    pub fn ending(&self) -> Ending {
        let outcomes = || self.variants.iter().map(|variant| &variant.outcome);
        let is_wrong = |outcome: &Outcome| match outcome {
            Outcome::Counted { mismatch, .. } => mismatch.is_some(),
            Outcome::Failed { .. } => true,
            Outcome::Lacking { .. } => false,
        };
        if outcomes().any(is_wrong) {
            Ending::Wrong
        } else if outcomes().any(|outcome| matches!(outcome, Outcome::Lacking { .. })) {
            Ending::Lacking
        } else {
            Ending::Fine
        }
    }

    /// A table with a row for each variant: what an update costs, and what it must cost at least.
    pub fn summary(&self, look: Look) -> String {
        let headers = [
            "instructions\nby threads",
            "floating\npoint",
            "operations\nneeded",
            "bytes in\nsectors",
            "bytes\nto move",
            "coalesced\n%",
            "conflicts\n%",
        ];
        let names = Table::new(&self.variants).left("per update", |one| one.variant.to_owned());
        let columns = headers.iter().enumerate();
        let table = columns
            .fold(names, |table, (column, header)| {
                table.right(header, |one| Some(one.cells(self.updates)[column].clone()))
            })
            .toned("result", Align::Left, |one| {
                let (result, tone) = one.result();
                (result.to_owned(), tone)
            });
        let unit = self.unit;
        format!(
            "{}\n\n  update: one of the {} {unit}; bytes to move: one trip to memory for each",
            table.render_within(
                look,
                2,
                &["conflicts", "coalesced", "operations", "floating"]
            ),
            self.updates
        )
    }
}

impl VariantProfile {
    /// The profile of a variant that ended like this.
    pub fn new(variant: &'static Variant, work: Work, outcome: Outcome) -> VariantProfile {
        VariantProfile {
            variant: &variant.name,
            must_move_bytes: work.bytes,
            flops: work.flops,
            is_exact: variant.is_exact(),
            outcome,
        }
    }

    /// How its result is shown.
    fn result(&self) -> (&'static str, Tone) {
        match &self.outcome {
            Outcome::Counted {
                mismatch: Some(_), ..
            } => ("WRONG", Tone::Bad),
            Outcome::Counted { .. } if self.is_exact => ("bit-equal", Tone::Good),
            Outcome::Counted { .. } => ("close", Tone::Good),
            Outcome::Failed { .. } => ("FAILED", Tone::Bad),
            Outcome::Lacking { .. } => ("lacking", Tone::Caution),
        }
    }

    /// All its kernels together, if it ran.
    fn total(&self) -> Option<Figures> {
        let Outcome::Counted { kernels, .. } = &self.outcome else {
            return None;
        };
        let counts = kernels.iter().map(|kernel| &kernel.counts.0);
        Some(Figures(counts.sum()))
    }

    /// Its cells in the summary, for this many updates.
    fn cells(&self, updates: u64) -> [String; 7] {
        let Some(total) = self.total() else {
            return [(); 7].map(|()| "-".to_owned());
        };
        let per_update = |amount| share(amount, updates).map_or("-".to_owned(), three);
        let global = total.all_global();
        let shared = total.all_shared();
        [
            per_update(total.0.instructions.thread),
            per_update(total.floating()),
            per_update(self.flops),
            per_update(SECTOR_BYTES * global.units),
            per_update(self.must_move_bytes),
            percent(global.efficiency()),
            percent(share(shared.excess(), shared.units)),
        ]
    }

    /// Name, kernels, the `lines` source lines of each that cost most.
    pub fn render(&self, lines: usize, look: Look) -> String {
        let title = look.title(self.variant);
        match &self.outcome {
            Outcome::Counted { kernels, mismatch } => {
                let mut parts = vec![title];
                if let Some(mismatch) = mismatch {
                    parts.push(said("WRONG", &look.bad("WRONG"), mismatch, look));
                }
                if kernels.is_empty() {
                    parts.push("  launches nothing".to_owned());
                }
                parts.push(String::new());
                parts.extend(kernels.iter().map(|kernel| kernel.render(lines, look)));
                parts.join("\n")
            }
            Outcome::Failed { message } => {
                let message = said("FAILED", &look.bad("FAILED"), message, look);
                format!("{title}\n{message}\n")
            }
            Outcome::Lacking { message } => {
                let message = said("lacking", &look.caution("lacking"), message, look);
                format!("{title}\n{message}\n")
            }
        }
    }
}

/// A verdict, painted, and its message, in lines as wide as the terminal.
fn said(verdict: &str, painted: &str, message: &str, look: Look) -> String {
    let text = look.wrapped(&format!("{verdict}: {message}"), 2);
    text.replacen(verdict, painted, 1)
}
