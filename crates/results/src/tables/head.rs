//! The head of a measurement: its CPU, its devices, and what they do at best.

use host::limits::{Limit, MeasuredLimits};
use terminal::look::Look;
use terminal::table::{Align, Columns, Tone};
use units::{bytes_per_s, three};

use crate::document::Results;

/// A line for the CPU, some for each device, and what is missing.
pub fn render(results: &Results, look: Look) -> String {
    let mut table = Columns::new(look, [Align::Left; 2]);
    let mut row = |name: &str, text: &str| {
        table.row([(name, Tone::Normal), (text, Tone::Normal)]);
    };
    if let Some(cpu) = &results.cpu {
        row("cpu", &cpu.to_string());
    }
    for record in &results.devices {
        let about = record.telemetry.as_ref();
        let driver = about.and_then(|about| about.driver.as_deref());
        let driver = driver.map_or(String::new(), |driver| format!(", driver {driver}"));
        row(&record.device, &format!("{}{driver}", record.info.name));
        for line in limits(&record.limits) {
            row("", &line);
        }
    }
    if !results.devices.is_empty() {
        let percent = 100.0 * results.between_runs;
        row("", &format!("another run: within ± and {percent:.2} %"));
    }
    let mut text = table.render(0) + "\n";
    for missing in &results.missing {
        text += &look.wrapped(&format!("missing: {missing}"), 0);
        text += "\n";
    }
    text
}

fn limits(limits: &MeasuredLimits) -> Vec<String> {
    let rate = |limit: Limit| {
        let best = limits.get(limit)?.best_per_s;
        Some(match limit.unit() {
            "byte" => format!("{} {}", limit.name(), bytes_per_s(best)),
            _ => format!("{} {} Tflop/s", limit.name(), three(best / 1e12)),
        })
    };
    let line = |title: &str, of: &[Limit]| {
        let rates: Vec<String> = of.iter().copied().filter_map(rate).collect();
        (!rates.is_empty()).then(|| format!("{title}{}", rates.join(", ")))
    };
    let memory = [Limit::Copy, Limit::Read, Limit::Write];
    let caches = [Limit::L2, Limit::Shared, Limit::Fp32, Limit::Fp64];
    [line("at best: ", &memory), line("         ", &caches)]
        .into_iter()
        .flatten()
        .collect()
}
