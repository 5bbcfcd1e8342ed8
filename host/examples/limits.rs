//! What the first GPU can do at best, and what it reports meanwhile: `cargo run --release -p host --example limits`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use host::limits::{Limit, Options, measure};
use host::telemetry::{self, Recorder};
use host::{Device, NoProgress};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let devices = host::device::discover()?;
    let device: &dyn Device = devices[0].as_ref();
    let info = device.info();
    println!("{} at {:?}", info.name, info.pci_bus_id);
    let recorder = match telemetry::open(info) {
        Ok(telemetry) => {
            println!("{:?}", telemetry.about());
            Some(Recorder::start(
                Arc::from(telemetry),
                Duration::from_millis(20),
            ))
        }
        Err(none) => {
            println!("{none}");
            None
        }
    };
    let began = Instant::now();
    for limit in Limit::ALL {
        let began = Instant::now();
        let limits = measure(device, &Options::for_device(info), &[limit], &NoProgress)?;
        match limits.get(limit) {
            Some(rate) => println!(
                "{:20} best {:9.1} median {:9.1} G{}/s, {} runs a sample, {:.0?}",
                limit.name(),
                rate.best_per_s / 1e9,
                rate.median_per_s / 1e9,
                limit.unit(),
                rate.runs,
                began.elapsed(),
            ),
            None => println!("{:20} too little memory", limit.name()),
        }
    }
    println!("all in {:.2?}", began.elapsed());
    if let Some(recorder) = recorder {
        let trace = recorder.stop();
        println!("{} readings", trace.samples.len());
        println!(
            "SM clock {:?} MHz",
            trace.range(|reading| reading.sm_clock_mhz)
        );
        println!(
            "temperature {:?} C",
            trace.range(|reading| reading.temperature_c)
        );
        println!("power {:?} W", trace.range(|reading| reading.power_w));
        println!("energy {:?} J", trace.energy_j());
        println!("throttled by {:?}", trace.throttled_by());
        println!(
            "last {:?}",
            trace.samples.last().map(|sample| &sample.reading)
        );
    }
    Ok(())
}
