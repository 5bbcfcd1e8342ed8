//! A compiler's message in ranked parts, each line of its code within a width: cropped around the
//! place that is meant, so that the caret stays, and what is said of it.

use page::escape;

use super::lines::{cut, wrapped};
use super::sheet::{Rank, Sheet};

/// Columns before every line.
const INDENT: usize = 4;

/// Columns of code that stay to the left of a caret, where not all of it has room.
const BEFORE_CARET: usize = 16;

/// The fewest columns in which a label is wrapped.
const LABEL: usize = 24;

/// The sign of code that is cropped.
const ELLIPSIS: &str = "...";

/// The characters that compilers draw beneath code.
const MARKS: &[char] = &['^', '-', '~', '+', '_', '|', ' '];

/// The errors of a message, and the line before them that says which file does not compile.
pub struct Errors<'m> {
    heading: Option<&'m str>,
    errors: Vec<&'m str>,
}

impl<'m> Errors<'m> {
    /// The errors of this message; a message without any is one.
    pub fn of(message: &'m str) -> Errors<'m> {
        let is_heading = |line: &&str| line.ends_with("does not compile:");
        let heading = message.lines().next().filter(is_heading);
        let rest = &message[heading.map_or(0, str::len)..];
        let is_error =
            |part: &&str| part.starts_with("error") && !part.starts_with("error: aborting");
        let parts = rest.split("\n\n").map(str::trim_ascii);
        let errors: Vec<&str> = parts.filter(is_error).collect();
        let is_one = errors.is_empty();
        Errors {
            heading,
            errors: if is_one { vec![rest.trim()] } else { errors },
        }
    }

    /// Adds the first `most` errors, and how many there are.
    pub fn add_to(&self, sheet: &mut Sheet, most: usize, columns: usize) {
        if let Some(heading) = self.heading {
            sheet.add(Rank::Detail, text(heading, columns));
        }
        for error in self.errors.iter().take(most) {
            add(error, sheet, columns);
        }
        if self.errors.len() > most {
            let more = format!("... the first of {} errors", self.errors.len());
            sheet.add(Rank::Detail, text(&more, columns));
        }
    }
}

fn text(line: &str, columns: usize) -> Vec<String> {
    let indent = INDENT + line.len() - line.trim_start().len();
    wrapped(line, &" ".repeat(indent), indent + 2, columns)
}

/// A line of a snippet: `24 | code`, `   | ^^^ label`.
struct Drawn<'l> {
    /// With the bar and the blank after it.
    gutter: &'l str,
    body: &'l str,
    /// Whether it is code: it has a number.
    is_code: bool,
}

impl<'l> Drawn<'l> {
    fn read(line: &'l str) -> Option<Drawn<'l>> {
        let number = line
            .trim_start()
            .trim_start_matches(|c: char| c.is_ascii_digit());
        let is_code = number.len() < line.trim_start().len();
        let bar = number.trim_start_matches(' ');
        let signs: &[char] = if is_code {
            &['|', '+', '-', '~']
        } else {
            &['|']
        };
        let body = bar.strip_prefix(signs)?;
        if is_code && !number.starts_with(' ') {
            return None;
        }
        let body = body.strip_prefix(' ').unwrap_or(body);
        Some(Drawn {
            gutter: &line[..line.len() - body.len()],
            body,
            is_code,
        })
    }

    /// The words to the right of the marks.
    fn label(&self) -> &'l str {
        if self.is_code {
            return "";
        }
        self.body.trim_start_matches(MARKS)
    }

    /// The columns of the first marks: of carets, if there are some; and the column after them.
    fn marks(&self) -> Option<(usize, usize)> {
        if self.is_code {
            return None;
        }
        let drawn = &self.body[..self.body.len() - self.label().len()];
        let is_mark = |c: char| !matches!(c, ' ' | '|' | '_');
        // All of them are ASCII.
        let at = drawn.find('^').or_else(|| drawn.find(is_mark))?;
        let run = drawn[at..].find(|c| !is_mark(c));
        Some((at, at + run.unwrap_or(drawn.len() - at)))
    }

    /// The line from this column on, after its gutter `lead`, in at most `room` columns; a label
    /// that is too long for it goes below its marks.
    fn lines(&self, lead: &str, from: usize, room: usize) -> Vec<String> {
        let width = lead.chars().count() + room;
        if self.is_code {
            let hidden = self.body.chars().take(from);
            let code: String = if hidden.clone().all(|c| c == ' ') {
                self.body.chars().skip(from).collect()
            } else {
                let shown = self.body.chars().skip(from + ELLIPSIS.len());
                ELLIPSIS.chars().chain(shown).collect()
            };
            return vec![cut(&format!("{lead}{code}"), width)];
        }
        let label = self.label();
        let drawn = &self.body[..self.body.len() - label.len()];
        let drawn = drawn.get(from..).unwrap_or_default();
        if drawn.len() + label.chars().count() <= room {
            return vec![format!("{lead}{drawn}{label}")];
        }
        let mut lines = vec![cut(format!("{lead}{drawn}").trim_end(), width)];
        let below = drawn.find(|c| c != ' ').unwrap_or(0);
        let indent = below.min(room.saturating_sub(LABEL));
        let first = format!("{lead}{:indent$}", "");
        // The gutter of later lines is blank: they are not lines of the file.
        lines.extend(wrapped(label, &first, lead.chars().count() + indent, width));
        lines
    }
}

