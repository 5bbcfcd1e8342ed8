//! Each lab's ladder: its plain variant, and each that is faster than all before it, beside the
//! same in CUDA C++ and the limit that binds them.

use page::plot::BROAD;
use page::{Page, Rung, ladder};
use units::significant;

use super::command::TABLE;
use super::rows::{Timed, timed};
use crate::document::Results;
use crate::ratios::RowView;
use exit::CommandError;
use terminal::table::{Align, Table};

const CAPTION: &str = "Work in a second, from each lab's plain variant to the fastest, on its largest case: blue in Rust, orange the same in CUDA C++. A line is the limit that binds the variant, measured in the same run: memory and L2 by the bytes that it must move, FP32 and FP64 by its operations.";

/// A step of a ladder.
struct Step<'r> {
    timed: Timed<'r>,
    is_peer: bool,
}

/// A picture and a table, if a lab has two variants.
pub fn add(page: &mut Page, results: &Results, command: &str) {
    let steps = steps(results);
    if steps.is_empty() {
        return;
    }
    page.section("From the plain variant to the fastest");
    page.ladder(&rungs(&steps), CAPTION);
    page.fold(TABLE, |page| {
        Table::new(&steps)
            .left("variant", |step| step.timed.of.row.name())
            .right("us a step or run", |step| {
                Some(step.timed.figures.step_us())
            })
            .right("1e9 updates/s", |step| {
                Some(step.timed.figures.giga_updates_per_s())
            })
            .right("of limit", |step| step.timed.of_limit())
            .left("limit", |step| {
                let bound = step.timed.of.bound();
                bound.map_or(String::new(), |bound| bound.by.name().to_owned())
            })
            .right("vs plain", |step| Some(step.timed.of.vs_first()?.short()))
            .toned("note", Align::Left, |step| step.timed.note())
            .add_to(page, |step| &step.timed.heading);
        page.command(command);
    });
}

/// The picture of all ladders as an SVG file of its own. A lab that several files have is shown
/// from the last of them.
///
/// # Errors
///
/// [`CommandError::Input`] where no lab has two variants that were timed.
pub fn svg(measurements: &[&Results]) -> Result<String, CommandError> {
    let is_superseded = |at: usize, lab: &str| {
        let later = measurements[at + 1..].iter();
        later
            .flat_map(|results| &results.cases)
            .any(|case| case.lab == lab)
    };
    let mut steps: Vec<Step<'_>> = Vec::new();
    for (at, results) in measurements.iter().enumerate() {
        let own = self::steps(results).into_iter();
        steps.extend(own.filter(|step| !is_superseded(at, &step.timed.of.case.lab)));
    }
    if steps.is_empty() {
        return Err(CommandError::Input(
            "--ladder: no lab of these results has two variants that were timed on a GPU; `harness perf --large --peers --json=FILE` times them"
                .to_owned(),
        ));
    }
    Ok(ladder::file(
        &ladder::ladder(&rungs(&steps), BROAD),
        CAPTION,
    ))
}

/// In 1e9 updates per second.
pub fn rate(timed: &Timed<'_>) -> f64 {
    timed.figures.work.updates_per_s / 1e9
}

/// Variants of a case, each faster than those before it. There is one at least.
pub struct Ladder<'r>(Vec<Timed<'r>>);

impl<'r> Ladder<'r> {
    pub fn plain(&self) -> &Timed<'r> {
        &self.0[0]
    }

    pub fn best(&self) -> &Timed<'r> {
        &self.0[self.0.len() - 1]
    }
}

/// The ladders of all labs. Each is of the case with most work in a timestep, on the first device
/// that has one; cases with two variants go before others.
pub fn ladders(results: &Results) -> Vec<Ladder<'_>> {
    let mut rows = timed(results);
    rows.retain(|timed| {
        let is_gpu = timed.of.row.device != "cpu" && timed.of.row.capped.is_none();
        is_gpu && timed.figures.is_result()
    });
    let labs = rows.chunk_by(|a, b| a.of.case.lab == b.of.case.lab);
    labs.filter_map(of_lab).collect()
}

/// Of the lab's cases, the ladder of the one that goes before the others.
fn of_lab<'r>(lab: &[Timed<'r>]) -> Option<Ladder<'r>> {
    let cases = lab.chunk_by(|a, b| {
        (&a.of.case.case, &a.of.row.device) == (&b.of.case.case, &b.of.row.device)
    });
    let rank = |rungs: &[Timed<'_>]| (rungs.len() > 1, rungs[0].size());
    let best = cases
        .map(climb)
        .reduce(|best, own| if rank(&own) > rank(&best) { own } else { best });
    best.map(Ladder)
}

/// The row of this variant in CUDA C++. Of several builds, the fastest.
pub fn peer<'r>(timed: &Timed<'r>) -> Option<Timed<'r>> {
    let peers = timed.of.cuda_peers().filter_map(|row| {
        Some(Timed {
            heading: timed.heading.clone(),
            of: RowView { row, ..timed.of },
            figures: row.figures().filter(|figures| figures.is_result())?,
        })
    });
    peers.max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

/// The rungs of ladders that have two at least, each beside its peer.
fn steps(results: &Results) -> Vec<Step<'_>> {
    let ladders = ladders(results).into_iter();
    let rungs = ladders.filter(|ladder| ladder.0.len() > 1);
    let both = rungs.flat_map(|ladder| ladder.0).flat_map(|timed| {
        let peer = peer(&timed);
        [Some((timed, false)), peer.map(|peer| (peer, true))]
    });
    let steps = both.flatten();
    steps
        .map(|(timed, is_peer)| Step { timed, is_peer })
        .collect()
}

/// The first of our variants of a case, and each that is faster than all before it. Never empty:
/// the variant of a peer was timed as well, or else the peer represents it.
fn climb<'r>(case: &[Timed<'r>]) -> Vec<Timed<'r>> {
    let mut rungs: Vec<Timed<'r>> = Vec::new();
    for timed in case {
        let is_ours = timed.of.row.language.is_none();
        if is_ours && rungs.last().is_none_or(|last| rate(timed) > rate(last)) {
            rungs.push(timed.clone());
        }
    }
    if rungs.is_empty() {
        rungs.extend(case.first().cloned());
    }
    rungs
}

fn rungs(steps: &[Step<'_>]) -> Vec<Rung> {
    let rung = |Step { timed, is_peer }: &Step<'_>| {
        let value = rate(timed);
        let bound = timed.of.bound();
        let half = timed.figures.half_width_of_rate();
        let interval = half.map(|half| format!("± {}", significant(half / 1e9, 1)));
        let share =
            bound.map(|bound| format!("({:.0} % of {})", 100.0 * bound.share, bound.by.name()));
        let note = [interval, share]
            .into_iter()
            .flatten()
            .collect::<Vec<String>>()
            .join(" ");
        Rung {
            group: format!("{}, 1e9 {}/s", timed.heading, timed.figures.work.unit),
            label: timed.of.row.name(),
            value,
            limit: bound.map(|bound| value / bound.share),
            note,
            colour: usize::from(*is_peer),
        }
    };
    steps.iter().map(rung).collect()
}
