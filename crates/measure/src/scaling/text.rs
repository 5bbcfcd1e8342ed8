//! The report in the terminal: what was measured on, one table, what it rests on.

use std::collections::BTreeSet;

use units::{bytes, bytes_per_s, count, three};

use super::results::{Agreement, Figures, Outcome, Results, Row};
use terminal::look::{Look, wrapped};
use terminal::table::{Align, Columns, Table, Tone};

/// Says so where times say nothing.
const NO_TIMES: &str =
    "the speed of the emulated device says nothing of a GPU: only results are compared";

/// What it is measured on.
pub fn head(results: &Results, look: Look) -> String {
    let mut table = Columns::new(look, [Align::Left; 2]);
    table.row(["cpu", &results.cpu.to_string()]);
    for (name, fact) in facts(results) {
        table.row([name, fact.as_str()]);
    }
    table.render(0) + "\n"
}

/// The devices, how they are joined, what their start took.
pub fn facts(results: &Results) -> Vec<(&'static str, String)> {
    let info = &results.device;
    let memory = info.memory_bytes.map(bytes);
    let driver = results
        .driver
        .as_ref()
        .map(|driver| format!("driver {driver}"));
    let devices = format!("{} x {}", results.devices, info.name);
    let parts = [Some(devices), memory, driver];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut facts = vec![(info.kind.name(), parts.join(", "))];
    facts.extend(results.link.map(|link| ("link", link.to_string())));
    match results.has_times() {
        true => facts.push((
            "start",
            format!(
                "{} s once for all rows, in none of them: contexts, the kernels' module on each GPU",
                three(results.start_s)
            ),
        )),
        false => facts.push(("", NO_TIMES.to_owned())),
    }
    facts
}

/// What was measured.
pub fn body(results: &Results, look: Look) -> String {
    let mut parts = vec![
        look.title(&title(results)),
        columns(results, &lines(results)).render(look, 2),
    ];
    let notes = notes(results);
    if !notes.is_empty() {
        let notes = notes.iter().map(|note| wrapped(note, 2));
        parts.push(notes.collect::<Vec<String>>().join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// `poisson  split, strong scaling: one size on more and more GPUs`.
pub fn title(results: &Results) -> String {
    let scaling = match results.weak {
        false => "strong scaling: each size on more and more GPUs",
        true => "weak scaling: as much for each GPU, on more and more of them",
    };
    format!("{}  {}, {scaling}", results.lab, results.variant)
}

/// A row of the table, and whether it is the first of its size.
pub struct Line<'r> {
    pub row: &'r Row,
    steps: u64,
    is_first: bool,
}

impl<'r> Line<'r> {
    fn figures(&self) -> Option<&'r Figures> {
        self.row.figures()
    }

    /// Milliseconds, if it was timed.
    fn ms(&self, of: impl Fn(&Figures) -> f64) -> Option<String> {
        self.figures().map(|figures| three(1e3 * of(figures)))
    }
}

/// The rows of all sizes.
pub fn lines(results: &Results) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for size in &results.sizes {
        for (at, row) in size.rows.iter().enumerate() {
            let is_first = at == 0 || size.rows[at - 1].size() != row.size();
            lines.push(Line {
                row,
                steps: size.steps,
                is_first,
            });
        }
    }
    lines
}

/// The rows column by column.
pub fn columns<'l, 'r>(results: &Results, lines: &'l [Line<'r>]) -> Table<'l, Line<'r>> {
    let table = Table::new(lines)
        .left("size", |line| match line.is_first {
            true => line.row.size().to_owned(),
            false => String::new(),
        })
        .right("GPUs", |line| Some(line.row.gpus.to_string()))
        .right("steps", |line| Some(line.steps.to_string()));
    let table = match results.has_times() {
        false => table,
        true => times(table, results),
    };
    table.toned("result", Align::Left, |line| match &line.row.outcome {
        Outcome::DoesNotFit => ("does not fit".to_owned(), Tone::Faint),
        Outcome::Failed { .. } => ("failed".to_owned(), Tone::Bad),
        Outcome::Lacking { .. } => ("lacking".to_owned(), Tone::Caution),
        Outcome::Timed(_) | Outcome::Computed { .. } => match line.row.agreement() {
            Some(Agreement::Equal) => ("equal".to_owned(), Tone::Good),
            Some(Agreement::Different) => ("DIFFERENT".to_owned(), Tone::Bad),
            Some(Agreement::First) => ("first".to_owned(), Tone::Faint),
            _ => ("unchecked".to_owned(), Tone::Faint),
        },
    })
}

