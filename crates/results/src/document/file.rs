//! A document as a whole: begun, written, read.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use device::DeviceKind;
use exit::{CommandError, Ending};
use output_files::input::{text, unreadable};
use stats::BETWEEN_RUNS;
use terminal::json::read;
use terminal::json::read::Head;

use super::{COMMAND, Correctness, DeviceRecord, Outcome, Results, Row, SCHEMA_VERSION};
use device::cpu::CpuInfo;

impl Results {
    /// Results of a measurement that begins now, on these devices.
    pub fn begun(
        quick: bool,
        cpu: Option<CpuInfo>,
        devices: Vec<DeviceRecord>,
        missing: Vec<String>,
    ) -> Results {
        Results {
            schema_version: SCHEMA_VERSION,
            command: COMMAND.to_owned(),
            harness_version: env!("CARGO_PKG_VERSION").to_owned(),
            command_line: std::env::args().collect(),
            began_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| time.as_secs()),
            wall_s: 0.0,
            interrupted: false,
            quick,
            between_runs: BETWEEN_RUNS,
            cpu,
            devices,
            missing,
            references: Vec::new(),
            cases: Vec::new(),
            spent: Vec::new(),
            scaling: None,
        }
    }

    /// Whether times mean anything, of `--gpus`.
    pub fn has_times(&self) -> bool {
        let mut kinds = self.devices.iter().map(|record| record.info.kind);
        kinds.all(|kind| kind != DeviceKind::Emulated)
    }

    /// A wrong result outweighs what the machine lacks. A case that does not fit is not a fault.
    pub fn ending(&self) -> Ending {
        let references = self.references.iter().map(|reference| &reference.row);
        let rows = || self.cases.iter().flat_map(|case| &case.rows);
        let is_wrong = |row: &Row| {
            matches!(row.outcome, Outcome::Failed { .. })
                || row.correctness() == Some(Correctness::Wrong)
        };
        if references.chain(rows()).any(is_wrong) {
            Ending::Wrong
        } else if rows().any(|row| matches!(row.outcome, Outcome::Lacking { .. })) {
            Ending::Lacking
        } else {
            Ending::Fine
        }
    }

    /// The document as text.
    ///
    /// # Errors
    ///
    /// [`CommandError::Bug`] if it has no JSON form.
    pub fn to_json(&self) -> Result<String, CommandError> {
        serde_json::to_string_pretty(self)
            .map_err(|error| CommandError::Bug(format!("the results have no JSON form: {error}")))
    }

    /// Reads a document.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`] for a file that cannot be read, does not hold results of `perf`, has
    /// another version, or lacks a field.
    pub fn read(path: &Path) -> Result<Results, CommandError> {
        let name = path.display();
        let text = text(path).map_err(|error| {
            let remedy = match error.kind() {
                ErrorKind::NotFound => format!("; `harness perf --json={name}` makes one"),
                _ => String::new(),
            };
            CommandError::Input(format!("{name}: {}{remedy}", unreadable(&error)))
        })?;
        Results::parse(&text).map_err(|failure| failure.context(name))
    }

    /// Refuses times that no clock gives.
    fn check_samples(&self) -> Result<(), CommandError> {
        let references = self.references.iter().map(|reference| &reference.row);
        for row in references.chain(self.cases.iter().flat_map(|case| &case.rows)) {
            let samples = row.figures().map(|figures| &figures.run.samples_s[..]);
            let is_time = |sample: &&f64| sample.is_finite() && **sample > 0.0;
            let wrong = samples.unwrap_or_default().iter().find(|one| !is_time(one));
            if let Some(sample) = wrong {
                return Err(CommandError::Input(format!(
                    "damaged: a sample of {} on {} is {sample} s; measure again",
                    row.variant, row.device
                )));
            }
        }
        Ok(())
    }

    /// Reads a document's text.
    /// Fails as [`Results::read`] does.
    pub fn parse(text: &str) -> Result<Results, CommandError> {
        let remedy = "write one with `harness perf --json=FILE`";
        let head = Head::of(text).map_err(|error| {
            CommandError::Input(format!("{error}: not a file of results; {remedy}"))
        })?;
        if head.command != COMMAND {
            return Err(CommandError::Input(format!(
                "results of `harness {}`, not of `harness perf`; {remedy}",
                head.command
            )));
        }
        head.expect_version(SCHEMA_VERSION)?;
        let results: Results = read::document(text)?;
        results.check_samples()?;
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_explained() {
        let error = |text: &str| Results::parse(text).unwrap_err().context("a.json");
        insta::assert_snapshot!(error("{"), @"a.json: ends early, in line 1: not a file of results; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error("[1]"), @"a.json: does not begin with `schema_version` and `command`: not a file of results; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error(r#"{"schema_version": 1, "command": "test"}"#), @"a.json: results of `harness test`, not of `harness perf`; write one with `harness perf --json=FILE`");
        insta::assert_snapshot!(error(r#"{"schema_version": 3, "command": "perf"}"#), @"a.json: has schema version 3, this program reads version 4; measure again with this one");
        insta::assert_snapshot!(error(r#"{"schema_version": 5, "command": "perf"}"#), @"a.json: has schema version 5, this program reads version 4; read it with the program that wrote it, or a newer one");
        insta::assert_snapshot!(error(r#"{"schema_version": 4, "command": "perf"}"#), @"a.json: damaged: missing field `harness_version`; measure again");
        let failure = Results::read(Path::new("no/such.json")).unwrap_err();
        insta::assert_snapshot!(failure, @"no/such.json: there is no such file; `harness perf --json=no/such.json` makes one");
        assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
    }
}
