//! The state of a session, and that state as lines of text: nothing here reads a clock, a file or
//! the terminal.

use std::time::Duration;

use page::escape;
use terminal::look::Look;
use terminal::table::Table;
use units::grouped;

use super::change::{Change, is_right};
use super::lines::{command, cut, names, wrapped};
use super::next_step::{NextStep, after};
use super::subject::{Files, Subject};
use super::{excerpt, lines};
use crate::report::figures;
use grading::lab_spec::{Group, Hint};
use grading::outcome::{Failure, Kind};
use grading::report::{CaseGrade, GradeReport};

/// The keys, as the last line shows them.
pub const KEYS: &str = "h hint   c counts   Enter again   q quit";

/// The most lines of a failure's explanation that the screen shows: a compiler says a lot.
const MAX_LINES: usize = 24;

/// The most source lines that are shown with their neighbours.
const MAX_PLACES: usize = 3;

/// The blocks that a low window shortens, and the fewest lines that it leaves of each. Heading and
/// points come before them: the first failure, its source lines, the next step.
const SHORTENED: [(usize, usize); 3] = [(2, 5), (SOURCE, 3), (4, 2)];

/// The number of the block of source lines.
const SOURCE: usize = 3;

/// The most names in a list.
const MAX_NAMES: usize = 4;

/// A verdict.
struct Verdict {
    /// Which one it is, from 1.
    number: usize,
    report: GradeReport,
    /// The files that were graded.
    files: [String; 2],
    took: Duration,
    change: Option<Change>,
}

/// All that the user sees.
pub struct Screen {
    subject: Subject,
    verdict: Option<Verdict>,
    /// Why the last save could not be graded, if so.
    trouble: Option<String>,
    /// How many hints are shown.
    hints: usize,
    with_counts: bool,
    /// Whether the grading at hand compiles the kernels once more, for the message of a panic.
    is_compiling_messages: bool,
}

impl Screen {
    /// Nothing is graded yet.
    pub fn new(subject: Subject) -> Screen {
        Screen {
            subject,
            verdict: None,
            trouble: None,
            hints: 0,
            with_counts: false,
            is_compiling_messages: false,
        }
    }

    /// Whether nothing is graded yet.
    pub fn is_empty(&self) -> bool {
        self.verdict.is_none()
    }

    /// The report of the last save, if that could be graded.
    pub fn graded(&self) -> Option<&GradeReport> {
        let verdict = self.verdict.as_ref().filter(|_| self.trouble.is_none());
        verdict.map(|verdict| &verdict.report)
    }

    /// Takes a verdict on these files. Hints stay while the same case fails in the same way.
    pub fn show(&mut self, report: GradeReport, files: &Files, took: Duration) {
        let old = self.verdict.take();
        let first = |given: &GradeReport| {
            let first = first_failure(given);
            first.map(|first| (first.failing.kind, first.names[0].clone()))
        };
        if old.as_ref().and_then(|old| first(&old.report)) != first(&report) {
            self.hints = 0;
        }
        let text = |file: &Option<Vec<u8>>| {
            String::from_utf8_lossy(file.as_deref().unwrap_or_default()).into_owned()
        };
        self.verdict = Some(Verdict {
            number: old.as_ref().map_or(1, |old| old.number + 1),
            change: old.map(|old| Change::between(&old.report, &report)),
            report,
            files: files.each_ref().map(text),
            took,
        });
        self.trouble = None;
    }

    /// The last save could not be graded.
    pub fn trouble(&mut self, why: String) {
        self.trouble = Some(why);
    }

    /// A kernel panics: it is compiled once more, so that its message is known.
    pub fn compiling_messages(&mut self) {
        self.is_compiling_messages = true;
    }

    /// The grading at hand has ended.
    pub fn ended(&mut self) {
        self.is_compiling_messages = false;
    }

    /// Shows one hint more.
    pub fn hint(&mut self) {
        self.hints = (self.hints + 1).min(self.fitting().len().max(1));
    }

