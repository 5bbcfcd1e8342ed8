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

//!
//! ```
//! let program = ptx::Program::parse(
//!     ".version 8.3
//!      .target sm_90
//!      .address_size 64
//!      .visible .entry fill(.param .u64 out, .param .f32 value) {
//!          .reg .b32 %r<2>;
//!          .reg .b64 %rd<2>;
//!          mov.u32 %r0, %tid.x;
//!          ld.param.b64 %rd0, [out];
//!          mad.wide.u32 %rd1, %r0, 4, %rd0;
//!          ld.param.b32 %r1, [value];
//!          st.global.b32 [%rd1], %r1;
//!          ret;
//!      }",
//! )?;
//! let kernel = program.kernel("fill").expect("declared above");
//! assert_eq!(kernel.params[1].offset, 8);
//! assert_eq!(kernel.registers.b64, 2);
//! assert!(matches!(kernel.instructions[5].op, ptx::Op::Ret { .. }));
//! # Ok::<(), ptx::Error>(())
//! ```
//!
//! The stages, one module each: `lex` (text to tokens), `parse` (tokens to the syntax in `ast`), `lower` (syntax to
//! [`Program`]). The syntax borrows from the text; the program owns what it needs.
//!
//! Source: *PTX ISA* 8.3 (NVIDIA), and for what is only written as comments, the output of LLVM 22. Not modelled: half-precision
//! arithmetic (conversions are), textures and surfaces, matrix instructions, clusters, `mbarrier` and bulk copies,
//! 128-bit and vector registers, aliases.

mod ast;
mod error;
mod lex;
mod lower;
mod parse;
mod program;

pub use error::{Error, ErrorKind};
pub use program::*;
