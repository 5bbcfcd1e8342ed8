//! Turns a machine with the kernel's means of confinement into one that lacks them: a seccomp
//! filter answers as a kernel without them does.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Means that a kernel, or the container around a program, may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// Landlock: kernels before 5.13 lack it, and kernels without it among their LSMs.
    Landlock,
    /// Namespaces for users other than root: Docker's default profile and hardened distributions
    /// forbid them.
    Namespaces,
    /// seccomp filters.
    Seccomp,
    /// More threads than the first of a process: limits of processes and memory allow no more.
    Threads,
}

/// Makes `command`, and all that it starts, lack these means.
///
/// # Panics
///
/// On an architecture that seccompiler does not know.
pub fn lacking(command: &mut Command, means: &[Means]) {
    let filters: Vec<BpfProgram> = means.iter().flat_map(|&means| filters(means)).collect();
    // SAFETY: the closure makes only system calls.
    unsafe {
        command.pre_exec(move || {
            for filter in &filters {
                seccompiler::apply_filter(filter).map_err(std::io::Error::other)?;
            }
            Ok(())
        });
    }
}

/// The output of a test program on a machine that lacks these means, and may lack them.
///
/// # Panics
///
/// If it cannot be run, if one of its tests fails, and as [`lacking`].
pub fn passed_lacking(tests: &mut Command, means: &[Means]) -> String {
    lacking(tests, means);
    let output = tests
        .env_remove("REQUIRE_SANDBOX")
        .output()
        .expect("a test program can be run");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "without {means:?}:\n{text}\n{errors}"
    );
    text
}

fn filters(means: Means) -> Vec<BpfProgram> {
    let always = Vec::new();
    let (rules, answer) = match means {
        Means::Landlock => (
            vec![(libc::SYS_landlock_create_ruleset, always)],
            libc::EOPNOTSUPP,
        ),
        Means::Namespaces => (vec![(libc::SYS_unshare, always)], libc::EPERM),
        Means::Threads => {
            let is_thread = SeccompCondition::new(
                0,
                SeccompCmpArgLen::Qword,
                SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64),
                libc::CLONE_THREAD as u64,
            );
            let rule = SeccompRule::new(vec![is_thread.expect("0 is an argument")])
                .expect("there is a condition");
            // The flags of `clone3` are in memory, where no filter looks: without it, libc takes
            // `clone`.
            return vec![
                filter(vec![(libc::SYS_clone3, always)], libc::ENOSYS),
                filter(vec![(libc::SYS_clone, vec![rule])], libc::EAGAIN),
            ];
        }
        Means::Seccomp => {
            let sets_filter = SeccompCondition::new(
                0,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::Eq,
                libc::PR_SET_SECCOMP as u64,
            );
            let rule = SeccompRule::new(vec![sets_filter.expect("0 is an argument")])
                .expect("there is a condition");
            (
                vec![(libc::SYS_seccomp, always), (libc::SYS_prctl, vec![rule])],
                libc::EINVAL,
            )
        }
    };
    vec![filter(rules, answer)]
}

/// Answers these system calls with this error.
fn filter(rules: Vec<(i64, Vec<SeccompRule>)>, answer: i32) -> BpfProgram {
    let rules: BTreeMap<i64, Vec<SeccompRule>> = rules.into_iter().collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("seccompiler knows it");
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(answer as u32),
        arch,
    )
    .and_then(BpfProgram::try_from)
    .expect("the rules are constant")
}
