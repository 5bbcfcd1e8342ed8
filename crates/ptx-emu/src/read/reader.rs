//! Reads one instruction: its modifiers, each taken once, then its operands in order.
//!
//! A modifier that is left over is not modelled, and the instruction becomes one that faults where
//! it is reached, before its operands are looked at.

use ptx::{
    Body, ErrorKind, FunctionId, Inst, Operand, Operands, Problem, RegClass, ScalarType, Space,
};

use crate::address_origin::Makes;
use crate::check::race::Scope;
use crate::counts::InstructionClass;
use crate::exact::Rounding;
use crate::frame::{Exchange, FrameBuilder, Returning};
use crate::registers::{Slot, Sum};
use crate::runner::Op;
use crate::unset_values::facts::{Facts, Flow, Rule};

/// Why an instruction cannot be executed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is not modelled; the reason names the part.
    Unsupported(String),
    /// It is wrong.
    Wrong(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal::Wrong(problem)
    }
}

/// The meaning of a part of an instruction.
pub(crate) type Read<T> = Result<T, Refusal>;

/// A type of integer arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntType {
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
}

impl IntType {
    pub(crate) const fn bits(self) -> u32 {
        self.scalar().bits()
    }

    pub(crate) const fn is_signed(self) -> bool {
        self.scalar().is_signed()
    }

    /// This type as a [`ScalarType`].
    pub(crate) const fn scalar(self) -> ScalarType {
        match self {
            IntType::U16 => ScalarType::U16,
            IntType::S16 => ScalarType::S16,
            IntType::U32 => ScalarType::U32,
            IntType::S32 => ScalarType::S32,
            IntType::U64 => ScalarType::U64,
            IntType::S64 => ScalarType::S64,
        }
    }
}

/// A type of floating-point arithmetic that the host has, too. Half precision is computed apart, in
/// `instructions::half`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatType {
    F32,
    F64,
}

impl FloatType {
    /// This type as a [`ScalarType`].
    pub(crate) const fn scalar(self) -> ScalarType {
        match self {
            FloatType::F32 => ScalarType::F32,
            FloatType::F64 => ScalarType::F64,
        }
    }
}

/// The operations on one type that have no rounding modifier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unrounded {
    pub(crate) products: bool,
    pub(crate) sums: bool,
}

/// A function under construction, instruction by instruction.
#[derive(Debug)]
pub(crate) struct FunctionBuilder {
    pub(crate) frame: FrameBuilder,
    /// Position of the first instruction.
    pub(crate) entry: u32,
    /// Memory counts handed out until now, in the whole module.
    pub(crate) tallies: u32,
    /// Narrowest access to global or shared memory, in bytes.
    pub(crate) narrowest: u32,
    /// Functions that it calls.
    pub(crate) callees: Vec<u32>,
    /// An instruction orders the accesses of blocks.
    pub(crate) orders_blocks: bool,
    /// Its operations on f32 and f64 without a rounding modifier.
    pub(crate) unrounded: [Unrounded; 2],
    /// It calls `malloc` or `free`.
    pub(crate) allocates: bool,
    /// How the function's threads may communicate, except by `returning`.
    pub(crate) exchange: Exchange,
    /// Updates whose old value a register gets, which the function may read or not.
    pub(crate) returning: Vec<Returning>,
}

impl FunctionBuilder {
    /// The widest element of an access, in bytes.
    pub(crate) const WIDEST: u32 = 8;

    pub(crate) fn new(function: &ptx::Function, entry: u32, tallies: u32) -> Self {
        Self {
            frame: FrameBuilder::new(function),
            entry,
            tallies,
            narrowest: Self::WIDEST,
            callees: Vec::new(),
            orders_blocks: false,
            unrounded: Default::default(),
            allocates: false,
            exchange: Exchange::default(),
            returning: Vec::new(),
        }
    }

    /// How the function's threads may communicate, once all of it is read.
    pub(crate) fn exchange(&self) -> Exchange {
        let mut exchange = self.exchange;
        for update in &self.returning {
            if self.frame.is_named_once(update.dst) {
                exchange.silent |= update.kind
            } else {
                exchange.note(update.space)
            }
        }
        exchange
    }

    /// Hands out a memory count.
    pub(crate) fn tally(&mut self) -> u32 {
        self.tallies += 1;
        self.tallies - 1
    }

