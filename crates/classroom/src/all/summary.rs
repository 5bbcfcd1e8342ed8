//! All submissions together.

use std::collections::BTreeMap;
use std::path::Path;

use super::look_alikes;
use crate::report::{self, figures, html, student};
use exit::{CommandError, Ending};
use grading::outcome::{Kind, Outcome};
use grading::report::GradeReport;
use output_files::OutputFile;
use output_files::digest::sha256;
use page::plot::whole;
use page::{Axis, Cell, Page, Plot, Series, Shape, escape};
use terminal::look::Look;
use terminal::table::Table;
use units::{count, three};

/// Bars of the distribution: one for every tenth of the points.
const BINS: usize = 10;
/// Width of a full bar on a terminal.
const BAR: usize = 40;

/// The folder of what students may read.
const STUDENTS: &str = "students";

/// A submission and its grade.
#[derive(Debug, Clone, PartialEq)]
pub struct Graded {
    /// The submission's name.
    pub name: String,
    /// The key of its report; the same for two submissions of the same content.
    pub key: String,
    /// Whether the report is from an earlier run.
    pub is_kept: bool,
    /// The report, or why there is none.
    pub report: Result<GradeReport, String>,
}

/// The line that says what became of a submission.
pub fn line(graded: &Graded, look: Look) -> String {
    let name = escape::line(&graded.name);
    let kept = if graded.is_kept {
        look.faint("  (kept)")
    } else {
        String::new()
    };
    match &graded.report {
        Err(message) => {
            format!(
                "  {name:<24}  {}{kept}",
                look.bad(&format!("not graded: {}", escape::line(message)))
            )
        }
        Ok(report) => {
            let (score, _) = figures::score(report);
            format!("  {name:<24}  {score:>14}  {}{kept}", outcome(report))
        }
    }
}

/// The failures, in a few words.
fn outcome(report: &GradeReport) -> String {
    if let Some(refused) = &report.refused {
        return format!("{} [{}]", refused.category.name(), refused.kind);
    }
    let undecided = report.totals.undecided;
    let failures = figures::failures(report).into_iter();
    let by_kind = failures.flat_map(|(names, failing)| {
        let named = move |name| (failing.kind, name);
        names.into_iter().map(named)
    });
    let by_kind = figures::grouped(by_kind);
    let mut words: Vec<String> = by_kind
        .iter()
        .map(|(kind, names)| match &names[..] {
            [only] => format!("{only} [{kind}]"),
            [first, others @ ..] => format!("{first} and {} more [{kind}]", others.len()),
            [] => unreachable!("a failure is some case's"),
        })
        .collect();
    if undecided > 0.0 {
        let points = figures::points(undecided);
        words.insert(0, format!("undecided here: {points} points"));
    }
    if words.is_empty() {
        words.push("right".to_owned());
    }
    match figures::not_checked(report) {
        0 => {}
        cases => words.push(format!("{} not checked", count(cases, "case"))),
    }
    words.join(", ")
}

/// All submissions together.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The lab of the first report; a class is of one.
    lab: Option<String>,
    /// The share of the graded points that each earned, in percent, in ascending order.
    shares: Vec<f64>,
    /// For each case: its name, how many passed, how many were graded.
    cases: Vec<(String, usize, usize)>,
    /// For each way of failing: how many submissions failed that way in some case.
    kinds: BTreeMap<&'static str, usize>,
    /// Groups of submissions with the same content.
    twins: Vec<Vec<String>>,
    /// Submissions that kept some of their points from being graded.
    undecided: Vec<String>,
    /// Submissions with cases that the emulated device did not look at, and how many.
    not_checked: Vec<(String, usize)>,
    /// Groups of names that look the same, and are not.
    look_alikes: Vec<Vec<String>>,
    not_graded: usize,
    is_complete: bool,
}

