//! The table and the differences.

use std::fmt;

use super::{DeviceOutcome, Outcome};

/// Lines of a refusal that are shown.
const REASON_LINES: usize = 6;

/// Everything that was tried, in order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    outcomes: Vec<Outcome>,
    has_cuda: bool,
}

/// The forms of one instruction.
#[derive(Default)]
struct Line {
    forms: usize,
    cases: usize,
    emulated: Tally,
    cuda: Tally,
}

#[derive(Default)]
struct Tally {
    refused: usize,
    forms: usize,
    differences: usize,
}

impl Tally {
    fn add(&mut self, result: &DeviceOutcome) {
        self.refused += usize::from(result.refused.is_some());
        self.forms += usize::from(!result.holds());
        self.differences += result.differences;
    }
}

impl Line {
    fn add(&mut self, outcome: &Outcome) {
        self.forms += 1;
        self.cases += outcome.cases;
        self.emulated.add(&outcome.emulated);
        if let Some(cuda) = &outcome.cuda {
            self.cuda.add(cuda);
        }
    }
}

impl Report {
    /// A report of these outcomes. `has_cuda`: there is a CUDA device.
    pub fn new(outcomes: Vec<Outcome>, has_cuda: bool) -> Report {
        Report { outcomes, has_cuda }
    }

    /// Whether every form ran, and every result is what it should be.
    pub fn holds(&self) -> bool {
        let fine = |outcome: &Outcome| {
            outcome.emulated.holds() && outcome.cuda.as_ref().is_none_or(DeviceOutcome::holds)
        };
        self.outcomes.iter().all(fine)
    }

    /// One line: what was tried and what came of it.
    pub fn summary(&self) -> String {
        let mut all = Line::default();
        self.outcomes.iter().for_each(|outcome| all.add(outcome));
        let device = |name: &str, against: &str, tally: &Tally| {
            format!(
                "{name}: {} forms refused, {} differences from {against} in {} forms",
                tally.refused,
                tally.differences,
                tally.forms - tally.refused
            )
        };
        let cuda = match self.has_cuda {
            true => device("cuda", "the emulated device", &all.cuda),
            false => "cuda: skipped: no CUDA device".to_owned(),
        };
        format!(
            "{} forms, {} cases; {}; {cuda}",
            all.forms,
            all.cases,
            device("emulated", "Rust", &all.emulated)
        )
    }

    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<((&str, &str), Line)> = Vec::new();
        for outcome in &self.outcomes {
            let key = (outcome.group, outcome.opcode.as_str());
            let at = match lines.iter().position(|(other, _)| *other == key) {
                Some(at) => at,
                None => {
                    lines.push((key, Line::default()));
                    lines.len() - 1
                }
            };
            lines[at].1.add(outcome);
        }
        writeln!(
            f,
            "{:<12} {:<12} {:>5} {:>9}  {:>16}  {:>16}",
            "group", "instruction", "forms", "cases", "emulated: wrong", "cuda: differ"
        )?;
        for ((group, opcode), line) in lines {
            let cuda = match self.has_cuda {
                true => cell(&line.cuda),
                false => "skipped".to_owned(),
            };
            writeln!(
                f,
                "{group:<12} {opcode:<12} {:>5} {:>9}  {:>16}  {cuda:>16}",
                line.forms,
                line.cases,
                cell(&line.emulated)
            )?;
        }
        Ok(())
    }

    /// The largest errors of the approximations, as parts of what is allowed.
    fn errors(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let approximations = self.outcomes.iter().filter(|o| o.emulated.worst.is_some());
        for (i, outcome) in approximations.enumerate() {
            if i == 0 {
                writeln!(
                    f,
                    "\n{:<28} {:>10} {:>10}",
                    "largest error / bound", "emulated", "cuda"
                )?;
            }
            let worst = |result: Option<&DeviceOutcome>| {
                let worst = result.and_then(|result| result.worst);
                worst.map_or("-".to_owned(), |worst| format!("{worst:.4}"))
            };
            writeln!(
                f,
                "{:<28} {:>10} {:>10}",
                outcome.name,
                worst(Some(&outcome.emulated)),
                worst(outcome.cuda.as_ref())
            )?;
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

fn cell(tally: &Tally) -> String {
    match tally {
        Tally {
            forms: 0,
            differences: 0,
            ..
        } => "-".to_owned(),
        Tally { refused: 0, .. } => tally.differences.to_string(),
        _ => format!("{} + {} refused", tally.differences, tally.refused),
    }
}

fn details(
    f: &mut fmt::Formatter<'_>,
    outcome: &Outcome,
    device: &str,
    result: &DeviceOutcome,
) -> fmt::Result {
    let name = format_args!("{} [{}]", outcome.name, outcome.group);
    if let Some(reason) = &result.refused {
        writeln!(f, "\n{name}: refused by {device}")?;
        for line in reason.lines().take(REASON_LINES) {
            writeln!(f, "    {line}")?;
        }
    }
    if result.differences > 0 {
        let (count, cases) = (result.differences, outcome.cases);
        writeln!(
            f,
            "\n{name}: {device}: {count} differences in {cases} cases"
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
        assert!(Report::new(vec![outcome(DeviceOutcome::default(), None)], false).holds());
        assert!(!Report::new(vec![outcome(differs(), None)], false).holds());
        assert!(
            !Report::new(
                vec![outcome(DeviceOutcome::default(), Some(differs()))],
                true
            )
            .holds()
        );
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
        let text = Report::new(outcomes, true).to_string();
        assert!(text.contains("div.s32 [integer]: cuda: 2 differences in 128 cases"));
        assert!(text.contains("a=0x1 b=0x0 -> x: cuda 0xffffffff, emulated 0x00000000"));
        assert!(text.contains("    ptxas says no"));
        assert!(text.ends_with(
            "2 forms, 256 cases; emulated: 0 forms refused, 0 differences from Rust in 0 forms; \
             cuda: 1 forms refused, 2 differences from the emulated device in 1 forms"
        ));
    }
}
