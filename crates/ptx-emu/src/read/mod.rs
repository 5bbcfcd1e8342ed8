//! Reads one instruction: its modifiers (`reader`), then its operands, checked against the type
//! (`operands`).

mod operands;
mod reader;

pub(crate) use operands::{Target, Width};
pub(crate) use reader::{
    FloatType, FunctionBuilder, IntType, Read, Reader, Refusal, Sum, class_of, other,
};
