use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use host::device::{DeviceError, DeviceInfo};
use host::limits::{Limits, Rate};
use host::telemetry::{About, NoTelemetry, Reading, Telemetry, ThrottleReason};
use host::{
    Case, Device, DeviceKind, Error, KernelInfo, Launching, Module, NamedBuffers, Progress,
    Session, Timing,
};

use super::contender::{Peer, PlanRun, TimedRun, Trouble};
use super::results::{Outcome, Verdict};
use super::*;
use crate::stats::Doubt;
use crate::terminal::Look;
use crate::testing;

/// A device's limits and what reports on it, made up.
#[derive(Default)]
struct MadeUp {
    telemetry: Option<Arc<dyn Telemetry>>,
}

impl Probe for MadeUp {
    fn limits(&self, _: &dyn Device, _: &dyn Progress) -> (Limits, Option<String>) {
        let rate = |best_per_s| {
            Some(Rate {
                median_per_s: best_per_s,
                best_per_s,
                amount: 1,
                runs: 1,
                samples: vec![Duration::from_secs(1)],
            })
        };
        let limits = Limits {
            copy: rate(1e9),
            l2: rate(4e9),
            fp32: rate(2e9),
            ..Limits::default()
        };
        (limits, Some("FP64: not enough memory".to_owned()))
    }

    fn telemetry(&self, _: &DeviceInfo) -> Result<Arc<dyn Telemetry>, NoTelemetry> {
        self.telemetry.clone().ok_or_else(|| NoTelemetry {
            reason: "libnvidia-ml.so.1 not found".to_owned(),
        })
    }
}

/// What `harness perf` with these arguments ends with, prints, and writes as JSON.
struct Run {
    ending: Result<Ending, Failure>,
    text: String,
    results: Option<Results>,
}

fn run_with(
    labs: &[&dyn Lab],
    machine: &Machine,
    peers: Peers,
    probe: &dyn Probe,
    args: &[&str],
) -> Run {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: PerfArgs,
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.json");
    let json = format!("--json={}", file.display());
    let args = ["perf", "--quick", &json]
        .into_iter()
        .chain(args.iter().copied());
    let args = <Parser as clap::Parser>::parse_from(args).args;
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, Look::PLAIN);
    let place = Place {
        labs,
        machine,
        peers: &peers,
        probe,
    };
    let ending = run_in(&place, &args, &mut out);
    drop(out);
    let text = String::from_utf8(text).unwrap();
    for line in text
        .lines()
        .filter(|line| line.starts_with("  ") && line.contains("bit-equal"))
    {
        assert!(line.len() <= 100, "{} columns: {line}", line.len());
    }
    Run {
        ending,
        text,
        results: file.exists().then(|| Results::read(&file).unwrap()),
    }
}

fn timed(args: &[&str], machine: &Machine) -> Run {
    run_with(
        &testing::labs(),
        machine,
        Peers::default(),
        &MadeUp::default(),
        args,
    )
}

// The device of these tests takes exactly 1 ms for every command; the CPU does not.
const SMALL: [&str; 5] = [
    "doubling",
    "--device=cuda",
    "--param=n=100000",
    "--param=steps=10",
    "--samples=12",
];

fn small(variants: &str) -> Run {
    let variants = format!("--variant={variants}");
    timed(&[&SMALL[..], &[&variants]].concat(), &testing::machine())
}

impl Run {
    fn rows(&self) -> &[results::Row] {
        &self.results.as_ref().unwrap().cases[0].rows
    }

    fn figures(&self, row: usize) -> &results::Figures {
        self.rows()[row].figures().unwrap()
    }
}