    /// Shows the counts, or no longer.
    pub fn toggle_counts(&mut self) {
        self.with_counts = !self.with_counts;
    }

    /// The watched submission, the device, and how long the verdict took.
    pub fn heading(&self, look: Look, columns: usize) -> Vec<String> {
        let Subject {
            lab,
            folder,
            device,
            ..
        } = &self.subject;
        let mut all = format!("on {device}");
        if let Some(verdict) = &self.verdict {
            let seconds = verdict.took.as_secs_f64();
            all += &format!(", verdict {} in {seconds:.1} s", verdict.number);
        }
        let name = format!("{lab}  {}", escape::line(folder));
        if name.chars().count() + 2 + all.len() <= columns {
            return vec![format!("{}  {}", look.title(&name), look.faint(&all))];
        }
        vec![
            look.title(&cut(&name, columns)),
            look.faint(&cut(&all, columns)),
        ]
    }

    /// The verdict and what goes with it.
    pub fn block(&self, look: Look, columns: usize) -> Vec<String> {
        self.within(look, columns, usize::MAX)
    }

    /// The block in at most `room` lines: what is said of the failure is cut first.
    fn within(&self, look: Look, columns: usize, room: usize) -> Vec<String> {
        let mut blocks = vec![self.heading(look, columns)];
        if let Some(verdict) = &self.verdict {
            let report = &verdict.report;
            blocks.push(self.points(verdict, look, columns));
            let first = first_failure(report);
            blocks.extend(match &first {
                Some(first) => [
                    explanation(first, look, columns),
                    source(first, verdict, 1, look, columns),
                ],
                None => [Vec::new(), Vec::new()],
            });
            let steps = after(&self.subject, report, first.map(|first| first.failing));
            blocks.push(next(&steps, look, columns));
            blocks.push(self.shown_hints(look, columns));
            if self.with_counts && room < usize::MAX {
                // Only the name of the failing case stays beside them.
                blocks.truncate(3);
                blocks[2].truncate(1);
            }
            blocks.extend(self.with_counts.then(|| counts(report, look, columns)));
        }
        if let Some(trouble) = &self.trouble {
            let text = escape::line(trouble);
            let lines = wrapped(&text, "  not graded: ", 4, columns);
            blocks.push(painted(lines, |line| look.bad(line)));
        }
        // The last block has no empty line after it.
        let over = |shown: &[Vec<String>]| {
            let heights = shown
                .iter()
                .map(|block| block.len() + usize::from(!block.is_empty()));
            (heights.sum::<usize>() - 1).saturating_sub(room)
        };
        let first = self.verdict.as_ref().and_then(|verdict| {
            let first = first_failure(&verdict.report)?;
            Some((verdict, first))
        });
        if over(&blocks) > 0
            && !self.with_counts
            && let Some((verdict, first)) = first
            && let Some(lines) = blocks.get_mut(SOURCE)
            && !lines.is_empty()
        {
            // Their neighbours go first.
            *lines = source(&first, verdict, 0, look, columns);
        }
        let mut over = over(&blocks);
        for (index, least) in SHORTENED {
            if let Some(block) = blocks.get_mut(index).filter(|_| over > 0) {
                let before = block.len();
                cut_off(
                    block,
                    before.saturating_sub(over + 1).max(least),
                    look,
                    columns,
                );
                over = over.saturating_sub(before - block.len());
            }
        }
        blocks.retain(|block| !block.is_empty());
        let mut lines = blocks.join(&String::new());
        cut_off(&mut lines, room.saturating_sub(1), look, columns);
        lines
    }

