//! `harness perf LAB --gpus 1,2,4`: one lab on more and more GPUs, of one size or of a size that
//! grows with them.
//!
//! The number of GPUs is an axis of the rows of [`perf`](crate::perf): the runs, their samples, the
//! results and the reporters are those of `perf`. What is here is which cases there are, and that
//! their results are compared with those of fewer GPUs.
//!
//! | module    | what it holds                                       |
//! |-----------|-----------------------------------------------------|
//! | `sizes`   | which sizes, timesteps, cases                       |
//! | `measure` | times them, and compares their results              |
//! | `text`    | the report in the terminal                          |
//!
//! The method is in `docs/measuring.md`, under "Several GPUs".

mod measure;
mod sizes;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::sync::Arc;
use std::time::Instant;

use device::DeviceKind;
use device::telemetry::{self, NoTelemetry, Telemetry};
use exit::{CommandError, Ending};
use host::labs;
use host::limits::MeasuredLimits;
use lab::catalogue;
use lab::devices::{Gpus, Joined};
use lab::{Lab, LabCase};
use terminal::progress::Bar;
use terminal::stdout::Out;

use crate::cpu::CpuInfo;
use crate::perf::PerfArgs;
use crate::perf::estimate::Estimate;
use crate::perf::reporters::{Event, Outputs, Reporters};
use crate::perf::results::{CaseResults, DeviceRecord, Link, Results, Scaling};
use crate::perf::watch::Watch;
use measure::Bench;
use sizes::{Item, Sizes};

/// Measures how the lab scales.
///
/// # Errors
///
/// Arguments that make no sense, and fewer GPUs than asked for. A wrong result is not an error: the
/// report has it.
pub fn run(args: &PerfArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let began = Instant::now();
    let lab = catalogue::select(labs(), args.lab.as_deref())?[0];
    let mut counts = args.gpus.clone();
    counts.sort_unstable();
    counts.dedup();
    let sizes = Sizes {
        lab,
        variant: sizes::variant(lab, &args.variant)?,
        counts: &counts,
        is_weak: args.weak,
        params: catalogue::params(&args.param)?,
        is_long: args.large,
    };
    let variant = sizes.variant;
    let Joined {
        device,
        gpus,
        route,
    } = joined(args, &counts)?;
    let device = device.as_ref();
    let mut start = began.elapsed();
    let items = sizes.items(device)?;
    let outputs = Outputs::open(&args.json, args.html.as_deref(), crate::report::of)?;

    let telemetry = gpus.iter().map(telemetry::open);
    let telemetry: Vec<Result<Arc<dyn Telemetry>, NoTelemetry>> =
        telemetry.map(|opened| opened.map(Arc::from)).collect();
    let about = telemetry.first().and_then(|first| first.as_ref().ok());
    let about = about.map(|telemetry| telemetry.about().clone());
    let watches = telemetry.into_iter().map(|opened| Watch::new(opened.ok()));
    let watches: Vec<Watch> = watches.collect();
    let bench = Bench {
        lab,
        variant,
        device,
        watches: &watches,
        settings: args.settings(),
        is_timed: device.info().kind != DeviceKind::Emulated,
    };
    let most = items.iter().filter_map(|item| item.runs.last());
    let smallest = most.min_by_key(|run| run.case.work().updates);
    if let Some(smallest) = smallest.filter(|_| bench.is_timed) {
        let _bar = Bar::spinner("loading the kernels");
        let began = Instant::now();
        bench.start(smallest.case.as_ref())?;
        start += began.elapsed();
    }
    let first = &items[0].runs[0].case;
    let nvlinks = about.as_ref().and_then(|about| about.nvlinks);
    let record = DeviceRecord {
        device: device.info().kind.name().to_owned(),
        info: device.info().clone(),
        telemetry: about,
        no_telemetry: None,
        limits: MeasuredLimits::default(),
    };
    let results = Results {
        scaling: Some(Scaling {
            variant: variant.name.to_owned(),
            weak: args.weak,
            devices: device.count(),
            link: route.map(|route| Link::new(route, nvlinks)),
            start_s: start.as_secs_f64(),
            rate_unit: rate_unit(lab, first.work().unit).to_owned(),
        }),
        ..Results::begun(args.quick, Some(CpuInfo::read()), vec![record], Vec::new())
    };
    let mut reporters = Reporters::begin(results, outputs, began, args.notes, out)?;
    let mut estimate = Estimate::of_rows(items.iter().map(|item| item.runs.len()));
    for item in &items {
        let _bar = Bar::spinner(estimate.place(lab, item.runs[0].case.as_ref()));
        reporters.tell(Event::CaseDone(measured(&bench, item)?))?;
        estimate.case_done();
    }
    reporters.tell(Event::LabDone)?;
    reporters.finish()
}

/// A size on each number of devices.
fn measured(bench: &Bench<'_>, item: &Item) -> Result<CaseResults, CommandError> {
    let rate = |case: &dyn LabCase| done_by(bench.lab, case);
    Ok(CaseResults {
        lab: bench.lab.name.to_owned(),
        first_variant: bench.variant.name.to_owned(),
        case: item.runs[0].case.label(),
        timesteps: Some(item.steps),
        rows: bench.rows(item, rate)?,
        counted: None,
        traces: Vec::new(),
    })
}

/// As many devices as the highest of the numbers.
fn joined(args: &PerfArgs, counts: &[u32]) -> Result<Joined, CommandError> {
    let device = match args.device[..] {
        [] => None,
        [one] => Some(one),
        _ => {
            let reason = "--device: with --gpus, name one: cuda or emulated";
            return Err(CommandError::Input(reason.to_owned()));
        }
    };
    let most = counts.last().copied().unwrap_or(1);
    let joined = Gpus::Count(most).joined(device);
    joined.map_err(|failure| match failure {
        CommandError::Environment(text) => CommandError::Environment(format!(
            "{text}, or compare results alone with `--device emulated`"
        )),
        other => other,
    })
}

/// The lab whose rate is usually quoted in bytes, as if each timestep moved three fields.
const IN_BYTES: &str = "poisson";
const BYTES_OF_POINT: f64 = 24.0;

/// The unit of [`done_by`].
fn rate_unit<'u>(lab: &Lab, updates: &'u str) -> &'u str {
    match lab.name {
        IN_BYTES => "byte",
        _ => updates,
    }
}

/// The work of a run of the case, from which its rate follows.
fn done_by(lab: &Lab, case: &dyn LabCase) -> f64 {
    if lab.name != IN_BYTES {
        return case.work().updates as f64;
    }
    let axes = case.axes("u");
    let points: f64 = axes.iter().map(|(_, extent)| *extent as f64).product();
    BYTES_OF_POINT * points * case.timesteps().unwrap_or(1) as f64
}
