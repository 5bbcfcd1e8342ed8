//! Pages of page-locked and managed memory that the program may not access for now, and its first
//! access to them, found by the fault of the processor.
//!
//! A page is guarded only while a command that accesses all its bytes is not known to be done, so
//! that whoever meets a guard races with the command. The access is noted, its memory opened, and
//! the instruction made again: the program goes on. The driver's own accesses, those of kernels
//! among them, open it too, and are not noted.
//!
//! The handler is called at the instruction of an access, never between two that have a lock of
//! the allocator or of the loader: pages of the driver hold nothing of theirs. So it may take the
//! addresses of the call by `backtrace`, which was made ready before (`driver::start`). Beyond
//! that it reads and writes words that are there, and calls `mprotect`. A fault elsewhere goes to
//! the handler that was there before; if another comes later, nothing is guarded any more.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};

use crate::site::{DEPTH, Site};

/// The most pieces of memory that can be guarded.
const PIECES: usize = 1024;
/// The most accesses that are noted between two calls.
const NOTES: usize = 64;

/// A piece of memory of the driver.
struct Piece {
    start: AtomicUsize,
    /// 0 of an entry that is not in use.
    end: AtomicUsize,
    /// The driver has met a guard, and opened it.
    is_opened: AtomicBool,
}

static MEMORY: [Piece; PIECES] = [const {
    Piece {
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        is_opened: AtomicBool::new(false),
    }
}; PIECES];

/// Which access there was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "only x86 tells reads and writes apart")
)]
pub(crate) enum Did {
    Read,
    Write,
    /// The processor does not tell.
    Either,
}

/// An access of the program that met a guard.
#[derive(Debug)]
pub(crate) struct Met {
    pub(crate) address: u64,
    pub(crate) did: Did,
    pub(crate) site: Site,
}

/// A place for a note.
struct Note {
    state: AtomicU8,
    content: UnsafeCell<Content>,
}

/// The states of a note.
const FREE: u8 = 0;
const BEGUN: u8 = 1;
const WHOLE: u8 = 2;

#[derive(Clone, Copy)]
struct Content {
    address: usize,
    did: Did,
    stack: [usize; DEPTH],
}

// SAFETY: the thread that begins a free note alone writes its content, until it is whole; the one
// that takes it reads it before it is free again.
unsafe impl Sync for Note {}

/// Some note is whole.
static IS_ANY_WHOLE: AtomicBool = AtomicBool::new(false);
static LIST: [Note; NOTES] = [const {
    Note {
        state: AtomicU8::new(FREE),
        content: UnsafeCell::new(Content {
            address: 0,
            did: Did::Either,
            stack: [0; DEPTH],
        }),
    }
}; NOTES];

/// How many of the driver's own accesses are under way.
static OWN: AtomicUsize = AtomicUsize::new(0);
/// Some piece was opened for one.
static IS_ANY_OPENED: AtomicBool = AtomicBool::new(false);

/// Accesses by the driver itself, as long as it lives.
pub(crate) struct Own;

impl Own {
    pub(crate) fn begin() -> Own {
        OWN.fetch_add(1, SeqCst);
        Own
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        OWN.fetch_sub(1, SeqCst);
    }
}

/// Notes whole pages of the driver's as memory that can be guarded. Those for which there is no
/// room are never guarded.
pub(crate) fn add(memory: &Range<u64>) {
    for piece in &MEMORY {
        if piece.end.load(SeqCst) == 0 {
            piece.start.store(memory.start as usize, SeqCst);
            piece.is_opened.store(false, SeqCst);
            piece.end.store(memory.end as usize, SeqCst);
            return;
        }
    }
}

/// Forgets memory, which is to be unmapped.
pub(crate) fn remove(start: u64) {
    if let Some(piece) = piece_at(start as usize) {
        piece.end.store(0, SeqCst);
    }
}