    /// The block, and below it what goes on, within `rows` lines.
    pub fn full(
        &self,
        look: Look,
        columns: usize,
        rows: usize,
        grading_for: Option<Duration>,
        has_keys: bool,
    ) -> Vec<String> {
        let columns = columns.max(lines::LEAST);
        let state = match grading_for {
            None => "waiting for a save".to_owned(),
            Some(time) if self.is_empty() && time > Duration::from_secs(4) => format!(
                "grading, {} s: the first time, the crates are built that your files use",
                time.as_secs()
            ),
            Some(time) if self.is_compiling_messages => format!(
                "grading, {} s: a kernel panics; the first time, its message takes a minute",
                time.as_secs()
            ),
            Some(time) => format!("grading, {} s", time.as_secs()),
        };
        let mut below = vec![String::new(), look.caution(&cut(&state, columns))];
        below.extend(has_keys.then(|| look.faint(&cut(KEYS, columns))));
        let room = rows.saturating_sub(below.len()).max(1);
        let mut lines = self.within(look, columns, room);
        lines.extend(below);
        lines
    }

    /// Whether large cases are run and speed is graded.
    fn is_on_gpu(&self) -> bool {
        self.subject.device != "emulated"
    }

    fn points(&self, verdict: &Verdict, look: Look, columns: usize) -> Vec<String> {
        let report = &verdict.report;
        let is_graded = |case: &&CaseGrade| case.group != Group::Large || self.is_on_gpu();
        let graded: Vec<&CaseGrade> = report.cases.iter().filter(is_graded).collect();
        let right = graded.iter().filter(|case| is_right(case)).count();
        let possible = if self.is_on_gpu() {
            report.totals.graded()
        } else {
            let counted = report.counted.iter().map(|counted| counted.points);
            graded.iter().map(|case| case.points).chain(counted).sum()
        };
        let figure = figures::earned(report.totals.earned, possible);
        let mut text = format!("{figure} points, {right} of {} cases right", graded.len());
        let for_speed: f64 = report.performance.iter().map(|timed| timed.points).sum();
        if for_speed > 0.0 && !self.is_on_gpu() {
            let points = figures::points(for_speed);
            text += &format!("; {points} points more for speed, on a GPU");
        }
        let mut lines = wrapped(&text, "  ", 4, columns);
        if let Some(first) = lines.first_mut() {
            let bold = if report.is_right() {
                look.good(&figure)
            } else {
                look.title(&figure)
            };
            *first = first.replacen(&figure, &bold, 1);
        }
        if report.is_right() {
            lines.push(look.good("  All cases here are right."));
        }
        lines.extend(
            verdict
                .change
                .iter()
                .flat_map(|change| changed(change, look, columns)),
        );
        lines
    }

    /// The hints that fit the first failure.
    fn fitting(&self) -> Vec<&'static Hint> {
        let report = self.verdict.as_ref().map(|verdict| &verdict.report);
        let first = report.and_then(first_failure);
        let hints = self.subject.hints;
        first.map_or_else(Vec::new, |first| {
            hints.about(first.failing.kind, &first.names[0])
        })
    }

    fn shown_hints(&self, look: Look, columns: usize) -> Vec<String> {
        let fitting = self.fitting();
        let readme = format!("labs/{}/README.md has more", self.subject.lab);
        if self.hints > 0 && fitting.is_empty() {
            let is_right = self
                .verdict
                .as_ref()
                .is_some_and(|verdict| verdict.report.is_right());
            let text = if is_right {
                "no hint: nothing fails".to_owned()
            } else {
                format!("no hint for this; {readme}")
            };
            return painted(wrapped(&text, "  ", 4, columns), |line| look.caution(line));
        }
        let of = fitting.len();
        let shown = fitting.iter().take(self.hints).enumerate();
        let mut lines: Vec<String> = shown
            .flat_map(|(index, hint)| {
                let label = format!("  hint {} of {of}: ", index + 1);
                wrapped(&hint.text, &label, 4, columns)
            })
            .collect();
        if self.hints > 0 && self.hints >= of {
            lines.push(cut(&format!("  no more hints; {readme}"), columns));
        }
        painted(lines, |line| look.caution(line))
    }
}

