//! How text looks where it goes.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use terminal_size::{Height, Width, terminal_size_of};

/// Columns that reports keep to.
pub const WIDTH: usize = 100;

/// The fewest columns that text is wrapped to.
const MIN_WIDTH: usize = 40;

fn lines(text: &str, indent: usize, columns: usize) -> Vec<String> {
    let (first, further) = (" ".repeat(indent), " ".repeat(indent + 2));
    let mut lines = Vec::new();
    for line in text.trim_end().lines() {
        let lead = if lines.is_empty() { &first } else { &further };
        let options = textwrap::Options::new(columns)
            // Names of cases and variants stay whole.
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .initial_indent(lead)
            .subsequent_indent(&further);
        let wrapped = textwrap::wrap(line.trim_end(), options).into_iter();
        lines.extend(wrapped.map(|part| part.into_owned()));
    }
    lines
}

/// Whether text may have colours, and characters beyond ASCII, and how wide it may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours and bold type.
    pub colour: bool,
    /// Lines and bars drawn with Unicode characters.
    pub unicode: bool,
    /// Columns of a line: the terminal's, and at most [`WIDTH`].
    pub columns: usize,
}

impl Look {
    /// ASCII without colours: for files, pipes and tests.
    pub const PLAIN: Look = Look {
        colour: false,
        unicode: false,
        columns: WIDTH,
    };

    /// As standard output can show it.
    pub fn of_stdout() -> Look {
        Look {
            columns: terminal_size_of(std::io::stdout()).map_or(WIDTH, columns),
            ..Look::of(&std::io::stdout())
        }
    }

    /// As standard error can show it. A file's lines have any width.
    pub fn of_stderr() -> Look {
        Look {
            columns: terminal_size_of(std::io::stderr()).map_or(usize::MAX, columns),
            ..Look::of(&std::io::stderr())
        }
    }

    /// Colours as [`anstream`] decides: on a terminal that has them, unless `NO_COLOR` or
    /// `CLICOLOR_FORCE` says otherwise.
    fn of(stream: &impl RawStream) -> Look {
        Look {
            colour: AutoStream::choice(stream) != ColorChoice::Never,
            unicode: stream.is_terminal() && is_utf8(|name| std::env::var(name).ok()),
            columns: WIDTH,
        }
    }

    /// The text in lines of at most these columns: the first after `indent` spaces, further ones
    /// two to the right of it. Lines of its own stay apart.
    pub fn wrapped(self, text: &str, indent: usize) -> String {
        lines(text, indent, self.columns).join("\n")
    }

    /// A message after its kind, such as `error:`, in lines as wide as the terminal. A path or a
    /// command longer than a line stays whole, and can be copied.
    pub fn message(self, kind: &str, words: &str) -> String {
        let options = textwrap::Options::new(self.columns)
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false)
            .subsequent_indent("  ");
        let text = format!("{kind} {words}");
        // Lines of the message's own stay as they are indented.
        let lines: Vec<String> = text
            .lines()
            .map(|line| textwrap::fill(line, &options))
            .collect();
        let filled = lines.join("\n");
        let painted = match kind {
            "error:" => self.bad(kind),
            _ => self.caution(kind),
        };
        painted + &filled[kind.len()..]
    }

    /// The first lines of a wrapped text; the last of them ends in dots if there are more.
    pub fn first_lines(self, text: &str, indent: usize, most: usize) -> Vec<String> {
        let mut lines = lines(text, indent, self.columns);
        if lines.len() > most {
            lines.truncate(most);
            let last = lines.last_mut().expect("at least one");
            let room = self.columns.saturating_sub(4);
            let cut = last.char_indices().nth(room).map(|(at, _)| at);
            last.truncate(cut.unwrap_or(last.len()));
            *last += " ...";
        }
        lines
    }

    /// Green.
    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// Bold red.
    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    /// Yellow.
    pub fn caution(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// Bold.
    pub fn title(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// Faint.
    pub fn faint(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    fn paint(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}

/// The columns of a stream that is a terminal, from the size that it has.
fn columns((width, _): (Width, Height)) -> usize {
    usize::from(width.0).clamp(MIN_WIDTH, WIDTH)
}

/// Whether the locale is UTF-8: the first of these variables that is set decides.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .unwrap_or_default()
        .to_uppercase();
    locale.contains("UTF-8") || locale.contains("UTF8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_decides_on_unicode() {
        let with = |variables: &[(&str, &str)]| {
            is_utf8(|name| {
                let found = variables.iter().find(|(key, _)| *key == name)?;
                Some(found.1.to_owned())
            })
        };
        assert!(with(&[("LANG", "en_GB.UTF-8")]) && with(&[("LANG", "C.utf8")]));
        assert!(with(&[("LC_ALL", ""), ("LANG", "C.utf8")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]) && !with(&[]));
    }

    #[test]
    fn a_message_is_as_wide_as_the_terminal_and_its_words_stay_whole() {
        let path = "/".repeat(70);
        let words = format!("{path}: has no kernels.rs; did you mean {path}/starter?\nwrite it");
        let look = Look {
            columns: 60,
            ..Look::PLAIN
        };
        assert_eq!(
            look.message("error:", &words),
            format!(
                "error:\n  {path}:\n  has no kernels.rs; did you mean\n  {path}/starter?\nwrite it"
            )
        );
        let wide = Look {
            columns: usize::MAX,
            ..look
        };
        assert_eq!(wide.message("error:", &words), format!("error: {words}"));
        let colour = Look {
            colour: true,
            ..look
        };
        let painted = colour.message("note:", "a b");
        assert_eq!(painted, format!("{} a b", colour.caution("note:")));
    }

    #[test]
    fn lines_are_no_wider_than_a_terminal() {
        let message = "a.json: cannot be read";
        let look = Look::PLAIN;
        assert_eq!(look.wrapped(message, 2), "  a.json: cannot be read");
        assert_eq!(look.wrapped("one\n  two\n", 2), "  one\n      two");
        let long = format!("{} {}", "x".repeat(90), "y".repeat(250));
        let lines = look.wrapped(&long, 2);
        assert!(lines.lines().all(|line| line.len() <= WIDTH), "{lines}");
        assert_eq!(lines.lines().count(), 4);
        assert!(lines.starts_with("  xxx") && lines.contains("\n    yyy"));
        assert_eq!(look.first_lines(&long, 2, 4).join("\n"), lines);
        let [first, second] = &look.first_lines(&long, 2, 2)[..] else {
            panic!("two lines")
        };
        assert_eq!((first.len(), second.len()), (92, 100));
        assert!(second.ends_with("y ..."));
        let narrow = Look {
            columns: 80,
            ..look
        };
        for line in narrow.first_lines(&long, 2, 2) {
            assert!(line.len() <= 80, "{line}");
        }
    }

    #[test]
    fn paint_only_where_there_are_colours() {
        assert_eq!(Look::PLAIN.bad("FAIL"), "FAIL");
        let colours = Look {
            colour: true,
            ..Look::PLAIN
        };
        assert_eq!(colours.good("ok"), "\x1b[32mok\x1b[0m");
    }
}
