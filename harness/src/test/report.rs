//! The results of the tests, as text and as JSON.

use std::path::Path;
use std::time::Duration;

use forge::{Case, Place, Problem, Verdict};
use serde::Serialize;

use exit::Ending;
use select::devices::Absent;
use terminal::look::Look;
use units::{count, waited};

/// How a test ended, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The result is right.
    Ok,
    /// The device is too old for the variant.
    Skipped,
    /// Not run, because an earlier fault made the device unusable.
    NotRun,
    /// The machine lacks something.
    Lacking,
    /// The result is wrong, or the kernel failed.
    Failed,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestResult {
    /// The case's label.
    pub case: String,
    /// The device's name.
    pub device: String,
    /// The variant's name; `parallel` for the parallel CPU reference.
    pub variant: &'static str,
    /// How it ended.
    pub status: Status,
    /// The error, if there is one.
    pub message: Option<String>,
    /// The rule that a kernel broke on the emulated device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<&'static str>,
    /// The source lines of that fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
}

/// All results of a lab.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabReport {
    /// The lab's name.
    pub lab: &'static str,
    /// In the order they were run.
    pub results: Vec<TestResult>,
}

/// All results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The results, lab by lab.
    pub labs: Vec<LabReport>,
    /// The devices that are missing.
    pub skipped: Vec<Absent>,
}

impl Status {
    /// The word, styled and padded to `width`.
    pub fn render(self, look: Look, width: usize) -> String {
        let (word, styled) = match self {
            Status::Ok => ("ok", look.good("ok")),
            Status::Failed => ("FAIL", look.bad("FAIL")),
            Status::Lacking => ("lacking", look.caution("lacking")),
            Status::Skipped => ("skipped", look.caution("skipped")),
            Status::NotRun => ("-", look.caution("-")),
        };
        styled + &" ".repeat(width.saturating_sub(word.len()))
    }
}

impl TestResult {
    fn verdict(&self) -> Verdict {
        let message = self.message.clone().unwrap_or_default();
        match self.status {
            Status::Ok => Verdict::Right,
            Status::Failed => {
                // A submission's variant is named by its folder.
                let folder = Path::new(self.variant);
                let places = self.places.iter().cloned();
                let places = places.map(|place| place.within(folder)).collect();
                Verdict::Wrong(vec![Problem {
                    rule: self.rule.unwrap_or("wrong result").to_owned(),
                    message,
                    places,
                }])
            }
            Status::NotRun => Verdict::LeftOut("an earlier fault has ended the device".to_owned()),
            Status::Skipped | Status::Lacking => Verdict::LeftOut(message),
        }
    }
}

impl Report {
    /// The results for editors and forges.
    pub fn for_forges(&self) -> forge::Report {
        let mut report = forge::Report::new("harness test");
        for lab in &self.labs {
            let cases = lab.results.iter().map(|result| {
                let suite = format!("{} {}, {}", lab.lab, result.variant, result.device);
                Case::new(suite, &result.case, result.verdict())
            });
            report.cases.extend(cases);
        }
        report
    }

    /// A wrong result counts more than what the machine lacks.
    pub fn ending(&self) -> Ending {
        if self.count(Status::Failed) > 0 {
            Ending::Wrong
        } else if self.count(Status::Lacking) > 0 {
            Ending::Lacking
        } else {
            Ending::Fine
        }
    }

    /// The end of the text: a line for each missing device, and one for all results.
    pub fn summary(&self, look: Look, time: Duration) -> String {
        let mut lines: Vec<String> = self
            .skipped
            .iter()
            .map(|Absent { name, reason }| format!("{name} {}: {reason}", look.caution("skipped")))
            .collect();
        let results = self.labs.iter().map(|lab| lab.results.len()).sum();
        let others: Vec<String> = [
            (Status::Failed, "failed"),
            (Status::Lacking, "not possible here"),
            (Status::NotRun, "not run"),
        ]
        .into_iter()
        .map(|(status, words)| (self.count(status), words))
        .filter(|(number, _)| *number > 0)
        .map(|(number, words)| format!("{number} {words}"))
        .collect();
        let skipped = match self.count(Status::Skipped) {
            0 => String::new(),
            number => format!(", {}", look.caution(&format!("{number} skipped"))),
        };
        let verdict = if results == 0 {
            look.caution("nothing was tested")
        } else if others.is_empty() {
            look.good("all right")
        } else {
            let right = format!("{} right, ", self.count(Status::Ok));
            right + &look.bad(&others.join(", "))
        };
        lines.push(format!(
            "{}: {verdict}{skipped} ({})",
            count(results, "result"),
            waited(time)
        ));
        lines.join("\n")
    }

    fn count(&self, status: Status) -> usize {
        let results = self.labs.iter().flat_map(|lab| &lab.results);
        results.filter(|result| result.status == status).count()
    }
}
