//! Calls that are refused while a stream records a graph, because they may wait for the stream or
//! synchronise it: "potentially unsafe API calls". Such a call ends the recording. The page of
//! `cuThreadExchangeStreamCaptureMode` has the rules; which calls are meant was seen on an H200
//! (driver 580).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::{Driver, with};
use crate::caller;
use crate::code::{Code, Outcome};
use crate::objects::graph::{Capture, Mode};
use crate::report;

/// The calls, without their versions; those whose arguments matter ask [`Driver::may_be_unsafe`].
const UNSAFE: [&str; 21] = [
    "cuArray3DCreate",
    "cuArrayCreate",
    "cuCtxSetLimit",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuGraphInstantiate",
    "cuGraphInstantiateWithFlags",
    "cuGraphInstantiateWithParams",
    "cuMemAlloc",
    "cuMemAllocHost",
    "cuMemAllocManaged",
    "cuMemAllocPitch",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuMemPoolCreate",
    "cuMemPoolTrimTo",
    "cuMipmappedArrayCreate",
    "cuModuleUnload",
    "cuStreamQuery",
    "cuStreamSynchronize",
];

/// A stream records, perhaps: most calls of most programs need not ask.
static MAY_RECORD: AtomicBool = AtomicBool::new(false);

thread_local! {
    static MODE: Cell<c_int> = const { Cell::new(Mode::Global as c_int) };
}

/// Changes how this thread's calls and recordings get on with each other; gives how they did.
pub(crate) fn exchange_mode(mode: c_int) -> c_int {
    MODE.replace(mode)
}

/// Takes note that a stream records from now on.
pub(super) fn begin() {
    MAY_RECORD.store(true, Relaxed);
}

/// Whether a call is refused, by its name.
pub(crate) fn check(name: &'static str) -> Outcome {
    if !MAY_RECORD.load(Relaxed) {
        return Ok(());
    }
    let plain = name.strip_suffix("_v2").unwrap_or(name);
    if plain == "cuCtxSynchronize" {
        return with(|driver| {
            let context = driver.current_context()?;
            driver.refuse_unsafe(|capture| capture.origin.context == context)
        });
    }
    if UNSAFE.contains(&plain) {
        return with(Driver::may_be_unsafe);
    }
    Ok(())
}

impl Driver {
    /// Refuses a call that may be unsafe, if a recording does not allow such calls to this thread.
    pub(crate) fn may_be_unsafe(&mut self) -> Outcome {
        let (mode, own) = (MODE.get(), thread::current().id());
        self.refuse_unsafe(|capture| {
            let is_own = capture.thread == own;
            match mode {
                0 => {
                    is_own && capture.mode != Mode::Relaxed
                        || !is_own && capture.mode == Mode::Global
                }
                1 => is_own && capture.mode != Mode::Relaxed,
                _ => false,
            }
        })
    }

    fn refuse_unsafe(&mut self, forbids: impl Fn(&Capture) -> bool) -> Outcome {
        MAY_RECORD.store(!self.captures.is_empty(), Relaxed);
        let mut is_refused = false;
        for capture in self
            .captures
            .values_mut()
            .filter(|capture| forbids(capture))
        {
            capture.is_invalid = true;
            is_refused = true;
        }
        if !is_refused {
            return Ok(());
        }
        tell(caller::function());
        Err(Code::STREAM_CAPTURE_UNSUPPORTED)
    }
}

/// Tells of such a call, once per name.
fn tell(name: &'static str) {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(name) {
        report::note(&format!(
            "{name} was called while a stream records a graph, which CUDA forbids because the call may \
             wait for it: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the recording is invalid. Make the \
             call before or behind the recording, or begin that with cudaStreamCaptureModeRelaxed if \
             the call has nothing to do with it"
        ));
    }
}
