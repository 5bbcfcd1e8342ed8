//! A grade on a terminal.

use super::figures;
use grading::outcome::{Failure, Kind};
use grading::report::{CaseGrade, GradeReport};
use page::escape;
use terminal::look::Look;
use terminal::table::{Align, Table, Tone};
use units::{count, grouped};

/// The whole report.
pub fn render(report: &GradeReport, look: Look) -> String {
    let mut blocks = vec![heading(report, look)];
    blocks.extend(undecided(report, look));
    if report.refused.is_none() || report.cases.iter().any(|case| case.earned > 0.0) {
        blocks.extend((!report.cases.is_empty()).then(|| cases(report, look)));
        blocks.extend((!report.performance.is_empty()).then(|| performance(report, look)));
        blocks.extend((!report.counted.is_empty()).then(|| counted(report, look)));
    }
    blocks.extend(failures(report, look));
    blocks.extend(printed(report, look));
    blocks.extend(remarks(report, look));
    blocks.push(score(report, look));
    blocks.join("\n\n")
}

/// The points, and what went wrong first.
pub fn brief(report: &GradeReport, look: Look) -> String {
    let mut blocks = vec![heading(report, look)];
    blocks.extend(undecided(report, look));
    blocks.extend(failures(report, look).into_iter().next());
    blocks.extend(printed(report, look).into_iter().next());
    blocks.push(score(report, look));
    blocks.join("\n\n")
}

