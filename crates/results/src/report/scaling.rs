//! How a lab scales: efficiency and speedup against the number of GPUs, and the table.

use page::plot::{tick, whole};
use page::{Axis, Page, Plot, Series, Shape};

use super::command::shell_line;
use crate::document::{OnSeveral, Results, Row, Scaling};
use crate::tables::several;

/// A plot of efficiency and one of speedup, where there are times; what it was measured on; all
/// rows.
pub fn add(page: &mut Page, results: &Results, run: &Scaling) {
    page.section(&several::title(results, run).replacen("  ", ": ", 1));
    let facts = several::facts(results, run)
        .into_iter()
        .map(|(name, fact)| match name {
            "" => fact,
            _ => format!("{name}: {fact}"),
        });
    page.list(facts.chain(results.cpu.iter().map(|cpu| format!("cpu: {cpu}"))));
    page.plot(
        &Plot {
            x: Axis::linear("GPUs", whole),
            y: Axis::linear("efficiency, %", tick),
            series: series(results, |known| Some(100.0 * known.efficiency?.estimate), 100.0),
            texts: Vec::new(),
        },
        "Points updated in a second / (those of the fewest GPUs of the same size * growth of the number of GPUs).",
    );
    let mut speedups = series(results, |known| Some(known.speedup?.estimate), 1.0);
    let rows = results.rows().filter_map(|view| view.row.gpus);
    let most = rows.max().unwrap_or(1);
    if !speedups.is_empty() {
        speedups.push(Series {
            name: "ideal".to_owned(),
            points: vec![(1.0, 1.0), (most.into(), most.into())],
            shape: Shape::Dashes,
            colour: None,
        });
    }
    page.plot(
        &Plot {
            x: Axis::linear("GPUs", whole),
            y: Axis::linear("speedup", tick),
            series: speedups,
            texts: Vec::new(),
        },
        "Points updated in a second / those of the fewest GPUs of the same size.",
    );
    let lines = several::lines(results);
    several::columns(results, run, &lines).add_to(page, |_| "");
    page.list(several::notes(results, run));
    page.command(&shell_line(&results.command_line));
}

/// A line for each size with more than one timed row. The fewest GPUs have the value
/// `first`.
fn series(results: &Results, of: impl Fn(&OnSeveral) -> Option<f64>, first: f64) -> Vec<Series> {
    let mut all = Vec::new();
    for (at, size) in results.cases.iter().enumerate() {
        let mut timed = size.rows.iter().filter(|row| row.figures().is_some());
        let Some(fewest) = timed.next() else { continue };
        let gpus = |row: &Row| f64::from(row.gpus.unwrap_or(1));
        let points =
            timed.filter_map(|row| Some((gpus(row), of(row.figures()?.on_several.as_ref()?)?)));
        let points: Vec<(f64, f64)> = [(gpus(fewest), first)].into_iter().chain(points).collect();
        if points.len() > 1 {
            all.push(Series {
                name: fewest.case.size().to_owned(),
                points,
                shape: Shape::Line,
                colour: Some(at),
            });
        }
    }
    all
}
