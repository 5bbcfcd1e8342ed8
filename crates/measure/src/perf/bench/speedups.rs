//! How rows of a case compare: with the references, and among each other.

use lab::Cpu;
use stats::{Confidence, Summary, interval};

use crate::perf::results::{Correctness, Ratio, Row};
use lab::devices::Wanted;

/// Times turn by turn, and the samples that count.
type Turns<'t> = (&'t [Option<f64>], &'t [f64]);

/// How many times as long the other takes: turn by turn where both took turns, otherwise from all
/// samples.
pub(crate) fn times_as_long(own: Turns<'_>, other: Turns<'_>) -> Ratio {
    let interval = if !own.0.is_empty() && own.0.len() == other.0.len() {
        let turns = own.0.iter().zip(other.0);
        let both = turns.filter_map(|(own, other)| own.zip(*other));
        let (own, other): (Vec<f64>, Vec<f64>) = both.unzip();
        let is_any = !own.is_empty();
        is_any.then(|| interval::paired_ratio(&own, &other, Confidence::P95))
    } else {
        interval::ratio(own.1, other.1, Confidence::P95)
    };
    let interval = interval.filter(|interval| interval.reaches(Confidence::P95));
    let median = |samples: &[f64]| Summary::new(samples.to_vec()).median_s;
    Ratio {
        estimate: interval.map_or_else(|| median(other.1) / median(own.1), |known| known.estimate),
        interval: interval.map(|interval| [interval.low, interval.high]),
    }
}

/// Notes each row's rate relative to the references', where these are results.
pub(super) fn compare_with_cpu(rows: &mut [Row], references: &[Row]) {
    let rate = |cpu: Cpu| {
        let reference = references.iter().find(|row| row.variant == cpu.name());
        let figures = reference?.figures()?;
        figures.is_result().then_some(figures.updates_per_s)
    };
    let (serial, parallel) = (rate(Cpu::Serial), rate(Cpu::Parallel));
    for figures in rows.iter_mut().filter_map(Row::figures_mut) {
        figures.vs_serial = serial.map(|rate| figures.updates_per_s / rate);
        figures.vs_cpu = parallel.map(|rate| figures.updates_per_s / rate);
    }
}

/// Marks the best of several right variants of each device.
pub(super) fn mark_fastest(rows: &mut [Row]) {
    let mut devices: Vec<String> = rows.iter().map(|row| row.device.clone()).collect();
    devices.dedup();
    devices.retain(|device| *device != Wanted::Cpu.to_string());
    for device in devices {
        let ours = rows.iter_mut();
        let ours = ours.filter(|row| row.device == device && row.language.is_none());
        let figures = ours.filter_map(Row::figures_mut);
        let mut right: Vec<_> = figures
            .filter(|figures| figures.result != Correctness::Wrong)
            .collect();
        right.sort_by(|a, b| a.run.median_s.total_cmp(&b.run.median_s));
        if let [fastest, _, ..] = &mut right[..] {
            fastest.is_fastest = true;
        }
    }
}
