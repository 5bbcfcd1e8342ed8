//! Where a page's figures come from: the comment at its end, and the file that all pages share.
//!
//! ```text
//! TEXT = FORMULA; FORMULA        of each figure of a quotation; `_` for a number that is none
//! TEXT @ SOURCE                  of all its figures: a name, a file that has them, `then DATE`
//! TEXT = @ SOURCE; FORMULA       of the first, and of the second
//!
//! table HEADER @ SOURCE          of all figures of the table whose header begins so
//! table #2 HEADER :: ms          the second such table; in ms, where its header does not say
//! | | FORMULA | @ SOURCE         a row: of each cell
//! each | | time(h100 {1} {name}) rows that differ in words, and in the variant that they name
//! + stencil25 1000x1000x1000     the words of such a row
//! +                              those of the row before
//!
//! let NAME = ..                  in formulas
//! source NAME = ..               what `@ NAME` is
//! profile NAME = ..              the arguments of `harness profile` for `count(NAME ..)`
//! ```
//!
//! `±FORMULA` is a figure with its interval, and `?FORMULA` may be of nothing, in an empty cell.

use std::collections::BTreeMap;

/// Where a figure comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A formula for each figure of the text.
    Formulas(Vec<String>),
    /// The name of a source, or a file that has the same numbers.
    Named(String),
}

impl Source {
    /// With the name of a variant in the place of `{name}`.
    pub fn of_variant(self, name: &str) -> Self {
        match self {
            Self::Formulas(all) => {
                let filled = all.iter().map(|it| it.replace("{name}", name));
                Self::Formulas(filled.collect())
            }
            Self::Named(_) => self,
        }
    }
}

/// A text of the page, and where its figures come from.
pub struct Entry {
    pub text: String,
    pub source: Source,
    /// Where `text` is in the file of the ledger.
    pub at: usize,
}

/// What a table's cells are: of each row, a source for each cell, or none.
pub struct TableEntry {
    /// The beginning of the table's header, and how many tables with it are before.
    pub header: String,
    pub number: usize,
    pub unit: Option<f64>,
    /// Of the whole table, where no row says otherwise.
    pub named: Option<String>,
    pub rows: Vec<Vec<Option<Source>>>,
}

/// What a page says about its figures.
#[derive(Default)]
pub struct Ledger {
    pub names: BTreeMap<String, String>,
    /// Sources by their names.
    pub sources: BTreeMap<String, String>,
    /// Commands that count, by the names of their profiles.
    pub profiles: BTreeMap<String, String>,
    pub entries: Vec<Entry>,
    pub tables: Vec<TableEntry>,
}

/// The comment's beginning.
const OPEN: &str = "<!-- figures\n";

/// The place of a page's ledger, without its marks.
pub fn place(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.rfind(OPEN)? + OPEN.len();
    // Nothing follows it: the students' copy of a page ends before it.
    let inner = text[start..].strip_suffix("-->\n")?;
    (!inner.contains("-->")).then_some(start..start + inner.len())
}

/// What a cell of a row says: nothing, `@ SOURCE`, or formulas with semicolons between.
fn source(cell: &str) -> Option<Source> {
    let cell = cell.trim();
    match cell.strip_prefix('@') {
        _ if cell.is_empty() => None,
        Some(name) if !name.contains(';') => Some(Source::Named(name.trim().to_owned())),
        _ => Some(formulas(cell)),
    }
}

fn formulas(text: &str) -> Source {
    Source::Formulas(text.split(';').map(|it| it.trim().to_owned()).collect())
}

/// The cells of `| a | b`.
fn row(line: &str) -> Vec<&str> {
    let line = line.trim();
    line.strip_suffix('|')
        .unwrap_or(line)
        .split('|')
        .skip(1)
        .map(str::trim)
        .collect()
}

