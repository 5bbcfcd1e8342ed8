//! The flat parts of a latency curve.

use serde::{Deserialize, Serialize};

use super::latency::LatencyPoint;

/// The largest allowed difference of a plateau's latencies, as a share of the smallest. Noise and
/// TLB misses cause the difference.
pub const FLATNESS: f64 = 0.15;

/// The least ratio of a plateau's last footprint to its first: two octaves.
pub const LEAST_SPAN: f64 = 4.0;

/// Flatness and least span of a step, which a curve takes on its way from one plateau to the next.
const STEP: Flat = Flat {
    flatness: 0.05,
    least_span: 1.25,
};

/// How flat and how long a part of a curve is.
#[derive(Clone, Copy)]
struct Flat {
    flatness: f64,
    least_span: f64,
}

/// A flat part of a latency curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// Median of its points.
    pub cycles: f64,
    /// Median of its points.
    pub ns: f64,
    /// Its first footprint.
    pub first_bytes: u64,
    /// Its last footprint.
    pub last_bytes: u64,
    /// The first footprint after the plateau; `None` at the curve's end.
    pub next_bytes: Option<u64>,
}

/// The plateaus of a curve, whose points are in the order of their footprints.
///
/// The longest run of points within [`FLATNESS`] is a plateau if it spans [`LEAST_SPAN`]. The same
/// rule applies to the points before and after it. Points between plateaus, where a footprint fits
/// a cache only in part, belong to none.
pub fn plateaus(points: &[LatencyPoint]) -> Vec<Plateau> {
    let flat = Flat {
        flatness: FLATNESS,
        least_span: LEAST_SPAN,
    };
    let mut found = Vec::new();
    collect(points, flat, 0, points.len(), &mut found);
    found
}

/// The steps of a curve: flat parts between its plateaus that are too short for one. Of a cache of
/// several parts, a footprint may fill one and not yet the next.
pub fn steps(points: &[LatencyPoint]) -> Vec<Plateau> {
    let at = |bytes: u64| points.partition_point(|point| point.footprint_bytes < bytes);
    let plateaus = plateaus(points);
    let between = plateaus.windows(2).map(|pair| {
        let from = pair[0].next_bytes.map_or(points.len(), at);
        (from, at(pair[1].first_bytes))
    });
    let mut found = Vec::new();
    between.for_each(|(from, to)| collect(points, STEP, from, to, &mut found));
    found
}

/// The plateaus among `points[first..end]`, in order.
fn collect(
    points: &[LatencyPoint],
    flat: Flat,
    first: usize,
    end: usize,
    found: &mut Vec<Plateau>,
) {
    let Some((from, to)) = longest_run(&points[first..end], flat) else {
        return;
    };
    let (from, to) = (first + from, first + to);
    collect(points, flat, first, from, found);
    let run = &points[from..to];
    found.push(Plateau {
        cycles: median(run.iter().map(|point| point.cycles)),
        ns: median(run.iter().map(|point| point.ns)),
        first_bytes: run[0].footprint_bytes,
        last_bytes: run[run.len() - 1].footprint_bytes,
        next_bytes: points.get(to).map(|point| point.footprint_bytes),
    });
    collect(points, flat, to, end, found);
}

