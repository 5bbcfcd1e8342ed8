//! A line per lab: its plain variant, the best, the same in CUDA C++, the limit.

use page::Page;
use units::three;

use super::ladder::{ladders, peer, rate};
use crate::document::Results;
use terminal::table::Table;

/// The table, and the command that measured; nothing where no device timed anything.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let ladders = ladders(results);
    if ladders.is_empty() {
        return;
    }
    let devices: Vec<&str> = results
        .devices
        .iter()
        .map(|device| device.info.name.as_str())
        .collect();
    page.section(&format!("The labs on {}", devices.join(", ")));
    Table::new(&ladders)
        .left("lab", |ladder| ladder.plain().of.case.lab.clone())
        .right("plain", |ladder| {
            Some(ladder.plain().figures.giga_updates_per_s())
        })
        .right("best", |ladder| {
            Some(ladder.best().figures.giga_updates_per_s())
        })
        .right("CUDA C++", |ladder| {
            Some(peer(ladder.best())?.figures.giga_updates_per_s())
        })
        .right("limit", |ladder| {
            let best = ladder.best();
            Some(three(rate(best) / best.of.bound()?.share))
        })
        .left("best is", |ladder| ladder.best().of.row.name())
        .right("best / plain", |ladder| {
            Some(ladder.best().of.vs_first()?.short())
        })
        .right("best / CUDA C++", |ladder| {
            Some(ladder.best().of.vs_cuda()?.short())
        })
        .left("of limit", |ladder| {
            let best = ladder.best();
            let share = best.of_limit().zip(best.of.bound());
            share.map_or(String::new(), |(share, bound)| {
                format!("{share} of {}", bound.by.name())
            })
        })
        .left("unit", |ladder| {
            format!("1e9 {}/s", ladder.best().figures.work.unit)
        })
        .left("case", |ladder| ladder.best().of.case.case.to_string())
        .add_to(page, |_| "");
    page.remark(
        "On each lab's largest case. CUDA C++: the best variant's kernels written in it, the fastest build. Limit: the most that the memory or the arithmetic that binds the best variant allows, measured in the same run. ±: half of the 95 % confidence interval. Ratios above 1: the best is faster.",
    );
    page.command(command);
}
