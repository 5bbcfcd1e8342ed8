//! Compares a page's figures with what its ledger says.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::expression::{Names, Value, evaluate};
use super::ledger::{Entry, Ledger, Source, TableEntry};
use super::measured::Measured;
use super::number::{Number, numbers};
use super::page::{Page, Table};
use super::root;

/// The numbers of a file, in digits and in s, B, Hz or one.
type Numbers = Rc<Vec<(f64, f64)>>;

/// Whether a word is a date, `2026-11-26`.
fn is_date(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let is_number = |part: &&str| part.bytes().all(|it| it.is_ascii_digit());
    parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(is_number)
}

/// What pages refer to.
pub struct Known<'a> {
    shared: &'a Ledger,
    measured: Measured,
    files: RefCell<BTreeMap<String, Option<Numbers>>>,
}

impl<'a> Known<'a> {
    pub fn new(shared: &'a Ledger) -> Self {
        Self {
            shared,
            measured: Measured::committed(),
            files: RefCell::default(),
        }
    }

    /// The numbers of a file of the project, if there is such a file.
    fn file(&self, name: &str) -> Option<Numbers> {
        let read = || {
            let mut text = std::fs::read_to_string(root().join(name)).ok()?;
            if name.ends_with(".rs") {
                // 2_000_000 is a number there.
                text = text.replace('_', "");
            }
            let found = numbers(&text).into_iter();
            Some(Rc::new(
                found.map(|it| (it.value, it.value * it.scale)).collect(),
            ))
        };
        let mut files = self.files.borrow_mut();
        files.entry(name.to_owned()).or_insert_with(read).clone()
    }
}

/// The names of a page, and which kind of source a formula has used.
struct OfPage<'a> {
    ledger: &'a Ledger,
    known: &'a Known<'a>,
    kind: Cell<&'static str>,
}

impl Names for OfPage<'_> {
    fn defined(&self, name: &str) -> Option<&str> {
        let own = self.ledger.names.get(name);
        own.or_else(|| self.known.shared.names.get(name))
            .map(String::as_str)
    }

    fn looked_up(&self, function: &str, words: &[&str]) -> Option<Result<Value, String>> {
        self.kind.set(match function {
            "count" => "counted",
            _ => "measured, committed",
        });
        self.known.measured.figure(function, words)
    }
}

/// The formula that an empty cell should have a figure of. After a `?`, there may be none.
fn missing(source: &Source, names: &OfPage<'_>) -> Option<String> {
    let Source::Formulas(formulas) = source else {
        return None;
    };
    let formula = &formulas[0];
    match formula.strip_prefix('?') {
        Some(inner) => evaluate(inner.trim_start_matches('±'), names)
            .is_ok()
            .then(|| inner.to_owned()),
        None => Some(formula.clone()),
    }
}

/// What is wrong with a page's figures, and what would be right.
#[derive(Default)]
pub struct Checked {
    /// What is wrong, and where.
    pub wrong: Vec<(Option<usize>, String)>,
    /// New figures of the page, by their places.
    pub edits: BTreeMap<(usize, usize), String>,
    /// New figures of the shared file.
    pub edits_of_shared: BTreeMap<(usize, usize), String>,
    /// How many figures have which kind of source.
    pub kinds: BTreeMap<&'static str, usize>,
    covered: Vec<Range<usize>>,
}

impl Checked {
    pub fn new(page: &Page, ledger: &Ledger, shared: &Ledger, known: &Known<'_>) -> Self {
        let names = OfPage {
            ledger,
            known,
            kind: Cell::new(""),
        };
        let mut checked = Self::default();
        for table in &ledger.tables {
            checked.table(page, table, &names);
        }
        for entry in &ledger.entries {
            let edits = checked.entry(page, entry, &names);
            match edits {
                Some(edits) => checked.edits.extend(edits),
                None => {
                    let why = format!("`{}` is not on the page (any more)", entry.text);
                    checked.wrong.push((Some(entry.at), why));
                }
            }
        }
        for entry in &shared.entries {
            let edits = checked.entry(page, entry, &names);
            checked.edits_of_shared.extend(edits.unwrap_or_default());
        }
        for figure in page.figures() {
            let at = figure.at;
            let is_in = |part: &Range<usize>| part.start <= at.start && at.end <= part.end;
            if !checked.covered.iter().any(is_in) {
                let text = &page.text[at.clone()];
                let why = format!("`{text}` has no source: name one in the page's last comment");
                checked.wrong.push((Some(at.start), why));
            }
        }
        checked
    }