fn piece_at(address: usize) -> Option<&'static Piece> {
    MEMORY.iter().find(|piece| {
        let range = piece.start.load(SeqCst)..piece.end.load(SeqCst);
        range.contains(&address)
    })
}

/// Forbids the program to access pages, or to write them, if they are of a piece. False if nothing
/// can be guarded.
pub(crate) fn close(pages: &Range<u64>, may_read: bool) -> bool {
    let protection = if may_read {
        libc::PROT_READ
    } else {
        libc::PROT_NONE
    };
    is_handled() && (piece_at(pages.start as usize).is_none() || protect(pages, protection))
}

/// Lets the program access pages again.
pub(crate) fn open(pages: &Range<u64>) {
    protect(pages, libc::PROT_READ | libc::PROT_WRITE);
}

fn protect(pages: &Range<u64>, protection: c_int) -> bool {
    let bytes = (pages.end - pages.start) as usize;
    // SAFETY: the pages are the driver's, and mapped: see `remove`.
    unsafe { libc::mprotect(pages.start as *mut c_void, bytes, protection) == 0 }
}

/// The starts of pieces that the driver has opened for itself since the last time.
pub(crate) fn take_opened() -> Vec<u64> {
    if !IS_ANY_OPENED.swap(false, SeqCst) {
        return Vec::new();
    }
    let opened = MEMORY
        .iter()
        .filter(|piece| piece.is_opened.swap(false, SeqCst));
    opened
        .map(|piece| piece.start.load(SeqCst) as u64)
        .collect()
}

/// Whether there are notes.
pub(crate) fn has_met() -> bool {
    IS_ANY_WHOLE.load(SeqCst)
}

/// Takes the notes; of callers, one at a time.
pub(crate) fn take_met() -> Vec<Met> {
    let mut all = Vec::new();
    IS_ANY_WHOLE.store(false, SeqCst);
    for note in &LIST {
        if note.state.load(SeqCst) == WHOLE {
            // SAFETY: it is whole, and callers come one after the other.
            let content = unsafe { *note.content.get() };
            note.state.store(FREE, SeqCst);
            all.push(Met {
                address: content.address as u64,
                did: content.did,
                site: Site::of(
                    content
                        .stack
                        .into_iter()
                        .take_while(|at| *at != 0)
                        .collect(),
                ),
            });
        }
    }
    all
}

/// The handler that there was.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Whether faults come here: from now on, and until another handler replaces this one.
fn is_handled() -> bool {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let own = handle as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
    let started = *STARTED.get_or_init(|| {
        let before = handler();
        let _ = BEFORE.set(before);
        let mut action = before;
        action.sa_sigaction = own as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | before.sa_flags & libc::SA_NODEFER;
        // SAFETY: the handler keeps the rules in the head of this file.
        unsafe { libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()) == 0 }
    });
    started && handler().sa_sigaction == own as usize
}

