//! The panic handler of every kernel crate.
//!
//! Kernels are usually compiled so that a panic is a `trap` and never gets here: no message is
//! made, which would cost registers and code. With `cuda_builder`'s `Panics::Message` it does, and
//! says which panic it was by a call of the driver's `__assertfail`: a GPU prints the message with
//! block and thread, and the emulated device makes it the text of its fault.
//!
//! What a GPU prints is on the standard error of the process, and nothing tells the program that it
//! belongs to the launch that failed. A host that wants the message itself gives the kernels memory
//! for a [`Report`].

use core::fmt::Write;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::{llvm, thread};

/// Where the first thread that panics tells the host of it: memory of the host's that the device
/// reaches. Null where no host asks. `cuda_builder` keeps the variable in crates with messages, and
/// the host sets it (`device`, in `cuda::panics`, which has the same layout).
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the host looks it up by this name")]
static __cuda_std_panic: AtomicPtr<Report> = AtomicPtr::new(core::ptr::null_mut());

/// A panic, for the host. All is zero at first but `text_bytes`.
#[repr(C)]
struct Report {
    /// [`FREE`], [`CLAIMED`], [`WRITTEN`].
    state: AtomicU32,
    /// The host's room for text, behind this struct: the file's name and the message, each with a
    /// zero byte at its end. Longer ones are cut.
    text_bytes: u32,
    line: u32,
    block: [u32; 3],
    thread: [u32; 3],
}

/// Room for a message on the stack of the thread.
const MESSAGE_BYTES: usize = 400;
const FILE_BYTES: usize = 200;

/// No thread has panicked.
const FREE: u32 = 0;
/// A thread writes.
const CLAIMED: u32 = 1;
/// All of it is there.
const WRITTEN: u32 = 2;

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
    let mut message = Text::<MESSAGE_BYTES>::new();
    let _ = write!(message, "{}", info.message());
    let mut file = Text::<FILE_BYTES>::new();
    let mut line = 0;
    if let Some(location) = info.location() {
        let _ = file.write_str(location.file());
        line = location.line();
    }
    report(&message, &file, line);
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

/// Tells the host, if it asks and this is the first panic.
#[inline(never)]
fn report(message: &Text<MESSAGE_BYTES>, file: &Text<FILE_BYTES>, line: u32) {
    let report = __cuda_std_panic.load(Ordering::Relaxed);
    if report.is_null() {
        return;
    }
    // SAFETY: the host's memory is there as long as the kernel runs.
    let state = unsafe { &(*report).state };
    let claimed = state.compare_exchange(FREE, CLAIMED, Ordering::Relaxed, Ordering::Relaxed);
    if claimed.is_ok() {
        // SAFETY: the memory has `text_bytes` of text; this thread alone has claimed the rest.
        unsafe {
            (*report).line = line;
            (*report).block = [
                thread::block_idx_x(),
                thread::block_idx_y(),
                thread::block_idx_z(),
            ];
            (*report).thread = [
                thread::thread_idx_x(),
                thread::thread_idx_y(),
                thread::thread_idx_z(),
            ];
            // The last byte stays the host's zero.
            let bytes = ((*report).text_bytes as usize).saturating_sub(1);
            let text = core::slice::from_raw_parts_mut(report.add(1).cast::<u8>(), bytes);
            let mut room = text.iter_mut();
            file.copy_to(&mut room);
            message.copy_to(&mut room);
        }
        thread::system_fence();
        state.store(WRITTEN, Ordering::Release);
        return;
    }
    // The first thread to stop stops all, also one that still writes. It needs some microseconds,
    // and if it never ends, neither must this.
    let mut waits = 0;
    while state.load(Ordering::Relaxed) != WRITTEN && waits < 1000 {
        thread::nanosleep(1000);
        waits += 1;
    }
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

    /// Copies the text and its zero byte, as far as there is room.
    fn copy_to(&self, room: &mut core::slice::IterMut<'_, u8>) {
        for (from, to) in self.bytes.iter().take(self.len + 1).zip(room) {
            *to = *from;
        }
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
