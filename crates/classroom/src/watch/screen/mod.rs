//! The state of a session, and that state as lines of text: nothing here reads a clock, a file or
//! the terminal.

mod meanwhile;

use std::cell::Cell;
use std::time::Duration;

use page::escape;
use terminal::look::Look;

use crate::report::figures::names;
use crate::report::figures::{self, Tally};
use crate::watch::change::Change;
use crate::watch::counts::{self, Before};
use crate::watch::failure::{Detail, different, first};
use crate::watch::lines::{self, command, cut, wrapped};
use crate::watch::next_step::{NextStep, after};
use crate::watch::prints;
use crate::watch::sheet::{Rank, Sheet};
use crate::watch::subject::{Files, Subject};
use grading::lab_spec::{COUNTED, Hint};
use grading::outcome::Failure;
use grading::pack::Building;
use grading::report::GradeReport;

/// The keys, and what each does.
const KEYS: [(&str, &str); 6] = [
    ("h", "hint"),
    ("c", "counts"),
    ("a", "all"),
    ("r", "replay"),
    ("Enter", "again"),
    ("q", "quit"),
];

/// The keys in a line of these columns, if need be without what they do.
pub fn keys(columns: usize) -> String {
    let all = KEYS.map(|(key, does)| format!("{key} {does}"));
    let keys = KEYS.map(|(key, _)| key.to_owned());
    let mut lines = [all.join("   "), all.join("  "), keys.join(" ")].into_iter();
    let fits = |line: &String| line.len() <= columns;
    lines.find(fits).unwrap_or_default()
}

/// The most names in a list.
const MAX_NAMES: usize = 4;

/// The files' texts.
fn texts(files: &Files) -> [String; 2] {
    files
        .each_ref()
        .map(|file| String::from_utf8_lossy(file.as_deref().unwrap_or_default()).into_owned())
}

/// A verdict.
struct Verdict {
    /// Which one it is, from 1.
    number: usize,
    report: GradeReport,
    /// The files that were graded.
    files: [String; 2],
    took: Duration,
    change: Option<Change>,
    /// The counts of the saves before.
    counted_before: Before,
}

impl Verdict {
    /// Whether all is right, and was not at the last save.
    fn is_newly_right(&self) -> bool {
        let newly = self.change.as_ref().is_none_or(|change| !change.was_right);
        self.report.is_right() && newly
    }
}

/// All that the user sees.
pub struct Screen {
    subject: Subject,
    verdict: Option<Verdict>,
    /// Why the last save could not be graded, if so.
    trouble: Option<String>,
    /// The page that replays a case, or why there is none, once it is asked for.
    replay: Option<String>,
    /// How many hints are shown.
    hints: usize,
    with_counts: bool,
    /// The page of everything that is shown, from 0; `None` shows what matters most.
    page: Option<usize>,
    /// How many pages everything had in the window that was drawn last.
    pages: Cell<usize>,
    /// A panic in the grading at hand, while its message is sought; and the files.
    panicking: Option<(String, Failure, [String; 2])>,
    /// Whether the grading at hand is of the case that the handout counts.
    is_counting: bool,
    /// How far the first build is, in the grading at hand.
    building: Option<Building>,
}

