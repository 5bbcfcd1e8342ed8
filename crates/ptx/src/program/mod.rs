//! The typed program: what a PTX module means once every name is resolved.
//!
//! - `module`: the program, its functions, parameters and variables;
//! - `inst`: one instruction, its position, its guard and its operands;
//! - `op`: the operations, one variant for each semantic family;
//! - `call`: the parts of a call, and what is not modelled;
//! - `modifier`: the enumerations that operations carry (comparisons, rounding, cache hints, scopes);
//! - `types`: scalar types, register classes, state spaces;
//! - `special`: special registers.

mod call;
mod inst;
mod modifier;
mod module;
mod op;
mod special;
mod types;

pub use call::*;
pub use inst::*;
pub use modifier::*;
pub use module::*;
pub use op::*;
pub use special::*;
pub use types::*;
