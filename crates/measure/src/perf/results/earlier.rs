//! Documents of earlier programs: versions 2 and 3 of `perf`, version 1 of `perf --gpus`.

use device::telemetry::About;
use device::{DeviceInfo, Launching};
use exit::CommandError;
use serde::Deserialize;
use serde_json::Value;
use stats::Summary;
use terminal::json::read;

use super::{
    COMMAND, CaseResults, Clock, Conditions, Correctness, DeviceRecord, Figures, Link, OnSeveral,
    Outcome, Reference, Results, Row, SCHEMA_VERSION, Scaling,
};
use crate::cpu::CpuInfo;
use crate::perf::ratios::is_cpu;
use host::limits::MeasuredLimits;

/// The `command` of earlier documents of `--gpus`.
pub const SCALING: &str = "perf --gpus";

/// Version 2, in which the references' rows are in the cases.
pub fn without_references(text: &str) -> Result<Results, CommandError> {
    let mut document: Value = read::document(text)?;
    if let Some(fields) = document.as_object_mut() {
        fields.insert("references".to_owned(), Value::Array(Vec::new()));
    }
    let mut results: Results = read::document(&document.to_string())?;
    results.schema_version = SCHEMA_VERSION;
    results.references = take_references(&mut results.cases);
    Ok(results)
}

/// Version 3, in which some ratios are numbers, without intervals.
pub fn with_numbers_for_ratios(text: &str) -> Result<Results, CommandError> {
    let results: Results = read::document(text)?;
    Ok(Results {
        schema_version: SCHEMA_VERSION,
        ..results
    })
}

/// Takes the references' rows out of the cases, each once.
pub fn take_references(cases: &mut [CaseResults]) -> Vec<Reference> {
    let mut references: Vec<Reference> = Vec::new();
    for case in cases {
        let rows = std::mem::take(&mut case.rows).into_iter();
        let (of_cpu, others): (Vec<Row>, Vec<Row>) = rows.partition(is_cpu);
        case.rows = others;
        for row in of_cpu {
            let reference = Reference {
                lab: case.lab.clone(),
                row,
            };
            if !references.contains(&reference) {
                references.push(reference);
            }
        }
    }
    references
}

#[derive(Deserialize)]
struct ScalingResults {
    harness_version: String,
    command_line: Vec<String>,
    began_unix_s: u64,
    wall_s: f64,
    quick: bool,
    lab: String,
    variant: String,
    weak: bool,
    cpu: CpuInfo,
    device: DeviceInfo,
    devices: u32,
    driver: Option<String>,
    link: Option<Link>,
    start_s: f64,
    rate_unit: String,
    sizes: Vec<Size>,
}

#[derive(Deserialize)]
struct Size {
    steps: u64,
    rows: Vec<ScalingRow>,
}

#[derive(Deserialize)]
struct ScalingRow {
    gpus: u32,
    case: String,
    points: u64,
    #[serde(flatten)]
    outcome: ScalingOutcome,
}

#[derive(Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum ScalingOutcome {
    Timed(Box<ScalingFigures>),
    Computed { result: Agreement },
    DoesNotFit,
    Failed { message: String },
    Lacking { message: String },
}

#[derive(Deserialize)]
struct ScalingFigures {
    run: Summary,
    by: Launching,
    #[serde(default)]
    energy_per_run_j: Option<f64>,
    result: Agreement,
    #[serde(flatten)]
    on_several: OnSeveral,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Agreement {
    First,
    Equal,
    Different,
    Unchecked,
}

/// Version 1 of `perf --gpus`.
pub fn scaling(text: &str) -> Result<Results, CommandError> {
    let old: ScalingResults = read::document(text)?;
    let device = old.device.kind.name().to_owned();
    let row = |steps: u64, row: ScalingRow| {
        let outcome = match row.outcome {
            ScalingOutcome::Timed(figures) => timed(*figures, steps, row.points),
            ScalingOutcome::Computed { result } => Outcome::Computed {
                result: correctness(result),
            },
            ScalingOutcome::DoesNotFit => Outcome::DoesNotFit,
            ScalingOutcome::Failed { message } => Outcome::Failed { message },
            ScalingOutcome::Lacking { message } => Outcome::Lacking { message },
        };
        Row {
            gpus: Some(row.gpus),
            ..Row::new(&device, &old.variant, row.case, outcome)
        }
    };
    let cases = old.sizes.into_iter().map(|size| {
        let rows = size.rows.into_iter().map(|one| row(size.steps, one));
        let rows: Vec<Row> = rows.collect();
        CaseResults {
            lab: old.lab.clone(),
            first_variant: old.variant.clone(),
            case: rows.first().map_or(String::new(), |row| row.case.clone()),
            timesteps: Some(size.steps),
            rows,
            counted: None,
            traces: Vec::new(),
        }
    });
    Ok(Results {
        schema_version: SCHEMA_VERSION,
        command: COMMAND.to_owned(),
        harness_version: old.harness_version,
        command_line: old.command_line,
        began_unix_s: old.began_unix_s,
        wall_s: old.wall_s,
        interrupted: false,
        quick: old.quick,
        between_runs: 0.0,
        cpu: Some(old.cpu),
        devices: vec![DeviceRecord {
            device: device.clone(),
            info: old.device,
            telemetry: old.driver.map(|driver| About {
                driver: Some(driver),
                ..About::default()
            }),
            no_telemetry: None,
            limits: MeasuredLimits::default(),
        }],
        missing: Vec::new(),
        references: Vec::new(),
        cases: cases.collect(),
        spent: Vec::new(),
        scaling: Some(Scaling {
            variant: old.variant.clone(),
            weak: old.weak,
            devices: old.devices,
            link: old.link,
            start_s: old.start_s,
            rate_unit: old.rate_unit,
        }),
    })
}

fn timed(old: ScalingFigures, steps: u64, points: u64) -> Outcome {
    let run_s = old.run.median_s;
    Outcome::Timed(Box::new(Figures {
        timesteps: Some(steps),
        by: Some(old.by),
        updates: points * steps,
        updates_per_s: (points * steps) as f64 / run_s.max(1e-12),
        conditions: Some(Conditions {
            energy_per_run_j: old.energy_per_run_j,
            ..Conditions::default()
        }),
        result: correctness(old.result),
        on_several: Some(old.on_several),
        ..Figures::new(old.run, Clock::Device, run_s)
    }))
}

fn correctness(old: Agreement) -> Correctness {
    match old {
        Agreement::First => Correctness::Reference,
        Agreement::Equal => Correctness::Equal,
        Agreement::Different => Correctness::Wrong,
        Agreement::Unchecked => Correctness::Unchecked,
    }
}
