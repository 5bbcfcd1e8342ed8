//! A terminal for a program under test.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// A pseudo-terminal: what a person sees and types.
#[derive(Debug)]
pub struct Terminal {
    keyboard: File,
    /// The program's side.
    line: OwnedFd,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// A terminal of this size.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(columns: u16, rows: u16) -> io::Result<Terminal> {
        // SAFETY: the calls take a descriptor that was just opened, and memory of the given length.
        let (keyboard, line) = unsafe {
            let number = checked(libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY))?;
            let keyboard = File::from_raw_fd(number);
            checked(libc::grantpt(number))?;
            checked(libc::unlockpt(number))?;
            let mut name = [0; 128];
            checked(libc::ptsname_r(number, name.as_mut_ptr(), name.len()))?;
            let name = std::ffi::CStr::from_ptr(name.as_ptr())
                .to_str()
                .map_err(io::Error::other)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true);
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOCTTY);
            let line = options.open(name)?;
            let size = libc::winsize {
                ws_row: rows,
                ws_col: columns,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            checked(libc::ioctl(number, libc::TIOCSWINSZ, &raw const size))?;
            (keyboard, OwnedFd::from(line))
        };
        let written = Arc::new(Mutex::new(Vec::new()));
        let mut screen = keyboard.try_clone()?;
        let taken = Arc::clone(&written);
        // Ends with the last program that has the terminal.
        spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = screen.read(&mut chunk) {
                let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                taken.extend_from_slice(&chunk[..read]);
            }
        });
        Ok(Terminal {
            keyboard,
            line,
            written,
        })
    }

    /// Makes `command` start with this terminal as its own.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn give_to<'c>(&self, command: &'c mut Command) -> io::Result<&'c mut Command> {
        command
            .stdin(self.line.try_clone()?)
            .stdout(self.line.try_clone()?)
            .stderr(self.line.try_clone()?);
        // SAFETY: the closure calls only `setsid` and `ioctl`, which are allowed between fork and
        // exec. Standard input is the terminal by then.
        unsafe {
            command.pre_exec(|| {
                checked(libc::setsid())?;
                checked(libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0))?;
                Ok(())
            });
        }
        Ok(command)
    }

    /// Types these keys.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn press(&mut self, keys: &str) -> io::Result<()> {
        self.keyboard.write_all(keys.as_bytes())
    }

    /// All that programs have written to the terminal.
    pub fn written(&self) -> String {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&written).into_owned()
    }

    /// Waits until something that was written after the first `after` bytes contains `text`, and
    /// returns how many bytes there are by then.
    ///
    /// # Panics
    ///
    /// If it is not there after two minutes.
    #[track_caller]
    pub fn wait_for(&self, text: &str, after: usize) -> usize {
        let began = Instant::now();
        loop {
            let written = self.written();
            if written
                .get(after..)
                .is_some_and(|later| later.contains(text))
            {
                return written.len();
            }
            let is_late = began.elapsed() > Duration::from_secs(120);
            assert!(!is_late, "no `{text}` in {:?}", written.get(after..));
            sleep(Duration::from_millis(20));
        }
    }

    /// Whether it gives whole lines and shows what is typed, as a shell finds it.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn is_as_usual(&self) -> io::Result<bool> {
        let mut modes = MaybeUninit::uninit();
        // SAFETY: the descriptor is open, and the memory is that of a `termios`.
        let modes = unsafe {
            checked(libc::tcgetattr(self.line.as_raw_fd(), modes.as_mut_ptr()))?;
            modes.assume_init()
        };
        let usual = libc::ICANON | libc::ECHO;
        Ok(modes.c_lflag & usual == usual)
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        0.. => Ok(result),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_terminal() {
        let mut terminal = Terminal::new(70, 20).unwrap();
        assert!(terminal.is_as_usual().unwrap());
        let mut command = Command::new("sh");
        let script = "stty -echo; stty size; read line; echo got $line";
        let command = terminal.give_to(command.args(["-c", script])).unwrap();
        let mut child = command.spawn().unwrap();
        let seen = terminal.wait_for("20 70", 0);
        assert!(!terminal.is_as_usual().unwrap());
        terminal.press("a line\n").unwrap();
        terminal.wait_for("got a line", seen);
        assert!(child.wait().unwrap().success());
    }
}
