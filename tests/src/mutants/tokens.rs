//! A source file as tokens with their places: enough of Rust's grammar for mistakes of one token.

use std::ops::Range;

/// A word, a number, or a sign of up to three characters. Comments, texts, attributes and imports
/// have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    /// As the file has it.
    pub text: &'t str,
    /// The first byte.
    pub at: usize,
}

impl Token<'_> {
    /// Its bytes.
    pub fn range(&self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Whether it begins like a name or a keyword.
    pub fn is_word(&self) -> bool {
        self.text
            .starts_with(|c: char| c.is_alphabetic() || c == '_')
    }

    /// Whether an expression may end with it.
    pub fn ends_value(&self) -> bool {
        let is_number = self.text.starts_with(|c: char| c.is_ascii_digit());
        let is_name = self.is_word() && !matches!(self.text, "return" | "in" | "if" | "as" | "let");
        is_number || is_name || matches!(self.text, ")" | "]")
    }
}

/// Signs that are longer than a character, the longest first.
const SIGNS: [&str; 22] = [
    "..=", "<<=", ">>=", "==", "!=", "<=", ">=", "&&", "||", "::", "->", "=>", "..", "+=", "-=",
    "*=", "/=", "%=", "<<", ">>", "^=", "|=",
];

/// The tokens of a file.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let skipped = skipped(rest);
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let len = if first.is_alphanumeric() || first == '_' {
            // With the point of a number, unless it is that of a range or of a method.
            let is_part = |(place, c): (usize, char)| {
                let next = rest[place + c.len_utf8()..].chars().next();
                let is_point = c == '.' && next.is_some_and(|next| next.is_ascii_digit());
                c.is_alphanumeric() || c == '_' || (first.is_ascii_digit() && is_point)
            };
            let end = rest.char_indices().find(|place| !is_part(*place));
            end.map_or(rest.len(), |(end, _)| end)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            sign.map_or(first.len_utf8(), |sign| sign.len())
        };
        tokens.push(Token {
            text: &rest[..len],
            at,
        });
        at += len;
    }
    tokens
}

/// The length of a comment, text, attribute, import or space at the beginning of a text.
fn skipped(rest: &str) -> usize {
    let until = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
    if rest.starts_with("//") {
        until("\n")
    } else if rest.starts_with("#[") {
        until("]\n").min(until("] "))
    } else if rest.starts_with("use ") || rest.starts_with("mod ") {
        until(";")
    } else if let Some(inside) = rest.strip_prefix('"') {
        let mut is_escaped = false;
        let end = inside.find(|c| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        end.map_or(rest.len(), |end| end + 2)
    } else {
        rest.len() - rest.trim_start().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_attributes_have_no_tokens() {
        let text = "use a::b;\n#[kernel]\nfn f() { // x < y\n    g(\"a \\\" < b\", 1.5..=n); }";
        let words: Vec<&str> = tokens(text).iter().map(|token| token.text).collect();
        let expected = "fn f ( ) { g ( , 1.5 ..= n ) ; }";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn ranges_of_numbers_are_no_fractions() {
        let words: Vec<&str> = tokens("0..n + 2.abs()")
            .iter()
            .map(|token| token.text)
            .collect();
        assert_eq!(words, ["0", "..", "n", "+", "2", ".", "abs", "(", ")"]);
    }
}
