//! `harness run membench`.

mod map;
mod plot;
mod report;

use clap::Args;
use device::DeviceKind;
use device::{DeviceInfo, Sanitize};
use host::membench::{
    BandwidthOptions, Coalescing, CoalescingOptions, Latencies, LatencyOptions, LineAccess,
    LineOptions, Measured, MembenchError, Path, bandwidth, coalescing, latency, levels, lines,
    plateaus,
};

use exit::{CommandError, Ending};
use output_files::{OutputDocument, OutputPath};
use select::devices::{Machine, Named, Wanted};
use terminal::json::JsonArg;
use terminal::progress::Bar;
use terminal::stdout::Out;

/// The arguments of `harness run membench`.
#[derive(Debug, Clone, Args)]
pub struct MembenchArgs {
    /// Where to write the plot of latency against footprint [default: membench.svg]
    #[arg(long, value_name = "FILE")]
    plot: Option<OutputPath>,
    /// Also measure the latency of lines of L2 from every multiprocessor, and write a picture of
    /// it: an SVG file
    #[arg(long, value_name = "FILE")]
    map: Option<OutputPath>,
    /// Where to measure: cuda, cuda:N; emulated checks the kernels, briefly, and measures nothing
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: Wanted,
    #[command(flatten)]
    json: JsonArg,
}

/// Measures.
///
/// # Errors
///
/// Invalid arguments, a path that cannot be written, a missing device, a kernel whose result is
/// wrong.
pub fn run(args: &MembenchArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    run_on(
        args,
        &Machine::discover(&[args.device], Sanitize::NONE),
        out,
    )
}

fn run_on(
    args: &MembenchArgs,
    machine: &Machine,
    out: &mut Out<'_>,
) -> Result<Ending, CommandError> {
    if args.device == Wanted::Cpu {
        return Err(CommandError::Input(
            "--device cpu: the kernels measure a GPU's memory; name cuda or emulated".to_owned(),
        ));
    }
    let named = machine
        .choose_one(Some(args.device))
        .map_err(|failure| match failure {
            CommandError::Environment(text) => CommandError::Environment(format!(
                "{text}; `--device emulated` checks the kernels without one"
            )),
            other => other,
        })?;
    let json = args.json.open()?;
    let info = named.device.info();
    let is_emulated = info.kind == DeviceKind::Emulated;
    let plot = match (&args.plot, is_emulated) {
        (Some(path), true) => {
            return Err(CommandError::Input(format!(
                "--plot {}: the emulated device measures no times to plot; leave --plot out",
                path.display()
            )));
        }
        (None, true) => None,
        (path, false) => {
            let path = path
                .as_deref()
                .unwrap_or(std::path::Path::new("membench.svg"));
            Some((OutputDocument::create("--plot", path)?, path))
        }
    };
    let map = match &args.map {
        Some(path) if is_emulated => {
            return Err(CommandError::Input(format!(
                "--map {}: the emulated device measures no times to draw; leave --map out",
                path.display()
            )));
        }
        Some(path) => Some((OutputDocument::create("--map", path)?, path)),
        None => None,
    };
    // A plot of what is finished is there at every moment: a signal loses none of it.
    let mut plotted = Ok(());
    let mut measured = measure(named, |so_far| {
        let plot = plot.as_ref();
        plotted = plot.map_or(Ok(()), |(file, path)| write_plot(file, path, so_far));
    })?;
    if map.is_some() {
        let options = LineOptions::for_device(info);
        let maps = LineAccess::ALL.map(|access| lines(named.device, access, &options));
        for access in maps {
            measured.lines.push(access.map_err(failure)?);
        }
    }
    if is_emulated {
        // Its clock counts instructions.
        measured.latencies.clear();
    }
    json.write("run membench", &measured, out)?;
    if json.wants_text() && is_emulated {
        let look = out.look();
        for (text, indent) in [
            (
                "membench on emulated: every chain ended where the CPU's does, every sum and copy is right",
                0,
            ),
            (
                "no times, no plot: the speed of the emulated device says nothing of a GPU",
                2,
            ),
        ] {
            out.line(look.wrapped(text, indent))?;
        }
        out.line("")?;
        out.line(report::coalescing(&measured.coalescing, out.look()))?;
    } else if json.wants_text() {
        out.line(report::render(&measured, info, out.look()))?;
    }
    plotted?;
    if let Some((_, path)) = plot.filter(|_| json.wants_text()) {
        out.line(format!("\n  wrote {}", path.display()))?;
    }
    if let Some((file, path)) = map {
        let svg = map::svg(&measured.device, &measured.lines)
            .map_err(|error| CommandError::not_written(path, &error))?;
        file.write_all(svg.as_bytes())?;
        if json.wants_text() {
            out.line(format!(
                "  wrote {}: {}",
                path.display(),
                map::summary(&measured.lines)
            ))?;
        }
    }
    Ok(Ending::Fine)
}