#[test]
fn figures_of_a_device() {
    let run = small("naive,twofold");
    assert_eq!(run.ending, Ok(Ending::Fine));
    insta::assert_snapshot!(run.text);
    let figures = run.figures(1);
    assert_eq!(figures.run.samples_s, [5e-3; 12]);
    assert!(figures.is_result() && figures.result == Verdict::Equal);
    let batched = figures.batched.as_ref().unwrap();
    assert_eq!(
        (batched.by, batched.run.median_s),
        (Launching::Stream, 5e-3)
    );
    let vs_first = figures.vs_first.unwrap();
    assert_eq!(
        (vs_first.estimate, vs_first.interval),
        (2.0, Some([2.0, 2.0]))
    );
    // SHA-256 of the PTX of the lab.
    let sha256 = figures.code_sha256.as_ref().unwrap();
    assert!(sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn a_wrong_result_is_explained() {
    let run = small("off-by-one");
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
    assert_eq!(run.figures(0).result, Verdict::Wrong);
}

#[test]
fn a_failed_kernel_is_explained() {
    let run = small("naive,trapping");
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
}

#[test]
fn too_little_memory_is_not_a_wrong_result() {
    let run = small("naive,hungry");
    assert_eq!(run.ending, Ok(Ending::Lacking));
    insta::assert_snapshot!(run.text);
}

#[test]
fn unchecked_results_are_called_so() {
    let args = [&SMALL[..], &["--variant=off-by-one", "--no-check"]].concat();
    let run = timed(&args, &testing::machine());
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert!(run.text.contains("unchecked"), "{}", run.text);
}

#[test]
fn the_fastest_right_variant_is_marked() {
    let starred = |variants: &str| {
        let text = small(variants).text;
        let starred = text.lines().filter(|line| line.contains("*  "));
        starred.map(str::to_owned).collect::<Vec<String>>()
    };
    let [line] = &starred("naive,twofold,off-by-one")[..] else {
        panic!("one variant is the fastest")
    };
    assert!(line.starts_with("  cuda    twofold*"), "{line}");
    // Of one there is no fastest, and a wrong one is none.
    assert!(starred("twofold").is_empty());
    assert!(starred("naive,off-by-one").is_empty());
}

#[test]
fn without_a_gpu_instructions_and_sectors_are_counted() {
    let args = ["--samples=1", "--variant=coalesced,scattered,stray"];
    let labs: [&dyn Lab; 1] = [&testing::ptx::Tripling];
    let machine = testing::machine_without_gpu();
    let run = run_with(&labs, &machine, Peers::default(), &MadeUp::default(), &args);
    assert_eq!(run.ending, Ok(Ending::Fine));
    let missing = "missing: cuda: no CUDA device: libcuda.so.1 not found";
    assert!(run.text.contains(missing), "{}", run.text);
    let (_, kernels) = run.text.split_once("\n\n  variant    kernel").unwrap();
    insta::assert_snapshot!(kernels);
}

#[test]
fn the_cpu_is_compared_by_rate() {
    let args = ["--large", "--samples=1", "--variant=naive"];
    let run = timed(&args, &testing::machine());
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert!(
        run.text.contains("doubling  1000 numbers, 20 steps"),
        "{}",
        run.text
    );
    let note = "cpu: timed on 100 numbers, 10 steps, compared by rate";
    assert!(run.text.contains(note), "{}", run.text);
    let [serial, parallel, naive] = [0, 1, 2].map(|row| run.figures(row));
    assert_eq!((serial.vs_serial, parallel.vs_cpu), (Some(1.0), Some(1.0)));
    let expected = naive.updates_per_s / serial.updates_per_s;
    let vs_serial = naive.vs_serial.unwrap();
    assert!((vs_serial / expected - 1.0).abs() < 1e-12, "{vs_serial}");
    assert!(
        run.text.contains("speedup over one core: parallel "),
        "{}",
        run.text
    );
}

#[test]
fn without_a_gpu_its_rows_say_why() {
    let args = ["--variant=naive", "--samples=1"];
    let run = timed(&args, &testing::machine_without_gpu());
    assert_eq!(run.ending, Ok(Ending::Fine));
    let note = "cuda skipped: no CUDA device: libcuda.so.1 not found";
    assert!(run.text.contains(note), "{}", run.text);
    let mut lines = run.text.lines();
    let row = lines.find(|line| line.starts_with("  cuda")).unwrap();
    assert!(row.ends_with("skipped"), "{}", run.text);
}

#[test]
fn nothing_is_timed_for_a_case_that_makes_no_sense() {
    let run = timed(&["doubling", "--param=n=many"], &testing::machine());
    assert_eq!((run.text.as_str(), run.results), ("", None));
    insta::assert_snapshot!(run.ending.unwrap_err(), @"--param: parameter `n` = `many`: invalid digit found in string (numbers, 1 or more)");
}

/// Reports to the thread that made it by a script; to others, that all is well.
struct Scripted {
    main: std::thread::ThreadId,
    about: About,
    readings: AtomicUsize,
    report: fn(usize) -> Reading,
}

impl Telemetry for Scripted {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(&self) -> Reading {
        if std::thread::current().id() != self.main {
            return at(1980, &[]);
        }
        (self.report)(self.readings.fetch_add(1, Ordering::Relaxed))
    }
}

fn watched(report: fn(usize) -> Reading) -> Run {
    let telemetry = Scripted {
        main: std::thread::current().id(),
        about: About {
            driver: Some("580.65.06".to_owned()),
            ..About::default()
        },
        readings: AtomicUsize::new(0),
        report,
    };
    let probe = MadeUp {
        telemetry: Some(Arc::new(telemetry)),
    };
    let args = [&SMALL[..4], &["--variant=naive"]].concat();
    run_with(
        &testing::labs(),
        &testing::machine(),
        Peers::default(),
        &probe,
        &args,
    )
}

fn at(clock: u32, reasons: &[ThrottleReason]) -> Reading {
    Reading {
        sm_clock_mhz: Some(clock),
        temperature_c: Some(50),
        power_w: Some(300.0),
        throttled_by: Some(BTreeSet::from_iter(reasons.iter().copied())),
        compute_processes: Some(1),
        ..Reading::default()
    }
}

#[test]
fn samples_under_throttling_are_discarded_and_said() {
    let run = watched(|index| match index % 8 {
        2 => at(1200, &[ThrottleReason::HardwareThermal]),
        _ => at(1980, &[]),
    });
    let figures = run.figures(0);
    assert!(figures.is_result(), "{:?}", figures.run.doubts);
    assert!(figures.run.samples_s.len() >= 10 && !figures.run.discarded.is_empty());
    assert_eq!(figures.run.discarded[0].reason, "heat (hardware)");
    let conditions = figures.conditions.as_ref().unwrap();
    assert_eq!(conditions.sm_clock_mhz, Some([1200, 1980]));
    assert!(
        run.text.contains("discarded: heat (hardware)"),
        "{}",
        run.text
    );
    let note = "cuda while timed: SM 1200 to 1980 MHz, 50 C, 300 W";
    assert!(run.text.contains(note), "{}", run.text);
    assert!(
        run.text.contains("Adder 9000, driver 580.65.06"),
        "{}",
        run.text
    );
    let trace = &run.results.as_ref().unwrap().cases[0].traces[0];
    assert!(trace.device == "cuda" && trace.samples.len() >= 2);
}

#[test]
fn throttling_without_end_is_no_result() {
    let run = watched(|_| at(1200, &[ThrottleReason::PowerCap]));
    let figures = run.figures(0);
    assert!(!figures.is_result());
    assert!(
        matches!(figures.run.doubts[..], [Doubt::Discarded { .. }]),
        "{:?}",
        figures.run.doubts
    );
    assert!(run.text.contains(" noisy "), "{}", run.text);
    assert!(run.text.contains("no result: "), "{}", run.text);
    assert!(
        run.text.contains("were taken under power cap"),
        "{}",
        run.text
    );
}

#[test]
fn a_second_process_makes_it_noisy() {
    let run = watched(|_| Reading {
        compute_processes: Some(2),
        ..at(1980, &[])
    });
    assert_eq!(run.figures(0).run.doubts, [Doubt::Shared { processes: 2 }]);
    let note = "naive on cuda: no result: 2 processes compute on the device; end the others";
    assert!(run.text.contains(note), "{}", run.text);
}

/// Naive as somebody else writes it: half as fast, or broken, or not for this case.
struct Other {
    language: &'static str,
    broken: Option<fn() -> Trouble>,
}

impl Peer for Other {
    fn language(&self) -> &str {
        self.language
    }

    fn built_by(&self) -> &str {
        "otherc 1.0 -O3"
    }

    fn lab(&self) -> &str {
        "doubling"
    }

    fn variant(&self) -> &str {
        "twofold"
    }

    fn code_sha256(&self) -> Option<String> {
        Some("00".repeat(32))
    }

    fn prepare<'p>(
        &'p self,
        device: &'p dyn Device,
        case: &dyn Case,
        inputs: &'p NamedBuffers,
    ) -> Result<Box<dyn TimedRun + 'p>, Trouble> {
        if let Some(broken) = self.broken {
            return Err(broken());
        }
        let module = Module::new("other", ".version 6.0\n.target sm_50\n.address_size 64\n");
        let plan = case.record("naive")?;
        Ok(Box::new(PlanRun::prepare(device, &module, plan, inputs)?))
    }
}

