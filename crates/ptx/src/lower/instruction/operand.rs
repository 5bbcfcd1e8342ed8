//! Operands, checked against the type they are used with.

use super::context::{Context, Lowered, Stop};
use crate::ast::{AddressBase, Operand as Syntax, OperandKind};
use crate::error::{ErrorKind, Raw};
use crate::lower::scope::Local;
use crate::lower::variable::literal_bits;
use crate::program::*;

/// How wide a register may be beside the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// As wide as the type.
    Exact,
    /// At least as wide as the type: `ld`, `st`, `cvt`.
    AtLeast,
}

impl<'b, 'a> Context<'b, '_, 'a> {
    /// The next operand as the register written.
    pub fn dst(&mut self, ty: ScalarType) -> Lowered<Reg> {
        let operand = self.operand()?;
        self.register(operand, ty, Width::Exact)
    }

    /// The next operand as a value read.
    pub fn src(&mut self, ty: ScalarType) -> Lowered<Operand> {
        let operand = self.operand()?;
        self.value(operand, ty, Width::Exact)
    }

    /// The next operand as a predicate read, perhaps negated.
    pub fn pred(&mut self) -> Lowered<Pred> {
        let operand = self.operand()?;
        let (name, negated) = match operand.kind {
            OperandKind::Name(name, None) => (name, false),
            OperandKind::Not(name) => (name, true),
            _ => return Err(self.unexpected(operand, "a predicate register")),
        };
        Ok(Pred {
            slot: self
                .named_register(operand, name, ScalarType::Pred, Width::Exact)?
                .slot,
            negated,
        })
    }

    /// The next operand as an address in `space`.
    pub fn address(&mut self, space: Space) -> Lowered<Address> {
        let operand = self.operand()?;
        let OperandKind::Address(base, offset) = operand.kind else {
            return Err(self.unexpected(operand, "an address in `[ ]`"));
        };
        let AddressBase::Name(name) = base else {
            return Ok(Address {
                base: Base::Zero,
                offset,
            });
        };
        match self.resolve(operand, name)? {
            Local::Reg(class, slot) => {
                if !matches!(class, RegClass::B32 | RegClass::B64) {
                    return Err(self.unexpected(operand, "an address register of 32 or 64 bits"));
                }
                Ok(Address {
                    base: Base::Reg(Reg {
                        class,
                        slot: slot.unwrap_or(0),
                    }),
                    offset,
                })
            }
            Local::UnsupportedReg(what) => Err(Stop::Unsupported(format!("{what} `{name}`"))),
            Local::Param(symbol, _) | Local::Variable(symbol) => {
                self.check_space(operand, name, symbol, space)?;
                Ok(Address {
                    base: Base::Symbol(symbol),
                    offset,
                })
            }
        }
    }

    /// A named variable must lie in the space that the instruction names.
    fn check_space(
        &self,
        operand: &Syntax<'a>,
        name: &str,
        symbol: Symbol,
        space: Space,
    ) -> Lowered<()> {
        let actual = match symbol {
            Symbol::Global(id) => self.body.program.global(id).space,
            Symbol::Shared(_) | Symbol::DynamicShared => Space::Shared,
            Symbol::Local(_) => Space::Local,
            Symbol::KernelParam(_) | Symbol::FrameParam(_) => Space::Param,
            Symbol::Function(_) => return Err(self.unexpected(operand, "a variable")),
        };
        if space == actual || space == Space::Generic {
            return Ok(());
        }
        let message = format!(
            "`{name}` lies in .{}, but `{}` accesses .{}",
            actual.name(),
            self.opcode,
            space.name()
        );
        Err(Raw::new(operand.pos, ErrorKind::Invalid(message)).into())
    }

    /// A register of a width that suits the type.
    pub fn register(&mut self, operand: &Syntax<'a>, ty: ScalarType, width: Width) -> Lowered<Reg> {
        match operand.kind {
            OperandKind::Name(name, None) => self.named_register(operand, name, ty, width),
            OperandKind::Vector(_) => Err(Stop::Unsupported(format!(
                "vector operand of `{}`",
                self.opcode
            ))),
            _ => Err(self.unexpected(operand, "a register")),
        }
    }

    /// As [`Context::register`], or `None` for `_`.
    pub fn register_or_sink(
        &mut self,
        operand: &Syntax<'a>,
        ty: ScalarType,
        width: Width,
    ) -> Lowered<Option<Reg>> {
        match operand.kind {
            OperandKind::Sink => Ok(None),
            _ => self.register(operand, ty, width).map(Some),
        }
    }

    /// A register and a predicate, `d|p`; either may be `_`. `d` alone has no predicate.
    pub fn pair(&mut self, ty: ScalarType) -> Lowered<(Option<Reg>, Option<Reg>)> {
        let operand = self.operand()?;
        let OperandKind::Pair(first, second) = operand.kind else {
            return Ok((self.register_or_sink(operand, ty, Width::Exact)?, None));
        };
        let mut get = |name, ty| match name {
            "_" => Ok(None),
            _ => self
                .named_register(operand, name, ty, Width::Exact)
                .map(Some),
        };
        Ok((get(first, ty)?, get(second, ScalarType::Pred)?))
    }

    fn named_register(
        &mut self,
        operand: &Syntax<'a>,
        name: &'a str,
        ty: ScalarType,
        width: Width,
    ) -> Lowered<Reg> {
        match self.resolve(operand, name)? {
            Local::Reg(class, slot) => {
                self.check_width(operand, name, class, ty, width)?;
                Ok(Reg {
                    class,
                    slot: slot.unwrap_or(0),
                })
            }
            Local::UnsupportedReg(what) => Err(Stop::Unsupported(format!("{what} `{name}`"))),
            Local::Param(..) | Local::Variable(_) => Err(self.unexpected(operand, "a register")),
        }
    }

    fn check_width(
        &self,
        operand: &Syntax<'a>,
        name: &str,
        class: RegClass,
        ty: ScalarType,
        width: Width,
    ) -> Lowered<()> {
        let is_pred = (class == RegClass::Pred, ty == ScalarType::Pred);
        let fits = match width {
            // 8-bit values live in 16-bit registers.
            Width::Exact => Some(class) == ty.class(),
            Width::AtLeast => is_pred.0 == is_pred.1 && class.bits() >= ty.bits(),
        };
        if fits {
            return Ok(());
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
            bits: class.bits(),
            ty,
            expected,
        };
        Err(Raw::new(operand.pos, kind).into())
    }

    /// A value: register, number, special register, or address of a symbol.
    pub fn value(
        &mut self,
        operand: &Syntax<'a>,
        ty: ScalarType,
        width: Width,
    ) -> Lowered<Operand> {
        match &operand.kind {
            OperandKind::Literal(literal) => {
                Ok(Operand::Imm(literal_bits(*literal, ty, operand.pos)?))
            }
            OperandKind::Name("WARP_SZ", None) => Ok(Operand::Imm(32)),
            OperandKind::Name(name, component) => {
                if let Some(special) = special_register(name, *component) {
                    return special.map(Operand::Special).map_err(Stop::Unsupported);
                }
                if let Some(component) = component {
                    return Err(Stop::Unsupported(format!(
                        "vector register component `{name}.{component}`"
                    )));
                }
                match self.resolve(operand, name)? {
                    Local::Reg(class, slot) => {
                        self.check_width(operand, name, class, ty, width)?;
                        Ok(Operand::Reg(Reg {
                            class,
                            slot: slot.unwrap_or(0),
                        }))
                    }
                    Local::UnsupportedReg(what) => {
                        Err(Stop::Unsupported(format!("{what} `{name}`")))
                    }
                    Local::Param(symbol, _) | Local::Variable(symbol) => {
                        self.symbol(operand, symbol, 0, ty)
                    }
                }
            }
            OperandKind::Offset(name, offset) => match self.resolve(operand, name)? {
                Local::Param(symbol, _) | Local::Variable(symbol) => {
                    self.symbol(operand, symbol, *offset, ty)
                }
                _ => Err(self.unexpected(operand, "a register, a number or a symbol")),
            },
            OperandKind::Vector(_) => Err(Stop::Unsupported(format!(
                "vector operand of `{}`",
                self.opcode
            ))),
            _ => Err(self.unexpected(operand, "a register, a number or a symbol")),
        }
    }

    fn symbol(
        &self,
        operand: &Syntax<'a>,
        symbol: Symbol,
        offset: i64,
        ty: ScalarType,
    ) -> Lowered<Operand> {
        match ty.bits() {
            32 | 64 => Ok(Operand::Symbol(symbol, offset)),
            _ => Err(self.unexpected(
                operand,
                "a register or a number, for an address has 32 or 64 bits",
            )),
        }
    }

    fn resolve(&mut self, operand: &Syntax<'a>, name: &'a str) -> Lowered<Local> {
        if let Some(local) = self.body.resolve(name) {
            return Ok(local);
        }
        let what = if name.starts_with('%') {
            "register"
        } else {
            "name"
        };
        Err(Raw::new(
            operand.pos,
            ErrorKind::Unknown {
                what,
                name: name.to_string(),
            },
        )
        .into())
    }

    /// The error that an operand of another kind is needed here.
    pub fn unexpected(&self, operand: &Syntax<'a>, expected: &'static str) -> Stop {
        let found = match &operand.kind {
            OperandKind::Name(name, None) | OperandKind::Offset(name, _) => format!("`{name}`"),
            OperandKind::Name(name, Some(component)) => format!("`{name}.{component}`"),
            OperandKind::Literal(_) => "a number".to_string(),
            OperandKind::Vector(_) => "a vector".to_string(),
            OperandKind::Address(AddressBase::Name(name), _) => format!("address `[{name}]`"),
            OperandKind::Address(..) => "an address".to_string(),
            OperandKind::Not(name) => format!("`!{name}`"),
            OperandKind::Pair(a, b) => format!("`{a}|{b}`"),
            OperandKind::Sink => "`_`".to_string(),
        };
        Raw::new(
            operand.pos,
            ErrorKind::OperandKind {
                opcode: self.opcode.to_string(),
                expected,
                found,
            },
        )
        .into()
    }
}

