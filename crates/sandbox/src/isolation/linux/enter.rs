//! The child's work between fork and exec.
//!
//! The parent has many threads, so the child may call only what is async-signal-safe: no
//! allocation, no locks. Everything is prepared before ([`Entry`]), and what is done here are
//! system calls.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use libc::{c_int, c_ulong};
use seccompiler::BpfProgram;

use super::calls;
use crate::{Layer, ResourceLimits};

/// All that the child needs.
pub struct Entry {
    /// Bits of the layers to put in force.
    pub wanted: u32,
    /// Landlock's rules.
    pub ruleset: Option<OwnedFd>,
    /// seccomp's filters, to be installed in this order.
    pub filters: Vec<BpfProgram>,
    /// The arguments of setrlimit.
    pub limits: Vec<(Resource, u64)>,
    /// The lines of the user namespace's maps: the user is who it was.
    pub uid_map: Vec<u8>,
    /// The lines of the user namespace's maps for the group, which stays too.
    pub gid_map: Vec<u8>,
    /// Where the child says which layers are in force, and later how the program ended. Closed by
    /// exec.
    pub report: OwnedFd,
    /// This process.
    pub parent: libc::pid_t,
}

/// As setrlimit has it.
pub type Resource = libc::__rlimit_resource_t;

/// `limits` as setrlimit has them.
pub fn limits(limits: &ResourceLimits) -> Vec<(Resource, u64)> {
    vec![
        (libc::RLIMIT_CPU, limits.cpu_s),
        (libc::RLIMIT_AS, limits.memory_bytes),
        // The process that starts it may have a lower one for itself.
        (libc::RLIMIT_DATA, limits.memory_bytes),
        (libc::RLIMIT_FSIZE, limits.file_bytes),
        (libc::RLIMIT_NOFILE, limits.open_files),
        (libc::RLIMIT_CORE, 0),
    ]
}

fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

impl Entry {
    /// Puts the protections in force. A protection that the system does not offer is left out;
    /// those that every Linux offers must work.
    ///
    /// # Safety
    ///
    /// In a child between fork and exec.
    pub unsafe fn enter(&mut self) -> io::Result<()> {
        let mut in_force = Layer::Deadline as u32;
        // SAFETY: as the caller promises; each call is async-signal-safe, and its arguments are
        // plain numbers or memory that outlives it.
        unsafe {
            check(libc::setsid())?;
            die_with_parent()?;
            if libc::getppid() != self.parent {
                libc::_exit(1);
            }
            // The parent's open files stay here. Best effort: Rust opens files that way anyway.
            libc::syscall(
                libc::SYS_close_range,
                3,
                c_int::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
            in_force |= self.namespaces()?;
            if self.wants(Layer::Privileges) {
                drop_privileges()?;
                in_force |= Layer::Privileges as u32;
            }
            if self.wants(Layer::Limits) {
                for &(resource, limit) in &self.limits {
                    lower_limit(resource, limit)?;
                }
                in_force |= Layer::Limits as u32;
            }
            check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            if let Some(ruleset) = &self.ruleset {
                let restricted =
                    libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0);
                check(restricted as c_int)?;
                in_force |= Layer::Files as u32;
            }
            calls::name_own_process(&mut self.filters, libc::getpid());
            // Last, since it may refuse the others' calls.
            if !self.filters.is_empty()
                && self
                    .filters
                    .iter()
                    .all(|filter| seccompiler::apply_filter(filter).is_ok())
            {
                in_force |= Layer::SystemCalls as u32;
            }
        }
        tell(self.report.as_raw_fd(), in_force);
        Ok(())
    }

    fn wants(&self, layer: Layer) -> bool {
        self.wanted & layer as u32 != 0
    }

    /// Moves to new namespaces, where the system allows it; returns the bits of the layers in
    /// force.
    ///
    /// # Safety
    ///
    /// As [`Entry::enter`].
    unsafe fn namespaces(&self) -> io::Result<u32> {
        let mut in_force = 0;
        // SAFETY: as the caller promises.
        unsafe {
            if !self.wants(Layer::Network) && !self.wants(Layer::Processes) {
                return Ok(0);
            }
            // Without root, the others need it; with root, it makes root of the outside
            // unreachable.
            if libc::unshare(libc::CLONE_NEWUSER) == 0 {
                write_file(c"/proc/self/setgroups", b"deny");
                write_file(c"/proc/self/uid_map", &self.uid_map);
                write_file(c"/proc/self/gid_map", &self.gid_map);
            }
            if self.wants(Layer::Network) && libc::unshare(libc::CLONE_NEWNET) == 0 {
                in_force |= Layer::Network as u32;
            }
            libc::unshare(libc::CLONE_NEWIPC);
            if self.wants(Layer::Processes) && libc::unshare(libc::CLONE_NEWPID) == 0 {
                self.become_child_of_init()?;
                in_force |= Layer::Processes as u32;
            }
        }
        Ok(in_force)
    }

