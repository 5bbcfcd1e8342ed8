//! Accesses of the host to memory in use, beside other users of the same signal. Each program has a
//! process of its own.
#![cfg(target_os = "linux")]

mod common;

use std::ffi::{c_int, c_uint, c_void};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use common::{Handle, allocate, context, wait_for};

const INSIDE: &str = "HOST_ACCESSES_TEST_INSIDE";

/// Runs a program of this file; gives its end, and whether a race was told.
fn run(program: &str, variables: &[(&str, &str)]) -> (ExitStatus, bool) {
    let report = tempfile::NamedTempFile::new().unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "inside"])
        .env(INSIDE, program)
        .env("EMULATED_DRIVER_REPORT", report.path())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let told = std::fs::read_to_string(report.path()).unwrap();
    (ended.status, told.contains("race with the host"))
}

/// A copy to page-locked memory that nothing has waited for.
fn copied() -> &'static AtomicU32 {
    let (device, mut host, mut stream) = (allocate(128), 0u64, 0);
    let made = [
        cu!(cuMemAllocHost_v2(&mut host => *mut u64, 128 => usize)),
        cu!(cuStreamCreate(&mut stream => *mut Handle, 0 => c_uint)),
    ];
    assert_eq!(made, [0; 2]);
    let filled = cu!(cuMemsetD8Async(device => u64, 1 => u8, 128 => usize, stream => Handle));
    assert_eq!(filled, 0);
    let copied = cu!(cuMemcpyAsync(host => u64, device => u64, 128 => usize, stream => Handle));
    assert_eq!(copied, 0);
    // SAFETY: the driver has allocated it, and nothing frees it.
    unsafe { &*(host as *const AtomicU32) }
}

/// A page that the program has forbidden itself.
static FORBIDDEN: AtomicU64 = AtomicU64::new(0);
const PAGE: usize = 1 << 16;

extern "C" fn own(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the system gives a filled `info`.
    let address = unsafe { (*info).si_addr() } as u64;
    let start = FORBIDDEN.load(SeqCst);
    assert!((start..start + PAGE as u64).contains(&address));
    // SAFETY: the page is the program's.
    unsafe {
        libc::mprotect(
            start as *mut c_void,
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
        )
    };
}

/// A handler of the program for faults in its own page.
fn install() {
    // SAFETY: the handler only opens the page.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = own as extern "C" fn(_, _, _) as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()),
            0
        );
    }
}

/// Meets the program's own page.
fn meet_own() {
    // SAFETY: the page is new, and stays.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), PAGE, libc::PROT_NONE, flags, -1, 0);
        FORBIDDEN.store(page as u64, SeqCst);
        page.cast::<u32>().write_volatile(7);
        assert_eq!(page.cast::<u32>().read_volatile(), 7);
    }
}

#[test]
fn inside() {
    let Ok(program) = std::env::var(INSIDE) else {
        return;
    };
    context();
    const COPIED: u32 = 0x0101_0101;
    match program.as_str() {
        "early" => assert_eq!(copied().load(SeqCst), COPIED),
        "own handler" => {
            install();
            let early = copied();
            meet_own();
            assert_eq!(early.load(SeqCst), COPIED);
        }
        "own handler behind" => {
            copied();
            install();
            // Nothing is guarded any more.
            assert_eq!(copied().load(SeqCst), COPIED);
            meet_own();
        }
        "forked" => {
            let early = copied();
            // SAFETY: the child only loads, and ends.
            match unsafe { libc::fork() } {
                // SAFETY: it ends the child alone.
                0 => unsafe { libc::_exit((early.load(SeqCst) & 0xff) as c_int) },
                child => assert_eq!(wait_for(child), 1),
            }
            assert_eq!(cu!(cuCtxSynchronize()), 0);
        }
        "null" => {
            copied();
            // SAFETY: it is meant to end the process.
            unsafe { std::ptr::null_mut::<u32>().write_volatile(1) };
        }
        other => panic!("no program {other}"),
    }
}

/// Whether a program ended well, and whether a race was told.
fn ends(program: &str, variables: &[(&str, &str)]) -> (bool, bool) {
    let (ended, is_told) = run(program, variables);
    (ended.success(), is_told)
}

#[test]
fn an_early_access_is_told_unless_that_is_off() {
    assert_eq!(ends("early", &[]), (true, true));
    for off in [
        ("EMULATED_DRIVER_HOST_ACCESSES", "0"),
        ("EMULATED_DRIVER_CHECK", "none"),
    ] {
        assert_eq!(ends("early", &[off]), (true, false), "{off:?}");
    }
}

#[test]
fn a_handler_of_the_program_has_its_own_faults() {
    assert_eq!(ends("own handler", &[]), (true, true));
    assert_eq!(ends("own handler behind", &[]), (true, false));
    let (ended, _) = run("null", &[]);
    assert_eq!(ended.signal(), Some(libc::SIGSEGV), "{ended}");
}

#[test]
fn a_forked_process_goes_on() {
    assert_eq!(ends("forked", &[]), (true, false));
}
