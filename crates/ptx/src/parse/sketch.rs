//! Bodies that are passed over: what the rest of the text needs to know of them.

use super::cursor::{Cursor, Result};
use super::variable;
use crate::lex::{Lexer, Tok, Token};
use crate::syntax::Sketch;

/// The tokens of a text, with [`Tok::Body`] in the place of each body, and sketches of these.
///
/// Where this takes something else for a body than the parser does, parsing fails behind it.
pub(super) fn lex_sketched(source: &str) -> Result<(Vec<Token<'_>>, Vec<Sketch<'_>>)> {
    let mut lexer = Lexer::new(source);
    let (mut tokens, mut sketches) = (Vec::new(), Vec::new());
    // Whether the head of a function is under way, a directive with a semicolon of its own in it,
    // and the open parentheses.
    let (mut in_head, mut in_pragma, mut depth) = (false, false, 0_u32);
    loop {
        let mut token = lexer.next()?;
        match token.tok {
            Tok::Punct('(') => depth += 1,
            Tok::Punct(')') => depth = depth.saturating_sub(1),
            Tok::Dot("func" | "entry") if depth == 0 => in_head = true,
            // Compilers of old wrote declarations without `;`.
            Tok::Dot("global" | "const" | "visible" | "extern" | "weak") if depth == 0 => {
                in_head = false;
            }
            Tok::Dot("pragma") => in_pragma = true,
            Tok::Punct(';') => in_head &= std::mem::take(&mut in_pragma),
            Tok::Punct('{') if in_head => {
                let sketch = sketch(source, &mut lexer)?;
                (token.tok, token.end) = (Tok::Body, sketch.end);
                sketches.push(sketch);
                in_head = false;
            }
            _ => {}
        }
        tokens.push(token);
        if token.tok == Tok::End {
            return Ok((tokens, sketches));
        }
    }
}

/// Where in a statement a token stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At its start: a label, a guard, an opcode or a directive.
    Start,
    /// Behind the `@` of a guard.
    Guard,
    /// Behind an opcode.
    Operands,
    /// In a declaration of a variable that has memory with the module.
    Variable,
    /// In another directive.
    Directive,
    /// In a `.loc`, which ends without a semicolon: behind a comma, or not.
    Loc { is_named: bool },
}

/// A body, from behind its `{`.
fn sketch<'a>(source: &'a str, lexer: &mut Lexer<'a>) -> Result<Sketch<'a>> {
    let mut found = Sketch::default();
    // The open braces, now and where the statement began.
    let (mut depth, mut outer) = (1_u32, 1);
    let mut place = Place::Start;
    let mut declaration = Vec::new();
    let mut is_wrong = false;
    loop {
        let token = lexer.next()?;
        match token.tok {
            Tok::Punct('{') => depth += 1,
            Tok::Punct('}') => depth -= 1,
            // The parser says where it is opened.
            Tok::End => return Err(Cursor::new(source, &[token]).expected("`}`")),
            // The parser says what such a statement is, and where the body ends.
            Tok::Punct(';') if place != Place::Start && depth != outer => {
                return Err(Cursor::new(source, &[token]).expected("`}`"));
            }
            _ => {}
        }
        if depth == 0 {
            found.end = token.end;
            if is_wrong {
                // Nor does the parser declare any of a body that it refuses.
                found.variables.clear();
            }
            return Ok(found);
        }
        if let Place::Loc { is_named } = place {
            place = match token.tok {
                Tok::Int(_) | Tok::Punct('+') => Place::Loc { is_named: false },
                Tok::Punct(',') | Tok::Word("function_name") => Place::Loc { is_named: true },
                Tok::Word(_) if is_named => Place::Loc { is_named: false },
                _ => Place::Start,
            };
            if place != Place::Start {
                continue;
            }
        }
        if place == Place::Start {
            outer = depth;
        }
        place = match (place, token.tok) {
            (Place::Variable, Tok::Punct(';')) => {
                declaration.extend([
                    token,
                    Token {
                        tok: Tok::End,
                        ..token
                    },
                ]);
                let c = &mut Cursor::new(source, &declaration);
                let is_extern = c.eat_dot("extern");
                let push = |variable| found.variables.push(variable);
                is_wrong |= variable::declaration(c, is_extern, push).is_err();
                declaration.clear();
                Place::Start
            }
            (Place::Variable, _) => {
                declaration.push(token);
                place
            }
            (_, Tok::Punct(';')) => Place::Start,
            (Place::Start, Tok::Punct('@')) => Place::Guard,
            (Place::Guard, Tok::Punct('!')) => Place::Guard,
            (Place::Guard, _) => Place::Start,
            (Place::Start, Tok::Word(_)) => Place::Operands,
            (Place::Start, Tok::Dot("loc")) => Place::Loc { is_named: false },
            (Place::Start, Tok::Dot("shared" | "global" | "const" | "extern")) => {
                declaration.push(token);
                Place::Variable
            }
            (Place::Start, Tok::Dot(_)) => Place::Directive,
            // That of a label.
            (Place::Operands, Tok::Punct(':')) => Place::Start,
            (Place::Operands, Tok::Word(name)) if !name.starts_with('%') => {
                found.names.insert(name);
                place
            }
            _ => place,
        };
    }
}
