//! Tokens to syntax.
//!
//! - `cursor`: looks at tokens, and says what was expected;
//! - `constant`: constant expressions;
//! - `variable`: declarations, parameter lists and initialisers;
//! - `instruction`: guard, opcode, modifiers, operands;
//! - `statement`: the statements of a body;
//! - `module`: directives at the top level;
//! - `declarations`: those of a text, with their tokens, for a reader that edits it;
//! - `outline`: kernels and their instructions, of a text that need not parse otherwise.

mod constant;
mod cursor;
pub(crate) mod declarations;
mod instruction;
mod module;
pub(crate) mod outline;
mod statement;
mod variable;

use crate::error::{ErrorKind, Problem};
use crate::syntax::ModuleSyntax;
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
