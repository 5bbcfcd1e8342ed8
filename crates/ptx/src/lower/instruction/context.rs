//! One instruction being lowered: its modifiers, each taken once.

use super::super::body::Body;
use crate::ast::{self, Operand, Operands};
use crate::error::{ErrorKind, Raw};
use crate::program::*;

/// Why an instruction has no operation.
pub(super) enum Stop {
    /// It is not modelled; the reason names the part.
    Unsupported(String),
    /// It is wrong.
    Error(Raw),
}

impl From<Raw> for Stop {
    fn from(raw: Raw) -> Stop {
        Stop::Error(raw)
    }
}

pub(super) type Lowered<T> = Result<T, Stop>;

/// An instruction, what is left of its modifiers, and the operand to be read next.
pub(super) struct Context<'b, 'p, 'a> {
    pub body: &'b mut Body<'p, 'a>,
    pub opcode: &'a str,
    pub pos: Pos,
    modifiers: Vec<&'a str>,
    operands: Result<&'b [Operand<'a>], &'b Raw>,
    next: usize,
}

impl<'b, 'p, 'a> Context<'b, 'p, 'a> {
    pub fn new(body: &'b mut Body<'p, 'a>, inst: &'b ast::Inst<'a>) -> Self {
        let operands: Result<&[Operand<'a>], &Raw> = match &inst.operands {
            Operands::List(list) => Ok(list),
            Operands::Malformed(raw) => Err(raw),
            Operands::Call { .. } => Ok(&[]),
        };
        // Cache hints change no value.
        let is_hint =
            |m: &&str| m.starts_with("L1::") || (m.starts_with("L2::") && *m != "L2::cache_hint");
        let modifiers = inst
            .modifiers
            .iter()
            .copied()
            .filter(|m| !is_hint(m))
            .collect();
        Context {
            body,
            opcode: inst.opcode.text,
            pos: inst.opcode.pos,
            modifiers,
            operands,
            next: 0,
        }
    }

    /// Takes a modifier if it is there.
    pub fn flag(&mut self, name: &str) -> bool {
        let found = self.modifiers.iter().position(|m| *m == name);
        if let Some(index) = found {
            self.modifiers.remove(index);
        }
        found.is_some()
    }

    /// Takes the first of the modifiers that is there.
    pub fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let (index, value) = self.modifiers.iter().enumerate().find_map(|(index, m)| {
            choices
                .iter()
                .find(|(name, _)| name == m)
                .map(|(_, value)| (index, *value))
        })?;
        self.modifiers.remove(index);
        Some(value)
    }

    /// As [`Context::choice`], where the instruction must have one.
    pub fn need<T: Copy>(&mut self, missing: &'static str, choices: &[(&str, T)]) -> Lowered<T> {
        match self.choice(choices) {
            Some(value) => Ok(value),
            None => Err(self.missing(missing)),
        }
    }

    /// Takes the first modifier that is a type.
    pub fn optional_type(&mut self) -> Option<ScalarType> {
        let (index, ty) = self
            .modifiers
            .iter()
            .enumerate()
            .find_map(|(index, m)| Some((index, ScalarType::from_name(m)?)))?;
        self.modifiers.remove(index);
        Some(ty)
    }

    /// Takes the type.
    pub fn scalar_type(&mut self) -> Lowered<ScalarType> {
        match self.optional_type() {
            Some(ty) => Ok(ty),
            None => Err(self.missing("type")),
        }
    }

    /// Takes a type of integer arithmetic; untyped bits count as unsigned.
    pub fn int_type(&mut self) -> Lowered<IntType> {
        let ty = self.scalar_type()?;
        self.as_int(ty)
    }

    pub fn as_int(&self, ty: ScalarType) -> Lowered<IntType> {
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

    /// Takes a type of floating-point arithmetic.
    pub fn float_type(&mut self) -> Lowered<FloatType> {
        let ty = self.scalar_type()?;
        self.as_float(ty)
    }

    pub fn as_float(&self, ty: ScalarType) -> Lowered<FloatType> {
        match ty {
            ScalarType::F32 => Ok(FloatType::F32),
            ScalarType::F64 => Ok(FloatType::F64),
            _ => Err(self.unsupported_type(ty)),
        }
    }

    /// The class of a type of which only the width matters.
    pub fn as_class(&self, ty: ScalarType) -> Lowered<RegClass> {
        match (ty.class(), ty.bits()) {
            (Some(class), bits) if bits != 8 => Ok(class),
            _ => Err(self.unsupported_type(ty)),
        }
    }

    /// Takes the rounding of a floating-point result.
    pub fn rounding(&mut self) -> Option<Rounding> {
        self.choice(&[
            ("rn", Rounding::Nearest),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    /// Takes `.ftz`, which only single precision has.
    pub fn ftz(&mut self, ty: FloatType) -> bool {
        ty == FloatType::F32 && self.flag("ftz")
    }

    /// Takes a state space.
    pub fn space(&mut self) -> Option<Space> {
        self.choice(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("local", Space::Local),
            ("const", Space::Const),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
        ])
    }

    /// Takes a scope.
    pub fn scope(&mut self) -> Option<Scope> {
        self.choice(&[
            ("cta", Scope::Block),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Device),
            ("sys", Scope::System),
        ])
    }

    /// Ends the modifiers: one that nobody took is not modelled.
    pub fn done(&self) -> Lowered<()> {
        match self.modifiers.first() {
            Some(left) => Err(Stop::Unsupported(format!(
                "modifier `.{left}` of `{}`",
                self.opcode
            ))),
            None => Ok(()),
        }
    }

    /// Ends the modifiers and checks the number of operands. `expected` says it in words.
    pub fn operands(
        &mut self,
        counts: std::ops::RangeInclusive<usize>,
        expected: &'static str,
    ) -> Lowered<usize> {
        self.done()?;
        let operands = self.operands.map_err(|raw| Stop::Error(raw.clone()))?;
        if counts.contains(&operands.len()) {
            return Ok(operands.len());
        }
        let kind = ErrorKind::OperandCount {
            opcode: self.opcode.to_string(),
            expected,
            found: operands.len(),
        };
        Err(Raw::new(self.pos, kind).into())
    }

    /// The next operand; [`Context::operands`] has checked that it is there.
    pub fn operand(&mut self) -> Lowered<&'b Operand<'a>> {
        let operands = self.operands.map_err(|raw| Stop::Error(raw.clone()))?;
        let operand = operands.get(self.next);
        self.next += 1;
        operand.ok_or_else(|| {
            let kind = ErrorKind::OperandCount {
                opcode: self.opcode.to_string(),
                expected: "more",
                found: operands.len(),
            };
            Raw::new(self.pos, kind).into()
        })
    }

    /// The error, or the lack of support, that a needed modifier is not there.
    pub fn missing(&self, missing: &'static str) -> Stop {
        match self
            .modifiers
            .iter()
            .find(|m| ScalarType::from_name(m).is_none())
        {
            Some(left) => Stop::Unsupported(format!("modifier `.{left}` of `{}`", self.opcode)),
            None => Raw::new(
                self.pos,
                ErrorKind::MissingModifier {
                    opcode: self.opcode.to_string(),
                    missing,
                },
            )
            .into(),
        }
    }

    /// `what` of this opcode is not modelled.
    pub fn unsupported(&self, what: &str) -> Stop {
        Stop::Unsupported(format!("{what} of `{}`", self.opcode))
    }

    pub fn unsupported_type(&self, ty: ScalarType) -> Stop {
        Stop::Unsupported(format!("type `{ty}` of `{}`", self.opcode))
    }
}
