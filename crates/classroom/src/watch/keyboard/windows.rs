//! A console by Windows. Where Ctrl-C ends the program, the console gives no lines until the shell
//! sets the mode that it needs for the next one.

use std::io::{IsTerminal, stdin, stdout};

use terminal_size::{Height, Width, terminal_size_of};
use winapi_util::HandleRef;
use winapi_util::console::{mode, set_mode};

/// Lines are given whole, and keys are shown (`ENABLE_LINE_INPUT`, `ENABLE_ECHO_INPUT`). Ctrl-C
/// stays what it is.
const LINES: u32 = 0x2 | 0x4;

/// Text may say where it goes on the screen (`ENABLE_VIRTUAL_TERMINAL_PROCESSING`).
const PLACES: u32 = 0x4;

/// The console of standard input, which gives each key as it is pressed and shows none.
pub struct Keyboard {
    /// The mode that it had.
    before: u32,
}

impl Keyboard {
    /// Gives each key to `take` from now on, in another thread, until that returns `false`. `None`
    /// where standard input is not a console.
    pub fn listen(take: impl Fn(u8) -> bool + Send + 'static) -> Option<Keyboard> {
        if !stdin().is_terminal() {
            return None;
        }
        let before = mode(HandleRef::stdin()).ok()?;
        set_mode(HandleRef::stdin(), before & !LINES).ok()?;
        if let Ok(screen) = mode(HandleRef::stdout()) {
            // An older console takes such text for characters.
            let _ = set_mode(HandleRef::stdout(), screen | PLACES);
        }
        super::give_bytes(take);
        Some(Keyboard { before })
    }

    /// `false`: no shell sets the mode back while this program has the console.
    pub fn regain(&self) -> bool {
        false
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // Where it fails, the console is gone.
        let _ = set_mode(HandleRef::stdin(), self.before);
    }
}

/// Columns and rows of the console.
pub fn size() -> Option<(usize, usize)> {
    let (Width(columns), Height(rows)) = terminal_size_of(stdout())?;
    (columns > 0 && rows > 0).then_some((columns.into(), rows.into()))
}
