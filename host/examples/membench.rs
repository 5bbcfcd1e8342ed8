//! Latency and bandwidth of every level of the first GPU's memory: `cargo run --release -p host --example membench`.
//!
//! One line a figure, and at the end everything as JSON if the argument `--json` is given.

use host::membench::{
    BandwidthOptions, LatencyOptions, Path, bandwidth, latency, levels, plateaus,
};
use host::{Device, NoProgress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let devices = host::device::discover()?;
    let device: &dyn Device = devices[0].as_ref();
    println!("{}", device.info().name);

    let mut curves = Vec::new();
    for path in Path::ALL {
        let options = LatencyOptions::for_device(device.info());
        let curve = latency(device, path, &options, &NoProgress)?;
        println!("\n{}", path.name());
        for point in &curve.points {
            let kib = point.footprint_bytes as f64 / 1024.0;
            println!(
                "{kib:12.2} KiB {:8.1} cycles {:8.1} ns",
                point.cycles, point.ns
            );
        }
        for level in levels(path, &plateaus(&curve.points), device.info()) {
            println!("{level:?}");
        }
        curves.push(curve);
    }

    let options = BandwidthOptions::for_device(device.info());
    let figures = bandwidth(device, &options, &NoProgress)?;
    println!();
    for figure in &figures {
        println!(
            "{:14} {:6} {:8.1} MiB {:>10}",
            figure.memory.name(),
            figure.access.name(),
            figure.footprint_bytes as f64 / f64::from(1 << 20),
            figure
                .bytes_per_s
                .map_or("-".to_owned(), |rate| format!("{:.0} GB/s", rate / 1e9)),
        );
    }
    if std::env::args().any(|argument| argument == "--json") {
        println!("{}", serde_json::to_string(&(curves, figures))?);
    }
    Ok(())
}
