//! A grade on a terminal.

use super::figures;
use crate::grade::verdict::GradeReport;
use crate::page::escape;
use crate::table::{Align, Columns, Tone};
use crate::terminal::Look;

/// The whole report.
pub fn render(report: &GradeReport, look: Look) -> String {
    let mut blocks = vec![heading(report, look)];
    if report.refused.is_none() || report.cases.iter().any(|case| case.earned > 0.0) {
        blocks.extend((!report.cases.is_empty()).then(|| cases(report, look)));
        blocks.extend((!report.performance.is_empty()).then(|| performance(report, look)));
    }
    for (names, failing) in figures::failures(report) {
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
        blocks.push(block);
    }
    blocks.extend(remarks(report, look));
    let (figure, caption) = figures::score(report);
    blocks.push(format!("  {} {caption}", look.title(&figure)));
    blocks.join("\n\n")
}

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
