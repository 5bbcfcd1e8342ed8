use std::path::Path;
use std::time::Duration;

use super::rows::Pair;
use super::*;
use crate::document::{CaseResults, Clock, Correctness, Figures, Outcome, Row, SCHEMA_VERSION};
use device::cpu::CpuInfo;
use stats::synthetic::Noise;
use stats::{BETWEEN_RUNS, SamplingRule, Summary};
use terminal::look::Look;

/// A machine on which things are timed.
struct Machine {
    noise: Noise,
    /// How runs of the program scatter.
    runs: f64,
}

/// How samples of one run of the program scatter.
const SAMPLES: f64 = 0.004;

impl Machine {
    fn new(seed: u64) -> Machine {
        Machine {
            noise: Noise::new(seed),
            runs: 0.002,
        }
    }

    /// Samples until they agree, by the rule of the real measurement: a normal scatter, one in
    /// twenty much longer, in steps of a clock.
    fn time(&mut self, time_s: f64) -> Summary {
        let rule = SamplingRule {
            min_samples: 30,
            min_time: Duration::MAX,
            max_samples: 1000,
            noise: 0.005,
            spread: 0.05,
            patience: Duration::MAX,
        };
        let run = self.noise.normal(self.runs);
        let sample = |_| {
            let tail = if self.noise.uniform() < 0.05 {
                self.noise.with_tail(0.01)
            } else {
                1.0
            };
            let exact = time_s * run * self.noise.normal(SAMPLES) * tail;
            let ticks = (exact / 32e-9).round();
            Ok::<_, ()>(Duration::from_secs_f64(ticks * 32e-9))
        };
        rule.collect(sample).unwrap()
    }

    /// A document of one case with such times.
    fn results(&mut self, times_s: &[f64]) -> Results {
        let rows = times_s
            .iter()
            .enumerate()
            .map(|(index, time_s)| row(&format!("variant-{index}"), self.time(*time_s)));
        document(rows.collect())
    }
}

fn row(variant: &str, run: Summary) -> Row {
    let figures = Figures {
        judgement: Correctness::Equal.into(),
        ..Figures::new(run.clone(), Clock::Device, run.median_s)
    };
    let outcome = Outcome::Timed(Box::new(figures));
    Row::new("cuda", variant, "100x100".to_owned(), outcome)
}

fn document(rows: Vec<Row>) -> Results {
    Results {
        schema_version: SCHEMA_VERSION,
        command: "perf".to_owned(),
        harness_version: "1".to_owned(),
        command_line: Vec::new(),
        began_unix_s: 0,
        wall_s: 1.0,
        interrupted: false,
        quick: false,
        between_runs: BETWEEN_RUNS,
        cpu: None,
        devices: Vec::new(),
        missing: Vec::new(),
        references: Vec::new(),
        spent: Vec::new(),
        scaling: None,
        cases: vec![CaseResults {
            lab: "lab".to_owned(),
            first_variant: "variant-0".to_owned(),
            case: "100x100".to_owned().into(),
            timesteps: None,
            rows,
            counted: None,
            traces: Vec::new(),
        }],
    }
}

const MARGIN: Margin = Margin(0.015);
const TIMES_S: [f64; 12] = [
    12e-6, 50e-6, 130e-6, 300e-6, 600e-6, 1e-3, 2e-3, 5e-3, 10e-3, 30e-3, 0.1, 0.3,
];

/// The verdicts on ten pairs of runs of the program, the second slower by this factor.
fn verdicts(factor: f64) -> Vec<Vec<Change>> {
    let mut machine = Machine::new(11);
    let pair = |_| {
        let old = machine.results(&TIMES_S);
        let new = machine.results(&TIMES_S.map(|time_s| factor * time_s));
        let rows = Compared::new(&old, &new, MARGIN).rows;
        rows.iter().map(|row| row.verdict).collect()
    };
    (0..10).map(pair).collect()
}

#[test]
fn a_cpu_that_others_share_decides_nothing() {
    let document = |time_s: f64, is_virtual: bool| {
        let samples = (0..30).map(|i| time_s * (1.0 + 1e-5 * f64::from(i)));
        let mut results = document(vec![Row {
            device: "cpu".to_owned(),
            ..row("serial", Summary::new(samples.collect()))
        }]);
        results.cpu = Some(CpuInfo {
            model: "Slice".to_owned(),
            cores: 1,
            clock_mhz: None,
            is_virtual,
        });
        results
    };
    let verdict = |new_s, is_virtual| {
        let [old, new] = [1.0, new_s].map(|time_s| document(time_s, is_virtual));
        let mut rows = Compared::new(&old, &new, MARGIN).rows;
        let row = rows.pop().unwrap();
        (row.verdict, row.reason)
    };
    let shared = Some("a virtual machine's CPU, which others share".to_owned());
    assert_eq!(verdict(1.3, true), (Change::Undecided, shared));
    assert_eq!(verdict(1.001, true), (Change::Same, None));
    assert_eq!(verdict(1.3, false), (Change::Slower, None));
}

