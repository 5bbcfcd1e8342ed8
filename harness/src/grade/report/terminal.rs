//! A grade on a terminal.

use super::figures;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;
use grading::outcome::Failing;
use grading::report::GradeReport;
use page::escape;
use units::grouped;

/// The whole report.
pub fn render(report: &GradeReport, look: Look) -> String {
    let mut blocks = vec![heading(report, look)];
    if report.refused.is_none() || report.cases.iter().any(|case| case.earned > 0.0) {
        blocks.extend((!report.cases.is_empty()).then(|| cases(report, look)));
        blocks.extend((!report.performance.is_empty()).then(|| performance(report, look)));
    }
    blocks.extend(failures(report, look));
    blocks.extend(remarks(report, look));
    blocks.push(score(report, look));
    blocks.join("\n\n")
}

/// The points, and what went wrong first.
pub fn brief(report: &GradeReport, look: Look) -> String {
    let mut blocks = vec![heading(report, look)];
    blocks.extend(failures(report, look).into_iter().next());
    blocks.push(score(report, look));
    blocks.join("\n\n")
}

fn score(report: &GradeReport, look: Look) -> String {
    let (figure, caption) = figures::score(report);
    format!("  {} {caption}", look.title(&figure))
}

/// A block for each way in which cases fail.
fn failures(report: &GradeReport, look: Look) -> Vec<String> {
    let different = figures::alike(figures::failures(report));
    let block = |(names, failing, others): (Vec<String>, &Failing, Vec<String>)| {
        // The submission as a whole is refused, and so are all its cases: one name will do.
        let names = if report.refused.as_ref() == Some(failing) {
            "submission".to_owned()
        } else {
            names.join(", ")
        };
        let mut block = format!("  {} {}", names, look.bad(&format!("[{}]", failing.kind)));
        for line in figures::explanation(failing) {
            block += &format!("\n    {line}");
        }
        if !others.is_empty() {
            block += &format!("\n    {} {}", look.faint("alike:"), others.join(", "));
        }
        block
    };
    different.into_iter().map(block).collect()
}

/// What the emulated device counted in the first run of each case.
pub fn counts(report: &GradeReport, look: Look) -> String {
    let counted = report.cases.iter().filter(|case| !case.counts.is_empty());
    let mut headers = vec![("counts of", Align::Left)];
    headers.extend(COUNTS.map(|(_, header)| (header, Align::Right)));
    let mut table = Columns::with_header(look, &headers);
    let mut is_empty = true;
    for case in counted {
        is_empty = false;
        let mut row = vec![(escape::line(&case.name), Tone::Normal)];
        row.extend(COUNTS.map(|(name, _)| {
            let count = case.counts.get(name);
            let text = count.map_or_else(|| "-".to_owned(), |&count| grouped(count));
            (text, Tone::Normal)
        }));
        table.row(row);
    }
    if is_empty {
        "  no counts: only the emulated device counts, and only what ran to its end".to_owned()
    } else {
        table.render(2)
    }
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
    let has_checks = figures::has_checks(report);
    let mut headers = vec![
        ("case", Align::Left),
        ("group", Align::Left),
        ("points", Align::Right),
        ("samples", Align::Right),
        ("result", Align::Left),
    ];
    if has_checks {
        headers.insert(4, ("checks", Align::Left));
    }
    let mut table = Columns::with_header(look, &headers);
    for case in &report.cases {
        let mut row = vec![
            (escape::line(&case.name), Tone::Normal),
            (case.group.name().to_owned(), Tone::Normal),
            (figures::earned(case.earned, case.points), Tone::Normal),
            (case.samples.to_string(), Tone::Faint),
            figures::case_result(case),
        ];
        if has_checks {
            row.insert(4, figures::checks(case));
        }
        table.row(row);
    }
    table.render(2)
}

fn performance(report: &GradeReport, look: Look) -> String {
    let headers = [
        ("speed of", Align::Left),
        ("against", Align::Left),
        ("points", Align::Right),
        ("time", Align::Right),
        ("ratio", Align::Left),
        ("result", Align::Left),
    ];
    let mut table = Columns::with_header(look, &headers);
    for timed in &report.performance {
        let time = timed
            .submission
            .as_ref()
            .map(|times| figures::median(times.median_s));
        table.row([
            (escape::line(&timed.case), Tone::Normal),
            (figures::against(timed), Tone::Normal),
            (figures::earned(timed.earned, timed.points), Tone::Normal),
            (time.unwrap_or_else(|| "-".to_owned()), Tone::Normal),
            (figures::ratio(timed.ratio.as_ref()), Tone::Normal),
            figures::performance_result(timed),
        ]);
    }
    table.render(2)
}

/// Reasons, missing protections and notes, a line each.
fn remarks(report: &GradeReport, look: Look) -> Option<String> {
    let mut lines = Vec::new();
    for (reason, names) in figures::reasons(report) {
        lines.push(format!(
            "  {} {}: {reason}",
            look.caution("not graded here:"),
            names.join(", ")
        ));
    }
    for (reason, names) in figures::unchecked(report) {
        lines.push(format!(
            "  {} {}: {reason}",
            look.caution("not checked on the emulated device:"),
            names.join(", ")
        ));
    }
    for protection in report
        .protections
        .iter()
        .filter(|protection| !protection.in_force)
    {
        lines.push(format!(
            "  {} {}: {}",
            look.caution("not in force:"),
            escape::line(&protection.name),
            escape::line(&protection.detail)
        ));
    }
    lines.extend(
        report
            .notes
            .iter()
            .map(|note| format!("  note: {}", escape::line(note))),
    );
    (!lines.is_empty()).then(|| lines.join("\n"))
}
