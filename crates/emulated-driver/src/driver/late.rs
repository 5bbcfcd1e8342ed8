//! Streams that are late. In other orders than 0 (`settings.rs`), a call leaves its work undone
//! until something waits for it, and what no rule orders is done in an order that is drawn: a
//! program that lacks an edge then has a wrong result, as it may on a GPU. Every order of a number
//! is the same each time.
//!
//! # What waits
//!
//! Calls that synchronise or ask do as much as they wait for. Those that enqueue, or only name an
//! object, leave everything ([`leaves_work`]). All others do everything first: some of them
//! synchronise by NVIDIA's documents (`cuMemAlloc`, `cuMemFree`), and of the rest it is not known
//! whether a program may count on it.
//!
//! A copy reads and writes the program's page-locked memory when it is done. From pageable memory
//! it takes the bytes at the call, and to pageable memory the call waits for it; so it does from
//! host to host (CUDA Driver API, "API synchronization behavior").
//!
//! A program may wait without a call, for a flag in page-locked memory or a function of its own.
//! If it makes no call for [`PATIENCE`], everything is done. At its end so are kernels and fills
//! that nothing has waited for, whose faults are told.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::between::MemoryOf;
use super::{Driver, is_device_address, queue, with};
use crate::caller;
use crate::code::Outcome;
use crate::objects::work::Work;
use crate::report;

/// Looks at a program without a call in between until everything is done, and the time between two.
const PATIENCE: (u32, Duration) = (4, Duration::from_millis(250));

/// Whether a function of the driver leaves work undone, or does by itself as much as it waits for.
fn leaves_work(name: &str) -> bool {
    const KINDS: [&str; 15] = [
        "cuCtxPopCurrent",
        "cuCtxPushCurrent",
        "cuCtxSetCurrent",
        "cuCtxSynchronize",
        "cuDriver",
        "cuEvent",
        "cuFuncSet",
        "cuGraph",
        "cuInit",
        "cuKernelSet",
        "cuLaunch",
        "cuMemcpy",
        "cuMemset",
        "cuOccupancy",
        "cuStream",
    ];
    KINDS.iter().any(|kind| name.starts_with(kind))
        || name.contains("Get")
        || name.contains("Async")
        || caller::is_of_runtime(name)
}

static CALLS: AtomicU64 = AtomicU64::new(0);
static INSIDE: AtomicU32 = AtomicU32::new(0);

/// A call of the driver, until it is dropped.
pub(crate) struct Inside;

impl Inside {
    /// Begins a call of this function: does everything first, unless the function leaves work.
    pub(crate) fn enter(name: &str) -> Inside {
        watch();
        CALLS.fetch_add(1, Relaxed);
        INSIDE.fetch_add(1, Relaxed);
        let inside = Inside;
        if !leaves_work(name) {
            do_everything();
        }
        inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Relaxed);
    }
}

impl Driver {
    /// Work as it waits in a stream, and whether its call waits for it.
    pub(super) fn prepared(&self, work: Work) -> Outcome<(Work, bool)> {
        if self.late.is_none() {
            return Ok((work, false));
        }
        let copy = match &work {
            Work::Copy(copy) if !copy.is_empty() => copy,
            Work::Launch(launch) => {
                // An impossible one is an error of its own call.
                let checked = launch.check(&self.machine);
                return match checked {
                    Ok(()) => Ok((work, false)),
                    Err(fault) => Err(report::not_launched(&fault)),
                };
            }
            _ => return Ok((work, false)),
        };
        let [from, to] = [copy.from, copy.to].map(|side| self.memory_of(side.address));
        let is_of_host = |memory| matches!(memory, MemoryOf::Pinned | MemoryOf::Pageable);
        if to == MemoryOf::Pageable || is_of_host(from) && is_of_host(to) {
            return Ok((work, true));
        }
        if from != MemoryOf::Pageable {
            return Ok((work, false));
        }
        // SAFETY: the program gave the memory for the call.
        let taken = unsafe { copy.taken() }?;
        Ok((Work::Staged(*copy, taken), false))
    }

    /// Leaves out of what streams have to do all that is of the program, which ends.
    fn leave_program(&mut self) {
        let is_of_program = |address| !is_device_address(address);
        for queue in self.queues.streams.values_mut() {
            queue.retain(|item| match &item.work {
                Work::Call(..) | Work::Callback(..) | Work::WaitValue { .. } => false,
                Work::Copy(copy) => ![copy.from, copy.to]
                    .map(|side| side.address)
                    .into_iter()
                    .any(is_of_program),
                Work::All(_) | Work::Branch(_) => false,
                _ => true,
            });
        }
    }

    fn has_late_work(&self) -> bool {
        self.late.is_some() && !self.queues.are_empty()
    }
}

/// Does all that streams have to do. Errors stay with their context, for the program's next call.
fn do_everything() {
    if with(|driver| Ok(driver.has_late_work())) == Ok(true) {
        let _ = queue::run();
    }
}

/// Does what the program has left to do at its end.
pub(super) fn end() {
    let _ = with(|driver| {
        driver.leave_program();
        Ok(())
    });
    do_everything();
}

/// Lets streams go on if the program makes no call.
fn watch() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        // Without a thread, a program that waits without a call waits for ever: it is told by its
        // own limits.
        let _ = std::thread::Builder::new().spawn(|| {
            let (mut seen, mut looks) = (0, 0);
            loop {
                std::thread::sleep(PATIENCE.1);
                let calls = CALLS.load(Relaxed);
                let is_same = calls == seen && INSIDE.load(Relaxed) == 0;
                (seen, looks) = (calls, if is_same { looks + 1 } else { 0 });
                if looks >= PATIENCE.0 {
                    do_everything();
                }
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_synchronise_do_everything_first() {
        for name in [
            "cuMemAlloc_v2",
            "cuMemFree_v2",
            "cuMemHostRegister",
            "cuCtxDestroy_v2",
            "cuModuleUnload",
        ] {
            assert!(!leaves_work(name), "{name}");
        }
        for name in [
            "cuLaunchKernel",
            "cuMemcpyHtoDAsync_v2",
            "cuMemAllocAsync",
            "cuStreamQuery",
            "cuCtxGetCurrent",
            "check_context",
        ] {
            assert!(leaves_work(name), "{name}");
        }
    }
}
