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

/// Notes how each row compares with that of the fewest devices.
pub(super) fn compare_with_fewest(rows: &mut [Row]) {
    let usable = |row: &Row| {
        let figures = row.figures().filter(|figures| figures.is_result())?;
        Some(figures.updates as f64 / figures.steps() / figures.run.median_s.max(1e-12))
    };
    let mut timed = rows.iter().filter(|row| row.figures().is_some());
    let Some(first) = timed.next() else { return };
    let (fewest, base) = (first.gpus.unwrap_or(1), usable(first));
    for row in rows {
        let gpus = row.gpus.unwrap_or(1);
        let speedup = usable(row).zip(base).map(|(rate, base)| rate / base);
        let times = f64::from(gpus) / f64::from(fewest);
        if let Some(known) = row.figures_mut().and_then(|own| own.on_several.as_mut()) {
            known.speedup = speedup.filter(|_| gpus != fewest);
            known.efficiency = known.speedup.map(|speedup| speedup / times);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::results::{Clock, Figures, OnSeveral, Outcome};

    fn row(gpus: u32, points: u64, run_s: f64) -> Row {
        let figures = Figures {
            timesteps: Some(2),
            updates: 2 * points,
            result: Correctness::Equal,
            on_several: Some(OnSeveral::default()),
            ..Figures::new(Summary::new(vec![run_s; 6]), Clock::Device, run_s)
        };
        let outcome = Outcome::Timed(Box::new(figures));
        Row {
            gpus: Some(gpus),
            ..Row::new("cuda", "split", "8^3, 2 iterations".to_owned(), outcome)
        }
    }

    /// Speedup and efficiency of each row.
    fn compared(rows: Vec<Row>) -> Vec<Option<[f64; 2]>> {
        let mut rows = rows;
        compare_with_fewest(&mut rows);
        let rows = rows.iter();
        rows.map(|row| {
            let known = row.figures()?.on_several.as_ref()?;
            Some([known.speedup?, known.efficiency?])
        })
        .collect()
    }

    #[test]
    fn efficiency_is_against_the_fewest_that_fit() {
        let strong = vec![row(1, 100, 8.0), row(2, 100, 5.0), row(4, 100, 2.5)];
        assert_eq!(compared(strong), [None, Some([1.6, 0.8]), Some([3.2, 0.8])]);
        let does_not_fit = Row {
            outcome: Outcome::DoesNotFit,
            ..row(1, 100, 1.0)
        };
        let large = vec![does_not_fit, row(2, 100, 8.0), row(4, 100, 5.0)];
        assert_eq!(compared(large), [None, None, Some([1.6, 0.8])]);
        // Of four times the work in twice the time, on four devices.
        let weak = vec![row(1, 100, 1.0), row(4, 400, 2.0)];
        assert_eq!(compared(weak), [None, Some([2.0, 0.5])]);
    }

    #[test]
    fn what_is_no_result_is_compared_with_nothing() {
        let mut wrong = row(2, 100, 4.0);
        wrong.figures_mut().unwrap().result = Correctness::Wrong;
        let rows = vec![row(1, 100, 8.0), wrong, row(4, 100, 2.0)];
        assert_eq!(compared(rows), [None, None, Some([4.0, 1.0])]);
    }
}
