//! The syntax of a module as it is written: names are not resolved, modifiers not understood.

use crate::error::Raw;
use crate::program::{Pos, ScalarType, Space};

/// A name and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Name<'a> {
    pub text: &'a str,
    pub pos: Pos,
}

#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    pub version: (u32, u32),
    pub target: Vec<&'a str>,
    pub address_size: Option<u32>,
    pub files: Vec<(u32, &'a str)>,
    pub items: Vec<Item<'a>>,
}

#[derive(Debug)]
pub(crate) enum Item<'a> {
    Variable(Variable<'a>),
    Function(Function<'a>),
}

/// The state space of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Reg,
    In(Space),
}

/// A declared variable or parameter.
#[derive(Debug)]
pub(crate) struct Variable<'a> {
    pub name: Name<'a>,
    pub storage: Storage,
    pub is_extern: bool,
    pub align: Option<u32>,
    pub ty: ScalarType,
    /// 1, 2, 4 or 8.
    pub vector: u32,
    /// `name<count>`, for registers.
    pub count: Option<u64>,
    /// Array dimensions as written; `None` for `[]`.
    pub dims: Vec<Option<u64>>,
    pub init: Option<Init<'a>>,
    /// `.ptr` with its space and alignment.
    pub pointer: Option<(Option<Space>, Option<u32>)>,
}

#[derive(Debug)]
pub(crate) enum Init<'a> {
    List(Vec<Init<'a>>, Pos),
    Number(Literal, Pos),
    /// `symbol+addend`, `generic(symbol)+addend`, or `mask(..)` around either.
    Symbol {
        name: Name<'a>,
        addend: i64,
        generic: bool,
        mask: Option<u64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Literal {
    /// The value modulo 2^64; a minus sign is already applied.
    Int(u64),
    Single(u32),
    Double(u64),
}

#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub name: Name<'a>,
    pub is_kernel: bool,
    pub params: Vec<Variable<'a>>,
    pub returns: Vec<Variable<'a>>,
    pub max_threads: Option<[u32; 3]>,
    pub required_threads: Option<[u32; 3]>,
    pub min_blocks: Option<u32>,
    pub max_registers: Option<u32>,
    pub no_return: bool,
    pub body: Option<Vec<Stmt<'a>>>,
}

#[derive(Debug)]
pub(crate) enum Stmt<'a> {
    Label(Name<'a>),
    Variable(Variable<'a>),
    Inst(Inst<'a>),
    Block(Vec<Stmt<'a>>),
    Loc(Loc<'a>),
    /// `label: .branchtargets a, b, c;`
    BranchTargets(Name<'a>, Vec<Name<'a>>),
    /// `label: .callprototype (returns) _ (params);`
    Prototype(Prototype<'a>),
}

#[derive(Debug)]
pub(crate) struct Prototype<'a> {
    pub label: Name<'a>,
    pub params: Vec<Variable<'a>>,
    pub returns: Vec<Variable<'a>>,
}

/// A source position: file number, line, column.
pub(crate) type FilePos = (u32, u32, u32);

#[derive(Debug)]
pub(crate) struct Loc<'a> {
    pub at: FilePos,
    /// The `inlined_at` attribute.
    pub inlined_at: Option<FilePos>,
    /// The inlining chain in the comment behind the directive, innermost caller first: path, line, column.
    pub comment_chain: Vec<(&'a str, u32, u32)>,
    /// The path of `at` as the same comment gives it: without the directory.
    pub comment_path: Option<&'a str>,
}

#[derive(Debug)]
pub(crate) struct Inst<'a> {
    pub guard: Option<(Name<'a>, bool)>,
    pub opcode: Name<'a>,
    pub modifiers: Vec<&'a str>,
    pub operands: Operands<'a>,
    /// From the opcode to the semicolon, exclusive.
    pub text: &'a str,
}

#[derive(Debug)]
pub(crate) enum Operands<'a> {
    List(Vec<Operand<'a>>),
    /// `(returns), callee, (args), table`.
    Call {
        returns: Vec<Operand<'a>>,
        callee: Operand<'a>,
        args: Vec<Operand<'a>>,
        table: Option<Name<'a>>,
    },
    /// Not the operand syntax of any instruction that is modelled: an error if this one is.
    Malformed(Raw),
}

#[derive(Clone, Debug)]
pub(crate) struct Operand<'a> {
    pub kind: OperandKind<'a>,
    pub pos: Pos,
}

#[derive(Clone, Debug)]
pub(crate) enum OperandKind<'a> {
    /// `name` or `name.component`.
    Name(&'a str, Option<&'a str>),
    /// `name + offset`.
    Offset(&'a str, i64),
    Literal(Literal),
    /// `{a, b, ..}`.
    Vector(Vec<Operand<'a>>),
    /// `[base + offset]`.
    Address(AddressBase<'a>, i64),
    /// `!name`.
    Not(&'a str),
    /// `a|b`, either may be `_`.
    Pair(&'a str, &'a str),
    /// `_`.
    Sink,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum AddressBase<'a> {
    Name(&'a str),
    Absolute,
}
