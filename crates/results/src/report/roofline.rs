//! Rates against arithmetic intensity, under the roofs that were measured in the same run.

use host::limits::Rate;
use page::plot::tick;
use page::{Axis, Page, Plot, Series, Shape};
use units::three;

use super::command::TABLE;
use super::rows::{OF_LIMIT, OWN_LIMIT, Timed, timed};
use crate::document::{DeviceRecord, Results};
use terminal::table::Table;

/// A plot and a table for each device.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    for device in &results.devices {
        let mut rows = timed(results);
        rows.retain(|timed| {
            timed.of.row.device == device.device && timed.roofline_point().is_some()
        });
        let Some(plot) = plot(device, &rows) else {
            continue;
        };
        page.section(&format!("Roofline, {}", device.info.name));
        page.plot(
            &plot,
            "Each mark is a variant on a case. The slopes are rates of copying in device memory and of reading from L2 and from shared memory, the roofs of fused multiply-adds, all measured in the same run. A case that fits into L2 can lie above the slope of device memory.",
        );
        page.fold(TABLE, |page| {
            Table::new(&rows)
                .left("variant", |timed| timed.of.row.name())
                .right("flop/byte", |timed| Some(three(timed.roofline_point()?.0)))
                .right("Gflop/s", |timed| {
                    Some(three(giga(timed.roofline_point()?.1)))
                })
                .right("GB/s", |Timed { figures, .. }| {
                    let bytes = figures.work.bytes as f64;
                    Some(three(giga(bytes / figures.run.median_s)))
                })
                .left("limit", |timed| {
                    let bound = timed.figures.on_device.bound;
                    bound.map_or("-", |bound| bound.by.name()).to_owned()
                })
                .right("of limit", |timed| timed.of_limit())
                .right("own limit", |timed| timed.of_own_limit())
                .add_to(page, |timed| &timed.heading);
            page.remark(OF_LIMIT);
            page.remark(OWN_LIMIT);
            page.command(command);
        });
    }
}

/// Roofs and marks; nothing if there are none.
fn plot(device: &DeviceRecord, rows: &[Timed<'_>]) -> Option<Plot> {
    let points = || {
        let points = rows.iter();
        points.filter_map(|timed| Some((timed.of.case.lab.as_str(), timed.roofline_point()?)))
    };
    let least = points().map(|(_, point)| point.0).reduce(f64::min)?;
    let mut plot = roofs(device, least)?;
    let mut labs: Vec<&str> = points().map(|(lab, _)| lab).collect();
    labs.dedup();
    plot.series
        .extend(labs.iter().enumerate().map(|(colour, lab)| {
            Series {
                name: (*lab).to_owned(),
                points: points()
                    .filter(|(other, _)| other == lab)
                    .map(|(_, (intensity, rate))| (intensity, giga(rate)))
                    .collect(),
                shape: Shape::Marks,
                colour: Some(colour),
            }
        }));
    Some(plot)
}

/// A plot of the roofs alone, for marks from this many operations for each byte on; nothing if
/// copies were not measured.
pub fn roofs(device: &DeviceRecord, least: f64) -> Option<Plot> {
    let best = |rate: &Option<Rate>| Some(rate.as_ref()?.best_per_s);
    let limits = &device.limits;
    let copy = best(&limits.copy)?;
    let peaks = [("FP32", best(&limits.fp32)), ("FP64", best(&limits.fp64))];
    let peaks = || {
        let peaks = peaks.into_iter();
        peaks.filter_map(|(name, peak)| Some((name, peak?)))
    };
    let highest = peaks().map(|(_, peak)| peak).fold(0.0, f64::max);
    let ridge = (highest / copy).max(4.0);
    let (from, to) = (least.min(0.25) / 2.0, 4.0 * ridge);
    let limit = |name: &str, shape, points: [(f64, f64); 2]| Series {
        name: name.to_owned(),
        points: points.map(|(x, y)| (x, giga(y))).to_vec(),
        shape,
        colour: None,
    };
    // A slope ends at the highest roof.
    let slope = |name: &str, shape, bytes_per_s: f64| {
        let end = (highest / bytes_per_s).max(2.0 * from);
        limit(name, shape, [from, end].map(|x| (x, x * bytes_per_s)))
    };
    let mut series = vec![slope("device memory (copies)", Shape::Curve, copy)];
    series.extend(best(&limits.l2).map(|rate| slope("L2 (reads)", Shape::Dashes, rate)));
    let shared = best(&limits.shared);
    series.extend(shared.map(|rate| slope("L1, shared memory (reads)", Shape::Dots, rate)));
    series.extend(peaks().map(|(_, peak)| {
        let corner = peak / copy;
        limit("", Shape::Curve, [(corner, peak), (to, peak)])
    }));
    let texts = peaks().map(|(name, peak)| (1.3 * ridge, 1.08 * giga(peak), name.to_owned()));
    Some(Plot {
        x: Axis::log("operations for each byte that must be moved", 2.0, tick),
        y: Axis::log("Gflop/s", 10.0, tick),
        series,
        texts: texts.collect(),
    })
}

/// In units of 1e9.
pub fn giga(rate: f64) -> f64 {
    rate / 1e9
}