impl Summary {
    /// Counts.
    pub fn of(graded: &[Graded]) -> Summary {
        let reports: Vec<&GradeReport> = graded
            .iter()
            .filter_map(|one| one.report.as_ref().ok())
            .collect();
        let mut shares: Vec<f64> = reports
            .iter()
            .filter(|report| report.totals.graded() > 0.0)
            .map(|report| 100.0 * report.totals.earned / report.totals.graded())
            .collect();
        shares.sort_by(f64::total_cmp);
        let mut cases: Vec<(String, usize, usize)> = Vec::new();
        let mut kinds = BTreeMap::new();
        for report in &reports {
            for case in &report.cases {
                let at = cases
                    .iter()
                    .position(|(name, ..)| *name == case.name)
                    .unwrap_or_else(|| {
                        cases.push((case.name.clone(), 0, 0));
                        cases.len() - 1
                    });
                cases[at].1 += usize::from(case.status == Outcome::Passed);
                cases[at].2 += usize::from(!matches!(case.status, Outcome::NotGradedHere { .. }));
            }
            let failures = figures::failures(report);
            let mut codes: Vec<_> = failures
                .iter()
                .map(|(_, failing)| failing.kind.code())
                .collect();
            codes.sort_unstable();
            codes.dedup();
            for code in codes {
                *kinds.entry(code).or_insert(0) += 1;
            }
        }
        let mut by_key: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for one in graded {
            // Submissions without files are not copies of each other.
            let refused = one
                .report
                .as_ref()
                .ok()
                .and_then(|report| report.refused.as_ref());
            if refused.is_none_or(|failing| failing.kind != Kind::MissingFile) {
                by_key.entry(&one.key).or_default().push(one.name.clone());
            }
        }
        Summary {
            lab: reports.first().map(|report| report.lab.clone()),
            shares,
            cases,
            kinds,
            twins: by_key
                .into_values()
                .filter(|names| names.len() > 1)
                .collect(),
            undecided: graded
                .iter()
                .filter(|one| {
                    let report = one.report.as_ref();
                    report.is_ok_and(|report| report.totals.undecided > 0.0)
                })
                .map(|one| one.name.clone())
                .collect(),
            not_checked: graded
                .iter()
                .map(|one| (one.name.clone(), not_checked(one)))
                .filter(|(_, unseen)| *unseen > 0)
                .collect(),
            look_alikes: look_alikes::groups(graded.iter().map(|one| &*one.name)),
            not_graded: graded.len() - reports.len(),
            is_complete: reports.iter().all(|report| report.is_complete()),
        }
    }

    /// Whether every point of every submission was graded. Submissions that are wrong are what a
    /// grader expects.
    pub fn ending(&self) -> Ending {
        if self.not_graded > 0 {
            Ending::Lacking
        } else if !self.is_complete {
            Ending::NotGraded
        } else {
            Ending::Fine
        }
    }

    /// For a terminal.
    pub fn render(&self, look: Look) -> String {
        let mut blocks = vec![format!("  {}", look.title(&self.figures()))];
        // Above all points: these are not what they seem.
        for (place, caution) in self.cautions().iter().enumerate() {
            blocks.insert(place, format!("  {}", look.caution(caution)));
        }
        if !self.shares.is_empty() {
            blocks.push(self.bars(look));
        }
        if !self.cases.is_empty() {
            let table = Table::new(&self.cases)
                .left("case", |(name, ..)| escape::line(name))
                .right("passed", |(_, passed, _)| Some(passed.to_string()))
                .right("graded", |(.., graded)| Some(graded.to_string()));
            blocks.push(table.render(look, 2));
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            blocks.push(format!("  {}", remarks.join("\n  ")));
        }
        blocks.join("\n\n")
    }

    fn figures(&self) -> String {
        let mut text = count(self.shares.len() + self.not_graded, "submission");
        let middle = |q: f64| {
            let position = q * (self.shares.len() - 1) as f64;
            let (below, above) = (position.floor() as usize, position.ceil() as usize);
            (self.shares[below] + self.shares[above]) / 2.0
        };
        if let [least, .., most] | [least @ most] = self.shares[..] {
            let mean = self.shares.iter().sum::<f64>() / self.shares.len() as f64;
            text += &format!(
                ": median {} %, mean {} %, from {} % to {} % of the points graded here",
                three(middle(0.5)),
                three(mean),
                three(least),
                three(most)
            );
        }
        text
    }

    /// Whose points are not all decided.
    fn undecided(&self) -> Option<String> {
        let names: Vec<String> = self
            .undecided
            .iter()
            .map(|name| escape::line(name))
            .collect();
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        Some(format!(
            "undecided here, by what these do: {names}; their points are the least they earn"
        ))
    }

