//! Everything that was counted, for each variant.

use host::{Variant, Work};
use serde::Serialize;

use super::figures::Figures;
use super::kernel::KernelProfile;
use crate::failure::Ending;
use crate::terminal::Look;
use crate::units::indented;

/// A lab's variants on one case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    lab: &'static str,
    case: String,
    /// What the case consists of, the same for every variant.
    pub updates: u64,
    /// What `updates` counts.
    pub unit: &'static str,
    /// In the order they were run.
    pub variants: Vec<VariantProfile>,
}

/// A variant.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VariantProfile {
    /// Its name.
    pub variant: &'static str,
    /// Bytes that it cannot avoid to move.
    pub must_move_bytes: u64,
    /// Floating-point operations that it cannot avoid.
    pub flops: u64,
    is_exact: bool,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// How a variant ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran, and was counted.
    Counted {
        /// In the order of their first launch.
        kernels: Vec<KernelProfile>,
        /// What is wrong with the result.
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

    /// A wrong result outweighs what the machine lacks.
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
}

impl VariantProfile {
    /// Of a variant that ended so.
    pub fn new(variant: Variant, work: Work, outcome: Outcome) -> VariantProfile {
        VariantProfile {
            variant: variant.name,
            must_move_bytes: work.bytes,
            flops: work.flops,
            is_exact: variant.exact,
            outcome,
        }
    }

    /// What its result is called: right, or in which way not.
    pub fn result(&self) -> &'static str {
        match &self.outcome {
            Outcome::Counted { mismatch, .. } => match (mismatch, self.is_exact) {
                (Some(_), _) => "WRONG",
                (None, true) => "bit-equal",
                (None, false) => "close",
            },
            Outcome::Failed { .. } => "FAILED",
            Outcome::Lacking { .. } => "lacking",
        }
    }

    /// All its kernels together, if it ran.
    pub fn total(&self) -> Option<Figures> {
        let Outcome::Counted { kernels, .. } = &self.outcome else {
            return None;
        };
        let counts = kernels.iter().map(|kernel| &kernel.counts.0);
        Some(Figures(counts.sum()))
    }

    /// Name, kernels, the `lines` source lines of each that cost most.
    pub fn render(&self, lines: usize, look: Look) -> String {
        let title = look.title(self.variant);
        match &self.outcome {
            Outcome::Counted { kernels, mismatch } => {
                let mut parts = vec![title];
                if let Some(mismatch) = mismatch {
                    parts.push(format!("  {}: {}", look.bad("WRONG"), indented(mismatch)));
                }
                if kernels.is_empty() {
                    parts.push("  launches nothing".to_owned());
                }
                parts.push(String::new());
                parts.extend(kernels.iter().map(|kernel| kernel.render(lines, look)));
                parts.join("\n")
            }
            Outcome::Failed { message } => {
                let message = indented(message);
                format!("{title}\n  {}: {message}\n", look.bad("FAILED"))
            }
            Outcome::Lacking { message } => {
                let message = indented(message);
                format!("{title}\n  {}: {message}\n", look.caution("lacking"))
            }
        }
    }
}
