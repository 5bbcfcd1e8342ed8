//! Tables: aligned columns, a line under the header, nothing else.

use comfy_table::{CellAlignment, ColumnConstraint, LineStyle, TableStyle, Width};
use page::Page;

use crate::look::Look;

/// How a cell looks where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Without a style.
    Normal,
    /// Green.
    Good,
    /// Bold red.
    Bad,
    /// Yellow.
    Caution,
    /// Faint.
    Faint,
}

/// How a column's cells are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// As text is.
    Left,
    /// As numbers are.
    Right,
}

/// A cell: text, normal unless it comes with a [`Tone`].
pub struct TableCell(String, Tone);

impl From<String> for TableCell {
    fn from(text: String) -> TableCell {
        TableCell(text, Tone::Normal)
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> TableCell {
        TableCell(text.to_owned(), Tone::Normal)
    }
}

impl<T: Into<String>> From<(T, Tone)> for TableCell {
    fn from((text, tone): (T, Tone)) -> TableCell {
        TableCell(text.into(), tone)
    }
}

/// A table.
#[derive(Debug, Clone)]
pub struct Columns {
    look: Look,
    aligns: Vec<Align>,
    /// The texts of the header, if there is one, painted as those of the rows are.
    header: Option<Vec<String>>,
    rows: Vec<Vec<String>>,
}

/// Blanks between columns.
const GAP: u16 = 2;

/// The fewest columns that the text of a last column is wrapped to.
const MIN_TEXT: usize = 12;

impl Columns {
    /// A table with these headers; a line break in a header starts its second line.
    pub fn with_header<T: AsRef<str>>(look: Look, headers: &[(T, Align)]) -> Columns {
        let texts = headers.iter().map(|(text, _)| look.title(text.as_ref()));
        Columns {
            header: Some(texts.collect()),
            ..Columns::new(look, headers.iter().map(|(_, align)| *align))
        }
    }

