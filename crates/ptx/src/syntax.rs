//! The syntax of a module as it is written: names are not resolved, modifiers not understood.
//!
//! Instructions ([`Inst`]) are public: what an opcode, its modifiers and its operands mean is for
//! the reader of a body to say (see [`Body`](crate::Body)).

use std::collections::HashSet;

use crate::error::{ErrorKind, Problem};
use crate::types::{Pos, ScalarType, Space};

/// A name and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Name<'a> {
    /// The name.
    pub text: &'a str,
    /// Where it stands.
    pub pos: Pos,
}

#[derive(Debug, Default)]
pub(crate) struct ModuleSyntax<'a> {
    pub version: (u32, u32),
    pub target: Vec<&'a str>,
    pub files: Vec<(u32, &'a str)>,
    pub items: Vec<Item<'a>>,
    /// `.alias`: a name, and the function that it is another one of.
    pub aliases: Vec<(Name<'a>, Name<'a>)>,
}

#[derive(Debug)]
pub(crate) enum Item<'a> {
    Variable(Variable<'a>),
    Function(Function<'a>),
}

/// The linking directive of an item (PTX ISA, "Linking Directives"). Without one it is private to
/// its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    Private,
    Visible,
    Weak,
    Common,
    Extern,
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
    pub is_managed: bool,
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

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// The value modulo 2^64; a minus sign is already applied.
    Int(u64),
    /// The bits of a single.
    Single(u32),
    /// The bits of a double.
    Double(u64),
}

impl Literal {
    /// The bits in a type. Floating literals convert between single and double; integers are cut.
    ///
    /// # Errors
    /// An integer other than 0 where the type is a float: its bits, or its value?
    pub fn bits(self, ty: ScalarType, pos: Pos) -> Result<u64, Problem> {
        let mask = u64::MAX >> 64u32.saturating_sub(ty.bits());
        Ok(match self {
            Literal::Int(value) if value != 0 && ty.is_float() => {
                let expected = "a floating-point number, such as `0f3F800000` or `1.0`".to_string();
                let found = "an integer".to_string();
                return Err(Problem::new(pos, ErrorKind::Expected { expected, found }));
            }
            Literal::Single(_) | Literal::Double(_)
                if ty.is_float() && ty.bits() < 32
                    || matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2) =>
            {
                let expected = "a register: PTX has no numbers of 16-bit floating-point types";
                let (expected, found) = (expected.to_string(), "a number".to_string());
                return Err(Problem::new(pos, ErrorKind::Expected { expected, found }));
            }
            Literal::Int(value) if ty == ScalarType::Pred => u64::from(value != 0),
            Literal::Int(value) => value & mask,
            Literal::Single(bits) if ty.bits() > 32 => f64::from(f32::from_bits(bits)).to_bits(),
            Literal::Single(bits) => u64::from(bits) & mask,
            Literal::Double(bits) if ty.bits() > 32 => bits,
            Literal::Double(bits) => u64::from((f64::from_bits(bits) as f32).to_bits()) & mask,
        })
    }
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
    pub required_cluster: Option<[u32; 3]>,
    pub max_cluster_blocks: Option<u32>,
    pub no_return: bool,
    pub body: Option<Vec<Stmt<'a>>>,
    /// Why the body could not be parsed.
    pub refused: Option<Problem>,
    /// Where its `.func` or `.entry` starts in the text, in bytes, and the position of that.
    pub start: (usize, Pos),
    /// The sketch of a body that is not parsed; `body` is empty then.
    pub sketch: Option<Sketch<'a>>,
}

/// All that the rest of a text needs to know of a body.
#[derive(Debug, Default)]
pub(crate) struct Sketch<'a> {
    /// Where the text goes on behind it, in bytes.
    pub end: usize,
    /// The shared, global and constant variables that it declares.
    pub variables: Vec<Variable<'a>>,
    /// The names among its operands, each once. Those of registers are left out.
    pub names: HashSet<&'a str>,
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

