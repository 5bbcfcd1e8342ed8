//! The registers that an access to memory loads or stores.

use ptx::RegClass;

use crate::memory::extend;
use crate::registers::{Registers, Slot, lanes};
use crate::unset_values::shadows::Shadow;

/// Registers loaded or stored, consecutive in memory.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    /// `None` for those that are not wanted.
    pub(super) registers: Box<[Option<Slot>]>,
    /// Bytes of an element.
    pub(super) bytes: u32,
    /// Elements are sign-extended to the register.
    pub(super) is_signed: bool,
    /// The rows of the registers' unset bits, for those that may have some; none if no register
    /// may.
    pub(super) unset: Option<Box<[Option<Shadow>]>>,
    /// The rows of unset bits where values that were loaded from shared or global memory may be
    /// unset.
    pub(super) late: Option<Box<[Option<Shadow>]>>,
}

impl Elements {
    /// Bytes that one lane moves.
    pub(super) fn width(&self) -> u32 {
        self.bytes * self.registers.len() as u32
    }

    /// The row of a single element that fills its register of this class.
    pub(super) fn single(&self, class: RegClass) -> Option<u32> {
        match self.registers[..] {
            [Some(slot)] if slot.class == class && 8 * self.bytes == class.bits() => Some(slot.row),
            _ => None,
        }
    }

    /// Loads every element of every lane: `load(lane, byte offset in the lane's access)`.
    #[inline(always)]
    pub(super) fn gather(
        &self,
        registers: &mut Registers,
        mask: u32,
        load: impl Fn(usize, u64) -> u64,
    ) {
        for (k, slot) in self.registers.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let k = k as u64 * u64::from(self.bytes);
            if slot.class == RegClass::B32 && self.bytes == 4 {
                let row = registers.r32_mut(slot.row);
                for lane in lanes(mask) {
                    row[lane] = load(lane, k) as u32;
                }
            } else {
                for lane in lanes(mask) {
                    let value = extend(load(lane, k), self.bytes, self.is_signed);
                    registers.set_lane(slot, lane, value);
                }
            }
        }
    }

    /// Notes where the unset bits of the registers are.
    pub(super) fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        let rows: Box<[_]> = self
            .registers
            .iter()
            .map(|slot| slot.and_then(shadow))
            .collect();
        let rows = rows.iter().any(Option::is_some).then_some(rows);
        if is_late {
            self.late = rows
        } else {
            self.unset = rows
        }
    }

    /// Those rows.
    #[inline(always)]
    pub(super) fn rows(&self, is_late: bool) -> Option<&[Option<Shadow>]> {
        let late = self.late.as_deref().filter(|_| is_late);
        late.or(self.unset.as_deref())
    }

    /// The elements whose registers may be unset: offset in the lane's access, and the rows for
    /// that.
    pub(super) fn tracked(&self, is_late: bool) -> impl Iterator<Item = (u64, Shadow)> {
        let rows = self.rows(is_late).into_iter().flatten().enumerate();
        rows.filter_map(|(k, row)| Some((k as u64 * u64::from(self.bytes), (*row)?)))
    }

    /// Stores every element of every lane: `store(lane, byte offset in the lane's access, value)`.
    #[inline(always)]
    pub(super) fn scatter(
        &self,
        registers: &Registers,
        mask: u32,
        mut store: impl FnMut(usize, u64, u64),
    ) {
        for (k, slot) in self.registers.iter().enumerate() {
            let Some(slot) = *slot else { continue };
            let k = k as u64 * u64::from(self.bytes);
            match slot.class {
                RegClass::B64 => {
                    let row = registers.r64(slot.row);
                    lanes(mask).for_each(|lane| store(lane, k, row[lane]));
                }
                RegClass::Pred => {
                    lanes(mask).for_each(|lane| store(lane, k, registers.lane(slot, lane)));
                }
                RegClass::B16 | RegClass::B32 => {
                    let row = registers.r32(slot.row);
                    lanes(mask).for_each(|lane| store(lane, k, row[lane].into()));
                }
            }
        }
    }
}
