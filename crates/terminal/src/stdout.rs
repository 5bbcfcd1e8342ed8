//! Standard output.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};

use crate::look::Look;
use crate::progress;
use exit::CommandError;

/// Where a command writes its report.
///
/// Once the reader has closed its end (`harness list | head`), the rest is dropped silently, and
/// the exit code stays what it would have been.
pub struct Out<'w> {
    writer: Box<dyn Write + 'w>,
    look: Look,
    is_closed: bool,
    /// Whether bars may be on the same screen.
    is_terminal: bool,
}

impl<'w> Out<'w> {
    /// Standard output.
    pub fn stdout() -> Out<'static> {
        Out {
            is_terminal: std::io::stdout().is_terminal(),
            ..Out::new(std::io::stdout(), Look::of_stdout())
        }
    }

    /// Any writer.
    pub fn new(writer: impl Write + 'w, look: Look) -> Out<'w> {
        Out {
            writer: Box::new(writer),
            look,
            is_closed: false,
            is_terminal: false,
        }
    }

    /// How text may look there.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Whether the reader has closed its end, as far as writing has shown.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Writes a line, or several, and flushes.
    ///
    /// # Errors
    ///
    /// [`CommandError::Environment`] if the text cannot be written, unless the reader has closed
    /// its end.
    pub fn line(&mut self, text: impl Display) -> Result<(), CommandError> {
        if self.is_closed {
            return Ok(());
        }
        let writer = &mut self.writer;
        let mut write = || writeln!(writer, "{text}").and_then(|()| writer.flush());
        let written = if self.is_terminal {
            progress::aside(write)
        } else {
            write()
        };
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => Err(CommandError::Environment(format!(
                "cannot write to standard output: {error}"
            ))),
            Ok(()) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_quiet() {
        let mut out = Out::new(Failing(ErrorKind::BrokenPipe), Look::PLAIN);
        out.line("first").unwrap();
        out.line("second").unwrap();
    }

    #[test]
    fn a_full_disk_is_not() {
        let mut out = Out::new(Failing(ErrorKind::StorageFull), Look::PLAIN);
        let failure = out.line("first").unwrap_err();
        insta::assert_snapshot!(failure, @"cannot write to standard output: no storage space");
    }
}
