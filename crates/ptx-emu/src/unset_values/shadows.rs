//! The rows that say which bits of a register are not set.

use ptx::RegClass;

use crate::registers::{Bases, Slot};

/// A number for each row of a frame, whatever its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) rows: Bases,
}

impl Numbers {
    pub(crate) fn count(self) -> usize {
        (self.rows.r32 + self.rows.r64 + self.rows.pred) as usize
    }

    pub(crate) fn of(self, slot: Slot) -> usize {
        let before = match slot.class {
            RegClass::B16 | RegClass::B32 => 0,
            RegClass::B64 => self.rows.r32,
            RegClass::Pred => self.rows.r32 + self.rows.r64,
        };
        (before + slot.row) as usize
    }

    /// The class of the file that a row lies in.
    pub(crate) fn class(self, number: usize) -> RegClass {
        match number as u32 {
            number if number < self.rows.r32 => RegClass::B32,
            number if number < self.rows.r32 + self.rows.r64 => RegClass::B64,
            _ => RegClass::Pred,
        }
    }
}

/// The rows of a register that may be unset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shadow {
    /// Which of its bits are not set.
    pub(crate) bits: Slot,
    /// The row of 32 bits that says where those come from, in the lanes that have some:
    /// [`crate::unset_origin::Origin`].
    pub(crate) origin: u32,
}

/// The rows of the registers that may be unset.
#[derive(Debug)]
pub(super) struct Shadows {
    pub(super) numbers: Numbers,
    pub(super) rows: Vec<Option<Shadow>>,
}

impl Shadows {
    /// The rows of a register; `None` if it is always set.
    pub(super) fn of(&self, slot: Slot) -> Option<Shadow> {
        let shadow = self.rows[self.numbers.of(slot)]?;
        let bits = Slot {
            row: shadow.bits.row,
            ..slot
        };
        Some(Shadow { bits, ..shadow })
    }
}
