//! Text to tokens. Comments and white space vanish; every token knows its position and its bytes.

use crate::error::{ErrorKind, Problem};
use crate::types::Pos;

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tok<'a> {
    /// An identifier: opcode, register, symbol, label, or `_`.
    Word(&'a str),
    /// `.name`, without the dot: a directive, type or modifier. May contain `::`.
    Dot(&'a str),
    /// An integer without sign.
    Int(u64),
    /// `0fXXXXXXXX`: the bits of a single.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal: the bits of a double.
    Double(u64),
    /// A string without its quotes, escapes untouched.
    Str(&'a str),
    /// Punctuation.
    Punct(char),
    /// The body of a function, which is not parsed.
    Body,
    /// The end of the text.
    End,
}

/// A token, its position and its byte range in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub tok: Tok<'a>,
    pub pos: Pos,
    pub start: usize,
    pub end: usize,
}

/// All tokens of the text, closed by [`Tok::End`].
pub(crate) fn lex(source: &str) -> Result<Vec<Token<'_>>, Problem> {
    let mut lexer = Lexer::new(source);
    let mut tokens = Vec::with_capacity(source.len() / 5);
    loop {
        let token = lexer.next()?;
        tokens.push(token);
        if token.tok == Tok::End {
            return Ok(tokens);
        }
    }
}

