//! The parts of a call, and what is not modelled.

use super::{FunctionId, Operand, Reg, ScalarType};

/// The parts of a `call`.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is called.
    pub target: CallTarget,
    /// Moved from the caller to the callee before the first instruction.
    pub args: Vec<Argument>,
    /// Moved from the callee to the caller behind its `ret`.
    pub results: Vec<CallResult>,
    /// `.uni`.
    pub uniform: bool,
}

/// What a `call` goes to.
#[derive(Clone, Debug, PartialEq)]
pub enum CallTarget {
    /// A function of the module; check [`Function::is_defined`](super::Function::is_defined).
    Function(FunctionId),
    /// A 64-bit register holding a function's address. The callee must have the parameter layout that `args` and
    /// `results` were made for.
    Indirect(Reg),
}

/// One argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant says what its fields are")]
pub enum Argument {
    /// `size` bytes of the caller's parameter frame at `from`, to the callee's at `to`.
    Bytes { from: u32, to: u32, size: u32 },
    /// A value stored as `ty` at `to` in the callee's parameter frame.
    Value {
        from: Operand,
        to: u32,
        ty: ScalarType,
    },
    /// A value put into a register of the callee.
    Register { from: Operand, to: Reg },
}

/// One result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant says what its fields are")]
pub enum CallResult {
    /// `size` bytes of the callee's parameter frame at `from`, to the caller's at `to`.
    Bytes { from: u32, to: u32, size: u32 },
    /// A value of type `ty` at `from` in the callee's parameter frame, to a register of the caller.
    Value { from: u32, to: Reg, ty: ScalarType },
    /// A register of the callee, to a register of the caller.
    Register { from: Reg, to: Reg },
}

/// An instruction that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The instruction as written, guard and semicolon excluded.
    pub text: String,
    /// What exactly is not supported ("instruction `wgmma`", "modifier `.f16x2` of `add`").
    pub reason: String,
}
