//! What calls are made of.

use crate::registers::Slot;

/// `call`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) args: Box<[Argument]>,
    pub(crate) results: Box<[CallResult]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    Function(u32),
    /// A row of function addresses.
    Indirect(Slot),
}

/// What moves from the caller's frame to the callee's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    Bytes { from: u32, to: u32, size: u32 },
    Value { from: Slot, to: u32, bytes: u32 },
    Register { from: Slot, to: Slot },
}

/// What moves from the callee's frame to the caller's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallResult {
    Bytes {
        from: u32,
        to: u32,
        size: u32,
    },
    Value {
        from: u32,
        to: Slot,
        bytes: u32,
        signed: bool,
    },
    Register {
        from: Slot,
        to: Slot,
    },
}
