//! The callers of the driver. Two kinds of them may not call.
//!
//! - **A function that a stream calls.** The stream goes on when the function returns, so that a
//!   call that waits for the stream would wait for itself. `cuda.h` says of `cuStreamAddCallback`
//!   that every call of the API gives `CUDA_ERROR_NOT_PERMITTED` there, and of `cuLaunchHostFunc`
//!   that it may.
//! - **A process that was forked after the driver was started.** Threads that run kernels or held a
//!   lock are not in it. A GPU's driver gives `CUDA_ERROR_NOT_INITIALIZED` there.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::code::{Code, Outcome};
use crate::report;

/// How long a call waits for a function of the program to return.
pub(crate) const PATIENCE: Duration = Duration::from_millis(200);

/// Functions for everyone: they need nothing of the driver's state.
const FOR_EVERYONE: [&str; 6] = [
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetExportTable",
    "cuGetProcAddress",
    "cuGetProcAddress_v2",
];

/// Questions with which the CUDA runtime finds its own state before it calls what it was asked for.
/// They wait for nothing.
const OF_RUNTIME: [&str; 5] = [
    "check_context",
    "cuCtxGetApiVersion",
    "cuCtxGetCurrent",
    "current_context",
    "get_stored",
];

/// Whether a function is one of those questions.
pub(crate) fn is_of_runtime(name: &str) -> bool {
    OF_RUNTIME.contains(&name)
}

/// Questions that a GPU's driver answers in a function of a stream as well, although the API
/// permits no call there (seen on an H200, driver 580). [`EVENT_SYNCHRONIZE`] is a question where
/// the event is done; else it would wait.
const ANSWERED: [&str; 6] = [
    "cuEventElapsedTime",
    "cuEventElapsedTime_v2",
    "cuEventQuery",
    EVENT_SYNCHRONIZE,
    "cuInit",
    "cuStreamGetFlags",
];

const EVENT_SYNCHRONIZE: &str = "cuEventSynchronize";

/// Parts of the names of functions that give something back. Libraries call them while a process
/// ends, whether their user has used CUDA in it or not.
const GIVES_BACK: [&str; 6] = [
    "Destroy",
    "Free",
    "Release",
    "Unload",
    "Unregister",
    "forget_stored",
];

thread_local! {
    static IS_STREAM: Cell<bool> = const { Cell::new(false) };
    static FUNCTION: Cell<&str> = const { Cell::new("") };
}

/// Notes the function of the driver that this thread calls.
pub(crate) fn calls(name: &'static str) {
    // While a thread ends, its variables may be gone.
    let _ = FUNCTION.try_with(|function| function.set(name));
}

/// The function of the driver that this thread calls.
pub(crate) fn function() -> &'static str {
    FUNCTION.try_with(Cell::get).unwrap_or("")
}

/// The process that started the driver; 0 before.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// Notes that this process starts the driver.
pub(crate) fn starts() {
    let _ = STARTED_BY.compare_exchange(0, std::process::id(), Relaxed, Relaxed);
}

/// Whether this process has started the driver, and was not forked from one that had.
pub(crate) fn is_starter() -> bool {
    STARTED_BY.load(Relaxed) == std::process::id()
}

/// Calls a function of the program for a stream.
pub(crate) fn as_stream(call: impl FnOnce()) {
    IS_STREAM.set(true);
    call();
    IS_STREAM.set(false);
}

/// Whether the caller is a function that a stream calls.
fn is_of_stream() -> bool {
    IS_STREAM.try_with(Cell::get).unwrap_or(false)
}

/// Refuses to let a function of a stream wait for an event, which is told.
pub(crate) fn may_wait_for_event() -> Outcome {
    if is_of_stream() {
        tell_stream(EVENT_SYNCHRONIZE);
        return Err(Code::NOT_PERMITTED);
    }
    Ok(())
}

/// The result for a caller who may not call this function, which is told.
pub(crate) fn refusal(name: &'static str) -> Option<Code> {
    let is_of_stream = is_of_stream();
    let starter = STARTED_BY.load(Relaxed);
    let is_forked = starter != 0 && starter != std::process::id();
    if !is_of_stream && !is_forked || FOR_EVERYONE.contains(&name) {
        return None;
    }
    if is_forked {
        tell_fork(name);
        return Some(Code::NOT_INITIALIZED);
    }
    if OF_RUNTIME.contains(&name) || ANSWERED.contains(&name) {
        return None;
    }
    tell_stream(name);
    Some(Code::NOT_PERMITTED)
}

/// Tells of a call by a function of a stream, once per name.
fn tell_stream(name: &'static str) {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let is_new = TOLD
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(name);
    if is_new {
        report::note(&format!(
            "{name} was called by a function that a stream calls (cuLaunchHostFunc, cuStreamAddCallback, \
             a graph's host node) or that ends a user object, where CUDA permits no call: CUDA_ERROR_NOT_PERMITTED. Let the \
             function set a flag or wake a thread, and make the call there"
        ));
    }
}

/// Tells of a call in a forked process, once.
fn tell_fork(name: &str) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if GIVES_BACK.iter().any(|part| name.contains(part)) || IS_TOLD.swap(true, Relaxed) {
        return;
    }
    // A function of the runtime's own tables has no name that a program knows.
    let what = if name.starts_with("cu") {
        name
    } else {
        "the driver"
    };
    let line = format!(
        "emulated driver: {what} was called in a process that was forked after CUDA was used, where \
         CUDA cannot be used any more: CUDA_ERROR_NOT_INITIALIZED, as on a GPU. Fork before the \
         first call of CUDA, or start a process anew (`spawn` in Python's multiprocessing)\n"
    );
    // Past the lock of standard error, which a thread of the parent may have held.
    let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
}
