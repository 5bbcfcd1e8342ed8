//! Copies and fills.

use std::sync::Arc;

use super::{Driver, is_device_address};
use crate::code::{Code, Outcome};
use crate::host::{self, Access};
use crate::objects::copy::{Copy, Fill, Place, Side};
use crate::objects::stream::StreamKey;
use crate::report;

impl Copy {
    /// Does it. Nothing is copied if an address is wrong: that of the device has become so since
    /// the copy was checked.
    ///
    /// # Safety
    ///
    /// Addresses of the host are of memory of the program that it may use for the copy, or of none.
    pub(crate) unsafe fn execute(&self, driver: &mut Driver) -> Outcome {
        if self.is_empty() {
            return Ok(());
        }
        self.check(|address, bytes| driver.has(address, bytes))
            .map_err(|_| Code::ILLEGAL_ADDRESS)?;
        for (from, to) in self.rows() {
            check_host(from, self.width, Access::Read)?;
            check_host(to, self.width, Access::Write)?;
        }
        for (from, to) in self.rows() {
            // SAFETY: the caller promises it, and the program has the memory.
            unsafe { copy_row(driver, to, from, self.width as usize) }?;
        }
        Ok(())
    }

    /// The bytes of its source, as they are now.
    ///
    /// # Safety
    ///
    /// The source is memory of the program that it may use for the copy, or of none.
    pub(super) unsafe fn taken(&self) -> Outcome<Arc<[u8]>> {
        let mut taken = Vec::with_capacity((self.width * self.height * self.depth) as usize);
        for (row, _) in self.rows() {
            check_host(row, self.width, Access::Read)?;
            // SAFETY: the caller promises it, and the program has the memory.
            let bytes =
                unsafe { std::slice::from_raw_parts(row as *const u8, self.width as usize) };
            taken.extend_from_slice(bytes);
        }
        Ok(taken.into())
    }

    /// This copy, from bytes that were taken out of its source.
    pub(super) fn out_of(&self, taken: &[u8]) -> Copy {
        let from = Side {
            pitch: self.width,
            layer: self.width * self.height,
            ..Side::any(taken.as_ptr() as u64)
        };
        Copy { from, ..*self }
    }

    /// Checks what is known without the host's memory: sizes, and addresses by whether the device
    /// has so many bytes there.
    pub(crate) fn check(&self, has: impl Fn(u64, u64) -> bool) -> Outcome {
        if !self.is_possible() {
            return Err(report::refused(&format!(
                "a copy of {} x {} rows of {} bytes reaches past all addresses, or its rows overlap",
                self.depth, self.height, self.width
            )));
        }
        if self.is_empty() {
            return Ok(());
        }
        for (from, to) in self.rows() {
            check_side("a copy's source", self.from.place, (from, self.width), &has)?;
            check_side(
                "a copy's destination",
                self.to.place,
                (to, self.width),
                &has,
            )?;
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
        self.check(|address, bytes| driver.has(address, bytes))
            .map_err(|_| Code::ILLEGAL_ADDRESS)?;
        if self.width == 0 {
            return Ok(());
        }
        let row = self.value.to_le_bytes()[..self.element as usize].repeat(self.width as usize);
        for number in 0..self.height {
            let to = self.to + number * self.pitch;
            // SAFETY: the row is ours, and the caller promises the rest.
            unsafe { copy_row(driver, to, row.as_ptr() as u64, row.len()) }?;
        }
        Ok(())
    }

    /// Checks sizes and addresses, as [`Copy::check`].
    pub(crate) fn check(&self, has: impl Fn(u64, u64) -> bool) -> Outcome {
        let is_aligned = matches!(self.element, 1 | 2 | 4) && self.to.is_multiple_of(self.element);
        if !is_aligned {
            return Err(Code::INVALID_VALUE);
        }
        if self.width == 0 || self.height == 0 {
            return Ok(());
        }
        let row = self.width.checked_mul(self.element);
        let rows = self.pitch.checked_mul(self.height - 1);
        let row = row.zip(rows).and_then(|(row, rows)| {
            self.to.checked_add(rows)?.checked_add(row)?;
            (self.height == 1 || self.pitch >= row).then_some(row)
        }).ok_or_else(|| {
            report::refused(&format!(
                "a fill of {} rows of {} elements reaches past all addresses, or its rows overlap",
                self.height, self.width
            ))
        })?;
        for number in 0..self.height {
            let to = self.to + number * self.pitch;
            check_side("a fill's destination", Place::Device, (to, row), &has)?;
        }
        Ok(())
    }
}

impl Driver {
    /// Checks that a stream's device may access what a fill does.
    pub(crate) fn check_device_of_fill(&mut self, key: StreamKey, fill: &Fill) -> Outcome {
        let own = self.device_of(key.context)?;
        match self.allocation(fill.to) {
            Some((_, known)) if !self.may_access(own, known) => {
                let device = known.device;
                Err(report::refused(&format!(
                    "a fill in a stream of device {own} is of memory of device {device}, to which it has no \
                     access: make device {device} current, or call cudaDeviceEnablePeerAccess first"
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that bytes lie in an allocation, if they are to be or look so.
pub(crate) fn check_side(
    what: &str,
    place: Place,
    (address, bytes): (u64, u64),
    has: impl Fn(u64, u64) -> bool,
) -> Outcome {
    let may_be_own = place == Place::Any && !is_device_address(address);
    if may_be_own || has(address, bytes) {
        return Ok(());
    }
    Err(report::refused(&format!(
        "{what} of {bytes} bytes at {address:#x} does not lie in memory of the device"
    )))
}

/// Checks that bytes which are not of the device are of the program.
fn check_host(address: u64, bytes: u64, access: Access) -> Outcome {
    if is_device_address(address) || host::allows(access, address, bytes) {
        return Ok(());
    }
    let verb = match access {
        Access::Read => "read",
        Access::Write => "write",
    };
    Err(report::refused(&format!(
        "a copy would {verb} {bytes} bytes at {address:#x}, which the program does not have for that"
    )))
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
