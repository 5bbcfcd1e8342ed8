//! Text from others, made harmless: a name or a message from a submission is shown as it is, and
//! never interpreted.

use std::fmt::Write;

use maud::Render;

/// Invisible characters that reorder or hide text: they could make a line read as something else.
fn is_invisible_control(character: char) -> bool {
    matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
    )
}

/// For a terminal, or a plain text: control characters are written as escapes; lines and tabs stay.
pub fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\n' | '\t')
            || !(character.is_control() || is_invisible_control(character))
        {
            clean.push(character);
        } else {
            // Writing to a string does not fail.
            let _ = write!(clean, "{}", character.escape_default());
        }
    }
    clean
}

/// As [`plain`], in one line.
pub fn line(text: &str) -> String {
    plain(text.trim_end()).replace(['\n', '\t'], " ")
}

/// As [`plain`], cut after this many `characters`, with a note of the number left out.
pub fn at_most(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => plain(text),
        Some((end, _)) => {
            let left_out = text[end..].chars().count();
            format!("{} ... ({left_out} more characters)", plain(&text[..end]))
        }
    }
}

/// For HTML, between tags or in a quoted attribute.
pub fn html(text: &str) -> String {
    let text = plain(text);
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// For the name of a file: letters, digits, `-`, `_` and `.` stay, the rest becomes `-`; never
/// empty, hidden or long.
pub fn file_name(text: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let name: String = text.chars().take(64).map(keep).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name.to_owned()
    }
}

/// Any text, made harmless by [`html`], which is stricter than maud.
pub(crate) struct Text<'t>(pub &'t str);

impl Render for Text<'_> {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(&html(self.0));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminals_are_not_steered() {
        assert_eq!(
            plain("a\x1b[2Jb\r\u{9b}31mc\nd"),
            "a\\u{1b}[2Jb\\r\\u{9b}31mc\nd"
        );
        assert_eq!(plain("\u{202e}cod.exe"), "\\u{202e}cod.exe");
        assert_eq!(line("one\ntwo\n"), "one two");
        assert_eq!(at_most("abcdef", 3), "abc ... (3 more characters)");
    }

    #[test]
    fn pages_are_not_scripted() {
        assert_eq!(
            html("<script>'&\"</script>"),
            "&lt;script&gt;&#39;&amp;&quot;&lt;/script&gt;"
        );
    }

    #[test]
    fn files_stay_where_they_are() {
        assert_eq!(file_name("../../etc/passwd"), "-..-etc-passwd");
        assert_eq!(file_name(".."), "unnamed");
        assert_eq!(file_name("ada lovelace"), "ada-lovelace");
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left(text in "\\PC*|[\\x00-\\x20<>&\"']*") {
            let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            prop_assert!(!plain(&text).contains(is_control));
            let forbidden = |c: char| is_control(c) || "<>\"'".contains(c);
            prop_assert!(!html(&text).contains(forbidden));
            prop_assert!(!file_name(&text).contains(['/', '\\']) && !file_name(&text).starts_with('.'));
        }
    }
}
