//! Points, ratios and statuses as people read them.

use std::mem::{Discriminant, discriminant};

use grading::diagnose::Pattern;
use grading::lab_spec::{Against, COUNTED, Group};
use grading::outcome::{Failure, Kind, Outcome};
use grading::report::{CaseGrade, Checks, CountGrade, GradeReport, Interval, PerformanceGrade};
use page::escape;
use serde::{Deserialize, Serialize};
use terminal::table::Tone;
use units::{bytes_per_s, three};

/// Messages of a submission are cut after this number of characters: a compiler can be very
/// talkative.
pub const LONGEST_MESSAGE: usize = 6000;

/// Points without needless zeros: `2`, `2.5`, `0.33`.
pub fn points(points: f64) -> String {
    let text = format!("{points:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `2 / 3`.
pub fn earned(earned: f64, possible: f64) -> String {
    format!("{} / {}", points(earned), points(possible))
}

/// A ratio with its interval: `0.912 (0.905 to 0.918)`.
pub fn ratio(ratio: Option<&Interval>) -> String {
    ratio.map_or_else(
        || "-".to_owned(),
        |ratio| {
            format!(
                "{} ({} to {})",
                three(ratio.value),
                three(ratio.low),
                three(ratio.high)
            )
        },
    )
}

/// The submission's median time in microseconds: `54.1 us`.
pub fn time(timed: &PerformanceGrade) -> String {
    timed.submission.as_ref().map_or_else(
        || "-".to_owned(),
        |times| format!("{} us", three(times.median_s * 1e6)),
    )
}

/// The reference of a time.
pub fn against(timed: &PerformanceGrade) -> String {
    match (&timed.against, &timed.limit) {
        (Against::Reference { variant }, _) => escape::line(variant),
        (Against::Limit, Some(limit)) => {
            format!("copying, {}", bytes_per_s(limit.copy_bytes_per_s))
        }
        (Against::Limit, None) => "copying".to_owned(),
    }
}

/// A case's result in a few words.
pub fn case_result(case: &CaseGrade) -> (String, Tone) {
    match &case.status {
        Outcome::Passed | Outcome::Measured => ("passed".to_owned(), Tone::Good),
        Outcome::Failed(failing) => (failure(failing), Tone::Bad),
        Outcome::NotGradedHere { .. } => ("not graded here".to_owned(), Tone::Caution),
        Outcome::Undecided { .. } => ("undecided here".to_owned(), Tone::Caution),
    }
}

/// A timing's result in a few words.
pub fn performance_result(timed: &PerformanceGrade) -> (String, Tone) {
    match &timed.status {
        Outcome::Failed(failing) => (failure(failing), Tone::Bad),
        Outcome::NotGradedHere { .. } => ("not graded here".to_owned(), Tone::Caution),
        Outcome::Undecided { .. } => ("undecided here".to_owned(), Tone::Caution),
        _ if timed.earned >= timed.points => ("full points".to_owned(), Tone::Good),
        _ => (
            format!("0 at {}, all at {}", timed.zero, timed.full),
            Tone::Normal,
        ),
    }
}

fn failure(failing: &Failure) -> String {
    format!("{} [{}]", failing.category.name(), failing.kind)
}

/// Points and cases, of those that are graded on the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Points that were earned.
    pub earned: f64,
    /// Points that can be.
    pub possible: f64,
    /// Cases that are right.
    pub right: usize,
    /// All of them.
    pub cases: usize,
}

/// The tally of a report. The emulated device grades no large cases, and the case that is run for
/// its counts is none of the lab's.
pub fn tally(report: &GradeReport) -> Tally {
    let is_on_gpu = report.device != "emulated";
    let is_graded =
        |case: &&CaseGrade| (case.group != Group::Large || is_on_gpu) && case.name != COUNTED;
    let graded: Vec<&CaseGrade> = report.cases.iter().filter(is_graded).collect();
    let is_right = |case: &&&CaseGrade| matches!(case.status, Outcome::Passed | Outcome::Measured);
    Tally {
        earned: report.totals.earned,
        possible: if is_on_gpu {
            report.totals.graded()
        } else {
            let counted = report.counted.iter().map(|counted| counted.points);
            graded.iter().map(|case| case.points).chain(counted).sum()
        },
        right: graded.iter().filter(is_right).count(),
        cases: graded.len(),
    }
}

/// The sum in words.
pub fn score(report: &GradeReport) -> (String, String) {
    let totals = &report.totals;
    let figure = earned(totals.earned, totals.graded());
    let mut caption = "points".to_owned();
    if totals.undecided > 0.0 {
        caption += &format!(", {} of them undecided", points(totals.undecided));
    }
    if totals.not_graded_here > 0.0 {
        let comma = if totals.undecided > 0.0 { "," } else { "" };
        caption += &format!(
            "{comma} graded here; {} of {} not graded here",
            points(totals.not_graded_here),
            points(totals.possible)
        );
    }
    (figure, caption)
}

/// Everything there is to say about a failure, harmless for any text.
pub fn explanation(failing: &Failure) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    // The first is sample 0, and nothing is said of it.
    let later = failing.sample.filter(|&sample| sample > 0);
    let sample = later
        .map(|sample| format!("in sample {sample}, those before were right: "))
        .unwrap_or_default();
    // Its author says where it was.
    let device = failing.device.as_ref().filter(|_| !says_all(failing));
    let device = device
        .map(|device| format!("on device {}: ", escape::line(device)))
        .unwrap_or_default();
    if let Some(diagnosis) = &failing.diagnosis {
        // It says all that the message does, and better.
        let sentences = grading::diagnose::text::lines(diagnosis);
        lines.extend(sentences.iter().map(|line| escape::line(line)));
    } else if !says_all(failing) {
        let message = escape::at_most(&failing.message, LONGEST_MESSAGE);
        lines.extend(message.trim_end().lines().map(str::to_owned));
    }
    if let Some(sanitizer) = &failing.sanitizer {
        lines.push("the emulated device says:".to_owned());
        let message = escape::at_most(sanitizer, LONGEST_MESSAGE);
        lines.extend(message.trim_end().lines().map(|line| format!("  {line}")));
    }
    let place = device + &sample;
    match lines.first_mut() {
        Some(first) => first.insert_str(0, &place),
        None if place.is_empty() => {}
        None => lines.push(place),
    }
    lines
}

