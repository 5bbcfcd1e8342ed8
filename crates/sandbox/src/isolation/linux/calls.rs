//! seccomp: which system calls.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use crate::Calls;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Stands in a filter for the number of the process that installs it, which is known only there: no
/// process has it.
const OWN_PROCESS: u32 = 0x7fff_fffd;

/// Writes the number of the process that installs them where the filters compare with it.
pub fn name_own_process(filters: &mut [BpfProgram], own: libc::pid_t) {
    for instruction in filters.iter_mut().flatten() {
        if instruction.k == OWN_PROCESS {
            instruction.k = own as u32;
        }
    }
}

/// The filters, to be installed in this order. Empty on an architecture that seccompiler does not
/// know.
pub fn filters(calls: Calls) -> Vec<BpfProgram> {
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else {
        return Vec::new();
    };
    let filter = |rules: Rules, otherwise, matched| {
        SeccompFilter::new(rules, otherwise, matched, arch)
            .and_then(BpfProgram::try_from)
            .expect("the rules are constant")
    };
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    match calls {
        Calls::Compiler => vec![filter(denied_to_compilers(), SeccompAction::Allow, refused)],
        // The kernel takes the strictest answer of all filters.
        Calls::Recorder => vec![
            filter(
                fatal_to_recorders(),
                SeccompAction::Allow,
                SeccompAction::KillProcess,
            ),
            // Last, since it refuses the installing of filters too.
            filter(allowed_to_recorders(), refused, SeccompAction::Allow),
        ],
    }
}

fn always(calls: &[i64]) -> Rules {
    calls.iter().map(|&call| (call, Vec::new())).collect()
}

/// If of argument `index`, the bits of `mask` are `bits`.
fn masked(index: u8, mask: libc::c_int, bits: libc::c_int) -> SeccompRule {
    let operator = SeccompCmpOp::MaskedEq(u64::from(mask as u32));
    compared(index, operator, bits as u32)
}

/// If argument `index` is this number.
fn equal(index: u8, number: u32) -> SeccompRule {
    compared(index, SeccompCmpOp::Eq, number)
}

/// If argument `index` compares so with this number. Both are taken as 32 bits: the kernel ignores
/// the others of all that is looked at here.
fn compared(index: u8, operator: SeccompCmpOp, number: u32) -> SeccompRule {
    let condition =
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, u64::from(number));
    SeccompRule::new(vec![condition.expect("the index is small")]).expect("there is a condition")
}

/// Calls that no compiler or linker needs, and calls that would weaken the other protections. Not
/// `socketpair`, which reaches no other process outside: Rust's std starts programs with it.
const DENIED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_fanotify_init,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    // Signals to others. `tgkill` is left: a program aborts with it.
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_mrelease,
];

/// `fcntl` and `ioctl` that make a file send signals to whom they name, and with which.
const SIGNAL_OWNERS: [(i64, u32); 5] = [
    (libc::SYS_fcntl, libc::F_SETOWN as u32),
    (libc::SYS_fcntl, 10),     // F_SETSIG
    (libc::SYS_fcntl, 15),     // F_SETOWN_EX
    (libc::SYS_ioctl, 0x8901), // FIOSETOWN
    (libc::SYS_ioctl, 0x8902), // SIOCSPGRP
];

fn denied_to_compilers() -> Rules {
    let mut rules = always(DENIED);
    // Limits of other processes.
    rules.insert(libc::SYS_prlimit64, vec![compared(0, SeccompCmpOp::Ne, 0)]);
    for (call, command) in SIGNAL_OWNERS {
        rules.entry(call).or_default().push(equal(1, command));
    }
    // On x86-64, each call may have a second number, for the x32 ABI, where 512 and above are its
    // own.
    #[cfg(target_arch = "x86_64")]
    {
        const X32: i64 = 0x4000_0000;
        rules.extend(always(DENIED).into_keys().map(|call| (X32 | call, vec![])));
        rules.extend((512..548).map(|call| (X32 | call, vec![])));
    }
    rules
}

/// The calls of a Rust program that computes and writes to open files, from its start by the loader
/// to its end.
fn allowed_to_recorders() -> Rules {
    let mut rules = always(&[
        // Start and end.
        libc::SYS_execve,
        libc::SYS_brk,
        libc::SYS_set_tid_address,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_getrandom,
        libc::SYS_exit,
        libc::SYS_exit_group,
        // Memory.
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        // Open files.
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_pread64,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_lseek,
        libc::SYS_close,
        libc::SYS_fstat,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_readlinkat,
        libc::SYS_ppoll,
        // Itself.
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_futex,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getuid,
        libc::SYS_getgid,
        libc::SYS_geteuid,
        libc::SYS_getegid,
        libc::SYS_clock_gettime,
        libc::SYS_clock_getres,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
    ]);
    // Of itself alone: 0 is the caller.
    rules.insert(
        libc::SYS_prlimit64,
        vec![equal(0, 0), equal(0, OWN_PROCESS)],
    );
    // abort() and assertion failures.
    rules.insert(libc::SYS_tgkill, vec![equal(0, OWN_PROCESS)]);
    // Not those that make a file send signals.
    let commands = [
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_DUPFD_CLOEXEC,
    ]
    .map(|command| equal(1, command as u32));
    rules.insert(libc::SYS_fcntl, commands.to_vec());
    // Files that exist: Landlock decides which.
    let create = libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY);
    rules.insert(libc::SYS_openat, vec![masked(2, create, 0)]);
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend(always(&[
            libc::SYS_arch_prctl,
            libc::SYS_poll,
            libc::SYS_access,
            libc::SYS_readlink,
            libc::SYS_stat,
            libc::SYS_lstat,
            libc::SYS_time,
            libc::SYS_gettimeofday,
        ]));
        rules.insert(libc::SYS_open, vec![masked(1, create, 0)]);
    }
    rules
}

/// Calls that only a program makes that wants out.
fn fatal_to_recorders() -> Rules {
    let everywhere = [
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_bpf,
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_send_signal,
        libc::SYS_io_uring_setup,
    ];
    #[cfg(target_arch = "x86_64")]
    let of_x86_64 = [libc::SYS_fork, libc::SYS_vfork];
    #[cfg(not(target_arch = "x86_64"))]
    let of_x86_64 = [];
    always(&[&everywhere[..], &of_x86_64].concat())
}
