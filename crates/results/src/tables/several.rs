//! One lab on more and more GPUs: what was measured on, one table, what it rests on.

use std::collections::BTreeSet;

use units::{bytes, bytes_per_s, count, three};

use crate::document::{Correctness, Figures, OnSeveral, Outcome, Results, Row, Scaling};
use terminal::look::Look;
use terminal::table::{Align, Columns, Table, Tone};

/// The columns that are missed least where the terminal is narrow.
const SPARE: [&str; 3] = ["with\nsetup", "with\ntransfer", "energy"];

/// Says so where times say nothing.
const NO_TIMES: &str =
    "the speed of the emulated device says nothing of a GPU: only results are compared";

/// The devices that it is measured on.
pub fn head(results: &Results, run: &Scaling, look: Look) -> String {
    let mut table = Columns::new(look, [Align::Left; 2]);
    if let Some(cpu) = &results.cpu {
        table.row(["cpu", &cpu.to_string()]);
    }
    for (name, fact) in facts(results, run) {
        table.row([name, fact.as_str()]);
    }
    table.render(0) + "\n"
}

/// The devices, how they are joined, what their start took.
pub fn facts(results: &Results, run: &Scaling) -> Vec<(&'static str, String)> {
    let Some(record) = results.devices.first() else {
        return Vec::new();
    };
    let info = &record.info;
    let memory = info.memory_bytes.map(bytes);
    let driver = record
        .telemetry
        .as_ref()
        .and_then(|about| about.driver.as_ref());
    let driver = driver.map(|driver| format!("driver {driver}"));
    let devices = format!("{} x {}", run.devices, info.name);
    let parts: Vec<String> = [Some(devices), memory, driver]
        .into_iter()
        .flatten()
        .collect();
    let mut facts = vec![(info.kind.name(), parts.join(", "))];
    facts.extend(run.link.map(|link| ("link", link.to_string())));
    if results.has_times() {
        facts.push((
            "start",
            format!(
                "{} s once for all rows, in none of them: contexts, the kernels' module on each GPU",
                three(run.start_s)
            ),
        ))
    } else {
        facts.push(("", NO_TIMES.to_owned()))
    }
    facts
}

/// The measurement.
pub fn body(results: &Results, run: &Scaling, look: Look) -> String {
    let mut parts = vec![
        look.title(&title(results, run)),
        columns(results, run, &lines(results)).render_within(look, 2, &SPARE),
    ];
    let notes = notes(results, run);
    if !notes.is_empty() {
        let notes = notes.iter().map(|note| look.wrapped(note, 2));
        parts.push(notes.collect::<Vec<String>>().join("\n"));
    }
    parts.join("\n\n") + "\n"
}

/// `poisson  fast, strong scaling: each size on more and more GPUs`.
pub fn title(results: &Results, run: &Scaling) -> String {
    let scaling = if run.weak {
        "weak scaling: as much for each GPU, on more and more of them"
    } else {
        "strong scaling: each size on more and more GPUs"
    };
    let lab = results.cases.first().map_or("", |case| &case.lab);
    format!("{lab}  {}, {scaling}", run.variant)
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

    fn on_several(&self) -> Option<&'r OnSeveral> {
        self.figures()?.on_several.as_ref()
    }

    /// Milliseconds of something with a run, if it was timed.
    fn ms(&self, of: impl Fn(&OnSeveral, f64) -> f64) -> Option<String> {
        let run_s = self.figures()?.run.median_s;
        Some(three(1e3 * of(self.on_several()?, run_s)))
    }
}

/// The rows of all sizes.
pub fn lines(results: &Results) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for case in &results.cases {
        for (at, row) in case.rows.iter().enumerate() {
            let is_first = at == 0 || case.rows[at - 1].case.size() != row.case.size();
            lines.push(Line {
                row,
                steps: case.timesteps.unwrap_or(0),
                is_first,
            });
        }
    }
    lines
}

