//! The roofline level by level: each variant has a mark for what it moves of L1 and shared memory,
//! of L2, of device memory.
//!
//! Operations and bytes of device memory are the lab's statement. Bytes of the caches are what the
//! emulated device counted on a small case, taken for as many updates as the timed one has.

use host::limits::Rate;
use page::{Page, Series, Shape};
use units::three;

use super::command::TABLE;
use super::roofline::{giga, roofs};
use super::rows::{Timed, position, timed};
use crate::document::{DeviceRecord, Results};
use terminal::table::Table;

/// A variant that was timed, and what it moves.
struct Levelled<'r> {
    timed: Timed<'r>,
    flops: f64,
    /// Of L1 and shared memory, of L2, of device memory.
    bytes: [f64; 3],
    /// The rates that these cannot exceed, as far as they were measured.
    best_per_s: [Option<f64>; 3],
}

impl<'r> Levelled<'r> {
    /// The levels of a variant; none of a peer, whose code is another, under a cap of registers, or
    /// where nothing was counted.
    fn of(device: &DeviceRecord, timed: Timed<'r>) -> Option<Levelled<'r>> {
        let row = timed.of.row;
        timed.roofline_point().filter(|_| row.language.is_none())?;
        let counted = timed.of.case.counted.as_ref()?;
        let of_update = counted.level_bytes(&row.variant)?;
        let figures = timed.figures;
        let updates = figures.work.updates as f64;
        let best = |rate: &Option<Rate>| Some(rate.as_ref()?.best_per_s);
        let limits = &device.limits;
        Some(Levelled {
            flops: figures.work.flops as f64,
            bytes: [
                of_update.l1 * updates,
                of_update.l2 * updates,
                figures.work.bytes as f64,
            ],
            best_per_s: [&limits.shared, &limits.l2, &limits.copy].map(best),
            timed,
        })
    }

    fn intensity(&self, level: usize) -> f64 {
        self.flops / self.bytes[level]
    }

    fn flops_per_s(&self) -> f64 {
        self.flops / self.timed.figures.run.median_s
    }

    /// The time that the bytes of a level take at its best rate, by the measured time.
    fn share(&self, level: usize) -> Option<String> {
        let at_best_s = self.bytes[level] / self.best_per_s[level]?;
        let share = at_best_s / self.timed.figures.run.median_s;
        Some(format!("{} %", three(100.0 * share)))
    }
}

/// For each device and lab whose kernels were counted, a plot of its largest case and a table of
/// all.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    for device in &results.devices {
        let rows = timed(results)
            .into_iter()
            .filter(|timed| timed.of.row.device == device.device);
        let all: Vec<Levelled<'_>> = rows
            .filter_map(|timed| Levelled::of(device, timed))
            .collect();
        let mut labs = Vec::new();
        for row in &all {
            position(&mut labs, &row.timed.of.case.lab);
        }
        for lab in labs {
            let of_lab = all.iter().filter(|row| row.timed.of.case.lab == lab);
            section(page, device, lab, &of_lab.collect::<Vec<_>>(), command);
        }
    }
}

fn section(
    page: &mut Page,
    device: &DeviceRecord,
    lab: &str,
    rows: &[&Levelled<'_>],
    command: &str,
) {
    let by_size =
        |a: &&&Levelled<'_>, b: &&&Levelled<'_>| a.timed.size().total_cmp(&b.timed.size());
    let Some(largest) = rows.iter().max_by(by_size) else {
        return;
    };
    let case = largest.timed.of.case;
    let on_it = || {
        let rows = rows.iter();
        rows.filter(|row| row.timed.heading == largest.timed.heading)
    };
    let intensities = on_it().flat_map(|row| [0, 1, 2].map(|level| row.intensity(level)));
    let least = intensities.fold(f64::INFINITY, f64::min);
    let Some(mut plot) = roofs(device, least) else {
        return;
    };
    plot.x.label = "operations for each byte of a level".to_owned();
    plot.series.extend(on_it().zip(0..).map(|(row, colour)| {
        let rate = giga(row.flops_per_s());
        Series {
            name: row.timed.of.row.name(),
            points: [0, 1, 2].map(|level| (row.intensity(level), rate)).to_vec(),
            shape: Shape::Line,
            colour: Some(colour),
        }
    }));
    let counted = case.counted.as_ref().map_or("", |counted| &counted.case);
    page.section(&format!("{lab}: roofline by level, {}", device.info.name));
    page.plot(
        &plot,
        &format!(
            "{}. Three marks of each variant, at the operations for each byte of L1 and shared memory, of L2, and of device memory; the nearer a mark is to the slope of its level, the more that level binds. Bytes of device memory are the fewest possible. Bytes of L1 and L2 are counted on the emulated device, on {counted}, and taken for as many updates as here.",
            case.case
        ),
    );
    page.fold(TABLE, |page| {
    Table::new(rows)
        .left("variant", |row| row.timed.of.row.name())
        .right("Gflop/s", |row| Some(three(giga(row.flops_per_s()))))
        .right("flop/byte of L1", |row| Some(three(row.intensity(0))))
        .right("of L2", |row| Some(three(row.intensity(1))))
        .right("of memory", |row| Some(three(row.intensity(2))))
        .right("L1 busy", |row| row.share(0))
        .right("L2 busy", |row| row.share(1))
        .right("memory busy", |row| row.share(2))
        .add_to(page, |row| &row.timed.heading);
    page.remark(
        "\"busy\": the time that the bytes of a level take at its best rate, by the measured time. Of L1: each sector of 32 bytes that an access of a warp touches, and what threads move from and to shared memory. Of L2: the sectors that a block loads, each once, as if L1 kept all of a block's and nothing of its neighbours', and all that it stores.",
    );
    page.command(command);
    });
}