/// The first failure, with the cases that fail alike.
struct First<'r> {
    /// The cases that fail so, in the lab's order; at least one.
    names: Vec<String>,
    failing: &'r Failure,
    /// How many cases fail in another way.
    others: usize,
    is_of_all: bool,
}

fn first_failure(report: &GradeReport) -> Option<First<'_>> {
    let mut different = figures::alike(figures::failures(report)).into_iter();
    let (mut names, failing, alike) = different.next()?;
    names.extend(alike);
    Some(First {
        names,
        failing,
        others: different
            .map(|(others, _, more)| others.len() + more.len())
            .sum(),
        is_of_all: report.refused.as_ref() == Some(failing),
    })
}

fn changed(change: &Change, look: Look, columns: usize) -> Vec<String> {
    let Change {
        points,
        right,
        wrong,
        otherwise,
    } = change;
    let mut lines = Vec::new();
    let list = |label: &str, cases: &[String]| {
        let text = names(
            &cases
                .iter()
                .map(|name| escape::line(name))
                .collect::<Vec<_>>(),
            MAX_NAMES,
        );
        wrapped(&text, label, 4, columns)
    };
    let unit = if points.abs() == 1.0 {
        "point"
    } else {
        "points"
    };
    let size = figures::points(points.abs());
    if *points > 0.0 {
        lines.push(look.good(&format!("  +{size} {unit} since the last save")));
    } else if *points < 0.0 {
        lines.push(look.bad(&format!("  -{size} {unit} since the last save")));
    } else if right.is_empty() && wrong.is_empty() {
        lines.push(look.faint("  no other points than at the last save"));
    }
    if !right.is_empty() {
        lines.extend(painted(list("  newly right: ", right), |line| {
            look.good(line)
        }));
    }
    if !wrong.is_empty() {
        lines.extend(painted(list("  newly wrong: ", wrong), |line| {
            look.bad(line)
        }));
    }
    if !otherwise.is_empty() {
        lines.extend(list("  wrong in another way: ", otherwise));
    }
    lines
}

/// Leaves `kept` lines, and one that says how many more there are. A single line more stays.
fn cut_off(lines: &mut Vec<String>, kept: usize, look: Look, columns: usize) {
    if lines.len() > kept.saturating_add(1) {
        let left_out = lines.len() - kept;
        lines.truncate(kept);
        let more = format!("    ... {left_out} lines more: make the window higher");
        lines.push(look.faint(&cut(&more, columns)));
    }
}

/// Which case fails first, and how.
fn explanation(first: &First<'_>, look: Look, columns: usize) -> Vec<String> {
    let failing = first.failing;
    let kind = format!("[{}]", failing.kind);
    let mut heading = if first.is_of_all {
        format!("no case is run {kind}")
    } else {
        format!("{} {kind}", first.names[0])
    };
    if !first.is_of_all && first.names.len() > 1 {
        heading += &format!("; alike: {}", names(&first.names[1..], 2));
    }
    if first.others > 0 {
        let more = units::count(first.others, "more case");
        let verb = if first.others == 1 { "fails" } else { "fail" };
        heading += &format!("; {more} {verb} in another way");
    }
    let mut lines = wrapped(&heading, "  ", 4, columns);
    if let Some(line) = lines.first_mut() {
        *line = line.replacen(&kind, &look.bad(&kind), 1);
    }
    if failing.kind == Kind::CompileError {
        // It has the source lines in it.
        let said = first_error(&failing.message);
        let said = escape::at_most(&said, figures::LONGEST_MESSAGE);
        let said = said.lines().take(MAX_LINES);
        lines.extend(said.map(|line| cut(&format!("    {line}"), columns)));
        return lines;
    }
    for line in explained(failing).iter().take(MAX_LINES) {
        let indent = line.len() - line.trim_start().len() + 4;
        lines.extend(wrapped(line, &" ".repeat(indent), indent + 2, columns));
    }
    lines
}

