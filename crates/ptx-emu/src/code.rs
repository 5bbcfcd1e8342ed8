//! Decoded code: what the machine steps through.
//!
//! All functions of a module lie in one sequence, so that a position is one number. Operands are rows of
//! the warp's register files; arithmetic is a pointer to a function on rows.

mod call;
mod memory;
mod sync;

use std::sync::Arc;

use ptx::{FloatClass, FloatType, Space, Special};

use crate::counts::InstructionClass;
use crate::ops::compare::{Combination, Test};
use crate::ops::cvt::Conversion;
use crate::place::Place;
use crate::registers::{Apply, Bases, File, Operands, Slot};

pub(crate) use call::{Argument, Call, CallResult, Target};
pub(crate) use memory::{Access, Address, AsyncCopy, AtomicAccess};
pub(crate) use sync::{Barrier, BarrierKind, WarpSync, WarpSyncKind};

/// One decoded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    /// Predicate slot of the guard; every frame has a slot that is always true.
    pub(crate) guard: u32,
    /// All ones if the guard is negated.
    pub(crate) flip: u32,
    pub(crate) op: Op,
}

/// A predicate source: slot, and all ones if negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) slot: u32,
    pub(crate) flip: u32,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Arithmetic on rows.
    Apply {
        apply: Apply,
        o: Operands,
    },
    /// `setp`.
    Compare {
        test: Test,
        o: Operands,
        then: Combination,
    },
    /// `set`: `yes` where the comparison holds, else 0.
    Set {
        test: Test,
        o: Operands,
        then: Combination,
        yes: u32,
    },
    /// `testp`.
    Property {
        class: FloatClass,
        ty: FloatType,
        dst: u32,
        src: u32,
    },
    /// `lop3` with a predicate result.
    Lop3Pred {
        lut: u32,
        o: Operands,
        then: Combination,
        has_dst: bool,
    },
    Convert {
        conversion: Conversion,
        dst: Slot,
        src: Slot,
    },
    /// Two floats to the halves of a 32-bit value.
    ConvertPair {
        conversion: Conversion,
        dst: Slot,
        high: Slot,
        low: Slot,
    },
    Pack {
        element_bits: u32,
        dst: Slot,
        src: Box<[Slot]>,
    },
    Unpack {
        element_bits: u32,
        dst: Box<[Option<Slot>]>,
        src: Slot,
    },
    /// Adds a window's base (`cvta`), or subtracts it.
    ShiftAddress {
        dst: Slot,
        src: Slot,
        add: u64,
    },
    IsSpace {
        space: Space,
        dst: u32,
        src: Slot,
    },
    /// A clock: warp instructions that the block has executed.
    Clock {
        dst: Slot,
        shift: u32,
    },
    /// A load from a fixed offset of the launch's parameters.
    LoadParam {
        offset: u32,
        bytes: u32,
        signed: bool,
        dst: Box<[Option<Slot>]>,
    },
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<AtomicAccess>),
    AsyncCopy(Box<AsyncCopy>),
    AsyncCommit,
    AsyncWait {
        pending: Option<u32>,
    },
    /// A fence among blocks if `device`, else within the block.
    Fence {
        device: bool,
    },
    /// Prefetches and other hints.
    Nothing,
    Barrier(Box<Barrier>),
    WarpSync(Box<WarpSync>),
    ActiveMask {
        dst: Slot,
    },
    Sleep,
    Branch {
        target: u32,
    },
    BranchTable {
        index: Slot,
        targets: Box<[u32]>,
    },
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Breakpoint,
    Unsupported(Box<str>),
}

/// A value that is the same row throughout a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Bits(u64),
    Special(Special),
    /// Start of the running kernel's dynamic shared memory, plus an offset.
    DynamicShared(i64),
    /// Start of the frame's local memory, plus an offset.
    Local(i64),
    /// Start of the frame's parameters, plus an offset.
    FrameParam(i64),
}

/// A function of the module.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: Arc<str>,
    pub(crate) is_defined: bool,
    /// Position of the first instruction.
    pub(crate) entry: u32,
    /// Rows of each file that a frame takes.
    pub(crate) rows: Bases,
    /// Rows of each file that hold registers; those of constants follow.
    pub(crate) variables: Bases,
    /// Rows to fill when a frame is entered.
    pub(crate) constants: Vec<(File, u32, Constant)>,
    /// Predicate slot that is always true.
    pub(crate) always: u32,
    /// Predicate slot that is always false.
    pub(crate) never: u32,
    pub(crate) local_bytes: u32,
    pub(crate) local_align: u32,
    pub(crate) param_frame_bytes: u32,
    /// Narrowest access to global or shared memory, in bytes.
    pub(crate) narrowest: u32,
    /// Functions that it may call.
    pub(crate) callees: Vec<u32>,
}

/// The decoded code of a module.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) insts: Vec<Inst>,
    /// Of each instruction.
    pub(crate) classes: Vec<InstructionClass>,
    /// Of each instruction.
    pub(crate) places: Vec<Place>,
    pub(crate) functions: Vec<Function>,
    /// Number of instructions with memory counts.
    pub(crate) memory_tallies: u32,
    /// Position of the instruction of each memory count.
    pub(crate) tally_positions: Vec<u32>,
}

impl Code {
    /// The narrowest access to global or shared memory, in bytes, of a function and all that it may call.
    pub(crate) fn narrowest(&self, function: u32) -> u32 {
        let mut seen = vec![false; self.functions.len()];
        let mut open = vec![function];
        let mut narrowest = 8;
        while let Some(next) = open.pop() {
            if !std::mem::replace(&mut seen[next as usize], true) {
                let function = &self.functions[next as usize];
                narrowest = narrowest.min(function.narrowest);
                open.extend(&function.callees);
            }
        }
        narrowest
    }
}

/// Base of the addresses of functions.
pub(crate) const FUNCTION_BASE: u64 = 0x1000_0000;
/// Distance of the addresses of functions.
pub(crate) const FUNCTION_STEP: u64 = 16;