#[test]
fn a_run_against_itself_is_the_same_ten_times_out_of_ten() {
    for verdicts in verdicts(1.0) {
        assert_eq!(verdicts, [Change::Same; 12]);
    }
}

#[test]
fn a_slowdown_of_three_percent_is_seen_ten_times_out_of_ten() {
    for verdicts in verdicts(1.03) {
        assert_eq!(verdicts, [Change::Slower; 12]);
    }
}

#[test]
fn a_gain_of_three_percent_is_seen() {
    for verdicts in verdicts(1.0 / 1.03) {
        assert_eq!(verdicts, [Change::Faster; 12]);
    }
}

/// The share of 2000 pairs of times that are called slower.
fn called_slower(factor: f64, runs: f64) -> f64 {
    let mut machine = Machine {
        runs,
        ..Machine::new(12)
    };
    let slower = (0..2000).filter(|_| {
        let (old, new) = (machine.time(1e-3), machine.time(factor * 1e-3));
        change::compare(&old, &new, MARGIN).1 == Change::Slower
    });
    slower.count() as f64 / 2000.0
}

#[test]
fn what_is_not_beyond_the_margin_is_hardly_ever_called_slower() {
    // At the margin itself, and stated is one of 200; 2000 trials leave 0.3 % open.
    let share = called_slower(1.015, 0.0);
    assert!(share <= 0.008, "{share}");
    // How runs of the program scatter, no interval of one run knows: the margin leaves room for it.
    let of_half = called_slower(1.0075, 0.002);
    assert!(of_half <= 0.001, "{of_half}");
}

#[test]
fn what_else_happened_is_said() {
    let mut machine = Machine::new(13);
    let mut old = machine.results(&[1e-3, 2e-3, 3e-3, 4e-3, 5e-3]);
    let mut new = machine.results(&[1e-3, 2.2e-3, 3e-3, 4e-3, 5e-3]);
    let changed = &mut new.cases[0].rows;
    changed[3].outcome = Outcome::Failed {
        message: "the kernel trapped".to_owned(),
    };
    changed[4].variant = "renamed".to_owned();
    let scattered = stats::Doubt::Scattered { spread: 0.2 };
    changed[2].figures_mut().unwrap().run.doubts.push(scattered);
    old.cases[0].rows[0]
        .figures_mut()
        .unwrap()
        .on_device
        .code_sha256 = Some("a".to_owned());
    changed[0].figures_mut().unwrap().on_device.code_sha256 = Some("b".to_owned());
    new.interrupted = true;
    let compared = Compared::new(&old, &new, MARGIN);
    insta::assert_snapshot!(table::render(&compared, Look::PLAIN));
    assert_eq!(ending(&compared, false), Ending::Wrong);
}

/// Where documents tell kernels apart, a change of one is not all of its lab's.
#[test]
fn rows_of_other_kernels_are_named() {
    let mut machine = Machine::new(5);
    let with_digests = |results: &mut Results, digests: [&str; 3]| {
        for (row, digest) in results.cases[0].rows.iter_mut().zip(digests) {
            let on_device = &mut row.figures_mut().unwrap().on_device;
            on_device.code_sha256 = Some(digests.concat());
            on_device.kernel_digests = [("k".to_owned(), digest.to_owned())].into();
        }
    };
    let times_s = [1e-3, 2e-3, 3e-3];
    let [mut old, mut new] = [0; 2].map(|_| machine.results(&times_s));
    let told = |one: &Results, other: &Results| Compared::new(one, other, MARGIN).differences;
    with_digests(&mut old, ["a", "b", "c"]);
    with_digests(&mut new, ["a", "d", "c"]);
    let lab = old.cases[0].lab.clone();
    let of_row = format!("device code of {lab} variant-1 has changed");
    assert_eq!(told(&old, &new), [of_row]);
    // An older document.
    old.cases[0].rows.iter_mut().for_each(|row| {
        row.figures_mut().unwrap().on_device.kernel_digests.clear();
    });
    assert_eq!(
        told(&old, &new),
        [format!("device code of {lab} has changed")]
    );
}

