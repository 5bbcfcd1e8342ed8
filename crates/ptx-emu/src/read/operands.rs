//! Operands, checked against the type they are used with, and given as rows of the frame.

use ptx::{
    AddressBase, ErrorKind, Named, Operand, OperandKind, Problem, Reg, RegClass, ScalarType, Space,
    Symbol,
};

use super::reader::{Read, Reader, Refusal, class_of};
use crate::address_origin::{ArrayBounds, Place, Variable};
use crate::frame::Constant;
use crate::memory::function_address;
use crate::registers::{ALWAYS, Address, Apply, Flag, NEVER, Operands, Slot};
use crate::runner::Op;
use crate::special::Special;

/// How wide a register may be beside the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// As wide as the type.
    Exact,
    /// At least as wide as the type: `ld`, `st`, `cvt`.
    AtLeast,
}

/// The target of an address operand. Offsets are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Reg(Reg, i64),
    Symbol(Symbol, i64),
    Absolute(i64),
}

impl<'p, 'a> Reader<'_, 'p, 'a> {
    /// Ends the modifiers and reads a destination and sources: an operation on rows. `aux` is what
    /// the operation makes of it. The sources are the rows `a`, `b`, `c`, `e`.
    pub(crate) fn lanes<const N: usize>(
        &mut self,
        (apply, aux): (Apply, u32),
        dst: ScalarType,
        sources: [ScalarType; N],
    ) -> Read<Op> {
        self.operands(1 + N)?;
        let d = self.dst(dst)?.row;
        let mut rows = [0; 4];
        for (row, ty) in rows.iter_mut().zip(sources) {
            *row = self.src(ty)?.row;
        }
        let [a, b, c, e] = rows;
        let o = Operands { d, a, b, c, e, aux };
        Ok(Op::Apply { apply, o })
    }

    /// The next operand as the register written.
    pub(crate) fn dst(&mut self, ty: ScalarType) -> Read<Slot> {
        let operand = self.operand()?;
        self.register(operand, ty, Width::Exact)
    }

    /// The next operand as a value read.
    pub(crate) fn src(&mut self, ty: ScalarType) -> Read<Slot> {
        let operand = self.operand()?;
        self.value(operand, ty, Width::Exact)
    }

    /// The next operand as a predicate read, perhaps negated.
    pub(crate) fn flag(&mut self) -> Read<Flag> {
        let operand = self.operand()?;
        let (name, flip) = match operand.kind {
            OperandKind::Name(name, None) => (name, 0),
            OperandKind::Not(name) => (name, u32::MAX),
            OperandKind::Literal(ptx::Literal::Int(value)) => {
                let slot = if value != 0 { ALWAYS } else { NEVER };
                return Ok(Flag { slot, flip: 0 });
            }
            _ => return Err(self.unexpected(operand, "a predicate register")),
        };
        let slot = self.named_register(operand, name, ScalarType::Pred, Width::Exact)?;
        self.facts.flags.push(slot);
        let slot = slot.row;
        Ok(Flag { slot, flip })
    }

    /// The next operand as a number of 32 bits.
    pub(crate) fn constant(&mut self) -> Read<u32> {
        let operand = self.operand()?;
        match operand.kind {
            OperandKind::Literal(ptx::Literal::Int(value)) => {
                u32::try_from(value).map_err(|_| self.unexpected(operand, "a number of 32 bits"))
            }
            _ => Err(self.unexpected(operand, "a number")),
        }
    }

    /// The next operand as an address in `space`.
    pub(crate) fn address(&mut self, space: Space) -> Read<Address> {
        let target = self.target(space)?;
        Ok(self.locate(target))
    }

    /// As [`Reader::address`], with the space that it lies in: a generic access to a variable by
    /// name is one to the variable's space, as the assembler makes it.
    pub(crate) fn address_in(&mut self, space: Space) -> Read<(Address, Space)> {
        let target = self.target(space)?;
        let space = self.space_of(target, space);
        Ok((self.locate(target), space))
    }

    /// The space of a target that an instruction names `space` for.
    pub(crate) fn space_of(&self, target: Target, space: Space) -> Space {
        match (space, target) {
            (Space::Generic, Target::Symbol(symbol, _)) => self.symbol_space(symbol),
            _ => space,
        }
    }

    /// The space that a variable lies in; of functions, that of addresses without one.
    fn symbol_space(&self, symbol: Symbol) -> Space {
        match symbol {
            Symbol::Global(id) => self.body.program().global(id).space,
            Symbol::Shared(_) | Symbol::DynamicShared => Space::Shared,
            Symbol::Local(_) => Space::Local,
            Symbol::KernelParam(_) | Symbol::FrameParam(_) => Space::Param,
            Symbol::Function(_) => Space::Generic,
        }
    }

    /// The target of the next operand, an address in `space`.
    pub(crate) fn target(&mut self, space: Space) -> Read<Target> {
        let operand = self.operand()?;
        let (name, offset) = match operand.kind {
            OperandKind::Address(AddressBase::Name(name), offset) => (name, offset),
            OperandKind::Address(AddressBase::Absolute, offset) => {
                self.facts.places.push(Place::Elsewhere);
                return Ok(Target::Absolute(offset));
            }
            // As the assembler takes it, without brackets around it.
            OperandKind::Element(name, index) if matches!(self.opcode, "ld" | "ldu" | "st") => {
                (name, self.element(operand, (name, index))?.1)
            }
            _ => return Err(self.unexpected(operand, "an address in `[ ]`")),
        };
        match self.resolve(operand, name)? {
            Named::Reg(reg) if matches!(reg.class, RegClass::B32 | RegClass::B64) => {
                Ok(Target::Reg(reg, offset))
            }
            Named::Reg(_) | Named::Vector(_) => {
                Err(self.unexpected(operand, "an address register of 32 or 64 bits"))
            }
            Named::UnsupportedReg(what) => Err(Refusal::Unsupported(format!("{what} `{name}`"))),
            Named::Param(symbol, _) | Named::Symbol(symbol) => {
                self.check_space(operand, name, symbol, space)?;
                let array = self.shared_array(name, symbol);
                let facts = &mut self.facts;
                facts.reads_launch |= matches!(symbol, Symbol::KernelParam(_));
                facts
                    .places
                    .push(array.map_or(Place::Elsewhere, Place::Array));
                Ok(Target::Symbol(symbol, offset))
            }
        }
    }

    /// The rows of an address.
    pub(crate) fn locate(&mut self, target: Target) -> Address {
        let frame = &mut self.function.frame;
        let (base, offset) = match target {
            Target::Reg(reg, offset) => {
                let slot = frame.register(reg);
                let facts = &mut self.facts;
                facts.addresses.push(slot);
                facts.places.push(Place::Register(slot));
                (slot, offset)
            }
            Target::Symbol(symbol, offset) => {
                (frame.constant(RegClass::B64, constant(symbol, offset)), 0)
            }
            Target::Absolute(offset) => (frame.bits(RegClass::B64, 0), offset),
        };
        Address { base, offset }
    }

    /// A named variable must lie in the space that the instruction names.
    fn check_space(
        &self,
        operand: &Operand<'a>,
        name: &str,
        symbol: Symbol,
        space: Space,
    ) -> Read<()> {
        if let Symbol::Function(_) = symbol {
            return Err(self.unexpected(operand, "a variable"));
        }
        let actual = self.symbol_space(symbol);
        let holds = space == Space::SharedCluster && actual == Space::Shared;
        if space == actual || holds || space == Space::Generic {
            return Ok(());
        }
        let message = format!(
            "`{name}` lies in .{}, but `{}` accesses .{}",
            actual.name(),
            self.opcode,
            space.name()
        );
        Err(Problem::invalid(operand.pos, message).into())
    }

    /// A register that is written, of a width that suits the type.
    pub(crate) fn register(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
        width: Width,
    ) -> Read<Slot> {
        let slot = self.any_register(operand, ty, width)?;
        self.facts.writes.push(Some(slot));
        Ok(slot)
    }

    /// As [`Reader::register`], for a register that is read.
    pub(crate) fn source_register(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
        width: Width,
    ) -> Read<Slot> {
        let slot = self.any_register(operand, ty, width)?;
        self.facts.reads.push(slot);
        Ok(slot)
    }

    fn any_register(&mut self, operand: &Operand<'a>, ty: ScalarType, width: Width) -> Read<Slot> {
        match operand.kind {
            OperandKind::Name(name, None) => self.named_register(operand, name, ty, width),
            OperandKind::Name(name, Some(component)) => {
                let reg = self.component(operand, name, component)?;
                self.suitable(operand, name, reg, ty, width)
            }
            OperandKind::Vector(_) => Err(self.unsupported("vector operand")),
            _ => Err(self.unexpected(operand, "a register")),
        }
    }

    /// As [`Reader::register`], or `None` for `_`.
    pub(crate) fn register_or_sink(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
        width: Width,
    ) -> Read<Option<Slot>> {
        match operand.kind {
            OperandKind::Sink => {
                self.facts.writes.push(None);
                Ok(None)
            }
            _ => self.register(operand, ty, width).map(Some),
        }
    }

    /// A register and the slot of a predicate, `d|p`; either may be `_`. `d` alone has no
    /// predicate.
    pub(crate) fn pair(&mut self, ty: ScalarType) -> Read<(Option<Slot>, Option<u32>)> {
        let operand = self.operand()?;
        let OperandKind::Pair(first, second) = operand.kind else {
            return Ok((self.register_or_sink(operand, ty, Width::Exact)?, None));
        };
        let mut get = |name, kind| match name {
            "_" => Ok(None),
            _ => self
                .named_register(operand, name, kind, Width::Exact)
                .map(Some),
        };
        let (first, second) = (get(first, ty)?, get(second, ScalarType::Pred)?);
        self.facts.writes.extend([first, second]);
        Ok((first, second.map(|slot| slot.row)))
    }

    fn named_register(
        &mut self,
        operand: &Operand<'a>,
        name: &'a str,
        ty: ScalarType,
        width: Width,
    ) -> Read<Slot> {
        match self.resolve(operand, name)? {
            Named::Reg(reg) => self.suitable(operand, name, reg, ty, width),
            Named::UnsupportedReg(what) => Err(Refusal::Unsupported(format!("{what} `{name}`"))),
            Named::Param(..) | Named::Symbol(_) | Named::Vector(_) => {
                Err(self.unexpected(operand, "a register"))
            }
        }
    }

    /// The register of a component of a vector register.
    fn component(&mut self, operand: &Operand<'a>, name: &'a str, component: &str) -> Read<Reg> {
        let found = match self.resolve(operand, name)? {
            Named::Vector(vector) => vector.named(component),
            _ => None,
        };
        found.ok_or_else(|| self.unexpected(operand, "a component of a vector register"))
    }

    /// The elements of an operand that is a vector: `{a, b, ..}`, a vector register, or a special
    /// register of three dimensions.
    pub(crate) fn vector(&mut self, operand: &Operand<'a>) -> Read<Option<Vec<Operand<'a>>>> {
        let (name, components) = match operand.kind {
            OperandKind::Vector(ref elements) => return Ok(Some(elements.clone())),
            OperandKind::Name(name, None) if Special::is_vector(name) => {
                (name, &["x", "y", "z", "w"][..])
            }
            OperandKind::Name(name, None) => match self.body.resolve(name) {
                Some(Named::Vector(vector)) => (name, vector.names()),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let element = |component: &&'static str| Operand {
            kind: OperandKind::Name(name, Some(*component)),
            pos: operand.pos,
        };
        Ok(Some(components.iter().map(element).collect()))
    }

    /// The row of a register, which must suit a type.
    fn suitable(
        &mut self,
        operand: &Operand<'a>,
        name: &str,
        reg: Reg,
        ty: ScalarType,
        width: Width,
    ) -> Read<Slot> {
        let is_pred = (reg.class == RegClass::Pred, ty == ScalarType::Pred);
        let suits = match width {
            // 8-bit values live in 16-bit registers.
            Width::Exact => Some(reg.class) == ty.class(),
            Width::AtLeast => is_pred.0 == is_pred.1 && reg.class.bits() >= ty.bits(),
        };
        if suits {
            return Ok(self.function.frame.register(reg));
        }
        let expected = match (ty.bits(), width) {
            (1, _) => "a predicate",
            (8, Width::AtLeast) => "8 bits or more",
            (16, Width::AtLeast) => "16 bits or more",
            (32, Width::AtLeast) => "32 bits or more",
            (8 | 16, _) => "16 bits",
            (32, _) => "32 bits",
            _ => "64 bits",
        };
        let kind = ErrorKind::Width {
            opcode: self.opcode.to_string(),
            operand: name.to_string(),
            bits: reg.class.bits(),
            ty,
            expected,
        };
        Err(Problem::new(operand.pos, kind).into())
    }

    /// The special register that an operand names, if it does.
    pub(crate) fn special(&self, operand: &Operand<'a>) -> Read<Option<Special>> {
        let OperandKind::Name(name, component) = operand.kind else {
            return Ok(None);
        };
        Special::named(name, component)
            .transpose()
            .map_err(Refusal::Unsupported)
    }

    /// A value: register, number, special register, or address of a symbol.
    pub(crate) fn value(
        &mut self,
        operand: &Operand<'a>,
        ty: ScalarType,
        width: Width,
    ) -> Read<Slot> {
        let slot = self.any_value(operand, ty, width)?;
        let sum = self.sums.last().filter(|sum| sum.to == slot);
        let read = sum.map_or(slot, |sum| sum.from);
        self.facts.reads.push(read);
        Ok(slot)
    }

    /// As [`Reader::value`], for a value that decides where an access goes.
    pub(crate) fn address_value(&mut self, operand: &Operand<'a>, ty: ScalarType) -> Read<Slot> {
        let slot = self.any_value(operand, ty, Width::Exact)?;
        let sum = self.sums.last().filter(|sum| sum.to == slot);
        self.facts.addresses.push(sum.map_or(slot, |sum| sum.from));
        Ok(slot)
    }

    /// The address of a variable of global memory; none of a register.
    pub(crate) fn variable(&mut self, name: &'a str) -> Read<Option<Slot>> {
        match self.body.resolve(name) {
            Some(Named::Symbol(symbol)) if self.symbol_space(symbol) == Space::Global => {
                Ok(Some(self.locate(Target::Symbol(symbol, 0)).base))
            }
            Some(Named::Param(..) | Named::Symbol(_)) => {
                Err(self.unsupported("a parameter or a variable by its name"))
            }
            _ => Ok(None),
        }
    }

    fn any_value(&mut self, operand: &Operand<'a>, ty: ScalarType, width: Width) -> Read<Slot> {
        const EXPECTED: &str = "a register, a number or a symbol";
        let class = class_of(ty);
        match operand.kind {
            OperandKind::Literal(literal) => {
                let bits = literal.bits(ty, operand.pos)?;
                Ok(self.function.frame.bits(class, bits))
            }
            OperandKind::Name(name, component) => {
                if let Some(special) = self.special(operand)? {
                    return self.special_value(special, class);
                }
                if let Some(component) = component {
                    let reg = self.component(operand, name, component)?;
                    return self.suitable(operand, name, reg, ty, width);
                }
                match self.resolve(operand, name)? {
                    Named::Reg(reg) => self.suitable(operand, name, reg, ty, width),
                    Named::UnsupportedReg(what) => {
                        Err(Refusal::Unsupported(format!("{what} `{name}`")))
                    }
                    Named::Vector(_) => Err(self.unsupported("vector operand")),
                    Named::Param(symbol, _) | Named::Symbol(symbol) => {
                        self.symbol(operand, (name, symbol), 0, ty)
                    }
                }
            }
            OperandKind::Offset(name, offset) => match self.resolve(operand, name)? {
                Named::Param(symbol, _) | Named::Symbol(symbol) => {
                    self.symbol(operand, (name, symbol), offset, ty)
                }
                Named::Reg(reg) => {
                    let from = self.suitable(operand, name, reg, ty, width)?;
                    Ok(self.sum(from, offset))
                }
                _ => Err(self.unexpected(operand, EXPECTED)),
            },
            // Of `mov` and `cvta` (PTX ISA, "mov"). The assembler takes it nowhere else.
            OperandKind::Element(name, index) if matches!(self.opcode, "mov" | "cvta") => {
                let (symbol, offset) = self.element(operand, (name, index))?;
                self.symbol(operand, (name, symbol), offset, ty)
            }
            OperandKind::Vector(_) => Err(self.unsupported("vector operand")),
            _ => Err(self.unexpected(operand, EXPECTED)),
        }
    }

    /// The array that an operand `name[index]` is an element of, and the element's offset in bytes.
    /// The index may lie outside, as for the assembler.
    fn element(
        &mut self,
        operand: &Operand<'a>,
        (name, index): (&'a str, i64),
    ) -> Read<(Symbol, i64)> {
        let named = self.resolve(operand, name)?;
        match (named, self.body.array_element(name)) {
            (Named::Symbol(symbol), Some(bytes)) => Ok((symbol, index.wrapping_mul(bytes.into()))),
            _ => Err(self.unexpected(operand, "an element of an array")),
        }
    }

    fn special_value(&mut self, special: Special, class: RegClass) -> Read<Slot> {
        let reason = match special {
            Special::Clock(_) => "a clock as an operand of anything but `mov`",
            _ if class == RegClass::Pred => "a predicate where a value is expected",
            _ => {
                return Ok(self
                    .function
                    .frame
                    .constant(class, Constant::Special(special)));
            }
        };
        Err(Refusal::Unsupported(reason.to_string()))
    }

    fn symbol(
        &mut self,
        operand: &Operand<'a>,
        (name, symbol): (&str, Symbol),
        offset: i64,
        ty: ScalarType,
    ) -> Read<Slot> {
        let variable = match (self.shared_array(name, symbol), symbol) {
            (Some(array), _) => Variable::Array(array),
            (None, Symbol::DynamicShared) => Variable::In(Space::Shared),
            (None, Symbol::Local(_)) => Variable::In(Space::Local),
            _ => Variable::Elsewhere,
        };
        let facts = &mut self.facts;
        facts.variables.push((facts.reads.len(), variable));
        match ty.bits() {
            32 | 64 => Ok(self
                .function
                .frame
                .constant(class_of(ty), constant(symbol, offset))),
            _ => Err(self.unexpected(
                operand,
                "a register or a number, for an address has 32 or 64 bits",
            )),
        }
    }

    /// The shared array of fixed size of that name. Of several that lie at the same place, which no
    /// kernel reaches together, the longest.
    fn shared_array(&self, name: &str, symbol: Symbol) -> Option<ArrayBounds> {
        let Symbol::Shared(start) = symbol else {
            return None;
        };
        let all = self.body.program().shared.iter();
        let here = all.filter(|array| array.offset == start && array.name == name);
        let size = here
            .map(|array| array.size)
            .max()
            .filter(|&size| size > 0)?;
        Some(ArrayBounds {
            start,
            end: start + size,
        })
    }

    fn resolve(&mut self, operand: &Operand<'a>, name: &'a str) -> Read<Named> {
        let what = if name.starts_with('%') {
            "register"
        } else {
            "name"
        };
        let found = self.body.resolve(name);
        found.ok_or_else(|| Problem::unknown(what, name, operand.pos).into())
    }

    /// The error that an operand of another kind is needed here.
    pub(crate) fn unexpected(&self, operand: &Operand<'a>, expected: &'static str) -> Refusal {
        let kind = ErrorKind::OperandKind {
            opcode: self.opcode.to_string(),
            expected,
            found: operand.kind.describe(),
        };
        Problem::new(operand.pos, kind).into()
    }
}

/// The address of a symbol in its own space, plus an offset.
fn constant(symbol: Symbol, offset: i64) -> Constant {
    let at = |base: u64| Constant::Bits(base.wrapping_add_signed(offset));
    match symbol {
        Symbol::Global(id) => Constant::Global(id, offset),
        Symbol::Shared(start) | Symbol::KernelParam(start) => at(start.into()),
        Symbol::DynamicShared => Constant::DynamicShared(offset),
        Symbol::Local(start) => Constant::Local(offset.wrapping_add(start.into())),
        Symbol::FrameParam(start) => Constant::FrameParam(offset.wrapping_add(start.into())),
        Symbol::Function(id) => at(function_address(id)),
    }
}
