//! The processes of a program by Windows: a job, in which those that it starts are, too.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Child, Command, ExitStatus};
use std::ptr::{null, null_mut};

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject,
};

/// A program and the processes that it starts.
pub struct Tree {
    /// The program.
    pub child: Child,
    /// The job, whose processes end when its only handle is closed, also if this process dies.
    /// None where the system gives none: then the program alone is ended.
    job: Option<OwnedHandle>,
}

impl Tree {
    /// Starts the program.
    pub fn start(command: &mut Command) -> io::Result<Tree> {
        let child = command.spawn()?;
        let job = job_of(&child).ok();
        Ok(Tree { child, job })
    }

    /// Whether the program has ended.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Ends all of them.
    pub fn kill(&mut self) {
        drop(self.job.take());
        // It fails where it has ended.
        let _ = self.child.kill();
    }
}

/// A new job with this process in it.
fn job_of(child: &Child) -> io::Result<OwnedHandle> {
    // SAFETY: no attributes and no name are needed.
    let job = unsafe { CreateJobObjectW(null(), null()) };
    if job == null_mut() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is valid, and ours alone.
    let job = unsafe { OwnedHandle::from_raw_handle(job) };
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    // SAFETY: the class of information is that of `limits`, which is as long as said; both handles
    // are valid.
    let is_done = unsafe {
        SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size_of_val(&limits) as u32,
        ) != 0
            && AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) != 0
    };
    if is_done {
        Ok(job)
    } else {
        Err(io::Error::last_os_error())
    }
}

/// None: Windows has no signals.
pub fn signal(_: ExitStatus) -> Option<i32> {
    None
}