/// Reads token after token.
pub(crate) struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    pos: Pos,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: &'a str) -> Lexer<'a> {
        Lexer {
            source,
            bytes: source.as_bytes(),
            at: 0,
            pos: Pos { line: 1, column: 1 },
        }
    }

    /// One that begins within the text, at a byte of this position.
    pub(crate) fn at(source: &'a str, (at, pos): (usize, Pos)) -> Lexer<'a> {
        Lexer {
            at,
            pos,
            ..Lexer::new(source)
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Steps over one byte; columns count characters, so continuation bytes do not move them.
    fn bump(&mut self) {
        match self.bytes[self.at] {
            b'\n' => {
                self.pos = Pos {
                    line: self.pos.line + 1,
                    column: 1,
                }
            }
            b if b & 0xC0 != 0x80 => self.pos.column += 1,
            _ => {}
        }
        self.at += 1;
    }

    fn bump_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && keep(self.bytes[self.at]) {
            self.bump();
        }
    }

    /// Steps over bytes that are ASCII and no ends of lines.
    #[inline(always)]
    fn bump_word_while(&mut self, keep: impl Fn(u8) -> bool) {
        let rest = self.bytes[self.at..].iter();
        let count = rest.take_while(|byte| keep(**byte)).count();
        self.at += count;
        self.pos.column += count as u32;
    }

    fn bump_line(&mut self) {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = &rest[..end.unwrap_or(rest.len())];
        let characters = line.iter().filter(|byte| **byte & 0xC0 != 0x80);
        self.pos.column += characters.count() as u32;
        self.at += line.len();
    }

    fn skip_blank(&mut self) -> Result<(), Problem> {
        loop {
            self.bump_while(|b| b.is_ascii_whitespace() || b == 0x0B);
            match (self.peek(0), self.peek(1)) {
                (b'/', b'/') => self.bump_line(),
                (b'/', b'*') => {
                    let start = self.pos;
                    let body = self.at + 2;
                    let Some(length) = self.source[body..].find("*/") else {
                        return Err(Problem::new(start, ErrorKind::UnterminatedComment));
                    };
                    while self.at < body + length + 2 {
                        self.bump();
                    }
                }
                (b'#', _) if self.is_line_marker() => self.bump_line(),
                _ => return Ok(()),
            }
        }
    }

    /// Whether this is what a preprocessor leaves of a file's name, `# 1 "kernels.cu"`, which
    /// ptxas passes over too.
    fn is_line_marker(&self) -> bool {
        let rest = self.source[self.at + 1..].trim_start_matches([' ', '\t']);
        let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        name.len() < rest.len() && name.trim_start().starts_with('"')
    }

    /// The next token; [`Tok::End`] at the end, however often it is asked for.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, Problem> {
        self.skip_blank()?;
        let (start, pos) = (self.at, self.pos);
        let tok = match self.bytes.get(start) {
            None => Tok::End,
            Some(b'.') if is_follow(self.peek(1)) => Tok::Dot(self.dotted()),
            Some(b'0'..=b'9') => self.number(pos)?,
            Some(b'"') => Tok::Str(self.string(pos)?),
            Some(&b) if is_first(b) => {
                self.bump();
                self.bump_word_while(is_follow);
                Tok::Word(&self.source[start..self.at])
            }
            Some(b) if b"{}()[]<>,;:|!@+-=*~/&^?".contains(b) => {
                self.bump();
                Tok::Punct(*b as char)
            }
            Some(_) => {
                let c = self.source[start..].chars().next().unwrap_or('\u{FFFD}');
                return Err(Problem::new(pos, ErrorKind::UnexpectedCharacter(c)));
            }
        };
        Ok(Token {
            tok,
            pos,
            start,
            end: self.at,
        })
    }

    /// `.name` or `.name::name`, without the dot.
    fn dotted(&mut self) -> &'a str {
        self.bump();
        let start = self.at;
        self.bump_word_while(is_follow);
        while self.peek(0) == b':' && self.peek(1) == b':' && is_follow(self.peek(2)) {
            self.bump();
            self.bump();
            self.bump_word_while(is_follow);
        }
        &self.source[start..self.at]
    }

    fn string(&mut self, pos: Pos) -> Result<&'a str, Problem> {
        self.bump();
        let start = self.at;
        loop {
            match self.peek(0) {
                b'"' => break,
                b'\\' if self.at + 1 < self.bytes.len() && self.peek(1) != b'\n' => self.bump(),
                b'\n' => return Err(Problem::new(pos, ErrorKind::UnterminatedString)),
                0 if self.at >= self.bytes.len() => {
                    return Err(Problem::new(pos, ErrorKind::UnterminatedString));
                }
                _ => {}
            }
            // A whole character, so that slices stay on boundaries.
            self.bump();
            self.bump_while(|b| b & 0xC0 == 0x80);
        }
        let text = &self.source[start..self.at];
        self.bump();
        Ok(text)
    }

    /// PTX literals: `0x`, `0b`, leading-zero octal and decimal integers with an optional `U`; `0f`
    /// and `0d` bit patterns; decimal floating point, which is double precision.
    fn number(&mut self, pos: Pos) -> Result<Tok<'a>, Problem> {
        let start = self.at;
        self.bump_word_while(|b| b.is_ascii_alphanumeric() || b == b'_');
        let is_hex_like = matches!(
            &self.bytes[start..self.at],
            [
                b'0',
                b'x' | b'X' | b'f' | b'F' | b'd' | b'D' | b'b' | b'B',
                ..
            ]
        );
        let mut is_decimal = false;
        if !is_hex_like {
            if self.peek(0) == b'.' && (self.peek(1).is_ascii_digit() || !is_follow(self.peek(1))) {
                is_decimal = true;
                self.bump();
                self.bump_while(|b| b.is_ascii_alphanumeric() || b == b'_');
            }
            let text = &self.bytes[start..self.at];
            is_decimal |= text.iter().any(|b| matches!(b, b'e' | b'E'));
            if matches!(text.last(), Some(b'e' | b'E')) && matches!(self.peek(0), b'+' | b'-') {
                self.bump();
                self.bump_while(|b| b.is_ascii_alphanumeric() || b == b'_');
            }
        }
        let text = &self.source[start..self.at];
        let bad = |expected| {
            Problem::new(
                pos,
                ErrorKind::BadNumber {
                    text: text.to_string(),
                    expected,
                },
            )
        };
        if is_decimal {
            let value: f64 = text
                .parse()
                .map_err(|_| bad("a decimal floating-point number"))?;
            return Ok(Tok::Double(value.to_bits()));
        }
        let (prefix, rest) = text.split_at(text.len().min(2));
        match prefix {
            "0f" | "0F" => {
                let bits = (rest.len() == 8)
                    .then(|| u32::from_str_radix(rest, 16).ok())
                    .flatten();
                return bits
                    .map(Tok::Single)
                    .ok_or_else(|| bad("8 hexadecimal digits behind `0f`"));
            }
            "0d" | "0D" => {
                let bits = (rest.len() == 16)
                    .then(|| u64::from_str_radix(rest, 16).ok())
                    .flatten();
                return bits
                    .map(Tok::Double)
                    .ok_or_else(|| bad("16 hexadecimal digits behind `0d`"));
            }
            _ => {}
        }
        let digits = text.strip_suffix(['U', 'u']).unwrap_or(text);
        let value = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2),
            [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
            _ => digits.parse(),
        };
        value
            .map(Tok::Int)
            .map_err(|_| bad("an integer of at most 64 bits"))
    }
}