    /// Checks a quotation wherever the page has it. The edits are those of the ledger, or None if
    /// the page does not have it.
    fn entry(
        &mut self,
        page: &Page,
        entry: &Entry,
        names: &OfPage<'_>,
    ) -> Option<BTreeMap<(usize, usize), String>> {
        let places = page.places(&entry.text);
        let mut edits = BTreeMap::new();
        let of_entry = numbers(&entry.text);
        for part in &places {
            let found = page.numbers_of(part, None);
            if found.len() != of_entry.len() || found.is_empty() {
                let why = format!("`{}` has no number here", entry.text);
                self.wrong.push((Some(part.start), why));
                continue;
            }
            let before: Vec<_> = self.edits.keys().copied().collect();
            self.compare(page, &found, &entry.source, names);
            // The ledger quotes the page, so it changes as the page does.
            for (number, quoted) in found.iter().zip(&of_entry) {
                let key = (number.at.start, number.at.end);
                if let (Some(new), false) = (self.edits.get(&key), before.contains(&key)) {
                    let at = (entry.at + quoted.at.start, entry.at + quoted.at.end);
                    edits.insert(at, new.clone());
                }
            }
            self.covered.push(part.clone());
        }
        (!places.is_empty()).then_some(edits)
    }

    fn table(&mut self, page: &Page, entry: &TableEntry, names: &OfPage<'_>) {
        let has_header = |it: &&Table| it.header.trim_start().starts_with(&entry.header);
        let mut tables = page.tables.iter().filter(has_header);
        let Some(table) = tables.nth(entry.number - 1) else {
            let why = format!("no table {} begins with `{}`", entry.number, entry.header);
            return self.wrong.push((None, why));
        };
        let rows = entry.rows.len();
        if rows != table.rows.len() && (rows > 0 || entry.named.is_none()) {
            let why = format!(
                "`{}` has {} rows, not {rows}",
                entry.header,
                table.rows.len()
            );
            return self.wrong.push((None, why));
        }
        let of_all = entry.named.clone().map(Source::Named);
        for (number, cells) in table.rows.iter().enumerate() {
            // The variant that the row names.
            let mut texts = cells.iter().map(|cell| &page.text[cell.clone()]);
            let quoted = texts.find_map(|text| text.strip_prefix('`')?.split('`').next());
            for (column, cell) in cells.iter().enumerate() {
                let own = entry
                    .rows
                    .get(number)
                    .and_then(|row| row.get(column)?.clone());
                let Some(source) = own.or_else(|| of_all.clone()) else {
                    continue;
                };
                let unit = entry.unit.or(table.units.get(column).copied().flatten());
                let mut found = page.numbers_of(cell, unit);
                if matches!(source, Source::Named(_)) {
                    found.retain(Number::is_figure);
                }
                let source = source.of_variant(quoted.unwrap_or_default());
                if !found.is_empty() {
                    self.compare(page, &found, &source, names);
                    self.covered.push(cell.clone());
                } else if let Some(formula) = missing(&source, names) {
                    let why = format!("the row has no figure of {formula}");
                    self.wrong.push((Some(cell.start), why));
                }
            }
        }
    }

