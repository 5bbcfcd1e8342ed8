//! Tables: aligned columns, a line under the header, nothing else.

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, TableStyle,
};
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
pub struct Columns {
    table: comfy_table::Table,
    aligns: Vec<Align>,
    look: Look,
}

impl Columns {
    /// A table with these headers; a line break in a header starts its second line.
    pub fn with_header<T: AsRef<str>>(look: Look, headers: &[(T, Align)]) -> Columns {
        let mut columns = Columns::new(look, headers.iter().map(|(_, align)| *align));
        let cells = headers.iter().map(|(text, _)| match look.colour {
            true => Cell::new(text.as_ref()).add_attribute(Attribute::Bold),
            false => Cell::new(text.as_ref()),
        });
        columns.table.set_header(cells.collect::<Vec<Cell>>());
        columns.align();
        columns
    }

    /// A table without a header.
    pub fn new(look: Look, aligns: impl IntoIterator<Item = Align>) -> Columns {
        let fill = if look.unicode { '\u{2500}' } else { '-' };
        let line = comfy_table::LineStyle::none().fill(fill).junction(fill);
        let mut table = comfy_table::Table::new();
        // Whether to style is decided by `look`, not by the table.
        table
            .load_style(TableStyle::new().header_separator(line))
            .force_no_tty();
        if look.colour {
            table.enforce_styling();
        }
        Columns {
            table,
            aligns: aligns.into_iter().collect(),
            look,
        }
    }

    /// Adds a row.
    pub fn row<T: Into<TableCell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let look = self.look;
        let cells = cells.into_iter().map(|cell| {
            let TableCell(text, tone) = cell.into();
            let is_plain = !look.colour || text.is_empty();
            let cell = Cell::new_owned(text);
            match tone {
                _ if is_plain => cell,
                Tone::Normal => cell,
                Tone::Good => cell.fg(Color::DarkGreen),
                Tone::Bad => cell.fg(Color::DarkRed).add_attribute(Attribute::Bold),
                Tone::Caution => cell.fg(Color::DarkYellow),
                Tone::Faint => cell.add_attribute(Attribute::Dim),
            }
        });
        self.table.add_row(cells.collect::<Vec<Cell>>());
        self.align();
    }

    /// The lines, each with `indent` spaces in front and none at its end. Where they are wider than
    /// the look allows, the text of the last column is wrapped, if there is room for some words.
    pub fn render(&self, indent: usize) -> String {
        let lines = indented(&self.table, indent);
        let width = lines.iter().map(|line| visible_width(line)).max();
        let too_wide = width.unwrap_or(0).saturating_sub(self.look.columns);
        let widths = self.table.column_max_content_widths();
        let text = usize::from(widths.last().copied().unwrap_or(0));
        let is_text = self.aligns.last() == Some(&Align::Left);
        if too_wide == 0 || !is_text || text < too_wide + MIN_TEXT {
            return lines.join("\n");
        }
        let mut table = self.table.clone();
        let columns = self.look.columns.saturating_sub(indent);
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(columns.try_into().unwrap_or(u16::MAX));
        let last = self.aligns.len() - 1;
        for column in table.column_iter_mut().take(last) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        indented(&table, indent).join("\n")
    }

    fn align(&mut self) {
        let last = self.aligns.len() - 1;
        for (index, (column, align)) in self.table.column_iter_mut().zip(&self.aligns).enumerate() {
            // With the style's one character between columns, two spaces.
            column.set_padding((0, if index == last { 0 } else { 1 }));
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
    }
}

/// The fewest columns that the text of a last column is wrapped to.
const MIN_TEXT: usize = 20;

/// The lines of a table, without blanks at their ends.
fn indented(table: &comfy_table::Table, indent: usize) -> Vec<String> {
    let lines = table.lines();
    let lines = lines.map(|line| format!("{:indent$}{line}", "").trim_end().to_owned());
    lines.collect()
}

/// The columns of a terminal that a line takes.
fn visible_width(line: &str) -> usize {
    textwrap::core::display_width(line)
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
        let columns = self.columns.iter();
        let columns: Vec<&Column> = columns
            .filter(|column| !column.cells.iter().all(is_empty))
            .collect();
        let headers = columns.iter();
        let headers = headers.map(|column| cell(column, &(column.header.clone(), Tone::Normal)));
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
