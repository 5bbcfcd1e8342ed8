//! How rows of a case compare: with the references, and among each other.

use host::Cpu;

use crate::devices::Wanted;
use crate::perf::results::{Ratio, Row, Verdict};
use crate::stats::Summary;
use crate::stats::interval::{self, Confidence};

/// Times turn by turn, and the samples that count.
pub(super) type Turns = (Vec<Option<f64>>, Vec<f64>);

/// How many times as long the other takes: turn by turn where both took turns, otherwise from all samples.
pub(super) fn times_as_long((own_turns, own): &Turns, (other_turns, other): &Turns) -> Ratio {
    let interval = if own_turns.len() == other_turns.len() {
        let turns = own_turns.iter().zip(other_turns);
        let both = turns.filter_map(|(own, other)| own.zip(*other));
        let (own, other): (Vec<f64>, Vec<f64>) = both.unzip();
        let is_any = !own.is_empty();
        is_any.then(|| interval::paired_ratio(&own, &other, Confidence::P95))
    } else {
        interval::ratio(own, other, Confidence::P95)
    };
    let interval = interval.filter(|interval| interval.reaches(Confidence::P95));
    let median = |samples: &[f64]| Summary::new(samples.to_vec()).median_s;
    Ratio {
        estimate: interval.map_or_else(|| median(other) / median(own), |known| known.estimate),
        interval: interval.map(|interval| [interval.low, interval.high]),
    }
}

/// Notes each row's rate relative to the references'.
pub(super) fn compare_with_cpu(rows: &mut [Row]) {
    let rate = |cpu: Cpu| {
        let row = rows
            .iter()
            .find(|row| row.device == Wanted::Cpu.to_string() && row.variant == cpu.name())?;
        Some(row.figures()?.updates_per_s)
    };
    let (serial, parallel) = (rate(Cpu::Serial), rate(Cpu::Parallel));
    for figures in rows.iter_mut().filter_map(Row::figures_mut) {
        figures.vs_serial = serial.map(|rate| figures.updates_per_s / rate);
        figures.vs_cpu = parallel.map(|rate| figures.updates_per_s / rate);
    }
}

/// Marks the best of several right variants of each device.
pub(super) fn mark_fastest(rows: &mut [Row]) {
    let is_right = |row: &Row| {
        let figures = row.figures();
        figures
            .is_some_and(|figures| !matches!(figures.result, Verdict::Wrong | Verdict::Reference))
    };
    let mut devices: Vec<String> = rows.iter().map(|row| row.device.clone()).collect();
    devices.dedup();
    devices.retain(|device| *device != Wanted::Cpu.to_string());
    for device in devices {
        let mut right: Vec<&mut Row> = rows
            .iter_mut()
            .filter(|row| row.device == device && row.language.is_none() && is_right(row))
            .collect();
        if right.len() < 2 {
            continue;
        }
        let time = |row: &Row| {
            row.figures()
                .map_or(f64::INFINITY, |figures| figures.run.median_s)
        };
        right.sort_by(|a, b| time(a).total_cmp(&time(b)));
        if let Some(figures) = right[0].figures_mut() {
            figures.is_fastest = true;
        }
    }
}