    /// The submissions whose points are not what they seem, and why.
    fn cautions(&self) -> Vec<String> {
        let cases = self
            .not_checked
            .iter()
            .map(|(name, cases)| format!("{} ({})", escape::line(name), count(*cases, "case")));
        let not_checked: Vec<String> = cases.collect();
        let not_checked = (!not_checked.is_empty()).then(|| {
            format!(
                "not checked for races and the like: {}; read their kernels",
                not_checked.join(", ")
            )
        });
        not_checked.into_iter().chain(self.undecided()).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let kinds = self
            .kinds
            .iter()
            .map(|(kind, times)| format!("{}: {kind}", count(*times, "submission")));
        let twins = self.twins.iter().map(|names| {
            let names: Vec<String> = names.iter().map(|name| escape::line(name)).collect();
            format!("the same content: {}", names.join(", "))
        });
        let look_alikes = self.look_alikes.iter().map(|names| {
            let names: Vec<String> = names.iter().map(|name| look_alikes::told(name)).collect();
            format!("names that look the same: {}", names.join(", "))
        });
        let mut remarks: Vec<String> = kinds.chain(twins).chain(look_alikes).collect();
        if self.not_graded > 0 {
            remarks.push(format!(
                "not graded: {}",
                count(self.not_graded, "submission")
            ));
        }
        remarks
    }

