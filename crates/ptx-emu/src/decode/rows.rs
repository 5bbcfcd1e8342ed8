//! Which row of which file holds a register or a constant of a function.

use std::collections::HashMap;

use ptx::{Operand, Pred, Reg, RegClass, RegCounts, Special, Symbol};

use super::{Decoder, Reason};
use crate::code::{Constant, FUNCTION_BASE, FUNCTION_STEP, Flag};
use crate::registers::{Bases, File, Slot};

/// The layout of a function's frame. 32-bit registers come first in their file, then 16-bit ones, then constants;
/// predicates are followed by the carry flag, an always-true and an always-false slot.
pub(super) struct Rows {
    first_b16: u32,
    preds: u32,
    variables: Bases,
    next: Bases,
    constants: HashMap<(bool, Constant), u32>,
}

const CARRY: u32 = 0;
const ALWAYS: u32 = 1;
const NEVER: u32 = 2;

impl Rows {
    pub(super) fn new(counts: &RegCounts) -> Self {
        let preds = counts.pred;
        let variables = Bases {
            r32: counts.b32 + counts.b16,
            r64: counts.b64,
            pred: preds + 3,
        };
        Self {
            first_b16: counts.b32,
            preds,
            variables,
            next: variables,
            constants: HashMap::new(),
        }
    }

    /// Rows that a frame takes.
    pub(super) fn size(&self) -> Bases {
        self.next
    }

    /// Rows that hold registers.
    pub(super) fn variables(&self) -> Bases {
        self.variables
    }

    pub(super) fn constants(&self) -> Vec<(File, u32, Constant)> {
        let file = |wide| if wide { File::B64 } else { File::B32 };
        let mut all: Vec<_> = self
            .constants
            .iter()
            .map(|(&(wide, value), &row)| (file(wide), row, value))
            .collect();
        all.sort_by_key(|&(file, row, _)| (file == File::B64, row));
        all
    }

    pub(super) fn carry(&self) -> u32 {
        self.preds + CARRY
    }

    pub(super) fn always(&self) -> u32 {
        self.preds + ALWAYS
    }

    pub(super) fn never(&self) -> u32 {
        self.preds + NEVER
    }

    pub(super) fn guard(&self, guard: Option<Pred>) -> Flag {
        match guard {
            Some(pred) => flag(pred),
            None => Flag {
                slot: self.always(),
                flip: 0,
            },
        }
    }

    fn constant(&mut self, file: File, value: Constant) -> Slot {
        let wide = file == File::B64;
        let next = if wide {
            &mut self.next.r64
        } else {
            &mut self.next.r32
        };
        let row = *self.constants.entry((wide, value)).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        Slot { file, row }
    }

    /// The row of a register that is not a predicate.
    pub(super) fn register(&self, reg: Reg) -> Result<Slot, Reason> {
        Ok(match reg.class {
            RegClass::Pred => return Err("a predicate where a value is expected".into()),
            RegClass::B16 => Slot {
                file: File::B16,
                row: self.first_b16 + reg.slot,
            },
            RegClass::B32 => Slot {
                file: File::B32,
                row: reg.slot,
            },
            RegClass::B64 => Slot {
                file: File::B64,
                row: reg.slot,
            },
        })
    }
}

/// A predicate source.
pub(super) fn flag(pred: Pred) -> Flag {
    Flag {
        slot: pred.slot,
        flip: if pred.negated { u32::MAX } else { 0 },
    }
}

/// The slot of a predicate register.
pub(super) fn pred_slot(reg: Reg) -> Result<u32, Reason> {
    match reg.class {
        RegClass::Pred => Ok(reg.slot),
        _ => Err("a value where a predicate is expected".into()),
    }
}

/// The file of a class.
pub(super) fn file(class: RegClass) -> Result<File, Reason> {
    match class {
        RegClass::Pred => Err("a predicate where a value is expected".into()),
        RegClass::B16 => Ok(File::B16),
        RegClass::B32 => Ok(File::B32),
        RegClass::B64 => Ok(File::B64),
    }
}

impl Decoder<'_> {
    /// The slot of a register that must have a class.
    pub(super) fn dst(&self, reg: Reg, class: RegClass) -> Result<u32, Reason> {
        if reg.class != class {
            return Err(format!(
                "a {}-bit register where {} bits are expected",
                reg.class.bits(),
                class.bits()
            ));
        }
        match class {
            RegClass::Pred => Ok(reg.slot),
            _ => Ok(self.rows.register(reg)?.row),
        }
    }

    /// The slot of an operand of a class; predicates too.
    pub(super) fn src(&mut self, operand: Operand, class: RegClass) -> Result<u32, Reason> {
        match (operand, class) {
            (Operand::Reg(reg), _) => self.dst(reg, class),
            (Operand::Imm(value), RegClass::Pred) => Ok(if value & 1 == 1 {
                self.rows.always()
            } else {
                self.rows.never()
            }),
            _ => Ok(self.value(operand, class)?.row),
        }
    }

    /// The row of an operand: a register in its own file, anything else in the file of `class`.
    pub(super) fn value(&mut self, operand: Operand, class: RegClass) -> Result<Slot, Reason> {
        let file = file(class)?;
        let constant = match operand {
            Operand::Reg(reg) => return self.rows.register(reg),
            Operand::Imm(bits) => Constant::Bits(bits & class.mask()),
            Operand::Special(special) => match special {
                Special::Clock
                | Special::ClockHi
                | Special::Clock64
                | Special::GlobalTimer
                | Special::GlobalTimerLo
                | Special::GlobalTimerHi => {
                    return Err("a clock as an operand of anything but `mov`".into());
                }
                _ => Constant::Special(special),
            },
            Operand::Symbol(symbol, offset) => self.symbol(symbol, offset)?,
        };
        Ok(self.rows.constant(file, constant))
    }

    /// The address of a symbol in its own space.
    pub(super) fn symbol(&self, symbol: Symbol, offset: i64) -> Result<Constant, Reason> {
        let at = |base: u64| Constant::Bits(base.wrapping_add_signed(offset));
        Ok(match symbol {
            Symbol::Global(id) => {
                let address = self
                    .globals
                    .get(id.0 as usize)
                    .ok_or("an unknown variable")?;
                at(*address)
            }
            Symbol::Shared(start) => at(start.into()),
            Symbol::DynamicShared => Constant::DynamicShared(offset),
            Symbol::Local(start) => Constant::Local(offset.wrapping_add(start.into())),
            Symbol::KernelParam(start) => at(start.into()),
            Symbol::FrameParam(start) => Constant::FrameParam(offset.wrapping_add(start.into())),
            Symbol::Function(id) => at(FUNCTION_BASE + FUNCTION_STEP * u64::from(id.0)),
        })
    }
}
