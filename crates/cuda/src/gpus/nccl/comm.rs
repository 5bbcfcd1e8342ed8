//! Communicators, and what is sent and received through them.

use std::cell::RefCell;
use std::ffi::c_int;
use std::ptr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::NcclError;
use super::library::{
    BYTES, Config, IN_PROGRESS, Nccl, RawComm, RawId, RawStream, SUCCESS, UniqueId,
};

/// How long a communicator that is dropped waits for what others still send it.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Held during every call that uses a communicator, and while a group is built. [`Comm::abort`]
/// takes the communicator away under it, so no call uses one that is gone. The calls return at
/// once, so no thread waits for long.
static CALLS: Mutex<()> = Mutex::new(());

fn calls() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One GPU among all that exchange bytes.
#[derive(Debug)]
pub struct Comm {
    nccl: Nccl,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Null once it is gone.
    raw: RawComm,
    /// Why it is gone.
    why: Option<String>,
}

// SAFETY: NCCL's communicators may be used from any thread, one at a time: `CALLS` sees to that.
unsafe impl Send for State {}

/// A GPU of this process that is to become a member.
pub struct Member<'m> {
    /// Its rank among all GPUs of the communicator.
    pub rank: usize,
    /// Makes its context current on this thread.
    pub enter: &'m mut dyn FnMut(),
}

impl std::fmt::Debug for Member<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("rank", &self.rank)
            .finish_non_exhaustive()
    }
}

impl Comm {
    /// Makes the GPU of the current context the member `rank` of `ranks`. All ranks do so with the
    /// same id; returns when all have.
    ///
    /// # Errors
    ///
    /// [`NcclError::Late`] if some have not within `longest`; [`NcclError::Call`].
    pub fn init(
        nccl: &Nccl,
        ranks: usize,
        rank: usize,
        id: &UniqueId,
        longest: Duration,
    ) -> Result<Comm, NcclError> {
        let enter = &mut || {};
        let mut comms =
            Comm::init_several(nccl, ranks, id, &mut [Member { rank, enter }], longest)?;
        Ok(comms.remove(0))
    }

