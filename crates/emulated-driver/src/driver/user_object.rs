//! The functions of objects that have ended. As in a GPU's driver, one thread calls them, one after
//! the other; the call that has ended the object waits for it a while, so that runs of a program
//! are the same.

use std::ffi::c_void;
use std::sync::{OnceLock, mpsc};

use crate::caller::{self, PATIENCE};
use crate::objects::user_object::{Ended, take_ended};

type Calls = (Vec<Ended>, mpsc::Sender<()>);

/// Calls the functions of all objects that have ended. The driver must not be held.
pub(super) fn call_ended() {
    let ended = take_ended();
    if ended.is_empty() {
        return;
    }
    let (returned, wait) = mpsc::channel();
    match thread() {
        Some(calls) if calls.send((ended.clone(), returned)).is_ok() => {
            let _ = wait.recv_timeout(PATIENCE);
        }
        // The system has no more threads.
        _ => call(ended),
    }
}

fn thread() -> Option<&'static mpsc::Sender<Calls>> {
    static CALLS: OnceLock<Option<mpsc::Sender<Calls>>> = OnceLock::new();
    let calls = CALLS.get_or_init(|| {
        let (calls, given) = mpsc::channel::<Calls>();
        let thread = std::thread::Builder::new().spawn(move || {
            for (ended, returned) in given {
                call(ended);
                let _ = returned.send(());
            }
        });
        thread.ok().map(|_| calls)
    });
    calls.as_ref()
}

fn call(ended: Vec<Ended>) {
    for (function, data) in ended {
        // SAFETY: the program gave the function to be called once, behind the last reference.
        caller::as_stream(|| unsafe { function(data as *mut c_void) });
    }
}
