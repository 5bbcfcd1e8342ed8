//! The functions that WebAssembly exports: memory for a question, its answer, memory given back,
//! and the reason where an answer is missing. Texts are UTF-8.

use std::panic;
use std::ptr::slice_from_raw_parts_mut;
use std::sync::Mutex;

/// The panic, as Rust tells it.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Memory of this many bytes, for JavaScript to write a question into.
#[unsafe(no_mangle)]
pub extern "C" fn live_alloc(bytes: usize) -> *mut u8 {
    Box::into_raw(vec![0u8; bytes].into_boxed_slice()).cast()
}

/// Gives back memory of [`live_alloc`], or a text that was lent.
///
/// # Safety
///
/// A function here gave `start`, with this length, and it was not given back before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn live_free(start: *mut u8, bytes: usize) {
    // SAFETY: all lend boxed slices, and the caller has this one no more.
    drop(unsafe { Box::from_raw(slice_from_raw_parts_mut(start, bytes)) });
}

/// Lends a text: where it begins, in the lower 32 bits, and its length above them.
fn lend(text: String) -> u64 {
    let text = Box::into_raw(text.into_boxed_str().into_boxed_bytes());
    (text.len() as u64) << 32 | text.cast::<u8>() as u64
}

/// The panic that ended [`live_run`], as a text that is lent. Nothing else may be called then.
#[unsafe(no_mangle)]
pub extern "C" fn live_panic() -> u64 {
    lend(
        PANIC
            .lock()
            .map_or_else(|_| String::new(), |text| text.clone()),
    )
}

/// The answer to a question, as a text that is lent.
///
/// # Safety
///
/// `start` is memory of [`live_alloc`], with this length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn live_run(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: it is a whole box, and JavaScript writes to it only while nothing runs here.
    let question = unsafe { std::slice::from_raw_parts(start, bytes) };
    panic::set_hook(Box::new(|info| {
        if let Ok(mut text) = PANIC.lock() {
            *text = info.to_string();
        }
    }));
    lend(crate::answer(&String::from_utf8_lossy(question)))
}