    /// [`Comm::init`] for several GPUs of one thread.
    ///
    /// # Errors
    ///
    /// As [`Comm::init`]; then none of them is a member.
    pub fn init_several(
        nccl: &Nccl,
        ranks: usize,
        id: &UniqueId,
        members: &mut [Member<'_>],
        longest: Duration,
    ) -> Result<Vec<Comm>, NcclError> {
        let functions = nccl.functions;
        // NCCL may write there as long as the communicator is being made: 8 bytes each that are
        // never freed.
        let slots: &'static mut [RawComm] = vec![ptr::null_mut(); members.len()].leak();
        let first: *mut RawComm = slots.as_mut_ptr();
        let mut result = Ok(());
        {
            let _calls = calls();
            // SAFETY: it has no arguments.
            nccl.check("ncclGroupStart", unsafe { (functions.group_start)() })?;
            for (place, member) in members.iter_mut().enumerate() {
                (member.enter)();
                // SAFETY: the slot lives for ever, the configuration during the call; the context
                // is current.
                let code = unsafe {
                    (functions.init)(
                        first.add(place),
                        ranks as c_int,
                        RawId(*id),
                        member.rank as c_int,
                        &Config::NONBLOCKING,
                    )
                };
                result = result.and(nccl.check("ncclCommInitRankConfig", code));
            }
            // SAFETY: a group was started on this thread.
            let code = unsafe { (functions.group_end)() };
            result = result.and(nccl.check("ncclCommInitRankConfig", code));
        }
        let comms: Vec<Comm> = (0..members.len())
            .map(|place| Comm {
                nccl: *nccl,
                state: Mutex::new(State {
                    // SAFETY: the slot lives for ever. NCCL has written the communicator before it
                    // returned.
                    raw: unsafe { first.add(place).read_volatile() },
                    why: Some("it was not made".to_owned()),
                }),
            })
            .collect();
        let all: Vec<&Comm> = comms.iter().collect();
        let made = result.and_then(|()| wait(&all, "ncclCommInitRankConfig", longest));
        if let Err(error) = &made {
            abort(&all, &error.to_string());
        }
        made.map(|()| comms)
    }

    /// Whether it works: an error of a rank or of the network since the last call.
    ///
    /// # Errors
    ///
    /// [`NcclError::Call`] or [`NcclError::Aborted`].
    pub fn check(&self) -> Result<(), NcclError> {
        self.is_in_progress().map(drop)
    }

    /// Ends what is enqueued and what waits, on this GPU. From any thread; what others call then,
    /// or are in, ends with [`NcclError::Aborted`].
    pub fn abort(&self, why: &str) {
        abort(&[self], why);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The communicator, for a call under `CALLS`.
    fn raw(&self) -> Result<RawComm, NcclError> {
        let state = self.state();
        if state.raw.is_null() {
            return Err(NcclError::Aborted {
                why: state.why.clone().unwrap_or_default(),
            });
        }
        Ok(state.raw)
    }

    fn is_in_progress(&self) -> Result<bool, NcclError> {
        let _calls = calls();
        let raw = self.raw()?;
        let mut state: c_int = SUCCESS;
        // SAFETY: the communicator is there, and `CALLS` keeps it; the state is ours to write.
        let code = unsafe { (self.nccl.functions.async_error)(raw, &raw mut state) };
        self.nccl.check("ncclCommGetAsyncError", code)?;
        self.nccl.check("ncclCommGetAsyncError", state)?;
        Ok(state == IN_PROGRESS)
    }

    /// Takes the communicator away: no call uses it from now on.
    fn take(&self, why: &str) -> Option<RawComm> {
        let _calls = calls();
        let mut state = self.state();
        let raw = std::mem::replace(&mut state.raw, ptr::null_mut());
        (!raw.is_null()).then(|| {
            state.why = Some(why.to_owned());
            raw
        })
    }
}

/// How many threads are in NCCL's abort.
static ABORTING: Mutex<u32> = Mutex::new(0);
static ABORTED: Condvar = Condvar::new();

fn aborting() -> MutexGuard<'static, u32> {
    ABORTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no thread aborts any more. A thread that was told of an abort by an error calls this
/// before it frees what NCCL may still use, or ends the program.
pub fn settle() {
    let mut aborts = aborting();
    while *aborts > 0 {
        aborts = ABORTED.wait(aborts).unwrap_or_else(PoisonError::into_inner);
    }
}

/// [`Comm::abort`] of several GPUs of one thread: NCCL wants them in one go.
pub fn abort(comms: &[&Comm], why: &str) {
    *aborting() += 1;
    abort_now(comms, why);
    *aborting() -= 1;
    ABORTED.notify_all();
}

fn abort_now(comms: &[&Comm], why: &str) {
    let taken: Vec<(&Comm, RawComm)> = comms
        .iter()
        .filter_map(|comm| Some((*comm, comm.take(why)?)))
        .collect();
    // Without `CALLS`: other threads may have to abort theirs before this one gets on.
    let Some(functions) = taken.first().map(|(comm, _)| comm.nccl.functions) else {
        return;
    };
    // An error here has no remedy: the communicators are gone either way.
    // SAFETY: they were taken away, so that nothing uses them but this.
    unsafe {
        let is_group = taken.len() > 1;
        if is_group {
            (functions.group_start)();
        }
        for (_, raw) in &taken {
            (functions.abort)(*raw);
        }
        if is_group {
            (functions.group_end)();
        }
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        if thread::panicking() {
            return self.abort("a panic");
        }
        let finalize = || {
            let _calls = calls();
            let raw = self.raw()?;
            // SAFETY: the communicator is there, and `CALLS` keeps it.
            let code = unsafe { (self.nccl.functions.finalize)(raw) };
            self.nccl.check("ncclCommFinalize", code)
        };
        let finalized = finalize().and_then(|()| wait(&[self], "ncclCommFinalize", LAST_WAIT));
        match finalized {
            Ok(()) => {
                if let Some(raw) = self.take("it was dropped") {
                    // SAFETY: it is finalized, and nothing uses it but this.
                    unsafe { (self.nccl.functions.destroy)(raw) };
                }
            }
            Err(error) => self.abort(&error.to_string()),
        }
    }
}

/// Sends and receives that NCCL starts together, so that they need not wait for each other.
#[derive(Debug)]
pub struct Group<'g> {
    comms: RefCell<Vec<&'g Comm>>,
}

impl Nccl {
    /// Enqueues all that `build` sends and receives, on the streams that it names. Returns when all
    /// is enqueued; work that is enqueued on these streams afterwards comes after it. The first
    /// exchange between two ranks waits until both take part.
    ///
    /// # Errors
    ///
    /// [`NcclError::Late`] if other ranks do not take part within `longest`,
    /// [`NcclError::Aborted`], [`NcclError::Call`], or what `build` returns. After an error, abort
    /// the communicators.
    pub fn group<'g>(
        &self,
        longest: Duration,
        build: impl FnOnce(&Group<'g>) -> Result<(), NcclError>,
    ) -> Result<(), NcclError> {
        let group = Group {
            comms: RefCell::default(),
        };
        let result = {
            let _calls = calls();
            // SAFETY: it has no arguments.
            self.check("ncclGroupStart", unsafe { (self.functions.group_start)() })?;
            let built = build(&group);
            // SAFETY: a group was started on this thread.
            let code = unsafe { (self.functions.group_end)() };
            built.and(self.check("ncclGroupEnd", code))
        };
        let comms = group.comms.into_inner();
        result.and_then(|()| wait(&comms, "a group of sends and receives", longest))
    }
}

impl<'g> Group<'g> {
    /// Sends `bytes` bytes at a device address to another rank, which receives as many.
    ///
    /// # Errors
    ///
    /// [`NcclError::Aborted`] or [`NcclError::Call`].
    ///
    /// # Safety
    ///
    /// The memory is that of the communicator's GPU, and stays until the stream has done it;
    /// nothing writes there meanwhile. The stream is of that GPU's context.
    pub unsafe fn send(
        &self,
        comm: &'g Comm,
        address: u64,
        bytes: usize,
        peer: usize,
        stream: RawStream,
    ) -> Result<(), NcclError> {
        let raw = self.with(comm)?;
        // SAFETY: the communicator is there, and the group's lock keeps it; the rest is the
        // caller's.
        let code = unsafe {
            let address = ptr::with_exposed_provenance(address as usize);
            (comm.nccl.functions.send)(address, bytes, BYTES, peer as c_int, raw, stream)
        };
        comm.nccl.check("ncclSend", code)
    }

