//! The processes of a program by Unix: it leads a group, and those that it starts are in it unless
//! they leave.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// A program and the processes that it starts.
pub struct Tree {
    /// The program.
    pub child: Child,
}

impl Tree {
    /// Starts the program.
    pub fn start(command: &mut Command) -> io::Result<Tree> {
        let child = command.process_group(0).spawn()?;
        Ok(Tree { child })
    }

    /// Whether the program has ended. Its status is not taken: until then, no other process has
    /// its number, which is the group's.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(Pid::from_child(&self.child)), options) {
            Ok(ended) => Ok(ended.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends all of them.
    pub fn kill(&mut self) {
        // It fails where all have ended.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

/// The signal that ended a process.
pub fn signal(status: ExitStatus) -> Option<i32> {
    status.signal()
}
