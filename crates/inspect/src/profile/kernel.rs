//! The counts of one kernel, in all and by source line.

use device::{Executed, InstructionClass, KernelReport};
use serde::Serialize;

use super::figures::{ByKind, Figures, Traffic, active_lanes, share};
use super::source::Sources;
use terminal::look::Look;
use terminal::table::{Align, Table, Tone};
use units::{count, grouped, percent};

/// Longest text of a source line that is shown.
const TEXT_WIDTH: usize = 44;

/// Parts of a path that are shown: enough to know which of the course's files it is.
const PATH_PARTS: usize = 3;

/// Shortest text of a source line that tells anything.
const LEAST_TEXT: usize = 12;

/// Columns of the table of lines before the line's place.
const BEFORE_PLACE: usize = 43;

/// A kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelProfile {
    kernel: String,
    launches: u64,
    blocks: u64,
    threads: u64,
    /// The counts of all launches.
    pub counts: Figures,
    /// The counts by source line, those that cost most first.
    pub lines: Vec<LineProfile>,
}

/// A source line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineProfile {
    /// Path as the compiler wrote it; `None` for instructions that no line answers for.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// Its text, if the file can be read.
    pub text: Option<String>,
    /// PTX lines of its instructions.
    pub ptx_lines: Vec<u32>,
    /// The counts of its instructions.
    pub counts: Figures,
}

impl KernelProfile {
    /// From the device's counts.
    pub fn new(report: &KernelReport, sources: &mut Sources) -> KernelProfile {
        let total = Figures(report.total.counts.clone());
        let mut lines: Vec<LineProfile> = report
            .total
            .lines()
            .into_iter()
            .map(|line| {
                let text = line
                    .source
                    .as_ref()
                    .and_then(|source| sources.line(&source.file, source.line));
                LineProfile {
                    text,
                    file: line.source.as_ref().map(|source| source.file.to_string()),
                    line: line.source.map(|source| source.line),
                    ptx_lines: line.ptx_lines,
                    counts: Figures(line.counts),
                }
            })
            .collect();
        // Stable: lines that cost the same stay in the order of file and line.
        lines.sort_by(|a, b| cost(&b.counts, &total).total_cmp(&cost(&a.counts, &total)));
        KernelProfile {
            kernel: report.total.kernel.clone(),
            launches: report.launches,
            blocks: report.total.blocks,
            threads: report.total.threads,
            counts: total,
            lines,
        }
    }

    /// Title, totals, and the `lines` source lines that cost most.
    pub fn render(&self, lines: usize, look: Look) -> String {
        let title = format!(
            "{}  {}, {}, {}",
            look.title(&self.kernel),
            plural(self.launches, "launch", "launches"),
            plural(self.blocks, "block", "blocks"),
            plural(self.threads, "thread", "threads"),
        );
        let mut parts = vec![look.wrapped(&title, 2)];
        parts.extend(self.instructions(look));
        parts.push(look.wrapped(&self.control(), 4));
        parts.extend(memory(
            look,
            ["global memory", "sectors", "coalesced %"],
            self.counts.global(),
            |traffic| percent(traffic.efficiency()),
        ));
        parts.extend(memory(
            look,
            ["shared memory", "wavefronts", "conflicts"],
            self.counts.shared(),
            |traffic| grouped(traffic.excess()),
        ));
        let distributed = self.counts.distributed();
        parts.extend(distributed.into_iter().map(|(name, requests, bytes)| {
            let (_, kind) = name.split_once('_').unwrap_or_default();
            let line = format!(
                "{kind} in shared memory of other blocks: {} requests, {} bytes",
                grouped(requests),
                grouped(bytes)
            );
            look.wrapped(&line, 4)
        }));
        let bytes = format!(
            "local memory: {} bytes; parameters: {} bytes",
            grouped(self.counts.0.local_bytes),
            grouped(self.counts.0.param_bytes)
        );
        parts.push(look.wrapped(&bytes, 4));
        if lines > 0 && !self.lines.is_empty() {
            parts.push(self.line_table(lines, look));
        }
        parts.join("\n\n") + "\n"
    }