impl Screen {
    /// Nothing is graded yet.
    pub fn new(subject: Subject) -> Screen {
        Screen {
            subject,
            verdict: None,
            trouble: None,
            replay: None,
            hints: 0,
            with_counts: false,
            page: None,
            pages: Cell::new(1),
            panicking: None,
            building: None,
            is_counting: false,
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
        let failing = |given: &GradeReport| {
            let first = first(given);
            first.map(|first| (first.failing.kind, first.names[0].clone()))
        };
        if old.as_ref().and_then(|old| failing(&old.report)) != failing(&report) {
            self.hints = 0;
        }
        self.page = None;
        self.replay = None;
        let mut counted_before = Before::new();
        if let Some(old) = &old {
            counted_before = old.counted_before.clone();
            // A case that failed was not counted: those of an earlier save stay.
            let counted = counts::counted(&old.report);
            counted_before.extend(counted.map(|case| (case.name.clone(), case.counts.clone())));
        }
        self.verdict = Some(Verdict {
            counted_before,
            number: old.as_ref().map_or(1, |old| old.number + 1),
            change: old.map(|old| Change::between(&old.report, &report)),
            report,
            files: texts(files),
            took,
        });
        self.trouble = None;
        self.panicking = None;
    }

    /// The last save could not be graded.
    pub fn trouble(&mut self, why: String) {
        self.panicking = None;
        self.trouble = Some(why);
    }

    /// A kernel of these files panics in this case: it is compiled once more, so that its message
    /// is known.
    pub fn panics(&mut self, case: &str, failure: Failure, files: &Files) {
        self.panicking = Some((escape::line(case), failure, texts(files)));
    }

    /// The crates that submissions are compiled against are built.
    pub fn builds(&mut self, how_far: Building) {
        self.building = Some(how_far);
    }

    /// A grading begins: of all cases, or of the one that the handout counts.
    pub fn begins(&mut self, is_counting: bool) {
        self.is_counting = is_counting;
        self.panicking = None;
        self.building = None;
    }

    /// Shows one hint more.
    pub fn hint(&mut self) {
        self.hints = (self.hints + 1).min(self.fitting().len().max(1));
    }

    /// Says which page replays a case, or why there is none.
    pub fn replayed(&mut self, words: String) {
        self.replay = Some(words);
    }

    /// Shows the counts, or no longer.
    pub fn toggle_counts(&mut self) {
        self.with_counts = !self.with_counts;
    }

    /// Whether the counts are shown without the case that the handout counts, though there is one,
    /// and all is right: the counts of what is wrong mean nothing.
    pub fn lacks_counts(&self) -> bool {
        let has_it = |given: &GradeReport| given.cases.iter().any(|case| case.name == COUNTED);
        let right = self.graded().filter(|report| report.is_right());
        self.with_counts && self.subject.has_counted && right.is_some_and(|it| !has_it(it))
    }

    /// Takes the report on the case that the handout counts, of the files of the last verdict.
    pub fn counted(&mut self, report: GradeReport) {
        if let Some(verdict) = &mut self.verdict {
            verdict.report.cases.extend(report.cases);
        }
    }

    /// Shows everything; or its next page, or what matters most again.
    pub fn all(&mut self) {
        let next = self.page.map_or(0, |page| page + 1);
        self.page = (next < self.pages.get()).then_some(next);
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
        self.sheet(Detail::Whole, look, columns).lines()
    }

    /// The first failure in full, or the next steps when all is right.
    fn sheet(&self, detail: Detail, look: Look, columns: usize) -> Sheet {
        let mut sheet = Sheet::default();
        self.begin(&mut sheet, look, columns);
        if let Some(verdict) = &self.verdict {
            if let Some(first) = first(&verdict.report) {
                first.explain(&mut sheet, detail, look, columns);
                first.show_source(&mut sheet, &verdict.files, look, columns);
            }
            prints::add(&mut sheet, &verdict.report, detail, look, columns);
            self.end(&mut sheet, verdict, look, columns);
        }
        self.say_trouble(&mut sheet, look, columns);
        sheet
    }

    /// Every failure in full.
    fn everything(&self, look: Look, columns: usize) -> Vec<String> {
        let mut sheet = Sheet::default();
        self.begin(&mut sheet, look, columns);
        if let Some(verdict) = &self.verdict {
            for failure in different(&verdict.report) {
                failure.explain(&mut sheet, Detail::Whole, look, columns);
                failure.show_source(&mut sheet, &verdict.files, look, columns);
            }
            prints::add(&mut sheet, &verdict.report, Detail::Whole, look, columns);
            self.end(&mut sheet, verdict, look, columns);
            sheet.blank();
            sheet.add(Rank::Detail, counts::of_all(&verdict.report, look));
        }
        self.say_trouble(&mut sheet, look, columns);
        sheet.lines()
    }

    /// Adds whose verdict it is, and the points.
    fn begin(&self, sheet: &mut Sheet, look: Look, columns: usize) {
        sheet.add(Rank::Verdict, self.heading(look, columns));
        if let Some(verdict) = &self.verdict {
            sheet.blank();
            sheet.add(Rank::Verdict, self.points(verdict, look, columns));
        }
    }

    /// Adds the next step, and what the user asked for.
    fn end(&self, sheet: &mut Sheet, verdict: &Verdict, look: Look, columns: usize) {
        let report = &verdict.report;
        let failing = first(report).map(|first| first.failing);
        sheet.blank();
        for step in after(&self.subject, report, failing) {
            next(&step, sheet, look, columns);
        }
        sheet.blank();
        if let Some(words) = &self.replay {
            let lines = wrapped(&escape::line(words), "  replay: ", 4, columns);
            sheet.add(Rank::Asked, lines);
            sheet.blank();
        }
        self.add_hints(sheet, look, columns);
        if self.with_counts {
            sheet.blank();
            let yardstick = &self.subject.yardstick;
            counts::add(
                sheet,
                report,
                &verdict.counted_before,
                yardstick,
                look,
                columns,
            );
        }
    }

    fn say_trouble(&self, sheet: &mut Sheet, look: Look, columns: usize) {
        if let Some(trouble) = &self.trouble {
            let text = escape::line(trouble);
            let lines = wrapped(&text, "  not graded: ", 4, columns);
            sheet.blank();
            sheet.add(Rank::Event, painted(lines, |line| look.bad(line)));
        }
    }

    /// The most important parts, in at most `room` lines.
    fn within(&self, look: Look, columns: usize, room: usize) -> Vec<String> {
        let whole = self.sheet(Detail::Whole, look, columns);
        if whole.height() <= room {
            return whole.lines();
        }
        let brief = self.sheet(Detail::Brief, look, columns);
        brief.within(room, |left_out| {
            let more = units::count(left_out, "line");
            let text = format!("    ... {more} more: a shows everything");
            look.faint(&cut(&text, columns))
        })
    }

    /// A page of everything, in at most `room` lines; and which one it is.
    fn paged(&self, page: usize, look: Look, columns: usize, room: usize) -> (Vec<String>, String) {
        let all = self.everything(look, columns);
        let pages = all.len().div_ceil(room);
        self.pages.set(pages);
        // The window may have become higher since.
        let shown = page.min(pages - 1);
        let lines: Vec<String> = all.iter().skip(shown * room).take(room).cloned().collect();
        let back = "a shows what matters most";
        let place = match pages {
            1 => back.to_owned(),
            _ if shown + 1 == pages => format!("page {pages} of {pages}; {back}"),
            _ => format!("page {} of {pages}; a shows the next", shown + 1),
        };
        (lines, place)
    }

    /// The page, and below it what goes on, within `rows` lines.
    pub fn full(
        &self,
        look: Look,
        columns: usize,
        rows: usize,
        grading_for: Option<Duration>,
        has_keys: bool,
    ) -> Vec<String> {
        let width = columns.max(lines::LEAST);
        let state = self.state(grading_for);
        let room = rows.saturating_sub(1 + usize::from(has_keys)).max(1);
        let (mut lines, state) = match self.page {
            None => (self.meanwhile(grading_for, look, width, room), state),
            Some(page) => {
                let (lines, place) = self.paged(page, look, width, room);
                (lines, format!("{state}; {place}"))
            }
        };
        if lines.len() < room {
            lines.push(String::new());
        }
        lines.push(look.caution(&cut(&state, width)));
        lines.extend(has_keys.then(|| look.faint(&keys(width))));
        lines
    }

    /// Whether large cases are run and speed is graded.
    fn is_on_gpu(&self) -> bool {
        self.subject.device != "emulated"
    }

    fn points(&self, verdict: &Verdict, look: Look, columns: usize) -> Vec<String> {
        let report = &verdict.report;
        let Tally {
            earned,
            possible,
            right,
            cases,
        } = figures::tally(report);
        let figure = figures::earned(earned, possible);
        let mut text = format!("{figure} points, {right} of {cases} cases right");
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
            if verdict.is_newly_right() {
                let lab = &self.subject.lab;
                let done =
                    format!("  Part 1 of {lab} is done; `harness progress` shows the others.");
                lines.push(look.good(&cut(&done, columns)));
            }
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
        let hints = self.subject.hints;
        report.and_then(first).map_or_else(Vec::new, |failure| {
            hints.about(failure.failing, &failure.names[0])
        })
    }

    /// Adds the hints that were asked for.
    fn add_hints(&self, sheet: &mut Sheet, look: Look, columns: usize) {
        let caution = |lines: Vec<String>| painted(lines, |line| look.caution(line));
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
            sheet.add(Rank::Asked, caution(wrapped(&text, "  ", 4, columns)));
            return;
        }
        let of = fitting.len();
        for (index, hint) in fitting.iter().take(self.hints).enumerate() {
            let label = format!("  hint {} of {of}: ", index + 1);
            sheet.add(
                Rank::Asked,
                caution(wrapped(&hint.text, &label, 4, columns)),
            );
        }
        if self.hints > 0 && self.hints >= of {
            let no_more = cut(&format!("  no more hints; {readme}"), columns);
            sheet.add(Rank::Detail, vec![look.caution(&no_more)]);
        }
    }
}

fn changed(change: &Change, look: Look, columns: usize) -> Vec<String> {
    let Change {
        points,
        right,
        wrong,
        otherwise,
        was_right: _,
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

fn next(step: &NextStep, sheet: &mut Sheet, look: Look, columns: usize) {
    let mut about = wrapped(&step.text, "  next: ", 4, columns);
    if let Some(line) = about.first_mut() {
        *line = line.replacen("next:", &look.title("next:"), 1);
    }
    sheet.add(Rank::Remedy, about);
    for one in &step.commands {
        sheet.add(Rank::Command, command(one, 4, columns));
    }
}

fn painted(lines: Vec<String>, paint: impl Fn(&str) -> String) -> Vec<String> {
    lines.iter().map(|line| paint(line)).collect()
}
