//! How a lab scales: efficiency and speedup against the number of GPUs, and the table.

use page::plot::{tick, whole};
use page::{Axis, Page, Plot, Series, Shape};

use super::shell_line;
use crate::scaling::results::{Figures, Results};
use crate::scaling::text;

/// A plot of efficiency and one of speedup, where there are times; what it was measured on; all rows.
pub fn add(page: &mut Page, results: &Results) {
    page.section(&text::title(results).replacen("  ", ": ", 1));
    let facts = text::facts(results).into_iter();
    let facts = facts.map(|(name, fact)| match name {
        "" => fact,
        _ => format!("{name}: {fact}"),
    });
    page.list(facts.chain([format!("cpu: {}", results.cpu)]));
    page.plot(
        &Plot {
            x: Axis::linear("GPUs", whole),
            y: Axis::linear("efficiency, %", tick),
            series: series(results, |figures| Some(100.0 * figures.efficiency?), 100.0),
            texts: Vec::new(),
        },
        "Points updated in a second, by those of the fewest GPUs of the same size and by how many times as many GPUs there are.",
    );
    let mut speedups = series(results, |figures| figures.speedup, 1.0);
    let most = results.rows().map(|row| row.gpus).max().unwrap_or(1);
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
        "Points updated in a second, by those of the fewest GPUs of the same size.",
    );
    let lines = text::lines(results);
    text::columns(results, &lines).add_to(page, |_| "");
    page.list(text::notes(results));
    page.command(&shell_line(&results.command_line));
}

/// A line for each size of which more than one row was timed. The fewest GPUs have the value `first`.
fn series(results: &Results, of: impl Fn(&Figures) -> Option<f64>, first: f64) -> Vec<Series> {
    let mut all = Vec::new();
    for (at, size) in results.sizes.iter().enumerate() {
        let mut timed = size.rows.iter().filter(|row| row.figures().is_some());
        let Some(fewest) = timed.next() else { continue };
        let points = timed.filter_map(|row| Some((row.gpus.into(), of(row.figures()?)?)));
        let points: Vec<(f64, f64)> = [(fewest.gpus.into(), first)]
            .into_iter()
            .chain(points)
            .collect();
        if points.len() > 1 {
            all.push(Series {
                name: fewest.size().to_owned(),
                points,
                shape: Shape::Line,
                colour: Some(at),
            });
        }
    }
    all
}
