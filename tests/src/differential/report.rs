//! The table and the differences.

use std::collections::BTreeMap;
use std::fmt;

use super::{DeviceOutcome, Outcome};

/// The number of lines shown of a refusal.
const REASON_LINES: usize = 6;

/// The outcomes of all forms.
#[derive(Clone, Debug, Default)]
pub struct Report {
    outcomes: Vec<Outcome>,
}

/// The outcome of some forms on a device.
struct Tally {
    /// Forms that did not run.
    refused: usize,
    /// Forms that ran, with differences.
    differing: usize,
    differences: usize,
}

impl Tally {
    fn new<'a>(outcomes: impl Iterator<Item = &'a DeviceOutcome>) -> Tally {
        let (refused, ran): (Vec<_>, Vec<_>) = outcomes.partition(|it| it.refused.is_some());
        Tally {
            refused: refused.len(),
            differing: ran.iter().filter(|it| it.differences > 0).count(),
            differences: ran.iter().map(|it| it.differences).sum(),
        }
    }

    /// The sentence of `summary` on a device.
    fn sentence(&self, device: &str, against: &str) -> String {
        let Tally {
            refused,
            differing,
            differences,
        } = self;
        format!(
            "{device}: {refused} forms refused, {differences} differences from {against} in {differing} forms"
        )
    }

    /// The text of the table's cell.
    fn cell(&self) -> String {
        match self {
            Tally {
                refused: 0,
                differences: 0,
                ..
            } => "-".to_owned(),
            Tally {
                refused: 0,
                differences,
                ..
            } => differences.to_string(),
            Tally {
                refused,
                differences,
                ..
            } => format!("{differences} + {refused} refused"),
        }
    }
}

fn emulated(outcomes: &[&Outcome]) -> Tally {
    Tally::new(outcomes.iter().map(|outcome| &outcome.emulated))
}

fn cuda(outcomes: &[&Outcome]) -> Tally {
    Tally::new(outcomes.iter().filter_map(|outcome| outcome.cuda.as_ref()))
}

fn cases(outcomes: &[&Outcome]) -> usize {
    outcomes.iter().map(|outcome| outcome.cases).sum()
}

impl Report {
    /// A report of these outcomes.
    pub fn new(outcomes: Vec<Outcome>) -> Report {
        Report { outcomes }
    }

    /// Whether every form ran, and every result is as expected.
    pub fn holds(&self) -> bool {
        let holds = |outcome: &Outcome| {
            outcome.emulated.holds() && outcome.cuda.as_ref().is_none_or(DeviceOutcome::holds)
        };
        self.outcomes.iter().all(holds)
    }

    fn has_cuda(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.cuda.is_some())
    }

    /// One line on the number of forms and their outcome.
    pub fn summary(&self) -> String {
        let all: Vec<&Outcome> = self.outcomes.iter().collect();
        let cuda = if self.has_cuda() {
            cuda(&all).sentence("cuda", "the emulated device")
        } else {
            "cuda: skipped: no CUDA device".to_owned()
        };
        let emulated = emulated(&all).sentence("emulated", "Rust");
        format!(
            "{} forms, {} cases; {emulated}; {cuda}",
            all.len(),
            cases(&all)
        )
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: BTreeMap<(&str, &str), Vec<&Outcome>> = BTreeMap::new();
        for outcome in &self.outcomes {
            lines
                .entry((outcome.group, &outcome.opcode))
                .or_default()
                .push(outcome);
        }
        writeln!(
            f,
            "group        instruction  forms     cases   emulated: wrong      cuda: differ"
        )?;
        for ((group, opcode), all) in lines {
            let cuda = if self.has_cuda() {
                cuda(&all).cell()
            } else {
                "skipped".to_owned()
            };
            let (forms, cases, emulated) = (all.len(), cases(&all), emulated(&all).cell());
            writeln!(
                f,
                "{group:<12} {opcode:<12} {forms:>5} {cases:>9}  {emulated:>16}  {cuda:>16}"
            )?;
        }
        Ok(())
    }

    /// The largest errors of the approximations, as parts of the allowed ones.
    fn errors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nlargest error / bound          emulated       cuda")?;
        let shown = |error: f64| format!("{error:.4}");
        for Outcome {
            name,
            emulated,
            cuda,
            ..
        } in &self.outcomes
        {
            if let Some(emulated) = emulated.worst.map(shown) {
                let cuda = cuda
                    .as_ref()
                    .and_then(|cuda| cuda.worst)
                    .map_or("-".to_owned(), shown);
                writeln!(f, "{name:<28} {emulated:>10} {cuda:>10}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table(f)?;
        self.errors(f)?;
        for outcome in &self.outcomes {
            details(f, outcome, "emulated", &outcome.emulated)?;
            if let Some(cuda) = &outcome.cuda {
                details(f, outcome, "cuda", cuda)?;
            }
        }
        write!(f, "\n{}", self.summary())
    }
}

fn details(
    f: &mut fmt::Formatter<'_>,
    Outcome {
        group, name, cases, ..
    }: &Outcome,
    device: &str,
    result: &DeviceOutcome,
) -> fmt::Result {
    if let Some(reason) = &result.refused {
        writeln!(f, "\n{name} [{group}]: refused by {device}")?;
        for line in reason.lines().take(REASON_LINES) {
            writeln!(f, "    {line}")?;
        }
    }
    let count = result.differences;
    if count > 0 {
        writeln!(
            f,
            "\n{name} [{group}]: {device}: {count} differences in {cases} cases"
        )?;
        for difference in &result.some {
            writeln!(f, "    {} -> {}", difference.operands, difference.bits)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differential::Difference;

    fn outcome(emulated: DeviceOutcome, cuda: Option<DeviceOutcome>) -> Outcome {
        Outcome {
            group: "integer",
            opcode: "div".to_owned(),
            name: "div.s32".to_owned(),
            cases: 128,
            emulated,
            cuda,
        }
    }

    fn differs() -> DeviceOutcome {
        DeviceOutcome {
            differences: 2,
            some: vec![Difference {
                operands: "a=0x1 b=0x0".to_owned(),
                bits: "x: cuda 0xffffffff, emulated 0x00000000".to_owned(),
            }],
            ..DeviceOutcome::default()
        }
    }

    #[test]
    fn a_difference_on_either_device_fails() {
        assert!(Report::new(vec![outcome(DeviceOutcome::default(), None)]).holds());
        assert!(!Report::new(vec![outcome(differs(), None)]).holds());
        assert!(!Report::new(vec![outcome(DeviceOutcome::default(), Some(differs()))]).holds());
    }

    #[test]
    fn differences_and_refusals_are_shown_and_counted() {
        let refused = DeviceOutcome {
            refused: Some("ptxas says no".to_owned()),
            ..DeviceOutcome::default()
        };
        let outcomes = vec![
            outcome(DeviceOutcome::default(), Some(differs())),
            outcome(DeviceOutcome::default(), Some(refused)),
        ];
        let text = Report::new(outcomes).to_string();
        assert!(text.contains("div.s32 [integer]: cuda: 2 differences in 128 cases"));
        assert!(text.contains("a=0x1 b=0x0 -> x: cuda 0xffffffff, emulated 0x00000000"));
        assert!(text.contains("    ptxas says no"));
        assert!(text.ends_with(
            "2 forms, 256 cases; emulated: 0 forms refused, 0 differences from Rust in 0 forms; \
             cuda: 1 forms refused, 2 differences from the emulated device in 1 forms"
        ));
    }
}