#[test]
fn peers_are_timed_in_turns_checked_and_compared() {
    let peer = |language, broken| Box::new(Other { language, broken }) as Box<dyn Peer>;
    let peers = Peers {
        found: vec![
            peer("CUDA C++", None),
            peer(
                "Python",
                Some(|| Trouble::Unsuited("only even sizes".to_owned())),
            ),
            peer("Basic", Some(|| Trouble::Failed("it gave up".to_owned()))),
        ],
        missing: vec!["Fortran: no compiler".to_owned()],
    };
    let args = [&SMALL[..], &["--variant=naive,twofold"]].concat();
    let run = run_with(
        &testing::labs(),
        &testing::machine(),
        peers,
        &MadeUp::default(),
        &args,
    );
    assert_eq!(run.ending, Ok(Ending::Wrong));
    insta::assert_snapshot!(run.text);
    let row = &run.rows()[2];
    assert_eq!(row.name(), "twofold, CUDA C++");
    let figures = row.figures().unwrap();
    assert_eq!(figures.result, Verdict::Equal);
    assert_eq!(figures.vs_variant.unwrap().interval, Some([0.5, 0.5]));
    assert!(matches!(run.rows()[3].outcome, Outcome::Skipped { .. }));
}

/// A device that holds one plan at a time.
struct Cramped {
    inner: Box<dyn Device>,
    held: AtomicUsize,
}

