//! How rows of a case compare: with the references, and among each other.

use lab::Cpu;
use stats::{Confidence, Interval, Summary, interval};

use results::{Comparisons, Figures, Ratio, Row};

/// Times turn by turn, and the samples that count.
type Turns<'t> = (&'t [Option<f64>], &'t [f64]);

/// How many times as long the other takes: turn by turn where enough turns have a sample of both,
/// otherwise from all samples.
pub(crate) fn times_as_long(own: Turns<'_>, other: Turns<'_>) -> Ratio {
    let turns = own.0.iter().zip(other.0);
    let both = turns.filter_map(|(mine, its)| mine.zip(*its));
    let (own_s, other_s): (Vec<f64>, Vec<f64>) = both.unzip();
    let reaches = |interval: &Interval| interval.reaches(Confidence::P95);
    let in_turns = (!own_s.is_empty() && own.0.len() == other.0.len())
        .then(|| interval::paired_ratio(&own_s, &other_s, Confidence::P95))
        .filter(reaches);
    let of_all = || interval::ratio(own.1, other.1, Confidence::P95).filter(reaches);
    let interval = in_turns.or_else(of_all);
    let median = |samples: &[f64]| Summary::new(samples.to_vec()).median_s;
    Ratio {
        estimate: interval.map_or_else(|| median(other.1) / median(own.1), |known| known.estimate),
        interval: interval.map(|interval| [interval.low, interval.high]),
    }
}

/// Notes each row's rate relative to the references', where these are results.
pub(super) fn compare_with_cpu(rows: &mut [Row], references: &[Row]) {
    let of_cpu = |cpu: Cpu| {
        let reference = references.iter().find(|row| row.variant == cpu.name());
        reference?.figures().filter(|figures| figures.is_result())
    };
    let (serial, parallel) = (of_cpu(Cpu::Serial), of_cpu(Cpu::Parallel));
    for figures in rows.iter_mut().filter_map(Row::figures_mut) {
        let against = |other: &Figures| {
            let rates = [figures.work.updates_per_s, other.work.updates_per_s];
            Ratio::of_rates(rates, &figures.run, &other.run)
        };
        let (vs_serial, vs_cpu) = (serial.map(against), parallel.map(against));
        figures.compared = Comparisons {
            vs_serial,
            vs_cpu,
            ..figures.compared
        };
    }
}

/// Marks the best of a device's several right variants, and those that turn by turn cannot be told
/// from it.
pub(super) fn mark_fastest(rows: &mut [Row], turns_s: &[Vec<Option<f64>>]) {
    let right: Vec<usize> = (0..rows.len())
        .filter(|at| {
            let is_result = rows[*at].figures().is_some_and(Figures::is_result);
            is_result && rows[*at].language.is_none()
        })
        .collect();
    let samples = |at: usize| {
        rows[at]
            .figures()
            .map_or(&[][..], |figures| &figures.run.samples_s)
    };
    let median_s = |at: &usize| rows[*at].figures().map_or(0.0, |own| own.run.median_s);
    let by_median = |a: &&usize, b: &&usize| median_s(a).total_cmp(&median_s(b));
    let Some(&fastest) = right.iter().min_by(by_median).filter(|_| right.len() > 1) else {
        return;
    };
    let is_as_fast = |at: &usize| {
        let own = (&turns_s[*at][..], samples(*at));
        let ratio = times_as_long(own, (&turns_s[fastest], samples(fastest)));
        *at == fastest || ratio.interval.is_some_and(|[_, high]| high >= 1.0)
    };
    let marked: Vec<usize> = right.iter().copied().filter(is_as_fast).collect();
    for at in marked {
        if let Some(figures) = rows[at].figures_mut() {
            figures.compared.is_fastest = true;
        }
    }
}

/// Notes how each row compares with that of the fewest devices.
pub(super) fn compare_with_fewest(rows: &mut [Row]) {
    let usable = |row: &Row| {
        let figures = row.figures().filter(|figures| figures.is_result())?;
        let rate = figures.work.updates as f64 / figures.steps() / figures.run.median_s.max(1e-12);
        Some((rate, figures.run.clone()))
    };
    let mut timed = rows.iter().filter(|row| row.figures().is_some());
    let Some(first) = timed.next() else { return };
    let (fewest, base) = (first.gpus.unwrap_or(1), usable(first));
    for row in rows {
        let gpus = row.gpus.unwrap_or(1);
        let speedup = usable(row)
            .zip(base.as_ref())
            .map(|((rate, run), (base_rate, base_run))| {
                Ratio::of_rates([rate, *base_rate], &run, base_run)
            });
        let times = f64::from(gpus) / f64::from(fewest);
        if let Some(known) = row.figures_mut().and_then(|own| own.on_several.as_mut()) {
            known.speedup = speedup.filter(|_| gpus != fewest);
            known.efficiency = known.speedup.map(|ratio| ratio.times(1.0 / times));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::{Clock, Correctness, OnSeveral, Outcome, Workload};

    fn row(gpus: u32, points: u64, run_s: f64) -> Row {
        let figures = Figures {
            timesteps: Some(2),
            work: Workload {
                updates: 2 * points,
                ..Workload::default()
            },
            judgement: Correctness::Equal.into(),
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
    fn compared(mut rows: Vec<Row>) -> Vec<Option<[f64; 2]>> {
        compare_with_fewest(&mut rows);
        let speedups = rows.iter().map(|row| {
            let known = row.figures()?.on_several.as_ref()?;
            Some([known.speedup?.estimate, known.efficiency?.estimate])
        });
        speedups.collect()
    }

    #[test]
    fn few_common_turns_leave_the_ratio_of_all_samples() {
        // Each has six samples that count, five of them in common turns.
        let own = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98];
        let other = own.map(|time| 2.0 * time);
        let turns = |times: [f64; 6], discarded: usize| {
            let mut turns = times.map(Some).to_vec();
            turns.insert(discarded, None);
            turns
        };
        let (own_turns, other_turns) = (turns(own, 1), turns(other, 4));
        let ratio = times_as_long((&own_turns, &own), (&other_turns, &other));
        let [low, high] = ratio.interval.unwrap();
        assert!(
            low < 2.0 && 2.0 < high && high - low < 0.1,
            "{low} to {high}"
        );
        assert!((ratio.estimate - 2.0).abs() < 0.01, "{}", ratio.estimate);
    }

    #[test]
    fn what_cannot_be_told_from_the_fastest_is_marked_too() {
        let turns = |times: [f64; 6]| times.map(Some).to_vec();
        let times = [
            [1.0, 1.01, 0.99, 1.0, 1.02, 0.98],
            [1.01, 1.0, 1.0, 0.99, 1.02, 0.99],
            [1.03, 1.04, 1.02, 1.03, 1.05, 1.01],
        ];
        let mut rows = times.map(|times| Row {
            gpus: None,
            outcome: Outcome::Timed(Box::new(Figures::new(
                Summary::new(times.to_vec()),
                Clock::Device,
                1.0,
            ))),
            ..row(1, 1, 1.0)
        });
        mark_fastest(&mut rows, &times.map(turns));
        let marked = rows.map(|row| row.figures().unwrap().compared.is_fastest);
        assert_eq!(marked, [true, true, false]);
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
        wrong.figures_mut().unwrap().judgement.result = Correctness::Wrong;
        let rows = vec![row(1, 100, 8.0), wrong, row(4, 100, 2.0)];
        assert_eq!(compared(rows), [None, None, Some([4.0, 1.0])]);
    }
}
