//! PTX text to a typed program: lexer, parser, lowering.
//!
//! [`Program::parse`] reads the text that `llc` and `nvcc` write and returns a [`Program`] in which nothing
//! is left to look up: registers are slots in dense files, labels are instruction indices, variables are
//! offsets or ids, modifiers are fields. It is meant to be executed, not to be printed again.
//!
//! Three outcomes are kept apart:
//! - text that is not PTX is an [`Error`] with line, column and what was expected;
//! - an instruction or modifier that is PTX (or looks like it) but is not modelled becomes
//!   [`Op::Unsupported`], a value that carries its text, so that only a kernel that reaches it is affected;
//! - everything else has the meaning that the PTX ISA gives it, as documented at each [`Op`].

mod ast;
mod error;
mod lex;
mod lower;
mod parse;
mod program;

pub use error::{Error, ErrorKind};
pub use program::*;