/// First character of an identifier.
fn is_first(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'%')
}

/// Further characters of an identifier.
fn is_follow(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(source: &str) -> Vec<Tok<'_>> {
        let mut toks: Vec<_> = lex(source).unwrap().into_iter().map(|t| t.tok).collect();
        assert_eq!(toks.pop(), Some(Tok::End));
        toks
    }

    #[test]
    fn words_dots_and_punctuation() {
        use Tok::*;
        assert_eq!(
            toks("@!%p1 ld.global.L1::evict_last.b32 %r1, [%rd2+-4];"),
            [
                Punct('@'),
                Punct('!'),
                Word("%p1"),
                Word("ld"),
                Dot("global"),
                Dot("L1::evict_last"),
                Dot("b32"),
                Word("%r1"),
                Punct(','),
                Punct('['),
                Word("%rd2"),
                Punct('+'),
                Punct('-'),
                Int(4),
                Punct(']'),
                Punct(';'),
            ]
        );
        assert_eq!(
            toks("$L__BB0_1: %tid.x _"),
            [
                Word("$L__BB0_1"),
                Punct(':'),
                Word("%tid"),
                Dot("x"),
                Word("_")
            ]
        );
    }

    #[test]
    fn every_literal_form() {
        use Tok::*;
        assert_eq!(
            toks("0 7 017 0x1F 0b101 12U 0XFFu"),
            [Int(0), Int(7), Int(15), Int(31), Int(5), Int(12), Int(255)]
        );
        assert_eq!(toks("18446744073709551615"), [Int(u64::MAX)]);
        assert_eq!(
            toks("0f3F800000 0F80000000"),
            [Single(0x3F80_0000), Single(0x8000_0000)]
        );
        assert_eq!(toks("0d3FF0000000000000"), [Double(1f64.to_bits())]);
        assert_eq!(
            toks("1.5 2. 1e3 2.5E-3"),
            [1.5f64, 2.0, 1e3, 2.5e-3].map(|v| Double(v.to_bits()))
        );
    }

    #[test]
    fn comments_count_lines_and_characters_count_columns() {
        let tokens = lex("// é\n/* a\n b */ x \"é\" y").unwrap();
        assert_eq!(tokens[0].pos, Pos { line: 3, column: 7 });
        assert_eq!(
            tokens[2].pos,
            Pos {
                line: 3,
                column: 13
            }
        );
    }

    #[test]
    fn line_markers_of_a_preprocessor_are_comments() {
        assert_eq!(
            toks("#1 \"a.cu\"\nx\n\t# 23 \"b.cu\" 2\n"),
            [Tok::Word("x")]
        );
        for wrong in ["#1", "# 1 a.cu", "# include \"a.cu\"", "#\n\"a.cu\""] {
            assert!(lex(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn malformed_tokens_are_named() {
        for (source, kind) in [
            (
                "0f123",
                "malformed number `0f123`: expected 8 hexadecimal digits behind `0f`",
            ),
            (
                "0d12",
                "malformed number `0d12`: expected 16 hexadecimal digits behind `0d`",
            ),
            (
                "08",
                "malformed number `08`: expected an integer of at most 64 bits",
            ),
            (
                "18446744073709551616",
                "malformed number `18446744073709551616`: expected an integer of at most 64 bits",
            ),
            (
                "1.5x",
                "malformed number `1.5x`: expected a decimal floating-point number",
            ),
            ("/* x", "comment without end: expected `*/`"),
            (
                "\"x\ny\"",
                "string without end: expected `\"` on the same line",
            ),
            ("é", "unexpected character 'é'"),
            ("#", "unexpected character '#'"),
        ] {
            assert_eq!(
                lex(source).unwrap_err().into_error(source).kind.to_string(),
                kind,
                "{source}"
            );
        }
    }
}
