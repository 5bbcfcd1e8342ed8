//! Single keys of the terminal, without Enter. The terminal is as it was again once the
//! [`Keyboard`] is dropped, and also if a signal ends the program or a panic does.

#[cfg_attr(windows, path = "windows.rs")]
#[cfg_attr(not(windows), path = "unix.rs")]
mod native;

use std::io::{Read, stdin};
use std::thread;

pub use native::{Keyboard, size};

/// Gives each byte of standard input to `take`, in another thread, until that returns `false`.
fn give_bytes(take: impl Fn(u8) -> bool + Send + 'static) {
    thread::spawn(move || {
        let keys = stdin().lock().bytes();
        let _ = keys.map_while(Result::ok).all(take);
    });
}
