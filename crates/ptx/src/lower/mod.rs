//! Syntax to the typed program.
//!
//! - `module`: the table of module-level names, and the order in which the parts are lowered;
//! - `variable`: sizes and initialisers;
//! - `reach`: what each kernel can reach, and from it the layout of shared memory;
//! - `signature`: parameters and their offsets;
//! - `scope`: names inside a body;
//! - `body`: statements, labels to positions;
//! - `locs`: source positions;
//! - `instruction`: opcodes, modifiers, operands.

mod body;
mod instruction;
mod locs;
mod module;
mod reach;
mod scope;
mod signature;
mod variable;

pub(crate) use module::program;