    /// Receives `bytes` bytes of another rank at a device address.
    ///
    /// # Errors
    ///
    /// [`NcclError::Aborted`] or [`NcclError::Call`].
    ///
    /// # Safety
    ///
    /// As [`Group::send`]; nothing reads there meanwhile either.
    pub unsafe fn receive(
        &self,
        comm: &'g Comm,
        address: u64,
        bytes: usize,
        peer: usize,
        stream: RawStream,
    ) -> Result<(), NcclError> {
        let raw = self.with(comm)?;
        // SAFETY: as in `send`.
        let code = unsafe {
            let address = ptr::with_exposed_provenance_mut(address as usize);
            (comm.nccl.functions.receive)(address, bytes, BYTES, peer as c_int, raw, stream)
        };
        comm.nccl.check("ncclRecv", code)
    }

    /// The communicator, which the group will wait for.
    fn with(&self, comm: &'g Comm) -> Result<RawComm, NcclError> {
        let raw = comm.raw()?;
        let mut comms = self.comms.borrow_mut();
        if !comms.iter().any(|other| ptr::eq(*other, comm)) {
            comms.push(comm);
        }
        Ok(raw)
    }
}

/// Waits until none of these communicators is busy. Too late, it aborts them.
fn wait(comms: &[&Comm], what: &'static str, longest: Duration) -> Result<(), NcclError> {
    let began = Instant::now();
    // Most calls are done at once, and the rest take milliseconds or for ever.
    let mut pause = Duration::from_micros(5);
    for comm in comms {
        while comm.is_in_progress()? {
            if began.elapsed() > longest {
                let late = NcclError::Late {
                    what,
                    after: longest,
                };
                abort(comms, &late.to_string());
                return Err(late);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
    }
    Ok(())
}
