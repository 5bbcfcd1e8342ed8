//! Tokens to syntax.
//!
//! - `cursor`: looks at tokens, and says what was expected;
//! - `constant`: constant expressions;
//! - `variable`: declarations, parameter lists and initialisers;
//! - `instruction`: guard, opcode, modifiers, operands;
//! - `statement`: the statements of a body;
//! - `sketch`: bodies that are passed over;
//! - `module`: directives at the top level;
//! - `declarations`: those of a text, with their tokens, for a reader that edits it;
//! - `outline`: kernels and their instructions, of a text that need not parse otherwise.

mod constant;
mod cursor;
pub(crate) mod declarations;
mod instruction;
mod module;
pub(crate) mod outline;
mod sketch;
mod statement;
mod variable;

use crate::error::{ErrorKind, Problem};
use crate::lex::{Lexer, Tok, Token};
use crate::syntax::{Function, Item, ModuleSyntax};
use crate::types::Pos;
use cursor::Cursor;

/// The syntax of a whole text.
pub(crate) fn parse(source: &str) -> Result<ModuleSyntax<'_>, Problem> {
    if u32::try_from(source.len()).is_err() {
        let (value, limit) = (source.len() as u64, u32::MAX.into());
        let kind = ErrorKind::TooLarge {
            what: "the size of the text in bytes",
            value,
            limit,
        };
        return Err(Problem::new(Pos { line: 1, column: 1 }, kind));
    }
    let tokens = crate::lex::lex(source)?;
    module::module(&mut Cursor::new(source, &tokens))
}

/// The syntax of a text whose bodies are passed over: each has a sketch, and no statements. `None`
/// if that cannot be told without parsing them.
pub(crate) fn parse_sketched(source: &str) -> Option<ModuleSyntax<'_>> {
    u32::try_from(source.len()).ok()?;
    let (tokens, sketches) = sketch::lex_sketched(source).ok()?;
    let mut module = module::module(&mut Cursor::new(source, &tokens)).ok()?;
    let mut sketches = sketches.into_iter();
    for item in &mut module.items {
        if let Item::Function(function) = item
            && function.body.is_some()
        {
            function.sketch = Some(sketches.next()?);
        }
    }
    sketches.next().is_none().then_some(module)
}

/// The syntax of a function, by where it starts in the text, and where its body ends.
pub(crate) fn parse_function<'a>(
    source: &'a str,
    (start, end): ((usize, Pos), usize),
) -> Result<Function<'a>, Problem> {
    let mut lexer = Lexer::at(source, start);
    let mut tokens: Vec<Token<'a>> = Vec::new();
    while tokens.last().is_none_or(|token| token.end < end) {
        tokens.push(lexer.next()?);
    }
    tokens.extend(tokens.last().copied().map(|token| Token {
        tok: Tok::End,
        ..token
    }));
    module::function(&mut Cursor::new(source, &tokens))
}
