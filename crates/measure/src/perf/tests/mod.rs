//! `harness perf` as a whole, on devices that are made up: what it says, and what it writes.

mod against;
mod counted;
mod document;
mod long;
mod memory;
mod peers;
mod throttling;
mod turns;
mod variants;

use std::sync::Arc;
use std::time::Duration;

use device::Device;
use device::DeviceInfo;
use device::telemetry::{NoTelemetry, Telemetry};
use host::limits::{MeasuredLimits, Rate};
use terminal::progress::Progress;

use super::*;
use terminal::look::{Look, WIDTH};

/// A device's limits and what reports on it, made up.
#[derive(Default)]
struct MadeUp {
    telemetry: Option<Arc<dyn Telemetry>>,
}

impl Probe for MadeUp {
    fn limits(&self, _: &dyn Device, _: &dyn Progress) -> (MeasuredLimits, Option<String>) {
        let rate = |best_per_s| {
            Some(Rate {
                median_per_s: best_per_s,
                best_per_s,
                amount: 1,
                runs: 1,
                samples: vec![Duration::from_secs(1)],
            })
        };
        let limits = MeasuredLimits {
            copy: rate(1e9),
            l2: rate(4e9),
            fp32: rate(2e9),
            ..MeasuredLimits::default()
        };
        (limits, Some("FP64: not enough memory".to_owned()))
    }

    fn telemetry(&self, _: &DeviceInfo) -> Result<Arc<dyn Telemetry>, NoTelemetry> {
        self.telemetry.clone().ok_or_else(|| NoTelemetry {
            reason: "libnvidia-ml.so.1 not found".to_owned(),
        })
    }
}

/// The ending, text and JSON of `harness perf` with these arguments.
struct Run {
    ending: Result<Ending, CommandError>,
    text: String,
    results: Option<Results>,
    /// Of all cases, the references' too.
    rows: Vec<results::Row>,
}

fn run_with(
    labs: &[&'static Lab],
    machine: &Machine,
    peers: Peers,
    probe: &dyn Probe,
    args: &[&str],
) -> Run {
    run_tuned(labs, machine, peers, probe, &Table::default(), args)
}

/// The table of `harness tune` with the shape x4 for variant `twofold` of lab `doubling`.
fn table_with_x4() -> Table {
    let entry = r#"
        [[tuned]]
        gpu = "Adder 9000"
        lab = "doubling"
        variant = "twofold"
        case = "another"
        cells = 7
        shape = "x4"
        unit = "us/step"
        date = "2026-11-22"
        driver = "580"
    "#;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned.toml");
    std::fs::write(&file, entry).unwrap();
    Table::read(&file).unwrap()
}

fn run_tuned(
    labs: &[&'static Lab],
    machine: &Machine,
    peers: Peers,
    probe: &dyn Probe,
    tuned: &Table,
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
    let environment = Environment {
        submitted: Submitted::NONE,
        labs,
        machine,
        peers: &peers,
        tuned,
        probe,
        page: |results| format!("a page of {} cases", results.cases.len()),
    };
    let ending = run_in(&environment, &args, &mut out);
    drop(out);
    let text = String::from_utf8(text).unwrap();
    for line in text.lines() {
        let width = line.chars().count();
        assert!(width <= WIDTH, "{width} columns: {line}");
    }
    let results = file.exists().then(|| Results::read(&file).unwrap());
    let rows = results.iter().flat_map(Results::rows);
    Run {
        ending,
        text,
        rows: rows.map(|view| view.row.clone()).collect(),
        results,
    }
}

fn timed(args: &[&str], machine: &Machine) -> Run {
    run_with(
        &test_lab::labs(),
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
    let named = format!("--variant={variants}");
    timed(&[&SMALL[..], &[&named]].concat(), &test_lab::machine())
}

impl Run {
    fn rows(&self) -> &[results::Row] {
        &self.rows
    }

    fn figures(&self, row: usize) -> &results::Figures {
        self.rows()[row].figures().unwrap()
    }
}