    fn instructions(&self, look: Look) -> Option<String> {
        let counts = &self.counts.0;
        let classes = InstructionClass::ALL.map(|class| (class.name(), counts.class(class)));
        let all = [("all", counts.instructions)];
        let rows: Vec<(&str, Executed)> = classes
            .into_iter()
            .chain(all)
            .filter(|(_, executed)| executed.warp != 0)
            .collect();
        let of_all = |executed: &Executed| share(executed.warp, counts.instructions.warp);
        let lanes = |executed: &Executed| {
            active_lanes(*executed).map_or("-".to_owned(), |share| format!("{:.1}", 32.0 * share))
        };
        let table = Table::new(&rows)
            .left("instructions", |(name, _)| (*name).to_owned())
            .right("by warps", |(_, executed)| Some(grouped(executed.warp)))
            .right("%", |(_, executed)| Some(percent(of_all(executed))))
            .right("by threads", |(_, executed)| Some(grouped(executed.thread)))
            .right("lanes", |(_, executed)| Some(lanes(executed)));
        (!rows.is_empty()).then(|| table.render(look, 4))
    }

    fn control(&self) -> String {
        let counts = &self.counts.0;
        let divergent =
            share(counts.divergent_branches, counts.branches).map_or(String::new(), |share| {
                format!(
                    ", {} divergent ({:.1} %)",
                    grouped(counts.divergent_branches),
                    100.0 * share
                )
            });
        format!(
            "{}{divergent}; {}; {}",
            plural(counts.branches, "branch", "branches"),
            plural(counts.barriers, "barrier", "barriers"),
            plural(
                counts.class(InstructionClass::Atomic).warp,
                "atomic",
                "atomics"
            ),
        )
    }

    fn line_table(&self, shown: usize, look: Look) -> String {
        let (shown, rest) = self.lines.split_at(shown.min(self.lines.len()));
        let place = |line: &LineProfile, parts| match (&line.file, line.line) {
            (Some(file), Some(number)) => format!("{}:{number}", end_of(file, parts)),
            _ => "without a line".to_owned(),
        };
        let widest = |parts| {
            let places = shown.iter().map(|line| place(line, parts).chars().count());
            BEFORE_PLACE + places.max().unwrap_or(0)
        };
        // As much of the paths as there is room for, and of the lines' text what is left.
        let parts = (1..=PATH_PARTS)
            .rev()
            .find(|parts| widest(*parts) <= look.columns)
            .unwrap_or(1);
        let room = look.columns.saturating_sub(widest(parts) + 2);
        let mut rows = Vec::new();
        for line in shown {
            let text = line.text.as_deref().filter(|_| room >= LEAST_TEXT);
            let text = text.map(|text| excerpt(text, room, look));
            let place = place(line, parts);
            rows.push((line.counts.clone(), place, text.unwrap_or_default()));
        }
        if !rest.is_empty() {
            let counts = Figures(rest.iter().map(|line| &line.counts.0).sum());
            rows.push((counts, count(rest.len(), "other line"), String::new()));
        }
        let all = &self.counts;
        let warps = |counts: &Figures| share(counts.0.instructions.warp, all.0.instructions.warp);
        let sectors = |counts: &Figures| share(counts.all_global().units, all.all_global().units);
        let above_0 = |share: Option<f64>| percent(share.filter(|share| *share > 0.0));
        Table::new(&rows)
            .right("instr.\n%", |(counts, ..)| Some(percent(warps(counts))))
            .right("sectors\n%", |(counts, ..)| Some(above_0(sectors(counts))))
            .right("coalesced\n%", |(counts, ..)| {
                Some(percent(counts.all_global().efficiency()))
            })
            .right("conflicts\n%", |(counts, ..)| {
                Some(above_0(conflict_share(counts, all)))
            })
            .left("line", |(_, at, _)| at.clone())
            .toned("", Align::Left, |(.., text)| (text.clone(), Tone::Faint))
            .render(look, 4)
    }
}

