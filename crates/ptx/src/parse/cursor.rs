//! Looks at tokens, and says what was expected.

use crate::error::{ErrorKind, Problem};
use crate::lex::{Tok, Token};
use crate::syntax::Name;
use crate::types::Pos;

pub(super) type Result<T> = std::result::Result<T, Problem>;

/// A position in the tokens of a text. The last token is [`Tok::End`], which is never passed.
pub(super) struct Cursor<'t, 'a> {
    source: &'a str,
    tokens: &'t [Token<'a>],
    at: usize,
}

impl<'t, 'a> Cursor<'t, 'a> {
    pub fn new(source: &'a str, tokens: &'t [Token<'a>]) -> Self {
        Cursor {
            source,
            tokens,
            at: 0,
        }
    }

    pub fn token(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    pub fn tok(&self) -> Tok<'a> {
        self.token().tok
    }

    pub fn pos(&self) -> Pos {
        self.token().pos
    }

    /// The token `ahead` of this one, or the end.
    pub fn peek(&self, ahead: usize) -> Tok<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].tok
    }

    pub fn bump(&mut self) -> Token<'a> {
        let token = self.token();
        if token.tok != Tok::End {
            self.at += 1;
        }
        token
    }

    /// End of the token before this one: a byte offset.
    pub fn previous_end(&self) -> usize {
        self.tokens[self.at.saturating_sub(1)].end
    }

    pub fn text(&self, start: usize, end: usize) -> &'a str {
        &self.source[start..end]
    }

    /// The text from a byte offset to the end of its line.
    pub fn rest_of_line(&self, from: usize) -> &'a str {
        self.source[from..].lines().next().unwrap_or("")
    }

    pub fn is(&self, c: char) -> bool {
        self.tok() == Tok::Punct(c)
    }

    pub fn eat(&mut self, c: char) -> bool {
        let hit = self.is(c);
        if hit {
            self.bump();
        }
        hit
    }

    pub fn eat_dot(&mut self, name: &str) -> bool {
        let hit = self.tok() == Tok::Dot(name);
        if hit {
            self.bump();
        }
        hit
    }

    pub fn punct(&mut self, c: char) -> Result<()> {
        if self.eat(c) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{c}`")))
        }
    }

    pub fn word(&mut self, expected: &str) -> Result<Name<'a>> {
        match self.token() {
            Token {
                tok: Tok::Word(text),
                pos,
                ..
            } => {
                self.bump();
                Ok(Name { text, pos })
            }
            _ => Err(self.expected(expected)),
        }
    }

    pub fn int(&mut self, expected: &str) -> Result<u64> {
        match self.tok() {
            Tok::Int(value) => {
                self.bump();
                Ok(value)
            }
            _ => Err(self.expected(expected)),
        }
    }

    pub fn int_u32(&mut self, expected: &'static str) -> Result<u32> {
        let pos = self.pos();
        let value = self.int(expected)?;
        u32::try_from(value).map_err(|_| {
            Problem::new(
                pos,
                ErrorKind::TooLarge {
                    what: expected,
                    value,
                    limit: u32::MAX.into(),
                },
            )
        })
    }

    /// A power of two behind `.align`.
    pub fn alignment(&mut self) -> Result<u32> {
        let pos = self.pos();
        let value = self.int_u32("an alignment in bytes")?;
        if !value.is_power_of_two() || value > 1 << 20 {
            let message = format!("alignment {value} is not a power of two up to 1048576");
            return Err(Problem::invalid(pos, message));
        }
        Ok(value)
    }

    /// Skips `.attribute(..)`, any number of times; whether one of them is `.managed`.
    pub fn attributes(&mut self) -> Result<bool> {
        let mut is_managed = false;
        while self.eat_dot("attribute") {
            self.punct('(')?;
            while !self.eat(')') {
                if self.tok() == Tok::End {
                    return Err(self.expected("`)`"));
                }
                is_managed |= self.tok() == Tok::Dot("managed");
                self.bump();
            }
        }
        Ok(is_managed)
    }

    /// Skips `{ .. }`, braces in it and all.
    pub fn skip_braces(&mut self) -> Result<()> {
        self.punct('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.tok() {
                Tok::Punct('{') => depth += 1,
                Tok::Punct('}') => depth -= 1,
                Tok::End => return Err(self.expected("`}`")),
                _ => {}
            }
            self.bump();
        }
        Ok(())
    }

    /// The place of this token, to come back to.
    pub fn mark(&self) -> usize {
        self.at
    }

    /// Comes back to a place.
    pub fn reset(&mut self, mark: usize) {
        self.at = mark;
    }

    /// Passes over `.pragma "a", "b";`: advice to the assembler. One has a meaning for execution,
    /// `used_bytes_mask`: the bytes that are used of what the next instruction loads, a bit each.
    pub fn pragma(&mut self) -> Result<Option<u32>> {
        self.bump();
        let mut used_bytes = None;
        loop {
            let Tok::Str(text) = self.tok() else {
                return Err(self.expected("a string"));
            };
            let mask = text.trim().strip_prefix("used_bytes_mask");
            used_bytes = mask.and_then(mask_of).or(used_bytes);
            self.bump();
            if !self.eat(',') {
                self.punct(';')?;
                return Ok(used_bytes);
            }
        }
    }

    /// The error that something else was expected at this token.
    pub fn expected(&self, expected: &str) -> Problem {
        Problem::new(
            self.pos(),
            ErrorKind::Expected {
                expected: expected.to_string(),
                found: describe(self.token(), self.source),
            },
        )
    }
}

fn describe(token: Token<'_>, source: &str) -> String {
    match token.tok {
        Tok::End => "the end of the text".to_string(),
        Tok::Str(_) => "a string".to_string(),
        _ => {
            let text = &source[token.start..token.end];
            match text.char_indices().nth(60) {
                Some((cut, _)) => format!("`{}…`", &text[..cut]),
                None => format!("`{text}`"),
            }
        }
    }
}

/// The mask of a `used_bytes_mask`, in decimal or hexadecimal digits.
fn mask_of(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
