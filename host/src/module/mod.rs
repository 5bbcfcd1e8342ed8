//! A module: PTX text, and the signatures of its kernels.

mod signature;
mod text;

pub use signature::{KernelSignature, Param, ParamKind};
pub use text::Module;
