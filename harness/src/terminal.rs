//! How text may look where it goes.

use std::io::IsTerminal;

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
        Look::of(std::io::stdout().is_terminal())
    }

    /// As standard error can show it.
    pub fn of_stderr() -> Look {
        Look::of(std::io::stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Look {
        Look::from_env(is_terminal, |name| std::env::var(name).ok())
    }

    /// A terminal has colours unless `NO_COLOR` is set to something or `TERM` is `dumb`, and Unicode if the locale is
    /// UTF-8 (the first of `LC_ALL`, `LC_CTYPE`, `LANG` that is set decides).
    fn from_env(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Look {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        if !is_terminal {
            return Look::PLAIN;
        }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(set)
            .unwrap_or_default()
            .to_uppercase();
        Look {
            colour: set("NO_COLOR").is_none() && set("TERM").as_deref() != Some("dumb"),
            unicode: locale.contains("UTF-8") || locale.contains("UTF8"),
        }
    }

    /// Green.
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Bold red.
    pub fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Yellow.
    pub fn caution(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Bold.
    pub fn title(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Faint.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(is_terminal: bool, variables: &[(&str, &str)]) -> Look {
        Look::from_env(is_terminal, |name| {
            let found = variables.iter().find(|(key, _)| *key == name)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn a_file_is_plain() {
        assert_eq!(look(false, &[("LANG", "en_GB.UTF-8")]), Look::PLAIN);
    }

    #[test]
    fn the_environment_decides_for_a_terminal() {
        let full = Look {
            colour: true,
            unicode: true,
        };
        assert_eq!(look(true, &[("LANG", "en_GB.UTF-8")]), full);
        assert_eq!(look(true, &[("LANG", "C.utf8"), ("NO_COLOR", "")]), full);
        assert!(!look(true, &[("NO_COLOR", "1")]).colour);
        assert!(!look(true, &[("TERM", "dumb")]).colour);
        assert!(!look(true, &[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]).unicode);
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