struct Held<'d> {
    inner: Box<dyn Session + 'd>,
    held: &'d AtomicUsize,
}

impl Device for Cramped {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn prepare<'d>(
        &'d self,
        module: &Module,
        plan: &host::plan::Plan,
    ) -> Result<Box<dyn Session + 'd>, Error> {
        if self.held.fetch_add(1, Ordering::Relaxed) > 0 {
            self.held.fetch_sub(1, Ordering::Relaxed);
            return Err(DeviceError::OutOfMemory {
                plan: plan.name().to_owned(),
                needed_bytes: 2,
                device: "Cramped".to_owned(),
                free_bytes: 1,
                total_bytes: 3,
            }
            .into());
        }
        Ok(Box::new(Held {
            inner: self.inner.prepare(module, plan)?,
            held: &self.held,
        }))
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Session for Held<'_> {
    fn write(&mut self, id: host::plan::BufferId, from: &host::HostBuffer) -> Result<(), Error> {
        self.inner.write(id, from)
    }

    fn fill(&mut self, id: host::plan::BufferId, byte: u8) -> Result<(), Error> {
        self.inner.fill(id, byte)
    }

    fn read(&mut self, id: host::plan::BufferId) -> Result<host::HostBuffer, Error> {
        self.inner.read(id)
    }

    fn run(&mut self) -> Result<Timing, Error> {
        self.inner.run()
    }

    fn kernel_info(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.inner.kernel_info(kernel)
    }
}

#[test]
fn what_does_not_fit_beside_the_others_is_timed_after_them() {
    let cramped = Cramped {
        inner: testing::device(),
        held: AtomicUsize::new(0),
    };
    let machine = Machine::new(vec![(DeviceKind::Cuda, Ok(vec![Box::new(cramped)]))]);
    let run = timed(
        &[&SMALL[..], &["--variant=naive,twofold"]].concat(),
        &machine,
    );
    assert_eq!(run.ending, Ok(Ending::Fine), "{}", run.text);
    assert_eq!(run.figures(1).vs_first.unwrap().estimate, 2.0);
}

#[test]
fn tables_fit_a_hundred_columns() {
    let mut case = small("naive,twofold").results.unwrap().cases.swap_remove(0);
    for row in &mut case.rows {
        row.variant = "grid_stride_vector4_256".to_owned();
        let figures = row.figures_mut().unwrap();
        figures.kernels[0].name = "matadd_grid_stride_vector4".to_owned();
        figures.kernels[0].registers = Some(255);
        // The lab with the longest names has no timesteps.
        figures.timesteps = None;
        figures.run.median_s = 70.12e-6;
        figures.updates_per_s = 240e9;
        figures.bytes_per_s = Some(2.88e12);
        figures.vs_cpu = Some(4321.0);
    }
    case.counted = Some(kernels::Counted {
        case: "4096x4096".to_owned(),
        unit: "additions".to_owned(),
        kernels: Vec::new(),
        failures: Vec::new(),
    });
    let text = report::render(&case, Look::PLAIN);
    let notes = ["rate:", "limit:", "*:", "no graph", "kernel `"];
    let is_note = |line: &&str| notes.iter().any(|note| line.contains(note));
    for line in text.lines().filter(|line| !is_note(line)) {
        assert!(line.len() <= 100, "{} columns\n{text}", line.len());
    }
}

#[test]
fn an_absent_device_takes_one_line() {
    let args = ["--variant=naive,off-by-one", "--samples=1"];
    let text = timed(&args, &testing::machine_without_gpu()).text;
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  cuda  "))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].starts_with("  cuda    all 2 "), "{text}");
}

#[test]
fn the_document_names_where_it_comes_from() {
    let run = small("naive");
    let results = run.results.unwrap();
    assert_eq!(results.schema_version, SCHEMA_VERSION);
    assert!(results.quick && !results.interrupted && !results.command_line.is_empty());
    assert_eq!(results.harness_version, env!("CARGO_PKG_VERSION"));
    assert_eq!(results.devices[0].info.name, "Adder 9000");
    assert_eq!(
        results.devices[0].limits.copy.as_ref().unwrap().best_per_s,
        1e9
    );
    let missing = [
        "limits of cuda: FP64: not enough memory",
        "clocks, throttling, power of cuda: no telemetry: libnvidia-ml.so.1 not found",
    ];
    assert_eq!(results.missing, missing);
    let again = Results::parse(&results.to_json().unwrap()).unwrap();
    assert!(again == results);
}