/// The undecided points of this submission, above everything else: its points are not what they
/// seem.
fn undecided(report: &GradeReport, look: Look) -> Option<String> {
    let lines: Vec<String> = figures::undecided(report)
        .into_iter()
        .map(|(reason, names)| {
            let label = look.caution("undecided here:");
            look.wrapped(&format!("{label} {}: {reason}", names.join(", ")), 2)
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn score(report: &GradeReport, look: Look) -> String {
    let (figure, caption) = figures::score(report);
    format!("  {} {caption}", look.title(&figure))
}

/// A block for each way in which cases fail.
fn failures(report: &GradeReport, look: Look) -> Vec<String> {
    let different = figures::alike(figures::failures(report));
    let block = |(names, failing, others): (Vec<String>, &Failure, Vec<String>)| {
        // The submission as a whole is refused, and so are all its cases: one name will do.
        let names = if report.refused.as_ref() == Some(failing) {
            "submission".to_owned()
        } else {
            names.join(", ")
        };
        let heading = format!("{} {}", names, look.bad(&format!("[{}]", failing.kind)));
        let mut lines = vec![look.wrapped(&heading, 2)];
        for line in figures::explanation(failing) {
            let text = line.trim_start();
            let indent = 4 + line.len() - text.len();
            lines.push(match failing.kind {
                // The compiler's marks point at the text above them.
                Kind::CompileError if !line.starts_with("hint: ") => {
                    format!("    {}", by_compiler(&line, look))
                }
                _ => look.wrapped(text, indent),
            });
        }
        if !others.is_empty() {
            let others = format!("{} {}", look.faint("alike:"), others.join(", "));
            lines.push(look.wrapped(&others, 4));
        }
        lines.join("\n")
    };
    different.into_iter().map(block).collect()
}

/// A line of the compiler's, in its colours: what kind of message it is, the gutter, the marks.
fn by_compiler(line: &str, look: Look) -> String {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let painted = |end: usize, paint: &dyn Fn(&str) -> String| {
        format!("{indent}{}{}", paint(&text[..end]), &text[end..])
    };
    let is_word = |word: &str| text.starts_with(word);
    let colon = text.find(':').unwrap_or(0);
    if is_word("error") {
        return painted(colon, &|word| look.bad(word));
    }
    if is_word("warning") || is_word("help: ") || is_word("note: ") {
        return painted(colon, &|word| look.caution(word));
    }
    let number = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let gutter = text[number..].trim_start();
    if is_word("-->") || gutter.starts_with('|') {
        let end = if is_word("-->") {
            3
        } else {
            text.len() - gutter.len() + 1
        };
        let rest = &text[end..];
        // Below a line of text, marks alone.
        let is_mark = number == 0 && rest.trim_start().starts_with('^');
        let rest = if is_mark {
            look.bad(rest)
        } else {
            rest.to_owned()
        };
        return format!("{indent}{}{rest}", look.faint(&text[..end]));
    }
    line.to_owned()
}

/// The most lines of a text that a submission printed which are shown on a terminal.
const MAX_PRINTED_LINES: usize = 20;

/// A block for each text that the submission printed.
fn printed(report: &GradeReport, look: Look) -> Vec<String> {
    let texts = figures::printed(report).into_iter();
    let blocks = texts.map(|(what, text)| {
        let mut lines = vec![look.wrapped(&what, 2)];
        let shown = text.lines().take(MAX_PRINTED_LINES);
        lines.extend(shown.map(|line| look.wrapped(line, 4)));
        let more = text.lines().count().saturating_sub(MAX_PRINTED_LINES);
        if more > 0 {
            let more = format!("... ({}: --html, -o)", count(more, "more line"));
            lines.push(look.wrapped(&look.faint(&more), 4));
        }
        lines.join("\n")
    });
    blocks.collect()
}

/// The counts of the emulated device in the first run of each case.
pub fn counts(report: &GradeReport, look: Look) -> String {
    let counted: Vec<&CaseGrade> = report
        .cases
        .iter()
        .filter(|case| !case.counts.is_empty())
        .collect();
    if counted.is_empty() {
        return "  no counts: only the emulated device counts, and only what ran to its end"
            .to_owned();
    }
    let names = Table::new(&counted).left("counts of", |case| escape::line(&case.name));
    let table = COUNTS.iter().fold(names, |table, (name, header)| {
        table.right(header, |case| {
            Some({
                let count = case.counts.get(*name);
                count.map_or_else(|| "-".to_owned(), |&count| grouped(count))
            })
        })
    });
    table.render_within(look, 2, &["divergent", "at least", "launches", "barriers"])
}

/// Counts, as the report names them, and their columns.
const COUNTS: [(&str, &str); 7] = [
    ("launches", "launches"),
    ("warp_instructions", "warp instructions"),
    ("global_sectors", "global sectors"),
    ("ideal_global_sectors", "at least"),
    ("bank_conflicts", "bank conflicts"),
    ("divergent_branches", "divergent branches"),
    ("barriers", "barriers"),
];

fn heading(report: &GradeReport, look: Look) -> String {
    let name = escape::line(&report.submission.name);
    let title = look.title(&format!("{}  {name}", escape::line(&report.lab)));
    let device = match &report.device_info {
        Some(info) => format!("{} ({})", report.device, escape::line(&info.name)),
        None => report.device.clone(),
    };
    let seed = report
        .seed
        .map(|seed| format!(", seed {seed}"))
        .unwrap_or_default();
    format!("{title}  {}", look.faint(&format!("on {device}{seed}")))
}

fn cases(report: &GradeReport, look: Look) -> String {
    let mut table = Table::new(&report.cases)
        .left("case", |case| escape::line(&case.name))
        .left("group", |case| case.group.name().to_owned())
        .right("points", |case| {
            Some(figures::earned(case.earned, case.points))
        })
        .toned("samples", Align::Right, |case| {
            (case.samples.to_string(), Tone::Faint)
        });
    if figures::has_checks(report) {
        table = table.toned("checks", Align::Left, figures::checks);
    }
    let table = table.toned("result", Align::Left, figures::case_result);
    table.render(look, 2)
}

fn performance(report: &GradeReport, look: Look) -> String {
    Table::new(&report.performance)
        .left("speed of", |timed| escape::line(&timed.case))
        .left("against", figures::against)
        .right("points", |timed| {
            Some(figures::earned(timed.earned, timed.points))
        })
        .right("time", |timed| Some(figures::time(timed)))
        .left("ratio", |timed| figures::ratio(timed.ratio.as_ref()))
        .toned("result", Align::Left, figures::performance_result)
        .render(look, 2)
}

fn counted(report: &GradeReport, look: Look) -> String {
    Table::new(&report.counted)
        .left("count", figures::count_of)
        .right("points", |counted| {
            Some(figures::earned(counted.earned, counted.points))
        })
        .right("all points", |counted| Some(grouped(counted.full)))
        .right("none from", |counted| Some(grouped(counted.zero)))
        .toned("counted", Align::Right, figures::counted)
        .render(look, 2)
}

/// Reasons, missing protections and notes, a line each.
fn remarks(report: &GradeReport, look: Look) -> Option<String> {
    let mut lines = Vec::new();
    for (reason, names) in figures::reasons(report) {
        let label = look.caution("not graded here:");
        lines.push(look.wrapped(&format!("{label} {}: {reason}", names.join(", ")), 2));
    }
    for (reason, names) in figures::unchecked(report) {
        let label = look.caution("not checked on the emulated device:");
        lines.push(look.wrapped(&format!("{label} {}: {reason}", names.join(", ")), 2));
    }
    for protection in report
        .protections
        .iter()
        .filter(|protection| !protection.in_force)
    {
        let [name, detail] = [&protection.name, &protection.detail].map(|text| escape::line(text));
        let label = look.caution("not in force:");
        lines.push(look.wrapped(&format!("{label} {name}: {detail}"), 2));
    }
    lines.extend(
        report
            .notes
            .iter()
            .map(|note| look.wrapped(&format!("note: {}", escape::line(note)), 2)),
    );
    (!lines.is_empty()).then(|| lines.join("\n"))
}
