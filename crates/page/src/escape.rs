//! Text from others, made harmless: a name or a message from a submission is shown as it is, and
//! never interpreted.

use std::fmt::Write;

use maud::Render;

/// Whether a character is not seen, or is there to change others: it could make a line read as
/// something else. By Unicode's properties: controls, formats, separators of lines and paragraphs,
/// private and unassigned ones, which are those that `Debug` of Rust's strings escapes, without its
/// spaces; and of the visible categories those that are ignorable by default, and the empty cell of
/// Braille.
pub fn is_hidden(character: char) -> bool {
    // Both are escaped for another reason.
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    let is_ignorable = matches!(
        character,
        '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}' | '\u{2800}'
    );
    let ends_line = matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}');
    if character.is_whitespace() && !ends_line {
        return false;
    }
    // Behind a letter an accent is one that is seen.
    let mut bytes = [b'a', 0, 0, 0, 0];
    let length = 1 + character.encode_utf8(&mut bytes[1..]).len();
    let text = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
    is_ignorable || text.escape_debug().nth(1) != Some(character)
}

/// Whether a letter is written from right to left: it takes signs and digits beside it along.
fn is_from_right(character: char) -> bool {
    matches!(
        character,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}'
    )
}

/// Marks between which letters reorder nothing around them (Unicode Standard Annex 9): the first
/// strong letter decides the direction.
const ISOLATE: char = '\u{2068}';
const POP: char = '\u{2069}';

/// The marks of a line that are one of a pair, in the line's order of marks. Only those are left:
/// one alone would end another's.
fn paired(line: &str) -> Vec<bool> {
    let mut are_paired = Vec::new();
    let mut open = Vec::new();
    for mark in line.chars().filter(|mark| [ISOLATE, POP].contains(mark)) {
        let opener = (mark == POP).then(|| open.pop()).flatten();
        if mark == ISOLATE {
            open.push(are_paired.len());
        }
        if let Some(opener) = opener {
            are_paired[opener] = true;
        }
        are_paired.push(opener.is_some());
    }
    are_paired
}

/// For a terminal, or a plain text: characters that are not seen are written as escapes; lines and
/// tabs stay. Letters from right to left reorder nothing around them.
pub fn plain(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (words, end) = match line.strip_suffix('\n') {
            Some(words) => (words, "\n"),
            None => (line, ""),
        };
        clean += &visible(words);
        clean += end;
    }
    clean
}

/// A line with escapes for the characters that are not seen; tabs stay, and pairs of marks.
fn visible(line: &str) -> String {
    if line
        .bytes()
        .all(|byte| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic())
    {
        return line.to_owned();
    }
    let mut clean = String::with_capacity(line.len());
    let mut marks = paired(line).into_iter();
    let mut depth = 0;
    // Whether letters from right to left are outside all pairs.
    let mut is_bare = false;
    for character in line.chars() {
        let is_mark = [ISOLATE, POP].contains(&character) && marks.next() == Some(true);
        match character {
            ISOLATE if is_mark => depth += 1,
            POP if is_mark => depth -= 1,
            _ => is_bare |= depth == 0 && is_from_right(character),
        }
        if character == '\t' || is_mark || !is_hidden(character) {
            clean.push(character);
        } else {
            // Writing to a string does not fail.
            let _ = write!(clean, "{}", character.escape_default());
        }
    }
    if is_bare {
        format!("{ISOLATE}{clean}{POP}")
    } else {
        clean
    }
}

/// As [`plain`], in one line.
pub fn line(text: &str) -> String {
    plain(text.trim_end()).replace(['\n', '\t'], " ")
}

/// As [`line`], for a field of a table that programs read: letters from right to left have no marks
/// around them, so that a name stays the one that a list of students has.
pub fn field(text: &str) -> String {
    line(text).replace([ISOLATE, POP], "")
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
        assert_eq!(
            plain("a\u{ad}b\u{3164}\u{2800}"),
            "a\\u{ad}b\\u{3164}\\u{2800}"
        );
        assert_eq!(line("one\ntwo\n"), "one two");
        assert_eq!(at_most("abcdef", 3), "abc ... (3 more characters)");
    }

    #[test]
    fn hidden_characters_are_known_by_their_properties() {
        for hidden in [
            '\u{2028}',
            '\u{85}',
            '\u{ad}',
            '\u{61c}',
            '\u{3164}',
            '\u{2800}',
            '\u{e0041}',
            '\x7f',
        ] {
            assert!(is_hidden(hidden), "{hidden:?}");
        }
        for seen in [
            '\u{a0}', '\u{3000}', 'a', 'ä', '\u{301}', 'א', '中', '\'', '\\', ' ',
        ] {
            assert!(!is_hidden(seen), "{seen:?}");
        }
        assert_eq!(field("אב"), "אב");
        assert_eq!(field("an\u{ad}na"), "an\\u{ad}na");
    }

    #[test]
    fn letters_from_right_to_left_stay_where_they_are() {
        assert_eq!(plain("אב"), "\u{2068}אב\u{2069}");
        // Once more, alone or in a sentence, changes nothing.
        for text in ["\u{2068}אב\u{2069}", "ada, \u{2068}אב\u{2069}: 3 / 4"] {
            assert_eq!(plain(text), text);
        }
        // One that ends what is around it does not.
        let ended = plain("א\u{2069}ב\u{2068}");
        assert_eq!(ended, "\u{2068}א\\u{2069}ב\\u{2068}\u{2069}");
        assert_eq!(plain("é ü 中文 e\u{301}"), "é ü 中文 e\u{301}");
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
            let is_control = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t' | ISOLATE | POP);
            prop_assert!(!plain(&text).contains(is_control));
            prop_assert_eq!(plain(&plain(&text)), plain(&text));
            let forbidden = |c: char| is_control(c) || "<>\"'".contains(c);
            prop_assert!(!html(&text).contains(forbidden));
            prop_assert!(!file_name(&text).contains(['/', '\\']) && !file_name(&text).starts_with('.'));
        }
    }
}
