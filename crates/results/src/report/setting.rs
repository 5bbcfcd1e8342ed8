//! Where and when it was measured: devices, limits, what is missing.

use std::time::Duration;

use host::limits::Limit;
use page::Page;
use units::{bytes, bytes_per_s, three, utc, waited};

use crate::document::Results;
use terminal::table::Table;

/// Facts and limits.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let mut facts = Vec::new();
    for device in &results.devices {
        let info = &device.info;
        let driver = device
            .telemetry
            .as_ref()
            .and_then(|about| about.driver.as_ref());
        let parts: Vec<String> = [
            Some(info.name.clone()),
            info.memory_bytes.map(bytes),
            info.driver_cuda
                .map(|(major, minor)| format!("CUDA {major}.{minor}")),
            driver.map(|driver| format!("driver {driver}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        facts.push(format!("{}: {}", device.device, parts.join(", ")));
        let reason = device.no_telemetry.iter();
        facts.extend(reason.map(|reason| format!("no telemetry: {reason}")));
    }
    facts.extend(results.cpu.iter().map(|cpu| format!("cpu: {cpu}")));
    facts.push(format!(
        "{}, took {}; harness {}",
        utc(results.began_unix_s),
        waited(Duration::try_from_secs_f64(results.wall_s).unwrap_or_default()),
        results.harness_version
    ));
    if results.between_runs > 0.0 {
        facts.push(format!(
            "medians of another run are within the intervals, widened by {} % on both sides",
            three(100.0 * results.between_runs)
        ));
    }
    if results.quick {
        facts.push("quick: fewer samples than usual".to_owned());
    }
    if results.interrupted {
        facts.push("interrupted: not all that was asked for".to_owned());
    }
    let missing = results.missing.iter();
    facts.extend(missing.map(|missing| format!("missing: {missing}")));
    page.section("Where, when, and the limits");
    page.list(facts);

    let mut limits = Vec::new();
    for device in &results.devices {
        for limit in Limit::ALL {
            let rate = device.limits.get(limit);
            limits.extend(rate.map(|rate| (limit, rate, &device.device)));
        }
    }
    let text = |limit: Limit, per_s: f64| {
        Some(match limit.unit() {
            "flop" => format!("{} Tflop/s", three(per_s / 1e12)),
            _ => bytes_per_s(per_s),
        })
    };
    if limits.is_empty() {
        page.command(command);
        return;
    }
    page.remark("Limits, measured in the same run:");
    Table::new(&limits)
        .left("limit", |(limit, ..)| limit.name().to_owned())
        .right("best", |(limit, rate, _)| text(*limit, rate.best_per_s))
        .right("median", |(limit, rate, _)| text(*limit, rate.median_per_s))
        .left("device", |(_, _, device)| (*device).clone())
        .add_to(page, |_| "");
    page.command(command);
}