/// `label: .callprototype (returns) _ (params);`
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
    /// The inlining chain in the comment behind the directive, innermost caller first: path, line,
    /// column.
    pub comment_chain: Vec<(&'a str, u32, u32)>,
    /// The path of `at` as the same comment gives it: without the directory.
    pub comment_path: Option<&'a str>,
}

/// An instruction as it is written.
#[derive(Debug)]
pub struct Inst<'a> {
    /// The predicate before it, and whether it is negated.
    pub(crate) guard: Option<(Name<'a>, bool)>,
    /// Its name: what stands before the first dot.
    pub opcode: Name<'a>,
    /// The modifiers behind the dots, in order.
    pub modifiers: Vec<&'a str>,
    /// Its operands.
    pub operands: Operands<'a>,
    /// The bytes that are used of what it loads, a bit each, where a pragma says so (PTX ISA,
    /// "Pragma strings: used_bytes_mask").
    pub used_bytes: Option<u32>,
    /// From the opcode to the semicolon, exclusive.
    pub text: &'a str,
}

/// The operands of an instruction.
#[derive(Debug)]
pub enum Operands<'a> {
    /// Any number of them, with commas between.
    List(Vec<Operand<'a>>),
    /// Those of `call`: `(returns), callee, (args), table`.
    Call {
        /// Where the results go.
        returns: Vec<Operand<'a>>,
        /// The function, or the register that holds its address.
        callee: Operand<'a>,
        /// The arguments.
        args: Vec<Operand<'a>>,
        /// The prototype of an indirect call.
        table: Option<Name<'a>>,
    },
    /// Not the operand syntax of any instruction that is modelled: an error if this one is.
    Malformed(Problem),
}

/// An operand and where it stands.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    /// Its kind.
    pub kind: OperandKind<'a>,
    /// Where it stands.
    pub pos: Pos,
}

/// The kinds of operands.
#[derive(Clone, Debug)]
pub enum OperandKind<'a> {
    /// `name` or `name.component`.
    Name(&'a str, Option<&'a str>),
    /// `name + offset`.
    Offset(&'a str, i64),
    /// `name[index]`: an element of an array.
    Element(&'a str, i64),
    /// A number.
    Literal(Literal),
    /// `{a, b, ..}`.
    Vector(Vec<Operand<'a>>),
    /// `[base + offset]`.
    Address(AddressBase<'a>, i64),
    /// `[object, {x, y, ..}]`: a texture or surface, and coordinates.
    Image(&'a str, Vec<Operand<'a>>),
    /// `!name`.
    Not(&'a str),
    /// `a|b`, either may be `_`.
    Pair(&'a str, &'a str),
    /// `{a, b, ..}|p`: what a texture holds, and a predicate for whether it is in memory.
    Resident(Vec<Operand<'a>>, &'a str),
    /// `_`.
    Sink,
}

impl OperandKind<'_> {
    /// How messages call it.
    pub fn describe(&self) -> String {
        match self {
            OperandKind::Name(name, None) | OperandKind::Offset(name, _) => format!("`{name}`"),
            OperandKind::Element(name, index) => format!("`{name}[{index}]`"),
            OperandKind::Name(name, Some(component)) => format!("`{name}.{component}`"),
            OperandKind::Literal(_) => "a number".to_string(),
            OperandKind::Vector(_) => "a vector".to_string(),
            OperandKind::Address(AddressBase::Name(name), _) => format!("address `[{name}]`"),
            OperandKind::Address(..) => "an address".to_string(),
            OperandKind::Image(name, _) => format!("coordinates in `[{name}, ..]`"),
            OperandKind::Not(name) => format!("`!{name}`"),
            OperandKind::Pair(a, b) => format!("`{a}|{b}`"),
            OperandKind::Resident(_, predicate) => format!("a vector with `|{predicate}`"),
            OperandKind::Sink => "`_`".to_string(),
        }
    }
}

/// The first part of an address in brackets.
#[derive(Clone, Copy, Debug)]
pub enum AddressBase<'a> {
    /// A register or a variable.
    Name(&'a str),
    /// Nothing: the offset is the address.
    Absolute,
}