/// The start and end of the flat run with the largest span, if the span is large enough.
fn longest_run(points: &[LatencyPoint], flat: Flat) -> Option<(usize, usize)> {
    let mut longest = None;
    let mut longest_span = flat.least_span;
    for from in 0..points.len() {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for (to, point) in points.iter().enumerate().skip(from) {
            least = least.min(point.cycles);
            most = most.max(point.cycles);
            if !point.cycles.is_finite() || most > least * (1.0 + flat.flatness) {
                break;
            }
            let span = point.footprint_bytes as f64 / points[from].footprint_bytes as f64;
            if span > longest_span || span == longest_span && longest.is_none() {
                (longest, longest_span) = (Some((from, to + 1)), span);
            }
        }
    }
    longest
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        0.5 * (values[middle - 1] + values[middle])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A curve with four points per octave from 1 KiB to 1 GiB.
    fn curve(cycles: impl Fn(u64) -> f64) -> Vec<LatencyPoint> {
        let footprints =
            (0..=80_u32).map(|step| (1024_u64 << (step / 4)) / 4 * u64::from(4 + step % 4));
        footprints
            .map(|footprint_bytes| {
                let cycles = cycles(footprint_bytes);
                LatencyPoint {
                    footprint_bytes,
                    cycles,
                    ns: cycles / 2.0,
                }
            })
            .collect()
    }

    /// Caches of these sizes and latencies, the last without end. In a random chain that is larger
    /// than a cache, the share of hits is the share that the cache holds.
    fn caches(levels: &[(u64, f64)]) -> impl Fn(u64) -> f64 {
        move |footprint| {
            let (mut expected, mut missing) = (0.0, 1.0);
            for &(size, cycles) in levels {
                let hits = (size as f64 / footprint as f64).min(1.0);
                let share = (hits - (1.0 - missing)).max(0.0);
                expected += share * cycles;
                missing -= share;
            }
            expected
        }
    }

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;

    /// The expected sizes and latencies of an H100.
    const H100: [(u64, f64); 3] = [(200 * KIB, 34.0), (28 * MIB, 265.0), (u64::MAX, 650.0)];

    #[test]
    fn three_levels_are_three_plateaus() {
        let found = plateaus(&curve(caches(&H100)));
        let cycles: Vec<f64> = found.iter().map(|plateau| plateau.cycles).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(cycles[0], 34.0);
        assert!((cycles[1] / 265.0 - 1.0).abs() < 0.05, "{cycles:?}");
        assert!((cycles[2] / 650.0 - 1.0).abs() < 0.06, "{cycles:?}");
        // L1 ends at the last footprint that fits; 224 KiB does not.
        assert_eq!(found[0].first_bytes, KIB);
        assert_eq!(
            (found[0].last_bytes, found[0].next_bytes),
            (192 * KIB, Some(224 * KIB))
        );
        // The plateau ends where L2 ends, within the flatness.
        assert!(
            (24 * MIB..=40 * MIB).contains(&found[1].last_bytes),
            "{found:?}"
        );
        assert_eq!(
            (found[2].last_bytes, found[2].next_bytes),
            (1024 * MIB, None)
        );
        assert_eq!(found[0].ns, 17.0);
    }

    #[test]
    fn one_level_is_one_plateau() {
        let found = plateaus(&curve(|_| 500.0));
        let [all] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((all.first_bytes, all.last_bytes), (KIB, 1024 * MIB));
        assert_eq!((all.cycles, all.next_bytes), (500.0, None));
    }

    #[test]
    fn a_slope_is_no_plateau() {
        // Twice the latency in each octave: 15 % are a fifth of an octave.
        assert_eq!(plateaus(&curve(|footprint| footprint as f64)), []);
    }

    #[test]
    fn a_single_outlier_does_not_hide_a_level() {
        let levels = caches(&H100);
        let found = plateaus(&curve(|footprint| {
            let slow = if footprint == 8 * KIB { 3.0 } else { 1.0 };
            slow * levels(footprint)
        }));
        let l1 = found.iter().filter(|plateau| plateau.cycles == 34.0);
        // Before and after it.
        assert_eq!(l1.count(), 2, "{found:?}");
    }

    #[test]
    fn too_few_points_are_no_plateau() {
        assert_eq!(plateaus(&[]), []);
        let one = &curve(|_| 34.0)[..1];
        assert_eq!(plateaus(one), []);
        assert_eq!(plateaus(&curve(|_| f64::NAN)), []);
    }

    /// The noise of each point, to either side.
    const NOISE: f64 = 0.03;

    /// The least span of each level's plateau under that noise, and its largest error.
    ///
    /// Noise does not break up a run whose own latencies differ by at most 1.15 * 0.97 / 1.03: from
    /// 2.5 to 28 MiB in L2, from 192 MiB to 1 GiB in device memory. The plateau found spans no
    /// less. It may lie at smaller footprints, whose loads hit the next smaller cache more often.
    /// There noise can make up for latencies that differ by up to 1.15 * 1.03 / 0.97. The lowest
    /// such runs that span enough are 0.875 to 10 MiB, with a median of 250 cycles, and 80 to 448
    /// MiB, with 594. The noise itself adds another 3 %.
    const WITHIN: [(f64, f64); 3] = [
        (192.0, NOISE + 1e-9),
        (28.0 / 2.5, 1.0 - 0.97 * 249.96 / 265.0),
        (1024.0 / 192.0, 1.0 - 0.97 * 593.6 / 650.0),
    ];

    fn noisy(points: &[LatencyPoint], noise: impl Fn(usize) -> f64) -> Vec<LatencyPoint> {
        let mut points = points.to_vec();
        for (index, point) in points.iter_mut().enumerate() {
            point.cycles *= noise(index);
        }
        points
    }

    #[test]
    fn the_worst_noise_lowers_device_memory_by_an_eighth() {
        let still = curve(caches(&H100));
        let found = plateaus(&noisy(&still, |index| {
            match still[index].footprint_bytes / MIB {
                97..=448 => 1.0 - NOISE,
                _ => 1.0 + NOISE,
            }
        }));
        let device = found[2];
        assert_eq!(
            (device.first_bytes, device.last_bytes),
            (80 * MIB, 448 * MIB)
        );
        let off = 1.0 - device.cycles / 650.0;
        assert!((0.11..=WITHIN[2].1).contains(&off), "{off}");
    }

    #[test]
    fn steps_between_plateaus_are_told() {
        const MIB: u64 = 1 << 20;
        let footprints =
            (0..=160_u32).map(|step| (1024_u64 << (step / 8)) / 8 * u64::from(8 + step % 8));
        let points: Vec<LatencyPoint> = footprints
            .map(|footprint_bytes| {
                let cycles = match footprint_bytes {
                    bytes if bytes <= 28 * MIB => 270.0,
                    bytes if bytes < 38 * MIB => 270.0 + 230.0 * bytes as f64 / (38 * MIB) as f64,
                    bytes if bytes <= 54 * MIB => 495.0,
                    bytes if bytes < 75 * MIB => {
                        495.0 + 125.0 * (bytes - 54 * MIB) as f64 / (21 * MIB) as f64
                    }
                    bytes if bytes <= 105 * MIB => 620.0,
                    _ => 720.0,
                };
                LatencyPoint {
                    footprint_bytes,
                    cycles,
                    ns: cycles / 2.0,
                }
            })
            .collect();
        assert_eq!(plateaus(&points).len(), 2);
        let steps: Vec<f64> = steps(&points).iter().map(|step| step.cycles).collect();
        assert_eq!(steps, [495.0, 620.0]);
        // A smooth way has none.
        let smooth = curve(|footprint| 30.0 + footprint as f64 / 1e6);
        assert_eq!(super::steps(&smooth), []);
    }

    proptest! {
        #[test]
        fn noise_moves_no_plateau_far(noise in prop::collection::vec(1.0 - NOISE..1.0 + NOISE, 81)) {
            let still = curve(caches(&H100));
            let found = plateaus(&noisy(&still, |index| noise[index]));
            prop_assert_eq!(found.len(), 3, "{:?}", found);
            prop_assert_eq!((found[0].first_bytes, found[0].last_bytes), (KIB, 192 * KIB));
            for ((plateau, (least_span, off)), (_, cycles)) in found.iter().zip(WITHIN).zip(H100) {
                let span = plateau.last_bytes as f64 / plateau.first_bytes as f64;
                prop_assert!(span >= least_span, "{:?}", plateau);
                let on = still.iter().filter(|point| (plateau.first_bytes..=plateau.last_bytes).contains(&point.footprint_bytes));
                let without_noise = median(on.map(|point| point.cycles));
                prop_assert!((plateau.cycles / without_noise - 1.0).abs() <= NOISE + 1e-9, "{:?}", plateau);
                let level = (plateau.cycles / cycles - 1.0).abs();
                prop_assert!(level <= off, "{:?}", plateau);
            }
        }

        #[test]
        fn plateaus_are_flat_long_and_in_order(cycles in prop::collection::vec(30.0_f64..60.0, 81)) {
            let mut points = curve(|_| 0.0);
            for (point, measured) in points.iter_mut().zip(&cycles) {
                point.cycles = *measured;
            }
            let found = plateaus(&points);
            for plateau in &found {
                let on = points.iter().filter(|point| (plateau.first_bytes..=plateau.last_bytes).contains(&point.footprint_bytes));
                let (least, most) = on.fold((f64::INFINITY, 0.0_f64), |(least, most), point| (least.min(point.cycles), most.max(point.cycles)));
                prop_assert!(most <= least * (1.0 + FLATNESS));
                prop_assert!(plateau.last_bytes as f64 >= LEAST_SPAN * plateau.first_bytes as f64);
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].last_bytes < pair[1].first_bytes));
        }
    }
}
