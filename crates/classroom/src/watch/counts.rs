//! The exact counts of one case per update, beside those of the save before and the handout's: the
//! verdict on part 2, which no points tell without a GPU.

use std::collections::BTreeMap;

use page::escape;
use terminal::look::Look;
use terminal::table::Table;
use units::{grouped, three};

use super::change::is_right;
use super::lines::wrapped;
use super::sheet::{Rank, Sheet};
use grading::lab_spec::{COUNTED, Figure, Group, LabSpec};
use grading::report::{CaseGrade, GradeReport};

/// Updates that a warp makes at once. For 32 updates, a count is one of a warp's; and a sector has
/// 32 bytes, so for sectors it is the bytes of one update.
const WARP: f64 = 32.0;

/// The rows: a count, its name in the report, and how it is called here.
const ROWS: [(&str, &str); 6] = [
    ("warp_instructions", "instructions"),
    ("global_sectors", "bytes in sectors"),
    ("ideal_global_sectors", "bytes, at least"),
    ("bank_conflicts", "bank conflicts of a warp"),
    ("divergent_branches", "divergent branches of a warp"),
    ("barriers", "barriers of a warp"),
];

/// A case's work: its counts are divided by it.
#[derive(Debug, Clone, PartialEq)]
struct Work {
    updates: u64,
    unit: &'static str,
}

/// The comparison for the counts of a lab's cases.
#[derive(Debug, Clone, Default)]
pub struct Yardstick {
    work: BTreeMap<String, Work>,
    figures: Vec<Figure>,
}

impl Yardstick {
    /// For the small cases of these lab files, and these figures of the lab's handout.
    pub fn new(specs: &[Option<&LabSpec>], figures: &[Figure]) -> Yardstick {
        let mut work_of = BTreeMap::new();
        for spec in specs.iter().flatten() {
            for case in spec.cases.iter().filter(|case| case.group == Group::Small) {
                let Ok(made) = case.with_seed(spec.lab, 0) else {
                    continue;
                };
                let (updates, unit) = (made.work().updates, made.work().unit);
                if updates > 0 {
                    work_of.insert(case.name.clone(), Work { updates, unit });
                }
            }
        }
        Yardstick {
            work: work_of,
            figures: figures.to_vec(),
        }
    }

    /// The case whose counts tell most: that of the handout, or else the largest that was counted.
    fn telling<'r>(&self, report: &'r GradeReport) -> Option<(&'r CaseGrade, &Work)> {
        let known = counted(report).filter_map(|case| Some((case, self.work.get(&case.name)?)));
        known.max_by_key(|(case, work)| (case.name == COUNTED, work.updates))
    }

    /// The handout's figure that comes next: the first one of this count that is not reached, or
    /// the last one.
    fn figure(&self, name: &str, now: f64) -> Option<String> {
        let figures = || self.figures.iter().filter(|figure| figure.count == name);
        // A launch's last block takes a count a little above its figure.
        let is_ahead = |figure: &&Figure| now > 1.05 * figure.value;
        let last = figures().next_back()?;
        let figure = figures().find(is_ahead).unwrap_or(last);
        let reached = if is_ahead(&figure) { "" } else { ": reached" };
        Some(format!("{} in step {}{reached}", figure.value, figure.step))
    }
}

/// The cases whose counts mean something: a kernel that is wrong may do less.
pub fn counted(report: &GradeReport) -> impl Iterator<Item = &CaseGrade> {
    let cases = report.cases.iter().filter(|case| is_right(case));
    cases.filter(|case| !case.counts.is_empty())
}

/// The counts of the saves before, by case: of the last one that was counted.
pub type Before = BTreeMap<String, BTreeMap<String, u64>>;

/// A row of the table.
struct Row {
    name: &'static str,
    now: String,
    before: String,
    handout: String,
}

/// Adds the counts that tell most, per update.
pub fn add(
    sheet: &mut Sheet,
    report: &GradeReport,
    before: &Before,
    yardstick: &Yardstick,
    look: Look,
    columns: usize,
) {
    let Some((case, work)) = yardstick.telling(report) else {
        let none = "no counts: only the emulated device counts, and only cases that are right";
        sheet.add(Rank::Detail, wrapped(none, "  ", 4, columns));
        return;
    };
    let updates = work.updates as f64;
    let of = |counts: &BTreeMap<String, u64>, name: &str| {
        counts
            .get(name)
            .map(|&number| number as f64 * WARP / updates)
    };
    let shown = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), figure);
    let old = before.get(&case.name);
    let rows = ROWS.iter().filter_map(|(name, words)| {
        let now = of(&case.counts, name)?;
        let old = old.and_then(|counts| of(counts, name));
        // A row of nothing says nothing.
        (now > 0.0 || old.is_some_and(|old| old > 0.0)).then(|| Row {
            name: words,
            now: figure(now),
            before: shown(old),
            // A figure is for a case of its size.
            handout: yardstick
                .figure(name, now)
                .filter(|_| case.name == COUNTED)
                .unwrap_or_default(),
        })
    });
    let rows: Vec<Row> = rows.collect();
    let title = format!("per update, {}", escape::line(&case.name));
    let table = Table::new(&rows)
        .left(&title, |row| row.name.to_owned())
        .right("now", |row| Some(row.now.clone()))
        .right("last save", |row| Some(row.before.clone()))
        .left("handout", |row| row.handout.clone());
    let lines = table.render(look, 2);
    let mut lines = lines.lines().map(str::to_owned);
    // The head is of no use without its first row.
    sheet.add(Rank::Verdict, lines.by_ref().take(3).collect());
    for line in lines {
        sheet.add(Rank::Detail, vec![line]);
    }
    let about = format!(
        "{} {}; instructions are those of warps, for the update of each of 32 lanes",
        grouped(work.updates),
        work.unit
    );
    let about = wrapped(&about, "  ", 4, columns);
    sheet.add(
        Rank::Around,
        about.iter().map(|line| look.faint(line)).collect(),
    );
}

/// Three digits: an exact count that is divided has no more that matter.
fn figure(number: f64) -> String {
    if number == 0.0 {
        "0".to_owned()
    } else {
        three(number)
    }
}

/// Counts, as the report names them, in columns that fit 80.
const COUNTS: [(&str, &str); 5] = [
    ("warp_instructions", "instructions"),
    ("global_sectors", "sectors"),
    ("ideal_global_sectors", "at least"),
    ("bank_conflicts", "conflicts"),
    ("divergent_branches", "divergent"),
];

/// The counts of every case, as they are.
pub fn of_all(report: &GradeReport, look: Look) -> Vec<String> {
    let counted: Vec<&CaseGrade> = counted(report).collect();
    if counted.is_empty() {
        return Vec::new();
    }
    let named = Table::new(&counted).left("counts of", |case| escape::line(&case.name));
    let table = COUNTS.iter().fold(named, |table, (name, header)| {
        table.right(header, |case| {
            let number = case.counts.get(*name);
            Some(number.map_or_else(|| "-".to_owned(), |&number| grouped(number)))
        })
    });
    table.render(look, 2).lines().map(str::to_owned).collect()
}
