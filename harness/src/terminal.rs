//! How text looks where it goes.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// Whether text may have colours, and characters beyond ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours and bold type.
    pub colour: bool,
    /// Lines and bars drawn with Unicode characters.
    pub unicode: bool,
}

impl Look {
    /// ASCII without colours: for files, pipes and tests.
    pub const PLAIN: Look = Look {
        colour: false,
        unicode: false,
    };

    /// As standard output can show it.
    pub fn of_stdout() -> Look {
        Look::of(&std::io::stdout())
    }

    /// As standard error can show it.
    pub fn of_stderr() -> Look {
        Look::of(&std::io::stderr())
    }

    /// Colours as [`anstream`] decides: on a terminal that has them, unless `NO_COLOR` or `CLICOLOR_FORCE` says otherwise.
    fn of(stream: &impl RawStream) -> Look {
        Look {
            colour: AutoStream::choice(stream) != ColorChoice::Never,
            unicode: stream.is_terminal() && is_utf8(|name| std::env::var(name).ok()),
        }
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
    fn paint_only_where_there_are_colours() {
        assert_eq!(Look::PLAIN.bad("FAIL"), "FAIL");
        let colours = Look {
            colour: true,
            unicode: false,
        };
        assert_eq!(colours.good("ok"), "\x1b[32mok\x1b[0m");
    }
}
