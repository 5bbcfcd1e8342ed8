//! Standard error as the place of bars, until it is closed to them.

use std::io::{self, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use indicatif::TermLike;
use terminal_size::terminal_size_of;

/// Whether bars may no longer draw: the program ends, and what it says last stays.
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// From now on, what bars draw is dropped.
pub fn close() {
    IS_CLOSED.store(true, Ordering::Relaxed);
}

/// The terminal. It gets each picture in one piece.
#[derive(Debug, Default)]
pub struct Screen {
    picture: Mutex<String>,
}

impl Screen {
    fn add(&self, text: &str) -> io::Result<()> {
        let mut picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        picture.push_str(text);
        Ok(())
    }

    /// Moves the cursor. ANSI takes 0 for 1.
    fn go(&self, n: usize, way: char) -> io::Result<()> {
        match n {
            0 => Ok(()),
            _ => self.add(&format!("\x1b[{n}{way}")),
        }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        terminal_size_of(stderr()).map_or(80, |(width, _)| width.0)
    }

    fn height(&self) -> u16 {
        terminal_size_of(stderr()).map_or(24, |(_, height)| height.0)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.go(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.go(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.go(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.go(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.add(text)?;
        self.add("\n")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        // Bars are filled up with blanks. In a full line, the terminal writes the `^C` of Ctrl-C
        // into the next one, and that would be cleared instead of the bar's.
        match text.trim_start_matches(' ') {
            "" => Ok(()),
            _ => self.add(text),
        }
    }

    fn clear_line(&self) -> io::Result<()> {
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let mut picture = self.picture.lock().unwrap_or_else(PoisonError::into_inner);
        let picture = std::mem::take(&mut *picture);
        if IS_CLOSED.load(Ordering::Relaxed) {
            return Ok(());
        }
        stderr().write_all(picture.as_bytes())
    }
}
