//! Copies and fills.

use super::{Driver, is_device_address};
use crate::code::{Code, Outcome};
use crate::objects::copy::{Copy, Fill};

impl Copy {
    /// Does it.
    ///
    /// # Safety
    ///
    /// Addresses of the host are of memory of the program that it may use for the copy.
    pub(crate) unsafe fn execute(&self, driver: &mut Driver) -> Outcome {
        for (from, to) in self.rows() {
            // SAFETY: the caller promises it.
            unsafe { copy_row(driver, to, from, self.width as usize) }?;
        }
        Ok(())
    }

    /// Checks the device addresses.
    pub(crate) fn check(&self, driver: &Driver) -> Outcome {
        if self.width == 0 {
            return Ok(());
        }
        for (from, to) in self.rows() {
            for address in [from, to] {
                if address == 0 || is_device_address(address) && !driver.has(address, self.width) {
                    return Err(Code::INVALID_VALUE);
                }
            }
        }
        Ok(())
    }
}

impl Fill {
    /// Does it.
    ///
    /// # Safety
    ///
    /// As [`Copy::execute`].
    pub(crate) unsafe fn execute(&self, driver: &mut Driver) -> Outcome {
        let row = self.value.to_le_bytes()[..self.element as usize].repeat(self.width as usize);
        for number in 0..self.height {
            let to = self.to + number * self.pitch;
            // SAFETY: the row is ours, and the caller promises the rest.
            unsafe { copy_row(driver, to, row.as_ptr() as u64, row.len()) }?;
        }
        Ok(())
    }

    /// Checks the addresses.
    pub(crate) fn check(&self, driver: &Driver) -> Outcome {
        let row = self.width * self.element;
        let is_inside = |number: u64| driver.has(self.to + number * self.pitch, row);
        let is_aligned = matches!(self.element, 1 | 2 | 4) && self.to.is_multiple_of(self.element);
        match is_aligned && (row == 0 || (0..self.height).all(is_inside)) {
            true => Ok(()),
            false => Err(Code::INVALID_VALUE),
        }
    }
}

/// # Safety
///
/// As [`Copy::execute`].
unsafe fn copy_row(driver: &mut Driver, to: u64, from: u64, bytes: usize) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    let machine = &mut driver.machine;
    let copied = match (is_device_address(to), is_device_address(from)) {
        (true, true) => machine.copy(from, to, bytes),
        // SAFETY: the program's memory may be read.
        (true, false) => machine.write(to, unsafe {
            std::slice::from_raw_parts(from as *const u8, bytes)
        }),
        // SAFETY: the program's memory may be written.
        (false, true) => machine.read(from, unsafe {
            std::slice::from_raw_parts_mut(to as *mut u8, bytes)
        }),
        (false, false) => {
            // SAFETY: both are the program's memory.
            unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
            Ok(())
        }
    };
    copied.map_err(|_| Code::ILLEGAL_ADDRESS)
}
