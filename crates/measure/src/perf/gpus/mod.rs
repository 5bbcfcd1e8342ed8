//! `harness perf LAB --gpus 1,2,4`: one lab on more and more GPUs, of one size or of a size that
//! grows with them.
//!
//! The number of GPUs is an axis of the rows that [`bench`](super::bench) makes: the maker of rows,
//! the samples, the document and the reporters are those of `perf`. What is here is which cases
//! there are, and on which devices.
//! Which sizes, timesteps and cases there are is in `sizes`; the table is crate `results`'s.
//! The method is in the page on several GPUs in docs/measure.

pub(crate) mod sizes;
#[cfg(test)]
mod tests;

use std::time::Instant;

use device::telemetry::About;
use device::{Device, DeviceKind, Error};
use exit::{CommandError, Ending};
use host::labs;
use host::limits::MeasuredLimits;
use lab::Variant;
use select::catalogue::{self, Submitted};
use select::devices::{Chosen, DeviceName, Gpus, Joined, Named, Route};
use terminal::progress::Bar;
use terminal::stdout::Out;

use super::bench::{Bench, CheckArg, OnGpus};
use super::estimate::Estimate;
use super::reporters::{Outputs, Reporters};
use super::settings::Settings;
use super::watch::Watch;
use super::{PerfArgs, measure};
use device::cpu::CpuInfo;
use results::{DeviceRecord, Link, Results, Scaling};
use select::tuned::Table;
use sizes::{Sizes, rate_unit};

/// Measures how the lab scales.
///
/// # Errors
///
/// Arguments that make no sense, and fewer GPUs than asked for. A wrong result is not an error: the
/// report has it.
pub fn run(
    args: &PerfArgs,
    submitted: Submitted,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    let began = Instant::now();
    let lab = catalogue::select(labs(), args.lab.as_deref())?[0];
    let mut counts = args.gpus.clone();
    counts.sort_unstable();
    counts.dedup();
    let variant = sizes::variant(labs(), lab, &args.variant, submitted.of(lab))?;
    let params = catalogue::params(&args.param)?;
    let joined = joined(args, &counts)?;
    let tuned = Table::in_force(labs())?;
    let sizes = Sizes {
        lab,
        variant,
        target: joined.target(counts.last().copied().unwrap_or(1)),
        info: joined.device.info(),
        tuned: &tuned,
        counts: &counts,
        is_weak: args.weak,
        params,
        is_large: args.large,
    };
    let device = joined.device.as_ref();
    let mut start = began.elapsed();
    let mut benches = benches(&sizes, device, args.settings(), &tuned)?;
    let outputs = Outputs::open(&args.json, args.html.as_deref(), results::report::of)?;

    let telemetry = joined.gpus.iter().map(|gpu| cuda::telemetry(gpu).ok());
    let watches: Vec<Watch> = telemetry
        .map(|opened| Watch::new(opened.map(Into::into)))
        .collect();
    let about = watches.first().and_then(Watch::about);
    let most = benches.iter().filter_map(|bench| bench.gpus.last());
    let smallest = most.min_by_key(|on| on.case.work().updates);
    let has_times = device.info().kind != DeviceKind::Emulated;
    if let Some(smallest) = smallest.filter(|_| has_times) {
        let _bar = Bar::spinner("loading the kernels");
        let loading = Instant::now();
        load(smallest, device)?;
        start += loading.elapsed();
    }
    let link = joined
        .route
        .map(|route| link(route, about.as_ref().and_then(|about| about.nvlinks)));
    let record = record(device, about);
    let results = Results {
        scaling: Some(Scaling {
            variant: names(&benches),
            weak: args.weak,
            devices: device.count(),
            link,
            start_s: start.as_secs_f64(),
            rate_unit: rate_unit(benches[0].case.as_ref()).to_owned(),
        }),
        ..Results::begun(
            args.quick,
            Some(CpuInfo::read()),
            vec![record.clone()],
            Vec::new(),
        )
    };
    let chosen = Chosen {
        cpu: false,
        devices: vec![named(device)],
        absent: Vec::new(),
    };
    let devices = [(record, Watch::joined(&watches))];
    let mut reporters = Reporters::begin(results, outputs, began, args.notes, out)?;
    let mut estimate = Estimate::of_benches(&benches, &devices);
    measure(
        &mut benches,
        false,
        &chosen,
        &devices,
        &mut estimate,
        &mut reporters,
    )?;
    reporters.finish()
}

/// The bench of every size. Runs are whole and one by one; then their energy is counted.
fn benches<'b>(
    sizes: &Sizes<'_>,
    device: &dyn Device,
    settings: Settings,
    tuned: &'b Table,
) -> Result<Vec<Bench<'b>>, CommandError> {
    let items = sizes.items(device)?.into_iter();
    let benches = items.map(|item| Bench {
        lab: sizes.lab,
        variants: variants(item.runs.iter()),
        caps: Vec::new(),
        peers: Vec::new(),
        tuned,
        case: item.case,
        gpus: item.runs,
        settings: Settings {
            batch: None,
            ..settings
        },
        check: CheckArg::None,
        progress: String::new(),
    });
    Ok(benches.collect())
}

/// The variants of these, each once.
fn variants<'b>(all: impl Iterator<Item = &'b OnGpus>) -> Vec<&'static Variant> {
    let mut variants = Vec::new();
    for on in all {
        if !variants.contains(&on.variant) {
            variants.push(on.variant);
        }
    }
    variants
}

/// The names of the variants of all rows, in order.
fn names(benches: &[Bench<'_>]) -> String {
    let variants = variants(benches.iter().flat_map(|bench| &bench.gpus));
    let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
    names.join(", ")
}

/// Opens what every row needs: contexts, and the module on each device. Nothing of it is timed
/// again.
fn load(on: &OnGpus, device: &dyn Device) -> Result<(), Error> {
    let plan = on.variant.record_on(on.case.as_ref(), device)?;
    device.prepare(&on.variant.module, &plan)?;
    Ok(())
}

/// The devices as rows name them.
fn named(device: &dyn Device) -> Named<'_> {
    let name = match device.info().kind {
        DeviceKind::Cuda => DeviceName::Cuda(0),
        DeviceKind::Emulated => DeviceName::Emulated,
    };
    Named { name, device }
}

/// The devices as the document describes them. Limits are not measured.
fn record(device: &dyn Device, telemetry: Option<About>) -> DeviceRecord {
    DeviceRecord {
        device: device.info().kind.name().to_owned(),
        info: device.info().clone(),
        telemetry,
        no_telemetry: None,
        limits: MeasuredLimits::default(),
    }
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

/// How devices with this route between them are joined. Atomic operations work across NVLink. NVML
/// knows best: of GPUs that reach each other, active links are NVLink, and none are PCIe.
fn link(route: Route, nvlinks: Option<u32>) -> Link {
    match (route, nvlinks) {
        (Route::Staged, _) => Link::Staged,
        (Route::Atomic | Route::Peer, Some(0)) | (Route::Peer, None) => Link::Pcie,
        (Route::Atomic | Route::Peer, links) => Link::Nvlink { links },
    }
}
