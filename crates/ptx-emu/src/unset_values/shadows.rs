//! The rows that say which bits of a register are not set.

use ptx::RegClass;

use crate::registers::{Bases, Slot};

/// A number for each row of a frame, whatever its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) rows: Bases,
}

impl Numbers {
    pub(super) fn count(self) -> usize {
        (self.rows.r32 + self.rows.r64 + self.rows.pred) as usize
    }

    pub(super) fn of(self, slot: Slot) -> usize {
        let before = match slot.class {
            RegClass::B16 | RegClass::B32 => 0,
            RegClass::B64 => self.rows.r32,
            RegClass::Pred => self.rows.r32 + self.rows.r64,
        };
        (before + slot.row) as usize
    }

    /// The class of the file that a row lies in.
    pub(super) fn class(self, number: usize) -> RegClass {
        match number as u32 {
            number if number < self.rows.r32 => RegClass::B32,
            number if number < self.rows.r32 + self.rows.r64 => RegClass::B64,
            _ => RegClass::Pred,
        }
    }
}

/// The rows that say which bits of a register are not set.
#[derive(Debug)]
pub(super) struct Shadows {
    pub(super) numbers: Numbers,
    pub(super) rows: Vec<Option<u32>>,
}

impl Shadows {
    /// The row of a register's unset bits; `None` if it is always set.
    pub(super) fn of(&self, slot: Slot) -> Option<Slot> {
        let row = self.rows[self.numbers.of(slot)]?;
        Some(Slot { row, ..slot })
    }
}