/// The text that a submission printed, by what printed it: `launch.rs`, or kernels in a case. The
/// same text in several cases is there once.
pub fn printed(report: &GradeReport) -> Vec<(String, String)> {
    let all = printed_in(report).into_iter();
    all.map(|(cases, text)| (printer(&cases, usize::MAX), text))
        .collect()
}

/// The text that a submission printed, with the cases in which kernels did; without cases, it is of
/// `launch.rs`.
pub fn printed_in(report: &GradeReport) -> Vec<(Vec<String>, String)> {
    let lines = |text: &str| escape::plain(text.trim_end());
    let of_launch = !report.printed.is_empty();
    let recorder = of_launch.then(|| (Vec::new(), lines(&report.printed)));
    let cases = report.cases.iter().filter(|case| !case.printed.is_empty());
    let by_text = grouped(cases.map(|case| (lines(&case.printed), escape::line(&case.name))));
    let of_cases = by_text.into_iter().map(|(text, names)| (names, text));
    recorder.into_iter().chain(of_cases).collect()
}

/// The words for who printed a text, with the names of at most this number of cases.
pub fn printer(cases: &[String], most: usize) -> String {
    match cases {
        [] => "launch.rs printed".to_owned(),
        _ => format!("kernels printed in {}", names(cases, most)),
    }
}

/// `global sectors of odd-37x53`.
pub fn count_of(counted: &CountGrade) -> String {
    let name = counted.count.replace('_', " ");
    format!("{name} of {}", escape::line(&counted.case))
}

/// The count, or why there is none.
pub fn counted(counted: &CountGrade) -> (String, Tone) {
    match (&counted.status, counted.counted) {
        (_, Some(count)) if count <= counted.full => (units::grouped(count), Tone::Good),
        (_, Some(count)) => (units::grouped(count), Tone::Caution),
        (Outcome::Failed(_), None) => ("the case failed".to_owned(), Tone::Bad),
        (_, None) => ("not counted".to_owned(), Tone::Caution),
    }
}

/// `12,000 counted; 9,000 or fewer earn all points, 20,000 or more none`.
pub fn count_in_words(counted: &CountGrade) -> String {
    let [full, zero] = [counted.full, counted.zero].map(units::grouped);
    let count = self::counted(counted).0;
    format!("{count} counted; {full} or fewer earn all points, {zero} or more none")
}

/// Why things were not graded here: each reason once, with what it is about.
pub fn reasons(report: &GradeReport) -> Vec<(String, Vec<String>)> {
    by_reason(report, Outcome::not_graded)
}

/// Why things are undecided here: each reason once, with what it is about.
pub fn undecided(report: &GradeReport) -> Vec<(String, Vec<String>)> {
    by_reason(report, Outcome::left_undecided)
}

fn by_reason(
    report: &GradeReport,
    reason: impl Fn(&Outcome) -> Option<&str>,
) -> Vec<(String, Vec<String>)> {
    let cases = report
        .cases
        .iter()
        .map(|case| (&case.status, case.name.clone()));
    let performance = report
        .performance
        .iter()
        .map(|timed| (&timed.status, format!("speed of {}", timed.case)));
    let counted = report.counted.iter();
    let counted = counted.map(|counted| (&counted.status, count_of(counted)));
    let all = cases.chain(performance).chain(counted);
    grouped(all.filter_map(|(status, name)| {
        let reason = escape::at_most(reason(status)?, LONGEST_MESSAGE);
        Some((escape::line(&reason), escape::line(&name)))
    }))
}

