//! Each lab's ladder: its plain variant, and each that is faster than all before it, beside the
//! same in CUDA C++ and the limit that binds them.

use page::plot::BROAD;
use page::{Page, Rung, ladder};
use units::significant;

use super::rows::{Timed, timed};
use crate::perf::results::Results;
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
}

/// The same as an SVG file of its own.
///
/// # Errors
///
/// [`CommandError::Input`] where no lab has two variants that were timed.
pub fn svg(measurements: &[&Results]) -> Result<String, CommandError> {
    let steps = measurements.iter().flat_map(|results| steps(results));
    let steps: Vec<Step<'_>> = steps.collect();
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

fn rate(timed: &Timed<'_>) -> f64 {
    timed.figures.updates_per_s / 1e9
}

/// The ladders of all labs, of each on the case with most work in a timestep, on the first device
/// that has one.
fn steps(results: &Results) -> Vec<Step<'_>> {
    let mut rows = timed(results);
    rows.retain(|timed| {
        let is_gpu = timed.of.row.device != "cpu" && timed.of.row.capped.is_none();
        is_gpu && timed.figures.is_result()
    });
    let mut ladders = Vec::new();
    for lab in rows.chunk_by(|a, b| a.of.case.lab == b.of.case.lab) {
        let mut best: Vec<&Timed<'_>> = Vec::new();
        for case in lab.chunk_by(|a, b| {
            (&a.of.case.case, &a.of.row.device) == (&b.of.case.case, &b.of.row.device)
        }) {
            let own = climb(case);
            let is_larger = best.first().is_none_or(|best| own[0].size() > best.size());
            if own.len() > 1 && is_larger {
                best = own;
            }
        }
        for timed in best {
            // Of several builds, the fastest.
            let peers = lab.iter().filter(|peer| {
                let mut own = timed.of.cuda_peers();
                own.any(|own| std::ptr::eq(own, peer.of.row))
            });
            let peer = peers.max_by(|a, b| rate(a).total_cmp(&rate(b)));
            let ours = (timed.clone(), false);
            let both = [Some(ours), peer.map(|peer| (peer.clone(), true))];
            ladders.extend(
                both.into_iter()
                    .flatten()
                    .map(|(timed, is_peer)| Step { timed, is_peer }),
            );
        }
    }
    ladders
}

/// The first of our variants of a case, and each that is faster than all before it. Never empty:
/// the variant of a peer was timed as well, or else the peer represents it.
fn climb<'t, 'r>(case: &'t [Timed<'r>]) -> Vec<&'t Timed<'r>> {
    let ours = case.iter().filter(|timed| timed.of.row.language.is_none());
    let mut rungs: Vec<&Timed<'_>> = Vec::new();
    for timed in ours {
        if rungs.last().is_none_or(|last| rate(timed) > rate(last)) {
            rungs.push(timed);
        }
    }
    if rungs.is_empty() {
        rungs.extend(case.first());
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
        let note = [interval, share].into_iter().flatten();
        let note = note.collect::<Vec<String>>().join(" ");
        Rung {
            group: format!("{}, 1e9 {}/s", timed.heading, timed.figures.unit),
            label: timed.of.row.name(),
            value,
            limit: bound.map(|bound| value / bound.share),
            note,
            colour: usize::from(*is_peer),
        }
    };
    steps.iter().map(rung).collect()
}