    /// How many submissions earned each tenth of the points; full points count among the last.
    fn bins(&self) -> [usize; BINS] {
        let mut bins = [0; BINS];
        for share in &self.shares {
            bins[((share / BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        bins
    }

    fn bars(&self, look: Look) -> String {
        let bins = self.bins();
        let most = bins.iter().max().copied().unwrap_or(0).max(1);
        let block = if look.unicode { '\u{2588}' } else { '#' };
        let lines = bins.iter().enumerate().map(|(index, number)| {
            let from = index * 100 / BINS;
            let to = (index + 1) * 100 / BINS;
            let bar: String = std::iter::repeat_n(block, (number * BAR).div_ceil(most)).collect();
            format!("  {from:>3} to {to:>3} %  {number:>4}  {bar}")
                .trim_end()
                .to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Writes `summary.html`, `scores.csv` and a page for each submission into the results folder,
    /// and into its folder `students` the part of each that its student may read.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if one cannot be written.
    pub fn write(&self, results: &Path, graded: &[Graded]) -> Result<(), CommandError> {
        let put = |name: &str, text: &str| {
            OutputFile::create("-o", &results.join(name))?
                .write_all(text.as_bytes())
                .map(drop)
        };
        put("summary.html", &self.page(graded))?;
        put("scores.csv", &csv(graded))?;
        let students = results.join(STUDENTS);
        std::fs::create_dir_all(&students)
            .map_err(|error| CommandError::not_written(&students, &error))?;
        for one in graded {
            if let Ok(report) = &one.report {
                let safe = student::safe(report);
                let name = |ending| format!("{STUDENTS}/{}", page_name(one, ending));
                let replay = page_name(one, "replay.html");
                if let Some(replayed) = &report.replayed {
                    put(&replay, &replayed.html)?;
                    put(&name("replay.html"), &replayed.html)?;
                }
                let link = report.replayed.as_ref().map(|_| &*replay);
                put(&page_name(one, "html"), &html::page(report, link))?;
                put(&name("html"), &html::page(&safe, link))?;
                put(&name("json"), &report::json(&safe)?)?;
            }
        }
        Ok(())
    }

    fn page(&self, graded: &[Graded]) -> String {
        let title = match &self.lab {
            Some(lab) => format!("{lab}: grades"),
            None => "Grades".to_owned(),
        };
        let mut page = Page::new(&title);
        for caution in self.cautions() {
            page.paragraph(&caution);
        }
        page.paragraph(&self.figures());
        let plot = Plot {
            x: Axis::linear("share of the points, %", |tick| format!("{}", 10.0 * tick)),
            y: Axis::linear("submissions", whole),
            series: vec![Series {
                name: String::new(),
                points: self
                    .bins()
                    .iter()
                    .enumerate()
                    .map(|(index, number)| (index as f64 + 0.5, *number as f64))
                    .collect(),
                shape: Shape::Bars,
                colour: Some(0),
            }],
            texts: Vec::new(),
        };
        if !self.shares.is_empty() {
            page.section("Distribution");
            page.plot(
                &plot,
                "How many submissions earned each tenth of the points.",
            );
        }
        page.section("Cases");
        let headers = [
            Cell::text("case"),
            Cell::number("passed"),
            Cell::number("graded"),
        ];
        let rows = self.cases.iter().map(|(name, passed, all)| {
            vec![
                Cell::text(name),
                Cell::number(passed.to_string()),
                Cell::number(all.to_string()),
            ]
        });
        page.table(&headers, rows);
        page.list(self.remarks());
        page.section("Submissions");
        let columns = [
            Cell::text("submission"),
            Cell::number("points"),
            Cell::number("cases not checked"),
            Cell::text("result"),
        ];
        let results = sorted(graded).into_iter().map(|one| match &one.report {
            Ok(report) => {
                let result = outcome(report);
                let result = if report.totals.undecided > 0.0 {
                    Cell::caution(result)
                } else if report.is_right() {
                    Cell::good(result)
                } else {
                    Cell::bad(result)
                };
                let (score, _) = figures::score(report);
                vec![
                    Cell::text(&one.name).with_link(page_name(one, "html")),
                    Cell::number(score),
                    match not_checked(one) {
                        0 => Cell::number(""),
                        cases => Cell::caution(cases.to_string()),
                    },
                    result,
                ]
            }
            Err(message) => vec![
                Cell::text(&one.name),
                Cell::number("-"),
                Cell::number(""),
                Cell::caution(format!("not graded: {message}")),
            ],
        });
        page.table(&columns, results);
        page.finish()
    }
}

/// The number of cases of a submission that the emulated device did not look at.
fn not_checked(one: &Graded) -> usize {
    one.report.as_ref().map_or(0, figures::not_checked)
}

/// Those with cases that were not checked first, each part in its order.
fn sorted(graded: &[Graded]) -> Vec<&Graded> {
    let mut all: Vec<&Graded> = graded.iter().collect();
    all.sort_by_key(|one| not_checked(one) == 0);
    all
}

/// Unique, since no two submissions have the same name. The digest tells apart names that differ in
/// other characters only, and it is long enough that no two names with the same one are found.
fn page_name(graded: &Graded, ending: &str) -> String {
    let digest = &sha256(&graded.name)[..32];
    format!("{}-{digest}.{ending}", escape::file_name(&graded.name))
}

/// The characters that begin a formula in spreadsheets, in their wide and small forms too.
const FORMULA: [char; 12] = [
    '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}', '\u{fe66}', '\u{fe62}',
    '\u{fe63}', '\u{fe6b}',
];

/// For a spreadsheet: no cell of a submission's choosing is a formula. All other names stay as they
/// are, since they are keys to a list of students.
fn csv(graded: &[Graded]) -> String {
    let mut text =
        String::from("submission,earned,undecided,graded,possible,result,not_checked,looks_like\n");
    let look_alikes = look_alikes::groups(graded.iter().map(|one| &*one.name));
    for one in sorted(graded) {
        let cell = |content: &str| {
            // Behind a tab or a line's end, a program may cut one off.
            let is_guarded = content.starts_with(['\t', '\r', '\n'])
                || content.trim_start().starts_with(FORMULA);
            let guard = if is_guarded { "'" } else { "" };
            format!("\"{guard}{}\"", escape::field(content).replace('"', "\"\""))
        };
        let name = cell(&one.name);
        let mut groups = look_alikes.iter();
        let others = match groups.find(|group| group.contains(&one.name)) {
            None => String::new(),
            Some(group) => {
                let others = group.iter().filter(|other| **other != one.name);
                let others: Vec<String> = others.map(|other| look_alikes::told(other)).collect();
                cell(&others.join(", "))
            }
        };
        let not_checked = not_checked(one);
        text += &match &one.report {
            Ok(report) => {
                let totals = &report.totals;
                format!(
                    "{name},{},{},{},{},{},{not_checked},{others}\n",
                    totals.earned,
                    totals.undecided,
                    totals.graded(),
                    totals.possible,
                    cell(&outcome(report))
                )
            }
            Err(message) => {
                let result = cell(&format!("not graded: {message}"));
                format!("{name},,,,,{result},,{others}\n")
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_formula_is_text_and_the_rest_is_as_it_is() {
        let cell = |name: &str| {
            let one = Graded {
                name: name.to_owned(),
                key: String::new(),
                is_kept: false,
                report: Err("-".to_owned()),
            };
            let text = csv(&[one]);
            let line = text.lines().nth(1).unwrap().to_owned();
            line.strip_suffix(",,,,,\"not graded: -\",,")
                .unwrap()
                .to_owned()
        };
        for name in ["=1+1", "+1", "-rf", "@sum", " =1", "\u{ff1d}1", "\u{fe63}1"] {
            assert_eq!(cell(name), format!("\"'{name}\""));
        }
        assert_eq!(cell("\tada"), "\"' ada\"");
        assert_eq!(cell("\rada"), "\"'\\rada\"");
        for name in [
            "_team 7",
            "(ada)",
            "[7] bob",
            "#1",
            "'dan'",
            "ada-1",
            "\u{e9}mile",
            ".ada",
            "~",
        ] {
            assert_eq!(cell(name), format!("\"{name}\""));
        }
        assert_eq!(cell("a\"b"), "\"a\"\"b\"");
    }
}
