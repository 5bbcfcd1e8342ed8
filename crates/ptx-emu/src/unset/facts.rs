//! What an instruction reads and writes, and how unset bits go through it.

use std::sync::Arc;

use ptx::{Inst, RegClass, ScalarType};

use crate::counts::InstructionClass;
use crate::registers::{CARRY, Slot};

/// How the unset bits of an instruction's results follow from those of its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rule {
    /// All bits are unset if any bit of an operand is.
    #[default]
    Any,
    /// An operand with an unset bit is a fault.
    Strict,
    /// The operation itself moves them, for so many of its first operands; an unset bit of the others makes all unset.
    Same(usize),
    /// Bit by bit: unset if that bit of an operand is.
    Each,
    /// Bit by bit: but 0 where an operand is 0.
    And,
    /// Bit by bit: but 1 where an operand is 1.
    Or,
    /// The lowest unset bit of the operands, and all above.
    Above,
    /// The first or the second operand.
    Select,
    /// From an integer type to another: destination, source.
    Resize(ScalarType, ScalarType),
    /// From elements to a whole of them.
    Pack,
    /// From a whole to its elements.
    Unpack,
    /// Loads and stores: they do it themselves.
    Memory,
}

/// Where control goes after an instruction. Targets are positions in the function.
#[derive(Clone, Debug, Default)]
pub(crate) enum Flow {
    #[default]
    Next,
    Branch(u32),
    Table(Arc<[u32]>),
    End,
}

/// Whether a load may be from memory that is the thread's own, which nothing need have written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadsOwn {
    No,
    /// By a generic address.
    Perhaps,
    Yes,
}

/// What an instruction reads and writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// Predicate slot of its guard, if it has one.
    pub(crate) guard: Option<u32>,
    /// Its operands in order, constants among them.
    pub(crate) reads: Vec<Slot>,
    /// Predicates that choose, or are combined with.
    pub(crate) flags: Vec<Slot>,
    /// Registers that hold addresses.
    pub(crate) addresses: Vec<Slot>,
    /// Its results in order; `None` for those that are not wanted.
    pub(crate) writes: Vec<Option<Slot>>,
    pub(crate) flow: Flow,
    /// Of loads and stores that move unset bits themselves.
    pub(crate) moves: Option<LoadsOwn>,
    /// Its opcode, for the messages of strict ones.
    pub(super) opcode: Option<Box<str>>,
    pub(super) rule: Rule,
}

impl Facts {
    /// What is left where the instruction is one that is not modelled.
    pub(crate) fn of_guard(&self) -> Facts {
        Facts {
            guard: self.guard,
            ..Facts::default()
        }
    }

    /// Completes the facts of an instruction whose operands have been read.
    pub(crate) fn finish(&mut self, syntax: &Inst, class: InstructionClass) {
        let opcode = syntax.opcode.text;
        self.rule = rule(syntax, class, self);
        self.opcode = (self.rule == Rule::Strict).then(|| opcode.into());
        match opcode {
            "ret" | "exit" | "trap" => self.flow = Flow::End,
            // The last operand of a copy may be a predicate, which is read.
            "cp" => self.reads.extend(self.writes.drain(..).flatten()),
            _ => {}
        }
        let carry = Slot {
            class: RegClass::Pred,
            row: CARRY,
        };
        if matches!(opcode, "addc" | "subc" | "madc") {
            self.flags.push(carry);
        }
        if syntax.modifiers.contains(&"cc") {
            self.writes.push(Some(carry));
        }
    }

    /// All registers and constants that it reads, but for its guard.
    pub(super) fn operands(&self) -> impl Iterator<Item = Slot> {
        let operands = self.reads.iter().chain(&self.flags).chain(&self.addresses);
        operands.copied()
    }

    /// All registers and constants that it reads.
    pub(super) fn all_reads(&self) -> impl Iterator<Item = Slot> {
        let guard = self.guard.map(|row| Slot {
            class: RegClass::Pred,
            row,
        });
        self.operands().chain(guard)
    }
}

fn rule(syntax: &Inst, class: InstructionClass, facts: &Facts) -> Rule {
    let has = |modifier: &str| syntax.modifiers.contains(&modifier);
    let wraps = class == InstructionClass::Integer && !has("sat") && !has("cc");
    match syntax.opcode.text {
        "atom" | "red" | "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "elect"
        | "call" | "brx" | "cp" | "mapa" | "getctarank" => Rule::Strict,
        "ld" | "ldu" | "st" if facts.moves.is_some() => Rule::Memory,
        "mov" if facts.writes.len() > 1 => Rule::Unpack,
        "mov" if facts.reads.len() > 1 => Rule::Pack,
        "mov" | "xor" | "not" | "lop3" => Rule::Each,
        "and" => Rule::And,
        "or" => Rule::Or,
        "shl" | "shr" | "bfe" | "brev" => Rule::Same(1),
        "shf" | "prmt" | "bfi" => Rule::Same(2),
        "selp" => Rule::Select,
        "add" | "sub" if wraps => Rule::Above,
        "mul" | "mad" if wraps && has("lo") => Rule::Above,
        "cvt" if !has("sat") => {
            let types = syntax.modifiers.iter();
            let types: Vec<_> = types.filter_map(|m| ScalarType::from_name(m)).collect();
            match types[..] {
                [dst, src] if !dst.is_float() && !src.is_float() => Rule::Resize(dst, src),
                _ => Rule::Any,
            }
        }
        _ => Rule::Any,
    }
}