/// Everything there is to say about a failure, in lines.
fn explained(failing: &Failure) -> Vec<String> {
    match &failing.sanitizer {
        // The first line names the case and the kernel, as do the heading and a later line.
        Some(said) if failing.device.is_none() && said.contains('\n') => {
            let said = escape::at_most(said, figures::LONGEST_MESSAGE);
            said.trim_end().lines().skip(1).map(str::to_owned).collect()
        }
        _ => figures::explanation(failing),
    }
}

/// The source lines that the first failure names; none of a compiler's message, which has them.
fn source(
    first: &First<'_>,
    verdict: &Verdict,
    around: usize,
    look: Look,
    columns: usize,
) -> Vec<String> {
    let message = &first.failing.message;
    if message
        .lines()
        .any(|line| line.trim_start().starts_with("--> "))
    {
        return Vec::new();
    }
    let mut places = excerpt::places(&explained(first.failing).join("\n"));
    places.truncate(MAX_PLACES);
    let lines = excerpt::excerpts(&places, &verdict.files, around, 4, columns);
    let paint = |line: &str| {
        if line.trim_start().starts_with('>') {
            look.title(line)
        } else {
            line.to_owned()
        }
    };
    painted(lines, paint)
}

/// A compiler's message down to the end of its first error, and how many there are.
fn first_error(message: &str) -> String {
    let parts: Vec<&str> = message.split("\n\n").collect();
    let is_error = |part: &&&str| {
        let start = part
            .trim_start()
            .lines()
            .find(|line| !line.ends_with("does not compile:"));
        start.is_some_and(|line| line.starts_with("error") && !line.starts_with("error: aborting"))
    };
    let errors: Vec<&&str> = parts.iter().filter(is_error).collect();
    let Some(first) = errors.first() else {
        return message.to_owned();
    };
    let heading = match message.lines().next() {
        Some(line) if line.ends_with("does not compile:") && !first.starts_with(line) => {
            format!("{line}\n")
        }
        _ => String::new(),
    };
    let more = match errors.len() {
        1 => String::new(),
        of => format!("\n... the first of {of} errors"),
    };
    format!("{heading}{}{more}", first.trim_end())
}

fn next(steps: &[NextStep], look: Look, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for NextStep { text, commands } in steps {
        let mut about = wrapped(text, "  next: ", 4, columns);
        if let Some(first) = about.first_mut() {
            *first = first.replacen("next:", &look.title("next:"), 1);
        }
        lines.extend(about);
        lines.extend(commands.iter().flat_map(|one| command(one, 4, columns)));
    }
    lines
}

/// Counts, as the report names them, in columns that fit 80.
const COUNTS: [(&str, &str); 5] = [
    ("warp_instructions", "instructions"),
    ("global_sectors", "sectors"),
    ("ideal_global_sectors", "at least"),
    ("bank_conflicts", "conflicts"),
    ("divergent_branches", "divergent"),
];

fn counts(report: &GradeReport, look: Look, columns: usize) -> Vec<String> {
    let counted: Vec<&CaseGrade> = report
        .cases
        .iter()
        .filter(|case| !case.counts.is_empty())
        .collect();
    if counted.is_empty() {
        let none =
            "no counts: only the emulated device counts, and only cases that run to their end";
        return wrapped(none, "  ", 4, columns);
    }
    let cases = Table::new(&counted).left("counts of", |case| escape::line(&case.name));
    let table = COUNTS.iter().fold(cases, |table, (name, header)| {
        table.right(header, |case| {
            let count = case.counts.get(*name);
            Some(count.map_or_else(|| "-".to_owned(), |&count| grouped(count)))
        })
    });
    table.render(look, 2).lines().map(str::to_owned).collect()
}

fn painted(lines: Vec<String>, paint: impl Fn(&str) -> String) -> Vec<String> {
    lines.iter().map(|line| paint(line)).collect()
}