    /// A table without a header.
    pub fn new(look: Look, aligns: impl IntoIterator<Item = Align>) -> Columns {
        Columns {
            look,
            aligns: aligns.into_iter().collect(),
            header: None,
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells that are left out are empty.
    pub fn row<T: Into<TableCell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(Into::into);
        let mut texts: Vec<String> = cells
            .map(|TableCell(text, tone)| tone.paint(self.look, &text))
            .collect();
        texts.resize(self.aligns.len(), String::new());
        self.rows.push(texts);
    }

    /// The lines, each with `indent` spaces in front and none at its end. Where they are wider than
    /// the look allows, the text of the last column is wrapped, if there is room for some words;
    /// else the columns that do not fit follow below, beside the first column again.
    pub fn render(&self, indent: usize) -> String {
        let mut table = self.layout();
        let widths = table.column_max_content_widths();
        let room = self.look.columns.saturating_sub(indent);
        if total(&widths) > room {
            let last = widths.last().copied().unwrap_or(0);
            let left = (room + usize::from(last)).saturating_sub(total(&widths));
            if self.aligns.last() == Some(&Align::Left) && left >= MIN_TEXT {
                let width = Width::Fixed(left.try_into().unwrap_or(last));
                let column = table.column_mut(widths.len() - 1).expect("the last");
                column.set_constraint(ColumnConstraint::Absolute(width));
            } else if let groups @ [_, _, ..] = &groups(&widths, room)[..] {
                let parts = groups.iter().map(|group| self.part(group).render(indent));
                return parts.collect::<Vec<_>>().join("\n\n");
            }
        }
        let lines = table
            .lines()
            .map(|line| format!("{:indent$}{line}", "").trim_end().to_owned());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The table with columns as wide as their texts.
    fn layout(&self) -> comfy_table::Table {
        let fill = if self.look.unicode { '\u{2500}' } else { '-' };
        let line = LineStyle::none().fill(fill).junction(fill);
        let mut table = comfy_table::Table::new();
        table.load_style(TableStyle::new().header_separator(line));
        if let Some(header) = &self.header {
            table.set_header(header);
        }
        table.add_rows(&self.rows);
        let last = self.aligns.len().saturating_sub(1);
        for (index, (column, align)) in table.column_iter_mut().zip(&self.aligns).enumerate() {
            // With the style's one character between columns, the gap.
            column.set_padding((0, if index == last { 0 } else { GAP - 1 }));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        table
    }

    /// Some of the columns, without the rows that have nothing beside the first.
    fn part(&self, columns: &[usize]) -> Columns {
        let header = self.header.as_ref();
        let header = header.map(|header| columns.iter().map(|&column| header[column].clone()));
        let mut part = Columns {
            header: header.map(Iterator::collect),
            ..Columns::new(self.look, columns.iter().map(|&column| self.aligns[column]))
        };
        for row in &self.rows {
            let texts: Vec<String> = columns.iter().map(|&column| row[column].clone()).collect();
            if texts[1..].iter().any(|text| !text.is_empty()) {
                part.rows.push(texts);
            }
        }
        part
    }
}

impl Tone {
    fn paint(self, look: Look, text: &str) -> String {
        match self {
            Tone::Normal => text.to_owned(),
            Tone::Good => look.good(text),
            Tone::Bad => look.bad(text),
            Tone::Caution => look.caution(text),
            Tone::Faint => look.faint(text),
        }
    }
}

/// Columns of the terminal that columns of these widths take.
fn total(widths: &[u16]) -> usize {
    let texts: usize = widths.iter().map(|&width| usize::from(width)).sum();
    texts + usize::from(GAP) * widths.len().saturating_sub(1)
}

/// The columns of each part of a table whose lines have this room: the first one in every part,
/// with as many others as fit, and one at least.
fn groups(widths: &[u16], room: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for column in 1..widths.len() {
        used += usize::from(GAP) + usize::from(widths[column]);
        match groups.last_mut() {
            Some(group) if used <= room => group.push(column),
            _ => {
                groups.push(vec![0, column]);
                used = total(&[widths[0], widths[column]]);
            }
        }
    }
    groups
}

/// A table of rows, made column by column, for the terminal or for a page.
pub struct Table<'r, T> {
    rows: &'r [T],
    columns: Vec<Column>,
}

struct Column {
    header: String,
    align: Align,
    cells: Vec<(String, Tone)>,
}

impl<'r, T> Table<'r, T> {
    /// A table without columns.
    pub fn new(rows: &'r [T]) -> Table<'r, T> {
        Table {
            rows,
            columns: Vec::new(),
        }
    }

    /// Adds a column of text.
    pub fn left(self, header: &str, text: impl Fn(&T) -> String) -> Table<'r, T> {
        self.toned(header, Align::Left, |row| (text(row), Tone::Normal))
    }

    /// Adds a column of numbers, with dashes for those that are missing.
    pub fn right(self, header: &str, number: impl Fn(&T) -> Option<String>) -> Table<'r, T> {
        self.toned(header, Align::Right, |row| match number(row) {
            Some(number) => (number, Tone::Normal),
            None => ("-".to_owned(), Tone::Faint),
        })
    }

    /// Adds a column whose cells have tones.
    pub fn toned(
        mut self,
        header: &str,
        align: Align,
        cell: impl Fn(&T) -> (String, Tone),
    ) -> Table<'r, T> {
        self.columns.push(Column {
            header: header.to_owned(),
            align,
            cells: self.rows.iter().map(cell).collect(),
        });
        self
    }

    /// The lines for a terminal, as [`Columns::render`].
    pub fn render(&self, look: Look, indent: usize) -> String {
        let columns = self.columns.iter();
        let headers = columns.map(|column| (column.header.as_str(), column.align));
        let mut table = Columns::with_header(look, &headers.collect::<Vec<_>>());
        for row in 0..self.rows.len() {
            table.row(self.columns.iter().map(|column| column.cells[row].clone()));
        }
        table.render(indent)
    }

    /// As [`Table::render`], without as many of the columns whose headers begin so, in this order,
    /// as must be left out for it to fit a terminal.
    pub fn render_within(self, look: Look, indent: usize, spare: &[&str]) -> String {
        self.narrowed(look.columns, indent, spare)
            .render(look, indent)
    }

    /// The table without as many of the columns whose headers begin so, in this order, as must be
    /// left out for it to fit into this number of columns. It may still take more.
    pub fn narrowed(mut self, columns: usize, indent: usize, spare: &[&str]) -> Self {
        for header in spare {
            if self.width(indent) > columns {
                self.columns
                    .retain(|column| !column.header.starts_with(header));
            }
        }
        self
    }

    /// Columns of the terminal that it takes.
    pub fn width(&self, indent: usize) -> usize {
        let wide = Look {
            columns: usize::from(u16::MAX),
            ..Look::PLAIN
        };
        let text = self.render(wide, indent);
        let widths = text.lines().map(|line| line.chars().count());
        widths.max().unwrap_or(0)
    }

