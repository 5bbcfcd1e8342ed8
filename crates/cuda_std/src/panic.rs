//! The panic handler of every kernel crate.
//!
//! Kernels are usually compiled so that a panic is a `trap` and never gets here: no message is
//! made, which would cost registers and code. With `cuda_builder`'s `Panics::Message` it does, and
//! says which panic it was by a call of the driver's `__assertfail`: a GPU prints the message with
//! block and thread, and the emulated device makes it the text of its fault.

use core::fmt::Write;

use crate::llvm;

unsafe extern "C" {
    /// The driver's function behind `assert` in CUDA C++ (PTX ISA, "System calls"). The texts end
    /// with a zero byte; a character of theirs has `char_bytes` bytes.
    fn __assertfail(
        message: *const u8,
        file: *const u8,
        line: u32,
        function: *const u8,
        char_bytes: usize,
    );
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let mut message = Text::<400>::new();
    let _ = write!(message, "{}", info.message());
    let mut file = Text::<200>::new();
    let mut line = 0;
    if let Some(location) = info.location() {
        let _ = file.write_str(location.file());
        line = location.line();
    }
    // SAFETY: all three texts end with a zero byte.
    unsafe {
        __assertfail(
            message.start(),
            file.start(),
            line,
            c"panic".as_ptr().cast(),
            1,
        )
    }
    // SAFETY: `trap` has no preconditions.
    unsafe { llvm::trap() }
}

/// A text of fewer than `N` bytes, followed by a zero byte. The rest of a longer text is left out.
struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Text<N> {
    fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    fn start(&self) -> *const u8 {
        self.bytes.as_ptr()
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for &byte in text.as_bytes() {
            if self.len + 1 < N {
                self.bytes[self.len] = byte;
                self.len += 1;
            }
        }
        Ok(())
    }
}
