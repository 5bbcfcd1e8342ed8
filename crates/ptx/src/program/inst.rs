//! One instruction, its position, its guard and its operands.

use super::{GlobalId, Op, RegClass, SourceLocId, Special};

/// One instruction of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Lanes for which the guard is false do nothing; `None` means every active lane.
    pub guard: Option<Pred>,
    /// What the instruction does.
    pub op: Op,
    /// Where it stands in the PTX text.
    pub pos: Pos,
    /// The source position that the last `.loc` before it gives.
    pub loc: Option<SourceLocId>,
}

/// A position in the PTX text. Both numbers count from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pos {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl std::fmt::Display for Pos {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A register: its class and its slot, dense from 0 in each class of each function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reg {
    /// The file.
    pub class: RegClass,
    /// The slot in that file, below [`RegCounts::of`](super::RegCounts::of) the class.
    pub slot: u32,
}

/// A predicate register that is read, perhaps negated: a guard or a predicate source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pred {
    /// Slot in the predicate file.
    pub slot: u32,
    /// True for `!p`.
    pub negated: bool,
}

/// A value that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A register. Its class has the width of the operation's type, except in `ld`, `st`, `cvt` and their like,
    /// where the register may be wider than the type (the upper bits are ignored when read).
    Reg(Reg),
    /// The value's bits in the operation's type, zero above it (`-1` in `add.s32` is `0xffff_ffff`; a
    /// predicate is 0 or 1).
    Imm(u64),
    /// A special register; wider or narrower than the operation's type it is zero-extended or cut.
    Special(Special),
    /// The address of a symbol plus a byte offset, in the symbol's own space (not generic).
    Symbol(Symbol, i64),
}

/// Something that has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A `.global` or `.const` variable of the module (see [`Variable::space`](super::Variable::space)).
    Global(GlobalId),
    /// Byte offset in the block's shared window.
    Shared(u32),
    /// Start of dynamic shared memory: the running kernel's
    /// [`dynamic_shared_offset`](super::Function::dynamic_shared_offset).
    DynamicShared,
    /// Byte offset in the running function's local frame.
    Local(u32),
    /// Byte offset in the launch's parameter buffer (only in kernels).
    KernelParam(u32),
    /// Byte offset in the running function's parameter frame (see
    /// [`Function::param_frame_bytes`](super::Function::param_frame_bytes)).
    FrameParam(u32),
    /// A function, for indirect calls.
    Function(super::FunctionId),
}

/// An address: base plus byte offset. The space is the operation's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// What the offset is added to.
    pub base: Base,
    /// Byte offset, added with wrapping at 64 bits.
    pub offset: i64,
}

/// The base of an [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A 64-bit register, or a 32-bit one that is zero-extended (shared, local, param, const only).
    Reg(Reg),
    /// A symbol.
    Symbol(Symbol),
    /// Nothing: the offset is the address.
    Zero,
}