/// The special register of that name; `None` if the name is not one, an error if it is one that is not modelled.
fn special_register(name: &str, component: Option<&str>) -> Option<Result<Special, String>> {
    let bare = name.strip_prefix('%')?;
    let axis = match component {
        Some("x") => Some(Axis::X),
        Some("y") => Some(Axis::Y),
        Some("z") => Some(Axis::Z),
        _ => None,
    };
    let found = match (bare, axis, component) {
        ("tid", Some(axis), _) => Some(Special::Tid(axis)),
        ("ntid", Some(axis), _) => Some(Special::Ntid(axis)),
        ("ctaid", Some(axis), _) => Some(Special::Ctaid(axis)),
        ("nctaid", Some(axis), _) => Some(Special::Nctaid(axis)),
        (_, _, None) => match bare {
            "laneid" => Some(Special::LaneId),
            "warpid" => Some(Special::WarpId),
            "nwarpid" => Some(Special::NWarpId),
            "smid" => Some(Special::SmId),
            "nsmid" => Some(Special::NSmId),
            "gridid" => Some(Special::GridId),
            "lanemask_eq" => Some(Special::LaneMaskEq),
            "lanemask_le" => Some(Special::LaneMaskLe),
            "lanemask_lt" => Some(Special::LaneMaskLt),
            "lanemask_ge" => Some(Special::LaneMaskGe),
            "lanemask_gt" => Some(Special::LaneMaskGt),
            "clock" => Some(Special::Clock),
            "clock_hi" => Some(Special::ClockHi),
            "clock64" => Some(Special::Clock64),
            "globaltimer" => Some(Special::GlobalTimer),
            "globaltimer_lo" => Some(Special::GlobalTimerLo),
            "globaltimer_hi" => Some(Special::GlobalTimerHi),
            "dynamic_smem_size" => Some(Special::DynamicSharedSize),
            "total_smem_size" => Some(Special::TotalSharedSize),
            _ => None,
        },
        _ => None,
    };
    if let Some(special) = found {
        return Some(Ok(special));
    }
    const OTHERS: [&str; 16] = [
        "tid",
        "ntid",
        "ctaid",
        "nctaid",
        "envreg",
        "pm",
        "cluster_ctaid",
        "cluster_nctaid",
        "cluster_ctarank",
        "cluster_nctarank",
        "clusterid",
        "nclusterid",
        "is_explicit_cluster",
        "aggr_smem_size",
        "current_graph_exec",
        "reserved_smem_offset_",
    ];
    let numbered = |prefix: &str| {
        bare.strip_prefix(prefix)
            .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
    };
    let known = OTHERS.iter().any(|other| match *other {
        "envreg" | "pm" => numbered(other) && bare.len() > other.len(),
        "reserved_smem_offset_" => bare.starts_with(other),
        _ => bare == *other,
    });
    let dotted = component.map(|c| format!(".{c}")).unwrap_or_default();
    known.then(|| Err(format!("special register `{name}{dotted}`")))
}