    /// Notes an access, whose width races may be tracked in.
    pub(crate) fn note_access(&mut self, space: Space, bytes: u32) {
        if matches!(
            space,
            Space::Global | Space::Shared | Space::SharedCluster | Space::Generic
        ) {
            self.narrowest = self.narrowest.min(bytes);
        }
    }
}

/// An instruction, what is left of its modifiers, and the operand to be read next.
pub(crate) struct Reader<'r, 'p, 'a> {
    pub(crate) body: &'r mut Body<'p, 'a>,
    pub(crate) function: &'r mut FunctionBuilder,
    pub(crate) opcode: &'a str,
    /// The class that it is counted in.
    pub(crate) class: InstructionClass,
    /// Where control goes after it.
    pub(crate) flow: Flow,
    /// How unset bits go through it.
    pub(crate) rule: Rule,
    /// How its results follow from its operands, as far as addresses go.
    pub(crate) makes: Makes,
    /// Its reads and writes, until now.
    pub(crate) facts: Facts,
    /// Its operands that are sums of a register and a number.
    pub(crate) sums: Vec<Sum>,
    /// How it lets threads communicate, except by `returning`.
    pub(crate) exchange: Exchange,
    /// The update that it makes, if a register gets the old value.
    pub(crate) returning: Option<Returning>,
    inst: &'p Inst<'a>,
    /// A bit for each modifier that was taken.
    taken: u64,
    next: usize,
}

impl<'r, 'p, 'a> Reader<'r, 'p, 'a> {
    pub(crate) fn new(
        body: &'r mut Body<'p, 'a>,
        function: &'r mut FunctionBuilder,
        inst: &'p Inst<'a>,
    ) -> Self {
        // Cache hints change no value.
        let is_hint =
            |m: &str| m.starts_with("L1::") || (m.starts_with("L2::") && m != "L2::cache_hint");
        let bits = inst.modifiers.iter().zip(0..u64::BITS);
        let taken = bits.fold(0, |taken, (m, bit)| taken | u64::from(is_hint(m)) << bit);
        Reader {
            body,
            function,
            opcode: inst.opcode.text,
            class: InstructionClass::Integer,
            flow: Flow::Next,
            rule: Rule::Any,
            makes: Makes::Number,
            facts: Facts::default(),
            sums: Vec::new(),
            exchange: Exchange::default(),
            returning: None,
            inst,
            taken,
            next: 0,
        }
    }

    /// A row for the sum of a register and a number, computed before the instruction.
    pub(super) fn sum(&mut self, from: Slot, addend: i64) -> Slot {
        let class = from.class;
        let to = Slot {
            class,
            row: self.function.frame.next_row(class),
        };
        self.sums.push(Sum { from, addend, to });
        to
    }

    /// The instruction as it is written.
    pub(crate) fn syntax(&self) -> &'p Inst<'a> {
        self.inst
    }

    /// Its opcode and modifiers as they are written: `shfl.sync.bfly.b32`.
    pub(crate) fn written(&self) -> String {
        let modifiers = self.inst.modifiers.iter().copied();
        let parts: Vec<&str> = [self.opcode].into_iter().chain(modifiers).collect();
        parts.join(".")
    }

    /// The modifiers that are left, with their indices.
    fn left(&self) -> impl Iterator<Item = (usize, &'a str)> {
        let taken = self.taken;
        let all = self.inst.modifiers.iter().copied().enumerate();
        all.filter(move |&(index, _)| index >= 64 || taken >> index & 1 == 0)
    }

    /// Takes the first modifier that `find` knows.
    pub(crate) fn take<T>(&mut self, find: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (index, value) = self.left().find_map(|(index, m)| Some((index, find(m)?)))?;
        // More modifiers than bits: no instruction has that many, and `done` will find one left.
        self.taken |= 1u64.checked_shl(index as u32).unwrap_or(0);
        Some(value)
    }

    /// Takes a modifier if it is there.
    pub(crate) fn has(&mut self, name: &str) -> bool {
        self.take(|m| (m == name).then_some(())).is_some()
    }