/// The order of lines: the largest of their shares of instructions, of sectors, and of
/// wavefronts that conflicts add.
fn cost(line: &Figures, kernel: &Figures) -> f64 {
    let shares = [
        share(line.0.instructions.warp, kernel.0.instructions.warp),
        share(line.all_global().units, kernel.all_global().units),
        conflict_share(line, kernel),
    ];
    shares.into_iter().flatten().fold(0.0, f64::max)
}

/// The wavefronts that a line's conflicts add, relative to all of the kernel's.
fn conflict_share(line: &Figures, kernel: &Figures) -> Option<f64> {
    share(line.all_shared().excess(), kernel.all_shared().units)
}

/// The last parts of a path.
fn end_of(path: &str, parts: usize) -> &str {
    let start = path.rmatch_indices('/').nth(parts - 1);
    start.map_or(path, |(at, _)| &path[at + 1..])
}

/// The start of a line, as much as there is room for.
fn excerpt(text: &str, room: usize, look: Look) -> String {
    let printable = |c: char| match c {
        '\t' => ' ',
        _ if c.is_ascii_graphic() || c == ' ' || look.unicode && !c.is_control() => c,
        _ => '?',
    };
    let all = text.chars().count();
    let room = room.min(TEXT_WIDTH);
    let kept = if all > room {
        room.saturating_sub(4)
    } else {
        all
    };
    let mut shown: String = text.chars().map(printable).take(kept).collect();
    if all > room {
        shown.truncate(shown.trim_end().len());
        shown += " ...";
    }
    shown
}

fn plural(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

/// Traffic to a memory, if there is any, named by the first word of the header. The second names
/// its units; the third, what `last` gives.
fn memory(
    look: Look,
    [name, units, last_name]: [&str; 3],
    traffic: ByKind,
    last: impl Fn(Traffic) -> String,
) -> Option<String> {
    let rows: Vec<(&str, Traffic)> = traffic
        .into_iter()
        .filter(|(_, traffic)| traffic.requests != 0)
        .collect();
    let table = Table::new(&rows)
        .left(name, |(kind, _)| (*kind).to_owned())
        .right("requests", |(_, moved)| Some(grouped(moved.requests)))
        .right(units, |(_, moved)| Some(grouped(moved.units)))
        .right("ideal", |(_, moved)| Some(grouped(moved.ideal)))
        .right(last_name, |(_, moved)| Some(last(*moved)))
        .right("bytes", |(_, moved)| Some(grouped(moved.bytes)));
    (!rows.is_empty()).then(|| table.render(look, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths and text of lines give way where a terminal is narrow.
    #[test]
    fn lines_fit_the_terminal() {
        let line = LineProfile {
            file: Some("course/solutions/stencil25/seven_launches/kernels.rs".to_owned()),
            line: Some(48),
            text: Some("let laplacian = centre * coefficients[0] + sum_of_neighbours;".to_owned()),
            ptx_lines: Vec::new(),
            counts: Figures(Default::default()),
        };
        let kernel = KernelProfile {
            kernel: "k".to_owned(),
            launches: 1,
            blocks: 1,
            threads: 1,
            counts: Figures(Default::default()),
            lines: vec![line],
        };
        let last = |columns| {
            let look = Look {
                columns,
                ..Look::PLAIN
            };
            let table = kernel.line_table(1, look);
            let last = table.lines().last().unwrap_or_default().to_owned();
            assert!(last.chars().count() <= columns, "{table}");
            last
        };
        assert!(last(100).contains("stencil25/seven_launches/kernels.rs:48  let lap"));
        assert!(last(80).ends_with(" seven_launches/kernels.rs:48"));
        assert!(last(60).ends_with(" kernels.rs:48"));
    }
}
