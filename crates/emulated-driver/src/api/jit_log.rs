//! The buffers of a program for what the driver's compiler and linker have to say.

use std::ffi::{c_uint, c_void};

/// Options of `CUjit_option`: buffers for messages and for errors, and the bytes of each. The bytes
/// that were written replace the latter.
const INFO: c_uint = 3;
const INFO_BYTES: c_uint = 4;
const ERRORS: c_uint = 5;
const ERRORS_BYTES: c_uint = 6;

/// The buffers that options name.
pub(super) struct JitLog {
    info: Buffer,
    errors: Buffer,
}

struct Buffer {
    start: *mut u8,
    room: usize,
    /// The place for the bytes that were written.
    written: *mut *mut c_void,
}

impl JitLog {
    /// Reads the options.
    ///
    /// # Safety
    ///
    /// There are `count` options with their values, as `cuModuleLoadDataEx` documents them. Values
    /// and buffers stay until the last [`JitLog::put`].
    pub(super) unsafe fn of(
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) -> JitLog {
        let none = || Buffer {
            start: std::ptr::null_mut(),
            room: 0,
            written: std::ptr::null_mut(),
        };
        let (mut info, mut errors) = (none(), none());
        for index in 0..count as usize {
            // SAFETY: the caller promises the option and its value.
            let (option, place) = unsafe { (options.add(index).read(), values.add(index)) };
            let buffer = match option {
                INFO | INFO_BYTES => &mut info,
                ERRORS | ERRORS_BYTES => &mut errors,
                _ => continue,
            };
            // SAFETY: as above.
            let value = unsafe { place.read() };
            if matches!(option, INFO | ERRORS) {
                buffer.start = value.cast();
            } else {
                (buffer.room, buffer.written) = (value as usize, place);
            }
        }
        JitLog { info, errors }
    }

    /// Writes an error, or that there is none.
    ///
    /// # Safety
    ///
    /// As [`JitLog::of`].
    pub(super) unsafe fn put(&self, error: &str) {
        // SAFETY: the caller promises it.
        unsafe {
            self.info.put("");
            self.errors.put(error);
        }
    }
}

impl Buffer {
    /// # Safety
    ///
    /// As [`JitLog::of`].
    unsafe fn put(&self, text: &str) {
        let kept = text.len().min(self.room.saturating_sub(1));
        if !self.start.is_null() && self.room > 0 {
            // SAFETY: the buffer has room for `kept` bytes and a NUL.
            unsafe {
                self.start.copy_from_nonoverlapping(text.as_ptr(), kept);
                self.start.add(kept).write(0);
            }
        }
        if !self.written.is_null() {
            // SAFETY: it is the place of a value.
            unsafe { self.written.write(kept as *mut c_void) };
        }
    }
}
