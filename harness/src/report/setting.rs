//! Where and when it was measured: devices, limits, what is missing.

use host::limits::Limit;

use crate::page::{Cell, Page};
use crate::perf::results::Results;
use crate::units::{bytes, bytes_per_s, three, utc, waited};

/// Facts and limits.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let mut facts = Vec::new();
    for device in &results.devices {
        let mut text = device.info.name.clone();
        text += &device
            .info
            .memory_bytes
            .map(|b| format!(", {}", bytes(b)))
            .unwrap_or_default();
        text += &device
            .info
            .driver_cuda
            .map(|(major, minor)| format!(", CUDA {major}.{minor}"))
            .unwrap_or_default();
        let about = device.telemetry.as_ref();
        let driver = about.and_then(|about| about.driver.as_ref());
        text += &driver
            .map(|driver| format!(", driver {driver}"))
            .unwrap_or_default();
        facts.push(format!("{}: {text}", device.device));
        facts.extend(
            device
                .no_telemetry
                .as_ref()
                .map(|reason| format!("no telemetry: {reason}")),
        );
    }
    if let Some(cpu) = &results.cpu {
        facts.push(format!("cpu: {cpu}"));
    }
    let wall = std::time::Duration::try_from_secs_f64(results.wall_s).unwrap_or_default();
    facts.push(format!(
        "{}, took {}; harness {}",
        utc(results.began_unix_s),
        waited(wall),
        results.harness_version
    ));
    if results.between_runs > 0.0 {
        facts.push(format!(
            "medians of another run are within the intervals, widened by {} % on both sides",
            three(100.0 * results.between_runs)
        ));
    }
    facts.extend(
        results
            .quick
            .then(|| "quick: fewer samples than usual".to_owned()),
    );
    facts.extend(
        results
            .interrupted
            .then(|| "interrupted: not all that was asked for".to_owned()),
    );
    facts.extend(
        results
            .missing
            .iter()
            .map(|missing| format!("missing: {missing}")),
    );
    page.list(facts);
    page.command(command);
    let limits: Vec<Vec<Cell>> = results
        .devices
        .iter()
        .flat_map(|device| {
            Limit::ALL.into_iter().filter_map(|limit| {
                let rate = device.limits.get(limit)?;
                let text = |per_s: f64| match limit.unit() {
                    "flop" => format!("{} Tflop/s", three(per_s / 1e12)),
                    _ => bytes_per_s(per_s),
                };
                Some(vec![
                    Cell::text(limit.name()),
                    Cell::number(text(rate.best_per_s)),
                    Cell::number(text(rate.median_per_s)),
                    Cell::text(&device.device),
                ])
            })
        })
        .collect();
    if !limits.is_empty() {
        page.section("Limits, measured in the same run");
        let headers = [
            Cell::text("limit"),
            Cell::number("best"),
            Cell::number("median"),
            Cell::text("device"),
        ];
        page.table(&headers, limits);
        page.command(command);
    }
}
