//! The findings of runs: of a program, or of a kernel that was launched.

use std::collections::BTreeMap;

use forge::{Case, Place, Problem, Report, Verdict};
use ptx_emu::{readable_name, short_name};
use serde::{Deserialize, Serialize};
use terminal::look::Look;
use terminal::table::{Align, Columns};
use trial::Counts;
use units::grouped;

/// A rule that a kernel broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) kernel: String,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) kind: String,
    pub(crate) text: String,
    /// Its source lines, or those of a file of PTX.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) places: Vec<Place>,
}

/// A fault that the list of known ones has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Known {
    pub(crate) kernel: String,
    pub(crate) kind: String,
    pub(crate) reason: String,
}

/// A run of a program, or a launch, in one order.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Run {
    pub(crate) order: u32,
    /// The program's exit code, or 128 and the number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    /// Whether the program has used the driver.
    pub(crate) started: bool,
    pub(crate) faults: Vec<Fault>,
    /// Faults that are known, which count as none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) known: Vec<Known>,
    pub(crate) unsupported: Vec<String>,
    /// Why faults may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) incomplete: Option<String>,
    /// Where the driver panicked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bugs: Vec<String>,
    /// Things to know, beside faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Whether a module or a kernel could not be run.
    #[serde(skip)]
    pub(crate) needs_more: bool,
    /// The program has given the driver machine code of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) has_machine_code: bool,
    /// By kernel, if asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) counts: BTreeMap<String, Counts>,
}

/// The runs of `what`, a program or a kernel, for forges and editors.
pub(crate) fn report(what: &str, runs: &[Run]) -> Report {
    let mut report = Report::new("emulate");
    let cases = runs.iter().map(|run| {
        let name = format!("order {}", run.order);
        Case::new(what, name, run.verdict())
    });
    report.cases.extend(cases);
    report
}

impl Run {
    fn verdict(&self) -> Verdict {
        let problems: Vec<Problem> = self.faults.iter().map(Problem::from).collect();
        let lacks = self.bugs.first().or(self.incomplete.as_ref());
        let lacks = lacks.or(self.unsupported.first().filter(|_| self.needs_more));
        match lacks {
            _ if !problems.is_empty() => Verdict::Wrong(problems),
            Some(reason) => Verdict::LeftOut(reason.clone()),
            None => Verdict::Right,
        }
    }

    /// The kernels and what they have executed.
    pub(crate) fn table(&self, look: Look) -> String {
        let right = |text| (text, Align::Right);
        let mut columns = Columns::with_header(
            look,
            &[
                ("kernel", Align::Left),
                right("launches"),
                right("instructions"),
                right("sectors"),
                right("bank\nconflicts"),
                right("barriers"),
                right("local\nbytes"),
            ],
        );
        let short: Vec<_> = self
            .counts
            .keys()
            .map(|kernel| short_name(kernel))
            .collect();
        for (kernel, counts) in &self.counts {
            let numbers = [
                counts.launches,
                counts.instructions,
                counts.sectors,
                counts.bank_conflicts,
                counts.barriers,
                counts.local_bytes,
            ];
            let name = short_name(kernel);
            // Instances of one template differ in its arguments.
            let name = match short.iter().filter(|other| **other == name).count() {
                1 => name.into_owned(),
                _ => cut(&readable_name(kernel).unwrap_or_else(|| kernel.clone())),
            };
            let cells = std::iter::once(name).chain(numbers.map(grouped));
            columns.row(cells);
        }
        columns.render(0)
    }
}

/// The name, with its middle left out where a terminal has no room for it.
fn cut(name: &str) -> String {
    const HALF: usize = 22;
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= 2 * HALF + 3 {
        return name.to_owned();
    }
    let part = |part: &[char]| part.iter().collect::<String>();
    format!(
        "{}...{}",
        part(&letters[..HALF]),
        part(&letters[letters.len() - HALF..])
    )
}

impl From<&Fault> for Problem {
    fn from(fault: &Fault) -> Problem {
        Problem {
            rule: fault.kind.clone(),
            message: fault.text.clone(),
            places: fault.places.clone(),
        }
    }
}
