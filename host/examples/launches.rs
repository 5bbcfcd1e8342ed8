//! The cost of a launch by stream and in a graph: `cargo run --release -p host --example launches`.
//!
//! Small grids, whose kernels take less time than their launches, on the first GPU: microseconds
//! per launch with plans run back to back, and how long a graph of these launches takes to make.

use std::time::Duration;

use device::{Capture, Device, Launching, run};
use host::find_lab;
use lab::CaseParams;

/// Each figure is of at least this much time.
const SAMPLE: Duration = Duration::from_millis(50);
const SAMPLES: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let devices = cuda::discover()?;
    let device: &dyn Device = devices[0].as_ref();
    println!("{}", device.info().name);
    println!(
        "microseconds a launch: by stream, in a graph, in a graph by the host's clock; a graph made in"
    );
    let cases = [
        ("wave3d", "single", "n_x=32 n_y=32 n_z=32 steps"),
        ("poisson", "reads_source", "n=32 iterations"),
        ("poisson", "computes_source", "n=32 iterations"),
        ("wave2d", "naive", "n_x=201 n_y=201 steps"),
    ];
    for (lab, variant, params) in cases {
        for steps in [10, 100, 1000, 12_800] {
            let params = format!("{params}={steps}");
            measure(device, lab, variant, &params)?;
        }
    }
    Ok(())
}

fn measure(
    device: &dyn Device,
    lab: &str,
    variant: &str,
    params: &str,
) -> Result<(), Box<dyn std::error::Error>> {
    let lab = find_lab(lab)?;
    let case = lab.case(&CaseParams::parse(params.split(' '))?)?;
    let plan = lab.find(variant)?.record(case.as_ref())?;
    let launches = plan.commands().len() as f64;
    let mut session = device.prepare(&lab.module, &plan)?;
    run::reset(session.as_mut(), &plan, &case.inputs()?)?;
    let capture = session.capture()?;
    let mut figures = Vec::new();
    for by in [Launching::Stream, Launching::Graph] {
        let one = session.run_times(1, by)?.host;
        let runs = (SAMPLE.as_secs_f64() / one.as_secs_f64()).ceil() as u32;
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            let timing = session.run_times(runs, by)?;
            let us = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(runs) / launches;
            samples.push((us(timing.device.unwrap_or(timing.host)), us(timing.host)));
        }
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        figures.push(samples[SAMPLES / 2]);
    }
    let made = match capture {
        Capture::Graph { nodes, made_in } => format!("{nodes} nodes in {made_in:.2?}"),
        Capture::Stream { reason } => reason,
    };
    println!(
        "{:8} {variant:16} {params:34} {:7.3} {:7.3} {:7.3}  {made}",
        lab.name, figures[0].0, figures[1].0, figures[1].1
    );
    Ok(())
}