/// Adds an error with its notes and suggestions.
fn add(error: &str, sheet: &mut Sheet, columns: usize) {
    let clean = escape::plain(error).replace('\t', "    ");
    // Lines of a snippet are cropped together.
    let mut snippet: Vec<Drawn<'_>> = Vec::new();
    let mut rank = Rank::Event;
    let mut has_place = false;
    for line in clean.lines() {
        match Drawn::read(line) {
            Some(drawn) if !drawn.body.trim().is_empty() => snippet.push(drawn),
            Some(drawn) => {
                cropped(&std::mem::take(&mut snippet), rank, sheet, columns);
                let gutter = format!("{:INDENT$}{}", "", drawn.gutter.trim_end());
                sheet.add(Rank::Blank, vec![gutter]);
            }
            None => {
                cropped(&std::mem::take(&mut snippet), rank, sheet, columns);
                rank = rank_of(line.trim_start(), rank, &mut has_place);
                sheet.add(rank, text(line, columns));
            }
        }
    }
    cropped(&snippet, rank, sheet, columns);
}

/// The rank of a line that is not code, after lines of rank `before`.
fn rank_of(line: &str, before: Rank, has_place: &mut bool) -> Rank {
    let begins = |with: &[&str]| with.iter().any(|with| line.starts_with(with));
    if begins(&["error"]) {
        Rank::Event
    } else if begins(&["help:", "= help:"]) {
        Rank::Remedy
    } else if begins(&["note:", "= note:", ":::", "warning"]) {
        Rank::Detail
    } else if begins(&["-->"]) && before < Rank::Remedy {
        // A second place is that of something else, which a note is about.
        let is_first = !std::mem::replace(has_place, true);
        if is_first { Rank::Place } else { Rank::Detail }
    } else {
        before
    }
}

/// Adds lines of code and of marks beneath it. Where code is too wide for its line, all of them
/// begin farther right: without their common indent, or just before the mark.
fn cropped(snippet: &[Drawn<'_>], rank: Rank, sheet: &mut Sheet, columns: usize) {
    let gutters = snippet.iter().map(|drawn| drawn.gutter.chars().count());
    let Some(widest) = gutters.max() else {
        return;
    };
    let room = columns.saturating_sub(INDENT + widest).max(LABEL);
    let code = || snippet.iter().filter(|drawn| drawn.is_code);
    let lengths = code().map(|drawn| drawn.body.chars().count());
    let indents = code().map(|drawn| drawn.body.len() - drawn.body.trim_start().len());
    let from = match (lengths.max(), indents.min()) {
        (Some(longest), Some(indent)) if longest > room => {
            let marks = snippet.iter().find_map(Drawn::marks);
            marks.map_or(indent, |(mark, end)| {
                let is_in_sight = end + ELLIPSIS.len() <= indent + room;
                if mark < indent || is_in_sight {
                    indent.min(mark)
                } else {
                    mark - BEFORE_CARET.min(mark)
                }
            })
        }
        _ => 0,
    };
    for drawn in snippet {
        let lead = format!("{:INDENT$}{}", "", drawn.gutter);
        sheet.add(rank, drawn.lines(&lead, from, room));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn shown(message: &str, most: usize, columns: usize) -> String {
        let mut sheet = Sheet::default();
        Errors::of(message).add_to(&mut sheet, most, columns);
        let lines = sheet.lines();
        for line in &lines {
            assert!(line.chars().count() <= columns, "{line}");
        }
        lines.join("\n")
    }

    /// rustc's message for a function's name that is mistyped.
    pub const TYPO: &str = "kernels.rs does not compile:
error[E0425]: cannot find function `blok_dim_x` in module `thread`
  --> kernels.rs:24:45
   |
24 |     let x = thread::block_idx_x() * thread::blok_dim_x() + thread::thread_idx_x();
   |                                             ^^^^^^^^^^
   |
  --> crates/cuda_std/src/thread.rs:13:8
   |
   = note: similarly named function `block_dim_x` defined here
help: a function with a similar name exists
   |
24 |     let x = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
   |                                                +

error: aborting due to 1 previous error
";

    #[test]
    fn code_is_cropped_around_its_caret_and_a_label_goes_below() {
        insta::assert_snapshot!(shown(TYPO, 1, 60));
        // Without its indent, this code has room.
        insta::assert_snapshot!(
            "indent",
            shown(
                "error: a
 --> kernels.rs:1:40
  |
1 |                     let index = x + y;
  |                         ^^^^^ expected `usize`, found `u32`, which is a type of other size",
                1,
                40
            )
        );
        // Neither a bar in a message nor a number makes a snippet of it.
        assert_eq!(shown("a | b\n3 | c", 1, 60), "    a | b\n    3 | c");
    }

    #[test]
    fn a_suggestion_outlives_notes() {
        let fitted = |room| {
            let mut sheet = Sheet::default();
            Errors::of(TYPO).add_to(&mut sheet, 1, 80);
            sheet
                .within(room, |left_out| format!("    +{left_out}"))
                .join("\n")
        };
        insta::assert_snapshot!("in_9_lines", fitted(9));
        insta::assert_snapshot!("in_5_lines", fitted(5));
    }

    #[test]
    fn errors_are_counted() {
        let two = "error: a\n --> kernels.rs:1:1\n\nerror[E0308]: b\n\nerror: aborting due to 2";
        assert_eq!(
            shown(two, 1, 80),
            "    error: a\n     --> kernels.rs:1:1\n    ... the first of 2 errors"
        );
        assert!(shown(two, 9, 80).ends_with("    error[E0308]: b"));
        assert_eq!(shown("launch.rs has no x", 1, 80), "    launch.rs has no x");
    }
}