fn handler() -> libc::sigaction {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: it only writes the handler that there is; zeros are one as well.
    unsafe {
        libc::sigaction(libc::SIGSEGV, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    }
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system gives the error number's place, a filled `info` and the context.
    unsafe {
        let errno = *libc::__errno_location();
        let address = (*info).si_addr() as usize;
        match piece_at(address) {
            Some(piece) => meet(piece, address, context),
            None => hand_on(signal, info, context),
        }
        *libc::__errno_location() = errno;
    }
}

/// Opens a piece, and notes an access of the program.
///
/// # Safety
///
/// `context` is that of the fault.
unsafe fn meet(piece: &Piece, address: usize, context: *mut c_void) {
    if OWN.load(SeqCst) > 0 {
        piece.is_opened.store(true, SeqCst);
        IS_ANY_OPENED.store(true, SeqCst);
    } else {
        let mut notes = LIST.iter();
        let begin = |note: &&Note| {
            note.state
                .compare_exchange(FREE, BEGUN, SeqCst, SeqCst)
                .is_ok()
        };
        if let Some(note) = notes.find(begin) {
            // SAFETY: this thread has begun the note.
            unsafe {
                let (did, at) = cause(context);
                (*note.content.get()) = Content {
                    address,
                    did,
                    stack: stack(at),
                };
            }
            note.state.store(WHOLE, SeqCst);
            IS_ANY_WHOLE.store(true, SeqCst);
        }
    }
    open(&(piece.start.load(SeqCst) as u64..piece.end.load(SeqCst) as u64));
}

/// The calls that led to an instruction, from itself on, as addresses that calls return to.
fn stack(at: usize) -> [usize; DEPTH] {
    let mut all = [std::ptr::null_mut::<c_void>(); 2 * DEPTH];
    #[cfg(target_env = "gnu")]
    let count = if has_room() {
        // SAFETY: there is room for as many addresses.
        unsafe { libc::backtrace(all.as_mut_ptr(), all.len() as c_int) }
    } else {
        0
    };
    #[cfg(not(target_env = "gnu"))]
    let count: c_int = 0;
    let count = usize::try_from(count).unwrap_or(0);
    // The handler's own calls come before.
    let behind = all[..count].iter().position(|found| *found as usize == at);
    let mut stack = [0; DEPTH];
    // A call lies before the address that it returns to, and this is the instruction itself.
    stack[0] = at + 1;
    if let Some(first) = behind {
        for (to, from) in stack[1..].iter_mut().zip(&all[first + 1..count]) {
            *to = *from as usize;
        }
    }
    stack
}

/// Whether the stack of this handler has room for [`stack`]: a program may have a small one for
/// signals, as each thread of Rust does.
#[cfg(target_env = "gnu")]
fn has_room() -> bool {
    const NEEDED: usize = 32 << 10;
    let mut own = MaybeUninit::<libc::stack_t>::zeroed();
    let here = own.as_ptr() as usize;
    // SAFETY: it only writes the stack that there is; zeros are one as well.
    let own = unsafe {
        libc::sigaltstack(std::ptr::null(), own.as_mut_ptr());
        own.assume_init()
    };
    own.ss_flags & libc::SS_ONSTACK == 0 || here.saturating_sub(own.ss_sp as usize) >= NEEDED
}

/// What an access was, and the address of its instruction.
///
/// # Safety
///
/// `context` is that of a fault.
#[cfg(target_arch = "x86_64")]
unsafe fn cause(context: *mut c_void) -> (Did, usize) {
    const WRITE: libc::greg_t = 2;
    // SAFETY: the caller promises it.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let did = match registers[libc::REG_ERR as usize] & WRITE {
        0 => Did::Read,
        _ => Did::Write,
    };
    (did, registers[libc::REG_RIP as usize] as usize)
}

/// As above, of a processor whose context tells less.
///
/// # Safety
///
/// `context` is that of a fault.
#[cfg(target_arch = "aarch64")]
unsafe fn cause(context: *mut c_void) -> (Did, usize) {
    // SAFETY: the caller promises it.
    let at = unsafe { (*context.cast::<libc::ucontext_t>()).uc_mcontext.pc };
    (Did::Either, at as usize)
}

/// Lets the handler have a fault that was there before.
///
/// # Safety
///
/// The arguments are those of the handler.
unsafe fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let before = BEFORE.get();
    match before {
        Some(action)
            if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN =>
        {
            let function = action.sa_sigaction as *const c_void;
            // SAFETY: the flag says which of the two kinds of functions the program gave.
            unsafe {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    type Full = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                    std::mem::transmute::<*const c_void, Full>(function)(signal, info, context);
                } else {
                    std::mem::transmute::<*const c_void, extern "C" fn(c_int)>(function)(signal);
                }
            }
        }
        // The instruction is made again, and ends the process as it would have done.
        // SAFETY: it sets the system's own handler.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
        },
    }
}