fn write_plot(
    file: &OutputDocument,
    path: &std::path::Path,
    measured: &Measured,
) -> Result<(), CommandError> {
    let svg = plot::svg(measured).map_err(|error| CommandError::not_written(path, &error))?;
    Ok(file.write_all(svg.as_bytes())?)
}

/// Measures, and tells what is there after each curve.
fn measure(
    Named { name, device }: Named<'_>,
    mut finished: impl FnMut(&Measured),
) -> Result<Measured, CommandError> {
    let info = device.info();
    let (latency_options, bandwidth_options, coalescing_options) = options(info);
    let mut measured = Measured {
        command_line: std::env::args().collect(),
        device: info.name.clone(),
        latencies: Vec::new(),
        bandwidths: Vec::new(),
        coalescing: Coalescing::default(),
        lines: Vec::new(),
    };
    for path in Path::ALL {
        let bar = Bar::new(format!("latency of {} on {name}", path.name()));
        let curve = latency(device, path, &latency_options, &bar).map_err(failure)?;
        measured.latencies.push(Latencies {
            levels: levels(path, &plateaus(&curve.points), info),
            curve,
        });
        finished(&measured);
    }
    let bar = Bar::new(format!("bandwidth on {name}"));
    measured.bandwidths = bandwidth(device, &bandwidth_options, &bar).map_err(failure)?;
    let coalescing_bar = Bar::new(format!("coalescing on {name}"));
    measured.coalescing =
        coalescing(device, &coalescing_options, &coalescing_bar).map_err(failure)?;
    Ok(measured)
}

/// The measurements: on the emulated device only enough to check what each kernel reads.
fn options(info: &DeviceInfo) -> (LatencyOptions, BandwidthOptions, CoalescingOptions) {
    let latency = LatencyOptions::for_device(info);
    let bandwidth = BandwidthOptions::for_device(info);
    let coalescing = CoalescingOptions::for_device(info);
    if info.kind != DeviceKind::Emulated {
        return (latency, bandwidth, coalescing);
    }
    (
        LatencyOptions {
            footprints_bytes: vec![1 << 10, 3 << 10, 16 << 10],
            loads: 256,
            most_warm_loads: 256,
            samples: 1,
            ..latency
        },
        BandwidthOptions {
            multiprocessors: 1,
            l2_blocks_per_multiprocessor: 1,
            device_bytes: 1 << 16,
            passes: 1,
            samples: 1,
        },
        CoalescingOptions {
            elements: coalescing.counted_elements,
            samples: 1,
            ..coalescing
        },
    )
}

fn failure(error: MembenchError) -> CommandError {
    match error {
        MembenchError::Host(error) => error.into(),
        MembenchError::Wrong { .. } => CommandError::Wrong(error.to_string()),
        // Users do not choose options.
        _ => CommandError::Bug(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
