//! A page of Markdown as its reader sees it: prose and tables, without code and comments.

use std::ops::Range;

use super::number::{Number, numbers, unit_of_header};

/// A table of a page.
pub struct Table {
    /// Its first row, with blanks around the bars.
    pub header: String,
    /// The places of the cells of each further row.
    pub rows: Vec<Vec<Range<usize>>>,
    /// The units that the header's cells name.
    pub units: Vec<Option<f64>>,
}

/// A page's text, and the parts of it that have figures. Places are bytes of `text`.
pub struct Page {
    pub text: String,
    /// The text without comments, of the same length.
    visible: String,
    /// Without tables and code too.
    prose: String,
    pub tables: Vec<Table>,
}

/// Replaces everything but line ends.
fn blank(text: &mut [u8], at: Range<usize>) {
    for byte in &mut text[at] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

/// The places between `open` and the `close` after it, both included.
fn between(text: &str, open: &str, close: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(open) {
        let start = from + start;
        let inner = start + open.len();
        let end = text[inner..]
            .find(close)
            .map(|end| inner + end + close.len());
        let Some(end) = end else { break };
        found.push(start..end);
        from = end;
    }
    found
}

/// The lines of a text with their places.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

/// The cells of a table's row.
fn cells(start: usize, line: &str) -> Vec<Range<usize>> {
    let bars: Vec<usize> = line.match_indices('|').map(|(at, _)| at).collect();
    let cell = |pair: &[usize]| {
        let text = &line[pair[0] + 1..pair[1]];
        let from = start + pair[0] + 1 + (text.len() - text.trim_start().len());
        from..(from + text.trim().len())
    };
    bars.windows(2).map(cell).collect()
}

/// A text of bytes that were UTF-8 before whole parts of it became blanks.
fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("blanks replace whole letters")
}

impl Page {
    pub fn new(text: String) -> Self {
        let mut visible = text.clone().into_bytes();
        for at in between(&text, "<!--", "-->") {
            blank(&mut visible, at);
        }
        let visible = utf8(visible);
        let mut prose = visible.clone().into_bytes();
        for (open, close) in [("\n```", "\n```"), ("](", ")")] {
            for at in between(&visible, open, close) {
                blank(&mut prose, at);
            }
        }
        let without_blocks = utf8(prose.clone());
        let mut tables: Vec<Table> = Vec::new();
        let mut is_in_table = false;
        for (start, line) in lines(&without_blocks) {
            let row = line.trim_end();
            let was_in_table = std::mem::replace(&mut is_in_table, row.starts_with('|'));
            if row.starts_with('|') {
                let cells = cells(start, row);
                let texts = cells.iter().map(|at| &text[at.clone()]);
                if !was_in_table {
                    tables.push(Table {
                        header: texts.clone().collect::<Vec<_>>().join(" | "),
                        rows: Vec::new(),
                        units: texts.map(unit_of_header).collect(),
                    });
                } else if !row.trim_matches(['|', '-', ':']).is_empty() {
                    tables.last_mut().expect("a table").rows.push(cells);
                }
            }
            if row.starts_with(['|']) || row.starts_with("    ") {
                blank(&mut prose, start..start + line.len());
            }
        }
        let prose = utf8(prose);
        let mut without_code = prose.clone().into_bytes();
        for at in between(&prose, "`", "`") {
            blank(&mut without_code, at);
        }
        Self {
            text,
            visible,
            prose: utf8(without_code),
            tables,
        }
    }

    /// The line of a place, from one on.
    pub fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// Every number that a reader may ask about.
    pub fn figures(&self) -> Vec<Number> {
        let mut found: Vec<Number> = numbers(&self.prose);
        for table in &self.tables {
            for row in &table.rows {
                for (column, cell) in row.iter().enumerate() {
                    let unit = table.units.get(column).copied().flatten();
                    found.extend(self.numbers_of(cell, unit));
                }
            }
        }
        found.retain(Number::is_figure);
        found
    }

    /// The numbers of a part of the text, in the unit of a column.
    pub fn numbers_of(&self, part: &Range<usize>, unit: Option<f64>) -> Vec<Number> {
        let found = numbers(&self.text[part.clone()]).into_iter();
        let moved = found.map(|mut number| {
            number.at = number.at.start + part.start..number.at.end + part.start;
            number.with_unit(unit)
        });
        moved.collect()
    }

    /// Where the page has a quotation, with any blanks between its words, and not within a longer
    /// word or number.
    pub fn places(&self, quotation: &str) -> Vec<Range<usize>> {
        let words: Vec<&str> = quotation.split_whitespace().collect();
        let Some(first) = words.first() else {
            return Vec::new();
        };
        let text = &self.visible;
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let found = text.match_indices(first).filter_map(|(start, _)| {
            let mut end = start;
            for (number, word) in words.iter().enumerate() {
                let blanks = text[end..].len() - text[end..].trim_start().len();
                if number > 0 && blanks == 0 {
                    return None;
                }
                end += if number > 0 { blanks } else { 0 };
                end += text[end..].starts_with(word).then_some(word.len())?;
            }
            let mut before = text[..start].chars().rev();
            let previous = before.next().unwrap_or(' ');
            // 4.6 is not in 14.6, 1.4.6 or 3,4.6.
            let in_number =
                ".,".contains(previous) && before.next().is_some_and(|it| it.is_ascii_digit());
            let mut after = text[end..].chars();
            let next = after.next().unwrap_or(' ');
            let goes_on = ".,".contains(next) && after.next().is_some_and(|it| it.is_ascii_digit());
            let starts_inside = is_part(previous) && first.starts_with(is_part);
            let ends_inside = is_part(next) && quotation.ends_with(is_part);
            (!in_number && !goes_on && !starts_inside && !ends_inside).then_some(start..end)
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "It takes 4.6 us or 14.6\nus (`perf --x 1.5`, [a](b/2.5.md)).\n\n\
                        | n | us |\n|---|---:|\n| 3201 | 55 |\n| 12 % | |\n\n\
                        ```\n3.5 s\n```\n\n    7.5 s\n<!-- figures\n9.5 s\n-->\n";

    #[test]
    fn figures_are_in_prose_and_in_columns_with_a_unit() {
        let page = Page::new(TEXT.to_owned());
        let figures = page.figures();
        let figures: Vec<&str> = figures.iter().map(|it| &TEXT[it.at.clone()]).collect();
        assert_eq!(figures, ["4.6", "14.6", "55", "12"]);
        assert_eq!(page.tables[0].header, "n | us");
    }

    #[test]
    fn quotations_are_found_over_lines_and_not_within_numbers() {
        let page = Page::new(TEXT.to_owned());
        let found = |text: &str| page.places(text).len();
        assert_eq!(
            [found("4.6 us"), found("14.6 us"), found("6 us")],
            [1, 1, 0]
        );
        assert_eq!([found("9.5 s"), found("takes 4"), found("55")], [0, 0, 1]);
    }
}