    /// Compares the numbers of a part of the page with their source.
    fn compare(&mut self, page: &Page, found: &[Number], source: &Source, names: &OfPage<'_>) {
        let figures: Vec<&Number> = found.iter().filter(|it| it.is_figure()).collect();
        let all: Vec<&Number> = found.iter().collect();
        let place = found[0].at.start;
        let formulas = match source {
            Source::Formulas(formulas) => formulas,
            Source::Named(name) => {
                let figures = if figures.is_empty() { all } else { figures };
                return self.named(&figures, name, names);
            }
        };
        let needed: usize = formulas
            .iter()
            .map(|it| 1 + usize::from(it.contains('±')))
            .sum();
        let mut numbers = if needed == figures.len() {
            figures.into_iter()
        } else if needed == all.len() {
            all.into_iter()
        } else {
            let why = format!(
                "{} figures of {} numbers, and {needed} formulas",
                figures.len(),
                all.len()
            );
            return self.wrong.push((Some(place), why));
        };
        for formula in formulas {
            let formula = formula.trim_start_matches('?');
            let number = numbers.next().expect("as many numbers as formulas");
            let (formula, half) = match formula.strip_prefix('±') {
                Some(formula) => (formula, numbers.next()),
                None => (formula, None),
            };
            if formula == "_" && !number.is_figure() {
                continue;
            }
            if let Some(name) = formula.strip_prefix('@') {
                self.named(&[number], name.trim(), names);
                continue;
            }
            names.kind.set("computed");
            match evaluate(formula, names) {
                Ok(value) => self.figure(page, number, half, value),
                Err(why) => self.wrong.push((Some(number.at.start), why)),
            }
            *self.kinds.entry(names.kind.get()).or_default() += 1;
        }
    }

    /// Compares a figure with its value, and its interval if it has one.
    fn figure(&mut self, page: &Page, number: &Number, half: Option<&Number>, value: Value) {
        let Some(half) = half else {
            if !number.agrees(value.value) {
                let right = number.render(value.value);
                self.should_be(page, number, right, number.ratio(value.value));
            }
            return;
        };
        let Some(width) = value.half else {
            let why = format!("`{}` has no interval", &page.text[number.at.clone()]);
            return self.wrong.push((Some(number.at.start), why));
        };
        let right = units::plus_minus(value.value / number.scale, width / number.scale);
        let (figure, interval) = right.split_once(" ± ").expect("as plus_minus writes it");
        let ratio = number.ratio(value.value);
        self.should_be(page, number, figure.to_owned(), ratio);
        self.should_be(page, half, interval.to_owned(), ratio);
    }

    /// Writes `right`, which is `ratio` times as large, in the place of a number that differs.
    /// Where that is far off, the formula may be wrong, or the sentence: its writer decides.
    fn should_be(&mut self, page: &Page, number: &Number, right: String, ratio: f64) {
        let written = &page.text[number.at.clone()];
        if written == right {
            return;
        }
        let why = format!("`{written}` is {right}");
        self.wrong.push((Some(number.at.start), why));
        if (0.6..1.6).contains(&ratio) {
            self.edits.insert((number.at.start, number.at.end), right);
        }
    }

    /// Looks the figures up in a file, or the source in the list.
    fn named(&mut self, figures: &[&Number], name: &str, names: &OfPage<'_>) {
        let key = name.split_whitespace().next().unwrap_or_default();
        let is_source = [names.ledger, names.known.shared]
            .iter()
            .any(|ledger| ledger.sources.contains_key(key));
        let kind = match names.known.file(key) {
            _ if key == "then" && !name.split(' ').nth(1).is_some_and(is_date) => {
                let why = format!("`@ {name}` needs a date: `@ then 2026-11-26`");
                return self.wrong.push((Some(figures[0].at.start), why));
            }
            _ if is_source && key == "then" => "measured then",
            _ if is_source => "named source",
            None => {
                let why = format!("there is no source `{key}`, and no such file");
                return self.wrong.push((Some(figures[0].at.start), why));
            }
            Some(numbers) => {
                for figure in figures {
                    let same = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
                    let mut numbers = numbers.iter();
                    if !numbers.any(|(value, scaled)| {
                        same(*value, figure.value) || same(*scaled, figure.value * figure.scale)
                    }) {
                        let why = format!("{key} has no {}", figure.value);
                        self.wrong.push((Some(figure.at.start), why));
                    }
                }
                if key.starts_with("docs/log/") {
                    "the log"
                } else {
                    "another file"
                }
            }
        };
        *self.kinds.entry(kind).or_default() += figures.len();
    }
}
