//! Speedups: against the CPU, the lab's first variant, the peers.

use super::rows::{Timed, add_table, timed};
use crate::page::{Bar, Cell, Page};
use crate::perf::results::{Figures, Ratio, Results, Verdict};
use crate::units::three;

/// Bars against the serial CPU, or the parallel, and a table of all ratios.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let rows: Vec<Timed<'_>> = timed(results)
        .into_iter()
        .filter(|Timed { figures, .. }| {
            figures.vs_serial.is_some()
                || figures.vs_cpu.is_some()
                || figures.vs_first.is_some()
                || figures.vs_variant.is_some()
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    page.section("Speedups");
    // Without the CPU's rows there is nothing but the first variant to compare with.
    let serial = drawn(&rows, |figures| figures.vs_serial);
    let (bars, caption) = if serial.is_empty() {
        let first = drawn(&rows, |figures| Some(figures.vs_first?.estimate));
        let caption = "Time of the lab's first variant by the time, on a logarithmic scale: the first variant, the fastest, and peers of these two. The table has all.";
        (first, caption)
    } else {
        let caption = "Rate relative to the serial CPU reference, on a logarithmic scale: the parallel reference, the first variant, the fastest, and peers of these two. The table has all.";
        (serial, caption)
    };
    page.bars(&bars, caption);
    let headers = [
        Cell::text("variant"),
        Cell::text("device"),
        Cell::number("vs one core"),
        Cell::number("vs all cores"),
        Cell::number("vs first variant"),
        Cell::number("vs ours"),
        Cell::text("note"),
    ];
    let cells = rows.iter().map(|timed| {
        let Timed { case, row, figures } = timed;
        let plain = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), three);
        let ratio =
            |ratio: Option<Ratio>| ratio.map_or_else(|| "-".to_owned(), |ratio| ratio.to_string());
        let cells = vec![
            Cell::text(row.name()),
            Cell::text(&row.device),
            Cell::number(plain(figures.vs_serial)),
            Cell::number(plain(figures.vs_cpu)),
            Cell::number(ratio(figures.vs_first)),
            Cell::number(ratio(figures.vs_variant)),
            timed.note(),
        ];
        (format!("{}, {}", case.lab, case.case), cells)
    });
    add_table(page, &headers, cells);
    page.remark(
        "Above 1 is faster. In brackets: the 95 % confidence interval, turn by turn. The first variant is the lab's plain one. \"vs ours\" is of a peer: the time of our variant over its own.",
    );
    page.command(command);
}

/// Bars of a few of them, case by case.
fn drawn<'r>(rows: &[Timed<'r>], value: fn(&Figures) -> Option<f64>) -> Vec<Bar> {
    let is_drawn = |timed: &&Timed<'_>| {
        let Timed { case, row, figures } = timed;
        let fastest = case.rows.iter().find(|row| {
            let figures = row.figures();
            figures.is_some_and(|figures| figures.is_fastest)
        });
        let is_asked = row.variant == case.first_variant
            || fastest.is_some_and(|fastest| fastest.variant == row.variant)
            || row.device == "cpu" && row.variant != "serial";
        is_asked && figures.result != Verdict::Wrong
    };
    let mut labs: Vec<&str> = Vec::new();
    let bar = |timed: &Timed<'r>| {
        let Timed { case, figures, .. } = timed;
        let value = value(figures)?;
        if !labs.contains(&case.lab.as_str()) {
            labs.push(&case.lab);
        }
        Some(Bar {
            group: format!("{}, {}", case.lab, case.case),
            label: timed.label(),
            value,
            colour: labs.len() - 1,
        })
    };
    rows.iter().filter(is_drawn).filter_map(bar).collect()
}