fn times<'l, 'r>(table: Table<'l, Line<'r>>, results: &Results) -> Table<'l, Line<'r>> {
    let unit = match results.rate_unit.as_str() {
        "byte" => "rate".to_owned(),
        _ => "G updates\n/s".to_owned(),
    };
    let rate = |line: &Line<'_>| {
        let per_s = line.figures()?.rate_per_s;
        Some(match results.rate_unit.as_str() {
            "byte" => bytes_per_s(per_s),
            _ => three(per_s / 1e9),
        })
    };
    table
        .toned("time\nus/step", Align::Right, |line| {
            let Some(figures) = line.figures() else {
                return ("-".to_owned(), Tone::Faint);
            };
            let us = three(1e6 * figures.run.median_s / line.steps.max(1) as f64);
            match figures.run.is_result() {
                true => (us, Tone::Normal),
                false => (format!("~{us}"), Tone::Caution),
            }
        })
        .right("speedup", |line| {
            Some(format!("{:.2}", line.figures()?.speedup?))
        })
        .right("effi-\nciency", |line| {
            Some(format!("{:.1} %", 100.0 * line.figures()?.efficiency?))
        })
        .right(&unit, rate)
        .right("energy\nmJ/step", |line| {
            let joule = line.figures()?.energy_per_run_j?;
            Some(three(1e3 * joule / line.steps.max(1) as f64))
        })
        .right("all steps\nms", |line| {
            line.ms(|figures| figures.run.median_s)
        })
        .right("with\ntransfer", |line| line.ms(Figures::with_transfer_s))
        .right("with\nsetup", |line| line.ms(Figures::with_setup_s))
}

/// What the columns mean, and what is wrong, missing or uncertain.
pub fn notes(results: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    for row in results.rows() {
        let of = format!("{} on {}", row.case, count(row.gpus as usize, "GPU"));
        match &row.outcome {
            Outcome::Failed { message } => notes.push(format!("{of} failed: {message}")),
            Outcome::Lacking { message } => notes.push(format!("{of} lacks: {message}")),
            Outcome::Timed(figures) => {
                let doubts = figures.run.doubts.iter();
                notes.extend(doubts.map(|doubt| format!("~ {of}: no result: {doubt}")));
            }
            Outcome::Computed { .. } | Outcome::DoesNotFit => {}
        }
        if row.agreement() == Some(Agreement::Different) {
            notes.push(format!("{of}: the result is not that of fewer GPUs"));
        }
    }
    let reasons = || {
        results
            .rows()
            .filter_map(|row| row.figures()?.no_graph.as_deref())
    };
    for reason in reasons().collect::<BTreeSet<&str>>() {
        let rows = reasons().filter(|other| *other == reason).count();
        let rows = count(rows, "row");
        notes.push(format!("by stream, not as a graph, {rows}: {reason}"));
    }
    notes.push(
        match results.weak {
            false => "equal: every byte of the result is that of the fewest GPUs, the first, after the same steps",
            true => "equal: every byte of the result is that of the fewest GPUs that hold the same size, after the same steps",
        }
        .to_owned(),
    );
    if results.has_times() {
        if results.rate_unit == "byte" {
            notes.push(
                "rate: as if each step moved 24 bytes for each point, whatever it really moves"
                    .to_owned(),
            );
        }
        notes.push("speedup, efficiency: by points in a second, against the fewest GPUs of the size; energy: of the GPUs that take part; transfer: all inputs written, all results read; setup: memory allocated, graph made".to_owned());
    }
    notes
}