    /// Takes the first of the modifiers that is there.
    pub(crate) fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        self.take(|m| {
            choices
                .iter()
                .find(|(name, _)| *name == m)
                .map(|(_, value)| *value)
        })
    }

    /// As [`Reader::choice`], where the instruction must have one.
    pub(crate) fn need<T: Copy>(
        &mut self,
        missing: &'static str,
        choices: &[(&str, T)],
    ) -> Read<T> {
        self.choice(choices).ok_or_else(|| self.missing(missing))
    }

    /// Takes the first modifier that is a type.
    pub(crate) fn ty(&mut self) -> Read<ScalarType> {
        if let Some(ty) = self.take(ScalarType::from_name) {
            return Ok(ty);
        }
        // Such as `.u4`, `.f8` or `.i32`.
        let is_like = |m: &str| {
            let digits = m.strip_prefix(['b', 'f', 'i', 's', 'u']);
            digits.is_some_and(|digits| digits.parse::<u32>().is_ok())
        };
        match self.left().find(|(_, m)| is_like(m)) {
            Some((_, m)) => {
                let message = format!("PTX has no type `.{m}` for `{}`", self.opcode);
                Err(Problem::invalid(self.inst.opcode.pos, message).into())
            }
            None => Err(self.missing("type")),
        }
    }

    /// Takes a type that must be `expected`.
    pub(crate) fn only_type(&mut self, expected: ScalarType) -> Read<ScalarType> {
        match self.ty()? {
            ty if ty == expected => Ok(ty),
            ty => Err(self.unsupported_type(ty)),
        }
    }

    /// Takes a type whose width alone matters.
    pub(crate) fn width_type(&mut self) -> Read<ScalarType> {
        let ty = self.ty()?;
        match (ty.class(), ty.bits()) {
            (Some(_), bits) if bits != 8 => Ok(ty),
            _ => Err(self.unsupported_type(ty)),
        }
    }

    /// As [`Reader::width_type`], for values only: no predicates.
    pub(crate) fn value_type(&mut self) -> Read<ScalarType> {
        match self.width_type()? {
            ScalarType::Pred => Err(self.unsupported_type(ScalarType::Pred)),
            ty => Ok(ty),
        }
    }

    /// Takes a type of integer arithmetic; untyped bits count as unsigned.
    pub(crate) fn int_type(&mut self) -> Read<IntType> {
        let ty = self.ty()?;
        self.as_int(ty)
    }

    /// Takes a type of integer arithmetic of 32 bits.
    pub(crate) fn int_type_32(&mut self) -> Read<IntType> {
        match self.int_type()? {
            ty if ty.bits() == 32 => Ok(ty),
            ty => Err(self.unsupported_type(ty.scalar())),
        }
    }

    pub(crate) fn as_int(&self, ty: ScalarType) -> Read<IntType> {
        use ScalarType::*;
        Ok(match ty {
            U16 | B16 => IntType::U16,
            U32 | B32 => IntType::U32,
            U64 | B64 => IntType::U64,
            S16 => IntType::S16,
            S32 => IntType::S32,
            S64 => IntType::S64,
            _ => return Err(self.unsupported_type(ty)),
        })
    }

    /// Takes a type of floating-point arithmetic, which the instruction is then counted by.
    pub(crate) fn float_type(&mut self) -> Read<FloatType> {
        let ty = self.ty()?;
        self.as_float(ty)
    }

    pub(crate) fn as_float(&mut self, ty: ScalarType) -> Read<FloatType> {
        let (float, class) = match ty {
            ScalarType::F32 => (FloatType::F32, InstructionClass::Float32),
            ScalarType::F64 => (FloatType::F64, InstructionClass::Float64),
            _ => return Err(self.unsupported_type(ty)),
        };
        self.class = class;
        Ok(float)
    }

    /// Takes the rounding of a floating-point result.
    pub(crate) fn rounding(&mut self) -> Option<Rounding> {
        self.choice(&[
            ("rn", Rounding::Nearest),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    /// Takes `.ftz`, which only single precision has.
    pub(crate) fn ftz(&mut self, ty: FloatType) -> bool {
        ty == FloatType::F32 && self.has("ftz")
    }

    /// Takes a scope; the device's if there is none.
    pub(crate) fn exact_scope(&mut self) -> Scope {
        let scope = self.choice(&[
            ("cta", Scope::Block),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Device),
            ("sys", Scope::System),
        ]);
        scope.unwrap_or_default()
    }

    /// Takes a state space.
    pub(crate) fn space(&mut self) -> Option<Space> {
        self.choice(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("shared::cluster", Space::SharedCluster),
            ("local", Space::Local),
            ("const", Space::Const),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
        ])
    }

    /// Takes a scope, as whether it reaches beyond the block and its cluster.
    pub(crate) fn scope(&mut self) -> Option<bool> {
        self.choice(&[
            ("cta", false),
            ("cluster", false),
            ("gpu", true),
            ("sys", true),
        ])
    }

    /// Ends the modifiers: one that nothing took is not modelled.
    pub(crate) fn done(&self) -> Read<()> {
        match self.left().next() {
            Some((_, left)) => Err(self.unsupported(&format!("modifier `.{left}`"))),
            None => Ok(()),
        }
    }

    /// The operands that are separated by commas.
    fn list(&self) -> Read<&'p [Operand<'a>]> {
        match &self.inst.operands {
            Operands::List(list) => Ok(list),
            Operands::Malformed(problem) => Err(Refusal::Wrong(problem.clone())),
            Operands::Call { .. } => Ok(&[]),
        }
    }

    /// Ends the modifiers and checks the number of operands.
    pub(crate) fn operands(&mut self, count: usize) -> Read<()> {
        self.operands_between(count, count).map(|_| ())
    }

    /// As [`Reader::operands`], for one of two numbers of operands.
    pub(crate) fn operands_between(&mut self, least: usize, most: usize) -> Read<usize> {
        self.done()?;
        let found = self.list()?.len();
        if (least..=most).contains(&found) {
            return Ok(found);
        }
        let expected = match (least, most) {
            (0, 0) => "no".to_string(),
            _ if least == most => least.to_string(),
            _ => format!("{least} or {most}"),
        };
        Err(self.operand_count(expected, found))
    }

    fn operand_count(&self, expected: String, found: usize) -> Refusal {
        let kind = ErrorKind::OperandCount {
            opcode: self.opcode.to_string(),
            expected,
            found,
        };
        Problem::new(self.inst.opcode.pos, kind).into()
    }

    /// The next operand; [`Reader::operands`] has checked that it is there.
    pub(crate) fn operand(&mut self) -> Read<&'p Operand<'a>> {
        let operands = self.list()?;
        self.next += 1;
        operands
            .get(self.next - 1)
            .ok_or_else(|| self.operand_count("more".to_string(), operands.len()))
    }

    /// The refusal that a needed modifier is not there: the text is wrong, unless it has one that
    /// is not known.
    pub(crate) fn missing(&self, missing: &'static str) -> Refusal {
        match self
            .left()
            .find(|(_, m)| ScalarType::from_name(m).is_none())
        {
            Some((_, left)) => self.unsupported(&format!("modifier `.{left}`")),
            None => {
                let opcode = self.opcode.to_string();
                let kind = ErrorKind::MissingModifier { opcode, missing };
                Problem::new(self.inst.opcode.pos, kind).into()
            }
        }
    }

    /// `what` of this opcode is not modelled.
    pub(crate) fn unsupported(&self, what: &str) -> Refusal {
        Refusal::Unsupported(format!("{what} of `{}`", self.opcode))
    }

    /// A type that the opcode does not have, or not here.
    pub(crate) fn unsupported_type(&self, ty: ScalarType) -> Refusal {
        self.unsupported(&format!("type `{ty}`"))
    }

    /// The error that PTX has no such type for the opcode: no driver loads it.
    pub(crate) fn no_such_type(&self, ty: ScalarType) -> Refusal {
        let form = self.form(|m| m != ty.name());
        let message = format!("PTX has no `{form}` of type {ty}");
        Problem::invalid(self.inst.opcode.pos, message).into()
    }

    /// The opcode with those of its modifiers that are kept.
    pub(super) fn form(&self, keeps: impl Fn(&str) -> bool) -> String {
        let mut form = self.opcode.to_string();
        for modifier in self.inst.modifiers.iter().filter(|m| keeps(m)) {
            form = format!("{form}.{modifier}");
        }
        form
    }

    /// The function of that id.
    pub(crate) fn function_of(&self, id: FunctionId) -> &'p ptx::Function {
        self.body.program().function(id)
    }
}

/// The class of registers for values of a type, whatever it is.
pub(crate) fn class_of(ty: ScalarType) -> RegClass {
    ty.class().unwrap_or(RegClass::B64)
}

/// An operation that is executed by an object.
pub(crate) fn other(op: impl crate::runner::Execute + 'static) -> Read<Op> {
    Ok(Op::Other(Box::new(op)))
}