    /// After `unshare(CLONE_NEWPID)`: the next child is process 1 of the new namespace, and ends
    /// with it. Signals that are not handled do not end process 1, so it waits for another, process
    /// 2, which goes on as the caller.
    ///
    /// # Safety
    ///
    /// As [`Entry::enter`].
    unsafe fn become_child_of_init(&self) -> io::Result<()> {
        let report = self.report.as_raw_fd();
        // SAFETY: as the caller promises; both forks are of a process with one thread.
        unsafe {
            let init = check(libc::fork())?;
            if init != 0 {
                close_all_but(report);
                wait_for(init);
                libc::_exit(0);
            }
            die_with_parent()?;
            let program = check(libc::fork())?;
            if program != 0 {
                close_all_but(report);
                let status = wait_for(program);
                tell(report, status as u32);
                libc::_exit(0);
            }
        }
        Ok(())
    }
}

unsafe fn die_with_parent() -> io::Result<()> {
    // SAFETY: plain numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    Ok(())
}

/// Waits for `child`, and for whatever else ends before it; returns its wait status.
unsafe fn wait_for(child: libc::pid_t) -> c_int {
    let mut status = 0;
    loop {
        // SAFETY: `status` is writable.
        let ended = unsafe { libc::waitpid(-1, &mut status, 0) };
        if ended == child {
            return status;
        }
        if ended == -1 && io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return -1;
        }
    }
}

/// A process that only waits holds no pipe open.
unsafe fn close_all_but(kept: RawFd) {
    // SAFETY: nothing in this process uses a file any more, but `kept`.
    unsafe {
        let done = libc::syscall(libc::SYS_close_range, kept + 1, c_int::MAX, 0);
        for file in (0..kept).chain(kept + 1..if done == 0 { 0 } else { 1024 }) {
            libc::close(file);
        }
    }
}

/// Gives up all capabilities, also those that root would get back by exec.
unsafe fn drop_privileges() -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    /// `_LINUX_CAPABILITY_VERSION_3`
    const VERSION: u32 = 0x2008_0522;
    let header = Header {
        version: VERSION,
        pid: 0,
    };
    // Effective, permitted, inheritable; two words each.
    let none = [0u32; 6];
    // SAFETY: header and sets are as capset(2) has them, and outlive the call.
    unsafe {
        for capability in 0..64 as c_ulong {
            // Refused to those who have none to lose, and past the last.
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(
            libc::PR_CAP_AMBIENT,
            libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong,
            0,
            0,
            0,
        );
        check(libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) as c_int)?;
    }
    Ok(())
}

/// Both limits; who has a lower one keeps it.
unsafe fn lower_limit(resource: Resource, limit: u64) -> io::Result<()> {
    let mut current = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `current` is writable, and outlives the calls.
    unsafe {
        check(libc::getrlimit(resource, &mut current))?;
        let hard = limit.min(current.rlim_max);
        // Past the soft limit of CPU time comes a signal that a program may handle, past the hard
        // one its end.
        let lowered = libc::rlimit {
            rlim_cur: hard,
            rlim_max: if resource == libc::RLIMIT_CPU {
                current.rlim_max.min(hard.saturating_add(1))
            } else {
                hard
            },
        };
        check(libc::setrlimit(resource, &lowered))?;
    }
    Ok(())
}

/// Writes to a file below /proc, if that can be done.
unsafe fn write_file(path: &std::ffi::CStr, text: &[u8]) {
    // SAFETY: the path ends in NUL, the text is readable.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file != -1 {
            libc::write(file, text.as_ptr().cast(), text.len());
            libc::close(file);
        }
    }
}

/// One word to the parent.
fn tell(report: RawFd, word: u32) {
    let bytes = word.to_ne_bytes();
    // SAFETY: the bytes are readable; a pipe takes so few at once.
    unsafe {
        libc::write(report, bytes.as_ptr().cast(), bytes.len());
    }
}
