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
use crate::error::Raw;
use cursor::Cursor;

/// The syntax of a whole text.
pub(crate) fn parse(source: &str) -> Result<Module<'_>, Raw> {
    let tokens = crate::lex::lex(source)?;
    module::module(&mut Cursor::new(source, &tokens))
}
