//! `harness test`: every variant against the CPU reference, on small cases.

mod column;
mod report;
mod suite;

use std::time::Instant;

use clap::{Args, ValueEnum};
use host::device::Sanitize;
use host::{Lab, labs};

use crate::catalogue;
use crate::devices::{Machine, Wanted};
use crate::failure::{Ending, Failure};
use crate::json::JsonArg;
use crate::out::Out;
use report::{LabReport, Report};
pub use suite::explain;

/// What `harness test` is told.
#[derive(Debug, Clone, Default, Args)]
pub struct TestArgs {
    /// Only this lab
    lab: Option<String>,
    /// Only on this device: cpu, cuda, cuda:N, emulated; may be repeated [default: cpu and cuda, or without a GPU cpu
    /// and emulated]
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    device: Vec<Wanted>,
    /// Only this variant; may be repeated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    variant: Vec<String>,
    /// A case of your own in place of the small cases: a parameter of the lab; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "lab")]
    param: Vec<String>,
    /// Whether the emulated device looks for races, reads of memory that nobody wrote, and barriers that a part of a
    /// block reaches; strays beyond buffers are always found
    #[arg(
        long,
        value_name = "WHETHER",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_value = "on",
        default_missing_value = "on"
    )]
    sanitize: Switch,
    #[command(flatten)]
    json: JsonArg,
}

/// A flag's value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Switch {
    #[default]
    On,
    Off,
}

impl Switch {
    fn sanitize(self) -> Sanitize {
        match self {
            Switch::On => Sanitize::ALL,
            Switch::Off => Sanitize::NONE,
        }
    }
}

/// Tests the labs.
///
/// # Errors
///
/// What makes no sense, or a device that is asked for and not there. A wrong result is no error: the report has it.
pub fn run(args: &TestArgs, out: &mut Out<'_>) -> Result<Ending, Failure> {
    let machine = Machine::discover(&args.device, args.sanitize.sanitize());
    run_on(args, labs(), &machine, out)
}

fn run_on(
    args: &TestArgs,
    labs: &[&dyn Lab],
    machine: &Machine,
    out: &mut Out<'_>,
) -> Result<Ending, Failure> {
    let labs = catalogue::select(labs, args.lab.as_deref())?;
    let labs = catalogue::variants(&labs, &args.variant)?;
    let params = catalogue::params(&args.param)?;
    let chosen = machine.choose(&args.device)?;
    let json = args.json.open()?;

    let began = Instant::now();
    let has_no_variants = labs.iter().all(|(_, variants)| variants.is_empty());
    let mut reports = Vec::new();
    for (lab, variants) in labs {
        let cases = match &params {
            None => lab.small_cases(),
            Some(params) => vec![catalogue::own_case(lab, params)?],
        };
        let columns = column::columns(&chosen, &variants);
        let show = json.wants_text().then_some(&mut *out);
        let results = suite::run(lab, &cases, columns, show)?;
        reports.push(LabReport::new(lab.name(), results));
    }
    let report = Report::new(reports, &chosen.absent);
    if json.wants_text() {
        out.line(report.summary(out.look(), began.elapsed()))?;
        if has_no_variants {
            out.line(
                "this copy of the course has no built-in variants: only the CPU references were tested; \
                 `harness grade labs/LAB/starter` tests yours",
            )?;
        }
    }
    let ending = report.ending();
    json.write("test", report, out)?;
    Ok(ending)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::Look;
    use crate::testing;

    /// The ending and the text, without the time.
    fn tested(args: &TestArgs, machine: &Machine) -> (Ending, String) {
        let mut text = Vec::new();
        let mut out = Out::new(&mut text, Look::PLAIN);
        let ending = run_on(args, &testing::labs(), machine, &mut out).unwrap();
        drop(out);
        let text = String::from_utf8(text).unwrap();
        let (text, _time) = text.rsplit_once(" (").unwrap();
        (ending, text.to_owned())
    }

    fn variants(names: &[&str]) -> TestArgs {
        TestArgs {
            variant: names.iter().map(|name| (*name).to_owned()).collect(),
            ..TestArgs::default()
        }
    }

    #[test]
    fn right_results() {
        let (ending, text) = tested(&variants(&["naive"]), &testing::machine());
        assert_eq!(ending, Ending::Fine);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn no_gpu() {
        let (ending, text) = tested(&TestArgs::default(), &testing::machine_without_gpu());
        assert_eq!(ending, Ending::Fine);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn wrong_results_are_explained() {
        let (ending, text) = tested(&variants(&["naive", "off-by-one"]), &testing::machine());
        assert_eq!(ending, Ending::Wrong);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn after_a_fault_nothing_runs_on_the_device() {
        let args = TestArgs {
            param: vec!["n=4".to_owned()],
            lab: Some("doubling".to_owned()),
            ..variants(&["trapping", "naive"])
        };
        let (ending, text) = tested(&args, &testing::machine());
        assert_eq!(ending, Ending::Wrong);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn too_little_memory_is_not_a_wrong_result() {
        let (ending, text) = tested(&variants(&["hungry"]), &testing::machine());
        assert_eq!(ending, Ending::Lacking);
        insta::assert_snapshot!(text);
    }

    #[test]
    fn checks_find_a_race_that_leaves_the_result_right() {
        let ended = |flag: &str| {
            let args = parse(&["--variant=coalesced,racy", "--device=emulated", flag]);
            let machine = Machine::discover(&args.device, args.sanitize.sanitize());
            let mut text = Vec::new();
            let mut out = Out::new(&mut text, Look::PLAIN);
            let ending = run_on(&args, &[&testing::ptx::Tripling], &machine, &mut out);
            drop(out);
            (ending.unwrap(), String::from_utf8(text).unwrap())
        };
        for flag in ["--sanitize", "--sanitize=on", "--device=emulated"] {
            let (ending, text) = ended(flag);
            assert_eq!(ending, Ending::Wrong, "{text}");
            assert!(text.contains("race"), "{text}");
        }
        let (ending, text) = ended("--sanitize=off");
        assert_eq!(ending, Ending::Fine, "{text}");
    }

    #[test]
    fn json_has_every_result() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.json");
        let text = format!("--json={}", file.display());
        let args = parse(&["--variant=off-by-one", "--device=cuda", &text]);
        tested(&args, &testing::machine());
        insta::assert_snapshot!(std::fs::read_to_string(file).unwrap());
    }

    fn parse(args: &[&str]) -> TestArgs {
        #[derive(clap::Parser)]
        struct Parser {
            #[command(flatten)]
            args: TestArgs,
        }
        let args = std::iter::once("test").chain(args.iter().copied());
        <Parser as clap::Parser>::parse_from(args).args
    }
}