    /// Writes the table to a page, without the columns that are empty all the way down. A row whose
    /// heading is not that of the row before stands under it; an empty heading is none.
    pub fn add_to(&self, page: &mut Page, heading: impl Fn(&T) -> &str) {
        let cell = |column: &Column, (text, tone): &(String, Tone)| match (tone, column.align) {
            (Tone::Good, _) => page::Cell::good(text),
            (Tone::Bad, _) => page::Cell::bad(text),
            (Tone::Caution, _) => page::Cell::caution(text),
            (Tone::Normal | Tone::Faint, Align::Left) => page::Cell::text(text),
            (Tone::Normal | Tone::Faint, Align::Right) => page::Cell::number(text),
        };
        let is_empty = |(text, _): &(String, Tone)| matches!(text.as_str(), "" | "-");
        let columns: Vec<&Column> = self
            .columns
            .iter()
            .filter(|column| !column.cells.iter().all(is_empty))
            .collect();
        let headers = columns
            .iter()
            .map(|column| cell(column, &(column.header.clone(), Tone::Normal)));
        let mut rows = Vec::new();
        let mut last = "";
        for (index, row) in self.rows.iter().enumerate() {
            if heading(row) != last {
                last = heading(row);
                rows.push(vec![page::Cell::text(last)]);
            }
            let cells = columns
                .iter()
                .map(|column| cell(column, &column.cells[index]));
            rows.push(cells.collect());
        }
        page.table(&headers.collect::<Vec<_>>(), rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let headers = [("variant", Align::Left), ("time\nus", Align::Right)];
        let mut table = Columns::with_header(Look::PLAIN, &headers);
        table.row([("naive", Tone::Normal), ("54.1", Tone::Good)]);
        table.row([("shmem", Tone::Normal), ("134", Tone::Bad)]);
        insta::assert_snapshot!(table.render(2), @r"
        variant  time
                   us
        -------------
        naive    54.1
        shmem     134
        ");
    }

    #[test]
    fn colours_do_not_move_columns() {
        let look = Look {
            colour: true,
            ..Look::PLAIN
        };
        let mut table = Columns::new(look, [Align::Left, Align::Left]);
        table.row([("a", Tone::Good), ("b", Tone::Normal)]);
        table.row([("long", Tone::Normal), ("b", Tone::Normal)]);
        let lines = table.render(0);
        let (first, second) = lines.split_once('\n').unwrap();
        assert!(first.contains("\x1b["), "{first:?}");
        assert_eq!(second, "long  b");
    }

    #[test]
    fn the_last_column_is_wrapped_to_the_terminal() {
        let look = Look {
            columns: 40,
            ..Look::PLAIN
        };
        let mut table = Columns::new(look, [Align::Left, Align::Left]);
        let text = "each thread computes one element of the sum, and no other";
        table.row(["grid1d", text]);
        table.row(["long-name", "short"]);
        insta::assert_snapshot!(table.render(2), @r"
          grid1d     each thread computes one
                     element of the sum, and no
                     other
          long-name  short
        ");
    }

    #[test]
    fn columns_that_do_not_fit_follow_below() {
        let look = Look {
            columns: 30,
            ..Look::PLAIN
        };
        let headers = ["memory", "requests", "bytes", "coalesced\n%"];
        let aligns = [Align::Left, Align::Right, Align::Right, Align::Right];
        let headers: Vec<_> = headers.into_iter().zip(aligns).collect();
        let mut table = Columns::with_header(look, &headers);
        table.row(["loads", "3,264", "226,080", "96.7"]);
        table.row(["only here", "1", "", ""]);
        insta::assert_snapshot!(table.render(2), @r"
          memory     requests    bytes
          ----------------------------
          loads         3,264  226,080
          only here         1

          memory  coalesced
                          %
          -----------------
          loads        96.7
        ");
        // A column beside the first is shown, however wide.
        let narrow = Look {
            columns: 5,
            ..Look::PLAIN
        };
        let mut of_text = Columns::new(narrow, [Align::Left, Align::Right]);
        of_text.row(["loads", "3,264"]);
        assert_eq!(of_text.render(0), "loads  3,264");
    }

    #[test]
    fn an_empty_cell_has_no_width() {
        let look = Look {
            colour: true,
            ..Look::PLAIN
        };
        let mut table = Columns::new(look, [Align::Left, Align::Left]);
        table.row([("a", Tone::Normal), ("", Tone::Faint)]);
        table.row([("b", Tone::Normal), ("text", Tone::Faint)]);
        assert_eq!(table.render(0).lines().next(), Some("a"));
    }
}
