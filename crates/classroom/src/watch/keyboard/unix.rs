//! A terminal by Unix.

use std::io::{IsTerminal, stdin, stdout};
use std::sync::{Arc, Mutex, PoisonError};

use output_files::interrupt::OnInterrupt;
use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

/// The terminal of standard input, which gives each key as it is pressed and shows none.
pub struct Keyboard {
    before: Arc<Before>,
    _on_interrupt: OnInterrupt,
}

/// How the terminal was.
struct Before {
    modes: Termios,
    /// An interrupt has set it back, for good: the program is about to end, and until it does,
    /// another thread must not take the terminal again.
    is_over: Mutex<bool>,
}

impl Before {
    /// Sets the terminal to other modes, unless an interrupt has set it back.
    fn change(&self, modes: &Termios) {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_over {
            set(modes);
        }
    }

    fn set_back_for_good(&self) {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        *is_over = true;
        set(&self.modes);
    }
}

impl Keyboard {
    /// Gives each key to `take` from now on, in another thread, until that returns `false`. `None`
    /// where standard input is not a terminal, or where another program has it in the foreground.
    pub fn listen(take: impl Fn(u8) -> bool + Send + 'static) -> Option<Keyboard> {
        if !stdin().is_terminal() || !is_in_foreground() {
            return None;
        }
        let before = Arc::new(Before {
            modes: tcgetattr(stdin()).ok()?,
            is_over: Mutex::new(false),
        });
        let on_interrupt = OnInterrupt::new({
            let before = Arc::clone(&before);
            move || {
                before.set_back_for_good();
                // The shell goes on below the screen. Another thread may hold the lock of `stdout`.
                let _ = rustix::io::write(stdout(), b"\n");
            }
        });
        let keyboard = Keyboard {
            before,
            _on_interrupt: on_interrupt,
        };
        keyboard.give_keys();
        super::give_bytes(take);
        Some(keyboard)
    }

    /// Takes the terminal again after the program was stopped and continued, as with Ctrl-Z and
    /// `fg`: a shell may have set it back. `true` if that was so.
    pub fn regain(&self) -> bool {
        let now = tcgetattr(stdin());
        let was_set_back = now.is_ok_and(|now| now.local_modes.contains(LocalModes::ICANON));
        if was_set_back && is_in_foreground() {
            self.give_keys();
            return true;
        }
        false
    }

    /// No lines, no echo. Ctrl-C, Ctrl-Z and output stay what they are.
    fn give_keys(&self) {
        let mut modes = self.before.modes.clone();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        self.before.change(&modes);
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.before.change(&self.before.modes);
    }
}

fn set(modes: &Termios) {
    // Where it fails, the terminal is gone.
    let _ = tcsetattr(stdin(), OptionalActions::Now, modes);
}

/// Columns and rows of the terminal.
pub fn size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(stdout()).ok()?;
    let size = (usize::from(size.ws_col), usize::from(size.ws_row));
    (size.0 > 0 && size.1 > 0).then_some(size)
}

/// Whether the terminal is this program's. It would stop a program in the background that changes
/// it.
fn is_in_foreground() -> bool {
    tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}
