//! PTX text: lexer, parser, names and layout.
//!
//! [`Program::read`] reads the text that `llc` and `nvcc` write. It returns a [`Program`], what the
//! module declares: signatures, variables with their bytes, the layout of shared memory, source
//! positions. The instructions of each function are given to a function of the caller, which says
//! what they mean: it pulls them one by one out of a [`Body`], and asks there what the names in
//! them mean: registers as slots in dense files, labels as instruction indices, variables as
//! offsets or ids.
//!
//! [`Outline`] passes over the bodies of a text, and reads those of a kernel when they are wanted.
//!
//! [`kernels`] tells the kernels of any text that an assembler takes, also of one with what
//! [`Program::read`] does not model.
//!
//! [`link()`] makes one text of several, as a GPU's linker does.
//!
//! [`Function::check_shape`] checks the shape of a launch, [`Function::check_registers`] the
//! registers of its blocks, [`Function::check_args`] its arguments.
//!
//! Text that is not PTX is an [`Error`] with line, column and what was expected.
//!
//! ```
//! let mut opcodes = Vec::new();
//! let program = ptx::Program::read(
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
//!     |body| {
//!         while let Some(instruction) = body.next_instruction()? {
//!             opcodes.push(instruction.syntax.opcode.text);
//!         }
//!         Ok(())
//!     },
//! )?;
//! let kernel = program.kernel("fill").expect("declared above");
//! assert_eq!(kernel.params[1].offset, 8);
//! assert_eq!(opcodes, ["mov", "ld", "mad", "ld", "st", "ret"]);
//! # Ok::<(), ptx::Error>(())
//! ```
//!
//! The stages, one module each: `lex` (text to tokens), `parse` (tokens to the syntax in `syntax`),
//! `resolve` (syntax to [`Program`] and [`Body`]). The syntax borrows from the text; the program
//! owns what it needs.
//!
//! Source: *PTX ISA* 8.3 (NVIDIA), and for what is only written as comments, the output of LLVM 22.
//! Not modelled: 128-bit registers, texture references, modules with 32-bit addresses.

mod args;
mod edit;
mod error;
mod launch;
mod lex;
mod link;
mod parse;
mod program;
mod resolve;
mod section;
mod syntax;
mod types;

pub use args::{ArgType, ArgsError, Element};
pub use edit::with_max_registers;
pub use error::{Error, ErrorKind, Problem};
pub use launch::{
    BLOCK_REGISTERS, LaunchShape, ShapeError, ShapeLimits, block_registers, warps_by_registers,
};
pub use link::{LinkError, LinkPart, link};
pub use parse::outline::{KernelText, capability, directive, kernels};
pub use program::*;
pub use resolve::{Body, Instruction, Named, Outline, Signature, VectorReg};
pub use syntax::{AddressBase, Inst, Literal, Name, Operand, OperandKind, Operands};
pub use types::*;
