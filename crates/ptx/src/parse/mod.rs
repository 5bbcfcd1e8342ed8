//! Tokens to syntax.
//!
//! - `cursor`: looking at tokens, and saying what was expected;
//! - `module`: directives at the top level;
//! - `function`: signatures and performance directives;
//! - `variable`: declarations and initialisers;
//! - `statement`: what stands in a body;
//! - `instruction`: guard, opcode, modifiers, operands;
//! - `loc`: source positions.

mod cursor;
mod function;
mod instruction;
mod loc;
mod module;
mod statement;
mod variable;

use crate::ast::Module;
use crate::error::{ErrorKind, Raw};
use crate::program::Pos;
use cursor::Cursor;

/// The syntax of a whole text.
pub(crate) fn parse(source: &str) -> Result<Module<'_>, Raw> {
    if u32::try_from(source.len()).is_err() {
        let (value, limit) = (source.len() as u64, u32::MAX.into());
        let kind = ErrorKind::TooLarge {
            what: "the size of the text in bytes",
            value,
            limit,
        };
        return Err(Raw::new(Pos { line: 1, column: 1 }, kind));
    }
    let tokens = crate::lex::lex(source)?;
    module::module(&mut Cursor::new(source, &tokens))
}