impl TableEntry {
    fn new(rest: &str) -> Result<Self, String> {
        let (rest, named) = match rest.split_once(" @ ") {
            Some((rest, named)) => (rest, Some(named.trim().to_owned())),
            None => (rest, None),
        };
        let (header, unit) = match rest.split_once(" :: ") {
            Some((header, unit)) => {
                let unit = super::number::unit_of_header(unit).ok_or(format!("no unit: {unit}"))?;
                (header, Some(unit))
            }
            None => (rest, None),
        };
        let (number, header) = match header.strip_prefix('#').and_then(|it| it.split_once(' ')) {
            Some((number, header)) => (number.parse().map_err(|_| "no number")?, header),
            None => (1, header),
        };
        Ok(Self {
            header: header.trim().to_owned(),
            number,
            unit,
            named,
            rows: Vec::new(),
        })
    }
}

impl Ledger {
    /// Reads lines, which begin at `start` of their file.
    pub fn parse(text: &str, start: usize) -> Result<Self, String> {
        let mut ledger = Self::default();
        let mut rows = Rows::default();
        let mut at = start;
        for line in text.split_inclusive('\n') {
            let place = at + line.len() - line.trim_start().len();
            at += line.len();
            let line = line.trim();
            if !line.is_empty() && !line.starts_with("# ") {
                let read = ledger.line(line, place, &mut rows);
                read.map_err(|why| format!("`{line}`: {why}"))?;
            }
        }
        Ok(ledger)
    }

    fn line(&mut self, line: &str, at: usize, rows: &mut Rows) -> Result<(), String> {
        if let Some(header) = line.strip_prefix("table ") {
            self.tables.push(TableEntry::new(header)?);
            *rows = Rows::default();
        } else if let Some(cells) = line.strip_prefix("each ") {
            rows.each = row(cells).into_iter().map(str::to_owned).collect();
        } else if line.starts_with(['+', '|']) {
            let cells = match line.strip_prefix('+') {
                Some(words) => rows.filled(words.trim())?,
                None => row(line).into_iter().map(source).collect(),
            };
            let table = self.tables.last_mut().ok_or("no `table` before")?;
            table.rows.push(cells);
        } else if let Some((kind, name, meaning)) = definition(line) {
            let names = match kind {
                "let" => &mut self.names,
                "source" => &mut self.sources,
                _ => &mut self.profiles,
            };
            if names.insert(name.to_owned(), meaning.to_owned()).is_some() {
                return Err("defined twice".to_owned());
            }
        } else {
            let (text, source) = entry(line).ok_or("neither ` = FORMULA` nor ` @ SOURCE`")?;
            let text = text.trim().to_owned();
            self.entries.push(Entry { text, source, at });
        }
        Ok(())
    }
}

/// Rows that differ in words alone.
#[derive(Default)]
struct Rows {
    /// The cells, with places for words: `time(h100 {1} {2})`.
    each: Vec<String>,
    /// The words of the last row.
    words: String,
}

impl Rows {
    /// The cells with these words, or without any with those of the row before.
    fn filled(&mut self, words: &str) -> Result<Vec<Option<Source>>, String> {
        if !words.is_empty() {
            self.words = words.to_owned();
        }
        if self.each.is_empty() {
            return Err("no `each` before".to_owned());
        }
        let fill = |cell: &String| {
            let mut cell = cell.clone();
            for (number, word) in self.words.split_whitespace().enumerate() {
                cell = cell.replace(&format!("{{{}}}", number + 1), word);
            }
            source(&cell)
        };
        Ok(self.each.iter().map(fill).collect())
    }
}

/// A quotation, and where its figures come from.
fn entry(line: &str) -> Option<(&str, Source)> {
    // `TEXT = FORMULA; @ SOURCE` has a source for one figure alone.
    let equal = line.rsplit_once(" = ");
    match equal.filter(|(_, rest)| rest.contains(';') || !rest.contains(" @ ")) {
        Some((text, rest)) => Some((text, formulas(rest))),
        None => {
            let (text, name) = line.rsplit_once(" @ ")?;
            Some((text, Source::Named(name.trim().to_owned())))
        }
    }
}

/// `let NAME = ..`, `source NAME = ..` or `profile NAME = ..`.
fn definition(line: &str) -> Option<(&str, &str, &str)> {
    let (kind, rest) = line.split_once(' ')?;
    let (name, meaning) = rest.split_once(" = ")?;
    let is_one = ["let", "source", "profile"].contains(&kind) && !name.trim().contains(' ');
    is_one.then_some((kind, name.trim(), meaning.trim()))
}
