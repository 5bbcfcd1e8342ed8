//! Reads one instruction: its modifiers (`reader`), whose type must be one of the opcode's
//! (`types`), then its operands, checked against the type (`operands`).

mod operands;
mod reader;
mod target;
mod types;

pub(crate) use operands::{Target, Width};
pub(crate) use reader::{
    FloatType, FunctionBuilder, IntType, Read, Reader, Refusal, class_of, other,
};