fn compare_files(
    old: &Results,
    new: &Results,
    args: &[&str],
) -> (Result<Ending, CommandError>, String) {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: CompareArgs,
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, results: &Results| {
        let path = folder.path().join(name);
        std::fs::write(&path, results.to_json().unwrap()).unwrap();
        path.display().to_string()
    };
    let (old, new) = (write("old.json", old), write("new.json", new));
    let files = ["compare", &old, &new];
    let args = files.into_iter().chain(args.iter().copied());
    let mut args = <Parser as clap::Parser>::parse_from(args).args;
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let ending = run(&args, &mut out);
    drop(out);
    args.old = Path::new("old.json").to_owned();
    let folder = format!("{}/", folder.path().display());
    let ending = ending.map_err(|failure| match failure {
        CommandError::Input(said) => CommandError::Input(said.replace(&folder, "")),
        other => other,
    });
    (ending, String::from_utf8(text).unwrap())
}

/// A document of `--gpus`: a row for each number of them.
fn on_gpus(machine: &mut Machine, times_s: &[(u32, f64)]) -> Results {
    let rows = times_s.iter().map(|(gpus, time_s)| Row {
        gpus: Some(*gpus),
        ..row("split", machine.time(*time_s))
    });
    let link = crate::document::Link::Nvlink { links: Some(18) };
    Results {
        scaling: Some(crate::document::Scaling {
            variant: "split".to_owned(),
            weak: false,
            devices: 4,
            link: Some(link),
            start_s: 1.0,
            rate_unit: "updates".to_owned(),
        }),
        ..document(rows.collect())
    }
}

#[test]
fn rows_match_by_the_number_of_gpus_too() {
    let mut machine = Machine::new(16);
    let old = on_gpus(&mut machine, &[(1, 8e-3), (2, 4e-3), (4, 2e-3)]);
    let mut new = on_gpus(&mut machine, &[(1, 8e-3), (2, 4.4e-3), (8, 1e-3)]);
    new.scaling.as_mut().unwrap().link = Some(crate::document::Link::Pcie);
    let compared = Compared::new(&old, &new, MARGIN);
    insta::assert_snapshot!(table::render(&compared, Look::PLAIN));
    assert_eq!(ending(&compared, false), Ending::Wrong);
    let json = serde_json::to_value(&compared).unwrap();
    assert_eq!(json["rows"][1]["gpus"], 2);
    // A document of one GPU has no row of several.
    let one = machine.results(&[8e-3]);
    assert!(Compared::new(&old, &one, MARGIN).rows.is_empty());
}

#[test]
fn exit_codes_are_for_scripts() {
    let mut machine = Machine::new(14);
    let old = machine.results(&[1e-3, 2e-3]);
    let slower = machine.results(&[1e-3, 2.1e-3]);
    let (ending, text) = compare_files(&old, &old, &["--strict"]);
    assert_eq!(ending, Ok(Ending::Fine), "{text}");
    assert_eq!(compare_files(&old, &slower, &[]).0, Ok(Ending::Wrong));
    assert_eq!(compare_files(&slower, &old, &[]).0, Ok(Ending::Fine));
    // A wide margin hides it.
    assert_eq!(
        compare_files(&old, &slower, &["--margin=10"]).0,
        Ok(Ending::Fine)
    );
    // Half of it is gone.
    let mut half = old.clone();
    half.cases[0].rows.truncate(1);
    assert_eq!(compare_files(&old, &half, &[]).0, Ok(Ending::Fine));
    assert_eq!(
        compare_files(&old, &half, &["--strict"]).0,
        Ok(Ending::Wrong)
    );
    let (_, json) = compare_files(&old, &slower, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["rows"][1]["verdict"], "slower");
}

#[test]
fn nothing_in_common_is_bad_input() {
    let mut machine = Machine::new(15);
    let old = machine.results(&[1e-3]);
    let mut new = old.clone();
    new.cases[0].lab = "other".to_owned();
    let failure = compare_files(&old, &new, &[]).0.unwrap_err();
    insta::assert_snapshot!(failure, @"old.json and new.json have no row in common: the first has 1 timed row of lab, the second 1 timed row of other; time the same labs, variants and devices");
    assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
}

#[test]
fn a_document_is_compared_with_itself() {
    let read = Results::parse(include_str!("../report/tests/perf.json")).unwrap();
    let compared = Compared::new(&read, &read, MARGIN);
    assert!(compared.rows.len() > 10 && compared.only_old.is_empty());
    // One of its results is wrong, and several of its cases have rows of the CPU.
    let on_device = compared.rows.iter().filter(|row| row.row.device == "cuda");
    let right: Vec<&Pair> = on_device
        .filter(|row| row.verdict != Change::Broken)
        .collect();
    assert!(right.len() > 5 && right.iter().all(|row| row.verdict == Change::Same));
}