/// The rows column by column.
pub fn columns<'l, 'r>(
    results: &Results,
    run: &Scaling,
    lines: &'l [Line<'r>],
) -> Table<'l, Line<'r>> {
    let table = Table::new(lines).left("size", |line| {
        if line.is_first {
            line.row.case.size().to_owned()
        } else {
            String::new()
        }
    });
    let is_one = lines
        .windows(2)
        .all(|two| two[0].row.variant == two[1].row.variant);
    let table = if is_one {
        table
    } else {
        table.left("variant", |line| line.row.variant.clone())
    };
    let table = table
        .right("GPUs", |line| Some(line.row.gpus?.to_string()))
        .right("steps", |line| Some(line.steps.to_string()));
    let table = if results.has_times() {
        times(table, run)
    } else {
        table
    };
    table.toned("result", Align::Left, |line| match &line.row.outcome {
        Outcome::DoesNotFit => ("does not fit".to_owned(), Tone::Faint),
        Outcome::Failed { .. } => ("failed".to_owned(), Tone::Bad),
        Outcome::Lacking { .. } => ("lacking".to_owned(), Tone::Caution),
        Outcome::Skipped { .. } => ("skipped".to_owned(), Tone::Faint),
        Outcome::Timed(_) | Outcome::Computed { .. } => match line.row.correctness() {
            Some(Correctness::Equal) => ("equal".to_owned(), Tone::Good),
            Some(Correctness::Wrong) => ("DIFFERENT".to_owned(), Tone::Bad),
            Some(Correctness::Reference) => ("first".to_owned(), Tone::Faint),
            _ => ("unchecked".to_owned(), Tone::Faint),
        },
    })
}

fn times<'l, 'r>(table: Table<'l, Line<'r>>, run: &Scaling) -> Table<'l, Line<'r>> {
    let unit = match run.rate_unit.as_str() {
        "byte" => "rate".to_owned(),
        _ => "G updates\n/s".to_owned(),
    };
    let rate = |line: &Line<'_>| {
        let per_s = line.on_several()?.rate_per_s;
        Some(match run.rate_unit.as_str() {
            "byte" => bytes_per_s(per_s),
            _ => three(per_s / 1e9),
        })
    };
    table
        .toned("time\nus/step", Align::Right, |line| {
            let Some(figures) = line.figures() else {
                return ("-".to_owned(), Tone::Faint);
            };
            match figures.run.withheld() {
                None => (figures.step_us(), Tone::Normal),
                Some(_) => ("withheld".to_owned(), Tone::Caution),
            }
        })
        .right("speedup", |line| Some(line.on_several()?.speedup?.short()))
        .right("effi-\nciency, %", |line| {
            Some(line.on_several()?.efficiency?.times(100.0).short())
        })
        .right(&unit, rate)
        .right("energy\nmJ/step", |line| {
            let joule = line
                .figures()?
                .on_device
                .conditions
                .as_ref()?
                .energy_per_run_j?;
            Some(three(1e3 * joule / line.steps.max(1) as f64))
        })
        .right("all steps\nms", |line| line.ms(|_, run_s| run_s))
        .right("with\ntransfer", |line| line.ms(OnSeveral::with_transfer_s))
        .right("with\nsetup", |line| line.ms(OnSeveral::with_setup_s))
}

/// The columns' meanings, and what is wrong, missing or uncertain.
pub fn notes(results: &Results, run: &Scaling) -> Vec<String> {
    let mut notes = Vec::new();
    let rows = || results.rows().map(|view| view.row);
    for row in rows() {
        let gpus = count(row.gpus.unwrap_or(1) as usize, "GPU");
        let of = format!("{} on {gpus}", row.case);
        match &row.outcome {
            Outcome::Failed { message } => notes.push(format!("{of} failed: {message}")),
            Outcome::Lacking { message } => notes.push(format!("{of} lacks: {message}")),
            Outcome::Timed(figures) => {
                let doubts = figures.run.doubts.iter();
                notes.extend(doubts.map(|doubt| {
                    if doubt.withholds() {
                        format!("{of}: withheld: {doubt}")
                    } else {
                        format!("{of}: {doubt}")
                    }
                }));
            }
            Outcome::Computed { .. } | Outcome::DoesNotFit | Outcome::Skipped { .. } => {}
        }
        if row.correctness() == Some(Correctness::Wrong) {
            notes.push(format!("{of}: the result is not that of fewer GPUs"));
        }
    }
    let reasons =
        || rows().filter_map(|row| row.figures()?.on_several.as_ref()?.no_graph.as_deref());
    for reason in reasons().collect::<BTreeSet<&str>>() {
        let alike = reasons().filter(|other| *other == reason).count();
        let counted = count(alike, "row");
        notes.push(format!("by stream, not as a graph, {counted}: {reason}"));
    }
    notes.push(
        if run.weak {
            "equal: every byte of the result is that of the fewest GPUs that hold the same size, after the same steps"
        } else {
            "equal: every byte of the result is that of the fewest GPUs, the first, after the same steps"
        }
        .to_owned(),
    );
    if results.has_times() {
        if run.rate_unit == "byte" {
            notes.push(
                "rate: as if each step moved 24 bytes for each point, whatever it really moves"
                    .to_owned(),
            );
        }
        notes.push("speedup, efficiency: by points in a second, against the fewest GPUs of the size; energy: of the GPUs that take part; transfer: all inputs written, all results read; setup: memory allocated, graph made".to_owned());
    }
    notes
}