/// The emulated device's checks beside the GPU that graded the case, in a word or two.
pub fn checks(case: &CaseGrade) -> (String, Tone) {
    let found = case.status.failure();
    if let Some(failing) = found.filter(|failing| failing.device.is_some()) {
        return (failing.category.name().to_owned(), Tone::Bad);
    }
    match &case.checks {
        None => ("-".to_owned(), Tone::Faint),
        Some(Checks::Whole) => ("clean".to_owned(), Tone::Good),
        Some(Checks::Sampled) => ("samples clean".to_owned(), Tone::Good),
        Some(Checks::NotMade { .. }) => ("not made".to_owned(), Tone::Caution),
    }
}

/// Whether a GPU graded cases that the emulated device looked at too.
pub fn has_checks(report: &GradeReport) -> bool {
    report.cases.iter().any(|case| case.checks.is_some())
}

/// Why the emulated device did not look at cases: each reason once, with their names. Of those that
/// are undecided for it the reason is told already.
pub fn unchecked(report: &GradeReport) -> Vec<(String, Vec<String>)> {
    grouped(report.cases.iter().filter_map(|case| match &case.checks {
        Some(Checks::NotMade { reason, .. }) if case.status.left_undecided().is_none() => {
            Some((escape::line(reason), escape::line(&case.name)))
        }
        _ => None,
    }))
}

/// The number of cases that the emulated device did not look at, whatever became of them.
pub fn not_checked(report: &GradeReport) -> usize {
    let mut cases = report.cases.iter().filter_map(|case| case.checks.as_ref());
    cases
        .by_ref()
        .filter(|checks| matches!(checks, Checks::NotMade { .. }))
        .count()
}

/// Cases that fail, and those whose failure looks the same: of the same kind, with the same
/// patterns in the same field. One of each is enough to read.
pub fn alike(failures: Vec<(Vec<String>, &Failure)>) -> Vec<(Vec<String>, &Failure, Vec<String>)> {
    let by_look = failures.into_iter();
    let by_look = grouped(by_look.map(|failure| (look_of(&failure.0, failure.1), failure)));
    let different = by_look.into_iter().map(|(_, mut alike)| {
        let (names, failing) = alike.remove(0);
        let others = alike.into_iter().flat_map(|(more, _)| more);
        (names, failing, others.collect())
    });
    different.collect()
}

/// Whether the emulated device's message has all that the failure's own has, and also where in the
/// code it was.
fn says_all(failing: &Failure) -> bool {
    let Some(sanitizer) = &failing.sanitizer else {
        return false;
    };
    let message = &failing.message;
    let (_, what) = message.split_once("): ").unwrap_or(("", message));
    sanitizer.contains(what)
}

/// The parts of a failure of these cases, without numbers and the cases' names.
fn look_of<'f>(
    names: &[String],
    failing: &'f Failure,
) -> (
    Kind,
    [Option<&'f str>; 2],
    String,
    Vec<Discriminant<Pattern>>,
) {
    let said = match (&failing.sanitizer, &failing.diagnosis) {
        // Its first line names the case.
        (Some(sanitizer), _) => sanitizer.split_once('\n').map_or("", |(_, rest)| rest),
        (None, Some(_)) => "",
        (None, None) => &failing.message,
    };
    let nameless = |text: String, name: &String| text.replace(&format!("`{name}`"), "");
    let said = names.iter().fold(said.to_owned(), nameless);
    let said = said.chars().filter(|letter| !letter.is_ascii_digit());
    let diagnosis = failing.diagnosis.as_deref();
    let patterns = diagnosis.map_or(&[][..], |diagnosis| &diagnosis.patterns);
    (
        failing.kind,
        [
            failing.device.as_deref(),
            diagnosis.map(|diagnosis| diagnosis.field.as_str()),
        ],
        said.collect(),
        patterns.iter().map(discriminant).collect(),
    )
}

/// The names as a list, which says how many more there are after `most`.
pub fn names(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..most].join(", ")),
    }
}

/// Every failure once, with the cases that it is about.
pub fn failures(report: &GradeReport) -> Vec<(Vec<String>, &Failure)> {
    let refused = report
        .refused
        .iter()
        .map(|failing| ("submission".to_owned(), failing));
    let cases = report
        .cases
        .iter()
        .filter_map(|case| Some((escape::line(&case.name), case.status.failure()?)));
    let performance = report.performance.iter().filter_map(|timed| {
        Some((
            format!("speed of {}", escape::line(&timed.case)),
            timed.status.failure()?,
        ))
    });
    let all = refused.chain(cases).chain(performance);
    let all = grouped(all.map(|(name, failing)| (failing, name)));
    all.into_iter()
        .map(|(failing, names)| (names, failing))
        .collect()
}

/// Each key once, in the order in which it is first met, with all that it is met with.
pub fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}
