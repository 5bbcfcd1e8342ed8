//! `harness perf LAB --gpus 1,2,4`: one lab on more and more GPUs, of one size or of a size that grows with them.
//!
//! | module    | what it holds                                       |
//! |-----------|-----------------------------------------------------|
//! | `agenda`  | which sizes, timesteps, cases                       |
//! | `measure` | times them, and compares their results              |
//! | `results` | the document that `--json` writes                   |
//! | `text`    | the report in the terminal                          |
//!
//! The method is in `docs/measuring.md`, under "Several GPUs".

mod agenda;
mod measure;
pub(crate) mod results;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use device::{DeviceKind, telemetry};
use host::{Case, Lab, labs};
use output_files::OutputDocument;

use crate::cpu::CpuInfo;
use crate::perf::PerfArgs;
use crate::perf::watch::Watch;
use agenda::Agenda;
use exit::{CommandError, Ending};
use host::catalogue;
use host::devices::{Gpus, Joined};
use measure::Bench;
use results::{Link, Results, SCHEMA_VERSION};
use terminal::json::JsonOut;
use terminal::progress::Bar;
use terminal::stdout::Out;

/// Measures how the lab scales.
///
/// # Errors
///
/// Arguments that make no sense, and fewer GPUs than asked for. A wrong result is not an error: the report has it.
pub fn run(args: &PerfArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let began = Instant::now();
    let lab = catalogue::select(labs(), args.lab.as_deref())?[0];
    let mut counts = args.gpus.clone();
    counts.sort_unstable();
    counts.dedup();
    let agenda = Agenda {
        lab,
        variant: agenda::variant(lab, &args.variant)?,
        counts: &counts,
        is_weak: args.weak,
        params: catalogue::params(&args.param)?,
        is_long: args.large,
    };
    let Joined {
        device,
        gpus,
        route,
    } = joined(args, &counts)?;
    let device = device.as_ref();
    let mut start = began.elapsed();
    let items = agenda.items(device)?;
    let json = args.json.open()?;
    let html = args.html.as_deref();
    let html = html.map(|path| OutputDocument::create("--html", path));
    let html = html.transpose()?;

    let watched = gpus
        .iter()
        .map(|gpu| telemetry::open(gpu).ok().map(Arc::from));
    let watched: Vec<Option<Arc<dyn telemetry::Telemetry>>> = watched.collect();
    let about = watched.first().cloned().flatten();
    let about = about
        .map(|telemetry| telemetry.about().clone())
        .unwrap_or_default();
    let watches: Vec<Watch> = watched.into_iter().map(Watch::new).collect();
    let has_times = device.info().kind != DeviceKind::Emulated;
    let bench = Bench {
        lab,
        variant: agenda.variant,
        device,
        watches: &watches,
        settings: args.settings(),
        is_timed: has_times,
    };
    let most = items.iter().filter_map(|item| item.runs.last());
    let smallest = most.min_by_key(|run| run.case.work(agenda.variant).updates);
    if let Some(smallest) = smallest.filter(|_| has_times) {
        let _bar = Bar::spinner("loading the kernels");
        let began = Instant::now();
        bench.start(smallest.case.as_ref())?;
        start += began.elapsed();
    }
    let first = &items[0].runs[0].case;
    let mut results = Results {
        schema_version: SCHEMA_VERSION,
        command: results::COMMAND.to_owned(),
        harness_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: std::env::args().collect(),
        began_unix_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs()),
        wall_s: 0.0,
        quick: args.quick,
        lab: lab.name().to_owned(),
        variant: agenda.variant.to_owned(),
        weak: args.weak,
        cpu: CpuInfo::read(),
        device: device.info().clone(),
        devices: device.count(),
        driver: about.driver,
        link: route.map(|route| Link::new(route, about.nvlinks)),
        start_s: start.as_secs_f64(),
        rate_unit: rate_unit(lab, first.work(agenda.variant).unit).to_owned(),
        sizes: Vec::new(),
    };
    let wants_text = json.wants_text();
    if wants_text {
        out.line(text::head(&results, out.look()))?;
    }
    for (at, item) in items.iter().enumerate() {
        let _bar = Bar::spinner(format!(
            "{} {}/{}: {}",
            lab.name(),
            at + 1,
            items.len(),
            item.runs[0].case.label()
        ));
        let size = bench.size(item, |case| done_by(lab, case, agenda.variant))?;
        results.sizes.push(size);
    }
    results.wall_s = began.elapsed().as_secs_f64();
    if wants_text {
        out.line(text::body(&results, out.look()))?;
    }
    if !matches!(json, JsonOut::No) {
        json.write_text(&results.to_json()?, out)?;
    }
    if let Some(html) = html {
        html.write_all(crate::report::of_scaling(&results).as_bytes())?;
    }
    Ok(results.ending())
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

/// What [`done_by`] counts.
fn rate_unit<'u>(lab: &dyn Lab, updates: &'u str) -> &'u str {
    match lab.name() {
        IN_BYTES => "byte",
        _ => updates,
    }
}

/// What a run of the case does, by which rates count.
fn done_by(lab: &dyn Lab, case: &dyn Case, variant: &str) -> f64 {
    if lab.name() != IN_BYTES {
        return case.work(variant).updates as f64;
    }
    let axes = case.axes("u");
    let points: f64 = axes.iter().map(|(_, extent)| *extent as f64).product();
    BYTES_OF_POINT * points * case.timesteps().unwrap_or(1) as f64
}
