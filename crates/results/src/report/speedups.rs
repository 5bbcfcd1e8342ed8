//! Speedups: against the CPU, the lab's first variant, the peers.

use page::{Bar, Page};

use super::command::TABLE;
use super::rows::{Timed, position, timed};
use crate::document::{Ratio, Results};
use crate::ratios::RowView;
use terminal::table::{Align, Table};

/// Bars against the serial CPU, or the first variant, and a table of all ratios.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let mut rows = timed(results);
    rows.retain(|Timed { of, .. }| {
        let of_cpu = of.vs_serial().or(of.vs_cpu());
        of_cpu.or(of.vs_first()).or(of.vs_variant()).is_some()
    });
    if rows.is_empty() {
        return;
    }
    page.section("Speedups");
    let serial = bars(&rows, |of| Some(of.vs_serial()?.estimate));
    if serial.is_empty() {
        // Without the CPU's rows there is nothing but the first variant to compare with.
        page.bars(
            &bars(&rows, |of| Some(of.vs_first()?.estimate)),
            "Time of the lab's first variant / time, on a logarithmic scale: the first variant, the fastest, and peers of these two. The table has all.",
        );
    } else {
        page.bars(
            &serial,
            "Rate relative to the serial CPU reference, on a logarithmic scale: the parallel reference, the first variant, the fastest, and peers of these two. The table has all.",
        );
    }
    let ratio = |ratio: Option<Ratio>| ratio.map(Ratio::short);
    page.fold(TABLE, |page| {
    Table::new(&rows)
        .left("variant", |timed| timed.of.row.name())
        .left("device", |timed| timed.of.row.device.clone())
        .right("vs one core", |timed| ratio(timed.of.vs_serial()))
        .right("vs all cores", |timed| ratio(timed.of.vs_cpu()))
        .right("vs first variant", |timed| ratio(timed.of.vs_first()))
        .right("vs ours", |timed| ratio(timed.of.vs_variant()))
        .right("lines of kernels", |timed| {
            Some(timed.figures.on_device.code_lines?.kernels.to_string())
        })
        .toned("note", Align::Left, |timed| timed.note())
        .add_to(page, |timed| &timed.heading);
    page.remark(
        "Above 1 is faster; rows that are wrong or withheld are left out, and so are ratios to them. ±: half of the 95 % confidence interval, turn by turn; of ratios to the CPU, from the intervals of both. The first variant is the lab's plain one. \"vs ours\" is of a peer: the time of our variant over its own. Lines of kernels: lines of code in the file with the variant's kernels, which may hold others', without the physics that they share with the CPU references.",
    );
    page.command(command);
    });
}

/// Bars of a few of them, case by case.
fn bars(rows: &[Timed<'_>], value: fn(&RowView<'_>) -> Option<f64>) -> Vec<Bar> {
    let is_drawn = |timed: &&Timed<'_>| {
        let RowView { case, row, .. } = timed.of;
        let fastest = case.rows.iter().find(|other| other.is_fastest());
        let is_asked = row.variant == case.first_variant
            || fastest.is_some_and(|fastest| fastest.variant == row.variant)
            || row.device == "cpu" && row.variant != "serial";
        is_asked && !timed.figures.is_wrong()
    };
    let mut labs = Vec::new();
    let bars = rows.iter().filter(is_drawn).filter_map(|timed| {
        Some(Bar {
            group: timed.heading.clone(),
            label: timed.label(),
            value: value(&timed.of)?,
            colour: position(&mut labs, &timed.of.case.lab),
        })
    });
    bars.collect()
}
