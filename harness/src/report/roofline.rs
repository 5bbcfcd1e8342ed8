//! Rates against arithmetic intensity, under the roofs that were measured in the same run.

use super::rows::{OF_LIMIT, Timed, add_table, timed};
use crate::page::plot::tick;
use crate::page::{Axis, Cell, Page, Plot, Series, Shape};
use crate::perf::results::{DeviceRecord, Results};
use crate::units::three;

/// A plot and a table for each device.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    for device in &results.devices {
        let points = points(results, device);
        let Some(copy) = device.limits.copy.as_ref() else {
            continue;
        };
        if points.is_empty() {
            continue;
        }
        page.section(&format!("Roofline, {}", device.info.name));
        let least = points
            .iter()
            .map(|point| point.intensity)
            .fold(0.25, f64::min);
        let roofs = [("FP32", &device.limits.fp32), ("FP64", &device.limits.fp64)];
        let roofs: Vec<(&str, f64)> = roofs
            .into_iter()
            .filter_map(|(name, rate)| Some((name, rate.as_ref()?.best_per_s)))
            .collect();
        let ridge = roofs
            .iter()
            .map(|(_, peak)| peak / copy.best_per_s)
            .fold(4.0, f64::max);
        let (from, to) = (least / 2.0, 4.0 * ridge);
        let highest = roofs.iter().map(|(_, peak)| *peak).fold(0.0, f64::max);
        // A slope ends at the highest roof.
        let slope = |name: &str, bytes_per_s: f64, shape| Series {
            name: name.to_owned(),
            points: [from, (highest / bytes_per_s).max(2.0 * from)]
                .map(|x| (x, giga(x * bytes_per_s)))
                .to_vec(),
            shape,
            colour: None,
        };
        let mut series = vec![slope(
            "device memory (copies)",
            copy.best_per_s,
            Shape::Curve,
        )];
        let l2 = device.limits.l2.as_ref();
        series.extend(l2.map(|l2| slope("L2 (reads)", l2.best_per_s, Shape::Dashes)));
        let mut texts = Vec::new();
        for (name, peak) in roofs {
            let corner = peak / copy.best_per_s;
            series.push(Series {
                name: String::new(),
                points: vec![(corner, giga(peak)), (to, giga(peak))],
                shape: Shape::Curve,
                colour: None,
            });
            texts.push((1.3 * ridge, 1.08 * giga(peak), name.to_owned()));
        }
        let mut labs: Vec<&str> = points.iter().map(|point| point.lab).collect();
        labs.dedup();
        for (colour, lab) in labs.into_iter().enumerate() {
            let of_lab = points.iter().filter(|point| point.lab == lab);
            series.push(Series {
                name: lab.to_owned(),
                points: of_lab
                    .map(|point| (point.intensity, giga(point.flops_per_s)))
                    .collect(),
                shape: Shape::Marks,
                colour: Some(colour),
            });
        }
        let plot = Plot {
            x: Axis::log("operations for each byte that must be moved", 2.0, tick),
            y: Axis::log("Gflop/s", 10.0, tick),
            series,
            texts,
        };
        page.plot(
            &plot,
            "Each mark is a variant on a case. The slopes are rates of copying in device memory and of reading from L2, the roofs of fused multiply-adds, all measured in the same run. What fits into L2 can lie above the slope of device memory.",
        );
        let headers = [
            Cell::text("variant"),
            Cell::number("flop/byte"),
            Cell::number("Gflop/s"),
            Cell::number("GB/s"),
            Cell::text("limit"),
            Cell::number("of limit"),
        ];
        let rows = points.iter().map(|point| {
            let cells = vec![
                Cell::text(&point.variant),
                Cell::number(three(point.intensity)),
                Cell::number(three(giga(point.flops_per_s))),
                Cell::number(three(giga(point.bytes_per_s))),
                Cell::text(point.bound.map_or("-", |(by, _)| by)),
                Cell::number(point.bound.map_or("-".to_owned(), |(_, share)| {
                    format!("{} %", three(100.0 * share))
                })),
            ];
            (format!("{}, {}", point.lab, point.case), cells)
        });
        add_table(page, &headers, rows);
        page.remark(OF_LIMIT);
        page.command(command);
    }
}

struct Point<'r> {
    lab: &'r str,
    case: &'r str,
    variant: String,
    intensity: f64,
    flops_per_s: f64,
    bytes_per_s: f64,
    bound: Option<(&'r str, f64)>,
}

fn points<'r>(results: &'r Results, device: &DeviceRecord) -> Vec<Point<'r>> {
    let on_device = timed(results)
        .into_iter()
        .filter(|timed| timed.row.device == device.device);
    let point = |timed: Timed<'r>| {
        let Timed { case, row, figures } = timed;
        Some(Point {
            lab: &case.lab,
            case: &case.case,
            variant: row.name(),
            intensity: timed.intensity()?,
            flops_per_s: figures.flops as f64 / figures.run.median_s,
            bytes_per_s: figures.bytes as f64 / figures.run.median_s,
            bound: figures.bound.map(|bound| (bound.by.name(), bound.share)),
        })
    };
    on_device.filter_map(point).collect()
}

fn giga(rate: f64) -> f64 {
    rate / 1e9
}
