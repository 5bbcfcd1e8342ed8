//! Exit codes: what a script that calls `harness` can rely on.

/// Everything that was asked for was done, and every result is right.
pub const OK: u8 = 0;
/// A result is wrong or not as good as was asked (a tolerance that was not reached, something
/// slower in `compare`), or a kernel failed.
pub const WRONG_RESULT: u8 = 1;
/// A flag, name, value or path makes no sense.
pub const BAD_INPUT: u8 = 2;
/// The machine lacks what was asked for: a device, memory, disk space.
pub const ENVIRONMENT: u8 = 3;
/// `harness` itself is wrong.
pub const BUG: u8 = 4;
/// Every result is right, and some points could not be graded on this machine: speed, without a
/// GPU.
pub const NOT_GRADED: u8 = 5;
/// Ended by SIGHUP, as when the terminal is closed: 128 and the signal's number, as shells have it.
pub const HUNG_UP: u8 = 129;
/// Ended by SIGINT: Ctrl-C.
pub const INTERRUPTED: u8 = 130;
/// Ended by SIGTERM, as batch systems and `timeout` send it.
pub const TERMINATED: u8 = 143;

/// The end of `harness --help`.
pub const HELP: &str = "\
Exit codes:
    0  done, and every result is right
    1  a result is wrong, a kernel failed, a tolerance was not reached, something is slower
    2  a flag, name, value or path makes no sense
    3  the machine lacks what was asked for: a device, memory, disk space
    4  a bug in this program
    5  every result is right, and some points could not be graded here: speed, without a GPU
  129  ended because the terminal was closed (SIGHUP)
  130  ended by Ctrl-C
  143  ended by SIGTERM, as batch systems and `timeout` send it";
