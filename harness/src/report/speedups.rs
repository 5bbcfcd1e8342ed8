//! Speedups: against the CPU, the lab's first variant, the peers.

use super::rows::{Timed, timed};
use crate::page::plot::tick;
use crate::page::{Bar, Cell, Page, bars};
use crate::perf::results::{Ratio, Results};
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
    let mut labs: Vec<&str> = Vec::new();
    let mut drawn: Vec<Bar> = Vec::new();
    for Timed { case, row, figures } in &rows {
        let lab = labs
            .iter()
            .position(|lab| *lab == case.lab)
            .unwrap_or_else(|| {
                labs.push(&case.lab);
                labs.len() - 1
            });
        if let Some(value) = figures.vs_serial.filter(|_| row.device != "cpu") {
            drawn.push(Bar {
                label: format!("{}, {}: {}", case.lab, case.case, row.name()),
                value,
                colour: lab,
            });
        }
    }
    if !drawn.is_empty() {
        page.svg(
            &bars(&drawn, tick),
            "Rate relative to the serial CPU reference, on a logarithmic scale.",
        );
    }
    let headers = [
        Cell::text("lab"),
        Cell::text("case"),
        Cell::text("variant"),
        Cell::text("device"),
        Cell::number("vs one core"),
        Cell::number("vs all cores"),
        Cell::number("vs first variant"),
        Cell::number("vs ours"),
        Cell::text(""),
    ];
    let cells = rows.iter().map(|timed| {
        let Timed { case, row, figures } = timed;
        let plain = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), three);
        vec![
            Cell::text(&case.lab),
            Cell::text(&row.case),
            Cell::text(row.name()),
            Cell::text(&row.device),
            Cell::number(plain(figures.vs_serial)),
            Cell::number(plain(figures.vs_cpu)),
            Cell::number(ratio(figures.vs_first)),
            Cell::number(ratio(figures.vs_variant)),
            timed
                .caution()
                .map_or_else(|| Cell::text(""), Cell::caution),
        ]
    });
    page.table(&headers, cells);
    page.remark(
        "The first variant is the lab's plain one. \"vs ours\" is of a peer: the time of our variant over its own, turn by turn; above 1 the peer is faster.",
    );
    page.command(command);
}

fn ratio(ratio: Option<Ratio>) -> String {
    let Some(Ratio { estimate, interval }) = ratio else {
        return "-".to_owned();
    };
    match interval {
        None => three(estimate),
        Some([low, high]) => format!("{} ({} to {})", three(estimate), three(low), three(high)),
    }
}
