//! Speedups: against the CPU, the lab's first variant, the peers.

use page::{Bar, Page};
use units::three;

use super::rows::{Timed, timed};
use crate::perf::results::{Correctness, Figures, Ratio, Results, Row};
use crate::table::{Align, Table};

/// Bars against the serial CPU, or the first variant, and a table of all ratios.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let has_ratio = |figures: &Figures| {
        let of_cpu = figures.vs_serial.or(figures.vs_cpu);
        of_cpu.is_some() || figures.vs_first.or(figures.vs_variant).is_some()
    };
    let rows = timed(results).into_iter();
    let rows: Vec<(String, Timed<'_>)> = rows
        .filter(|timed| has_ratio(timed.figures))
        .map(|timed| (timed.heading(), timed))
        .collect();
    if rows.is_empty() {
        return;
    }
    page.section("Speedups");
    let serial = bars(&rows, |figures| figures.vs_serial);
    if serial.is_empty() {
        // Without the CPU's rows there is nothing but the first variant to compare with.
        page.bars(
            &bars(&rows, |figures| Some(figures.vs_first?.estimate)),
            "Time of the lab's first variant by the time, on a logarithmic scale: the first variant, the fastest, and peers of these two. The table has all.",
        );
    } else {
        page.bars(
            &serial,
            "Rate relative to the serial CPU reference, on a logarithmic scale: the parallel reference, the first variant, the fastest, and peers of these two. The table has all.",
        );
    }
    let ratio = |ratio: Option<Ratio>| ratio.map(|ratio| ratio.to_string());
    Table::new(&rows)
        .left("variant", |(_, timed)| timed.row.name())
        .left("device", |(_, timed)| timed.row.device.clone())
        .right("vs one core", |(_, timed)| {
            timed.figures.vs_serial.map(three)
        })
        .right("vs all cores", |(_, timed)| timed.figures.vs_cpu.map(three))
        .right("vs first variant", |(_, timed)| {
            ratio(timed.figures.vs_first)
        })
        .right("vs ours", |(_, timed)| ratio(timed.figures.vs_variant))
        .toned("note", Align::Left, |(_, timed)| timed.note())
        .add_to(page, |(heading, _)| heading);
    page.remark(
        "Above 1 is faster. In brackets: the 95 % confidence interval, turn by turn. The first variant is the lab's plain one. \"vs ours\" is of a peer: the time of our variant over its own.",
    );
    page.command(command);
}

/// Bars of a few of them, case by case.
fn bars(rows: &[(String, Timed<'_>)], value: fn(&Figures) -> Option<f64>) -> Vec<Bar> {
    let is_drawn = |Timed { case, row, figures }: &Timed<'_>| {
        let is_fastest = |row: &&Row| row.figures().is_some_and(|figures| figures.is_fastest);
        let fastest = case.rows.iter().find(is_fastest);
        let is_asked = row.variant == case.first_variant
            || fastest.is_some_and(|fastest| fastest.variant == row.variant)
            || row.device == "cpu" && row.variant != "serial";
        is_asked && figures.result != Correctness::Wrong
    };
    let mut labs: Vec<&str> = Vec::new();
    let mut bars = Vec::new();
    for (heading, timed) in rows.iter().filter(|(_, timed)| is_drawn(timed)) {
        let Some(value) = value(timed.figures) else {
            continue;
        };
        if !labs.contains(&timed.case.lab.as_str()) {
            labs.push(&timed.case.lab);
        }
        bars.push(Bar {
            group: heading.clone(),
            label: timed.label(),
            value,
            colour: labs.len() - 1,
        });
    }
    bars
}
