//! Programs that a test ends by a signal.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes `command` start with the usual answer to SIGHUP, SIGINT and SIGTERM, even if this program
/// ignores them. `nohup` and a shell's `&` start programs with signals ignored, and their children
/// inherit that.
pub fn heeding_signals(command: &mut Command) -> &mut Command {
    // SAFETY: the closure calls only `signal`, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
                if libc::signal(signal, libc::SIG_DFL) == libc::SIG_ERR {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_program_ends_by_a_signal_that_its_parent_ignores() {
        // SAFETY: no test of this program is to be interrupted.
        unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
        let interrupted = |command: &mut Command| command.args(["-c", "kill -INT $$"]).status();
        let ignoring = interrupted(&mut Command::new("sh")).unwrap();
        assert_eq!(ignoring.code(), Some(0));
        let heeding = interrupted(heeding_signals(&mut Command::new("sh"))).unwrap();
        assert_eq!(heeding.signal(), Some(libc::SIGINT));
    }
}
