//! The program around a submission's host code that records its plans. `plan::LAB` is the lab's
//! type.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's memory; where there is no more of it, the program ends with an exit code that says
/// so.
struct Bounded;

unsafe extern "C" {
    fn _exit(code: i32) -> !;
}

impl Bounded {
    fn checked(pointer: *mut u8) -> *mut u8 {
        if pointer.is_null() {
            // SAFETY: it ends the program.
            unsafe { _exit(OUT_OF_MEMORY) }
        }
        pointer
    }
}

// SAFETY: what it gives is the system's.
unsafe impl GlobalAlloc for Bounded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        Bounded::checked(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        Bounded::checked(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's.
        Bounded::checked(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static MEMORY: Bounded = Bounded;

fn main() {
    let file = std::env::args_os().nth(1).expect("a file to write");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).open(file).expect("the file to write");
    let recorded = plan::record_all::<plan::LAB>(&submission::solution(), std::io::stdin(), file);
    if let Err(error) = recorded {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
