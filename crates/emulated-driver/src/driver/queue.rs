//! The work of streams, and when it is done.
//!
//! A call that enqueues work does all work that is ready, so that nothing runs in the background
//! and every run of a program is the same. A function of the program has a thread of its own, as in
//! a GPU's driver. If it has not returned after `PATIENCE`, the call returns, because the function
//! may wait for a later step of the program. Work is ready when it is the first of its stream and
//!
//! - for the legacy stream: the blocking streams of its context have no earlier work;
//! - for a blocking stream: the legacy stream of its context has no earlier work;
//! - for a wait: its event was recorded, or the value in memory is as asked for;
//! - for a graph: its earlier launches have ended, in any stream (`cuGraphLaunch`).
//!
//! A stream that waits goes on at a later call, of any thread; so does a loop of a graph that has
//! not ended in the same time (`loops.rs`). Where streams are late (`late.rs`), the call that
//! enqueues does nothing, and calls that wait do what they wait for.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::between::Begun;
use super::context::stack;
use super::loops::ROUNDS_IN_TURN;
use super::{Driver, is_device_address, with};
use crate::caller::{self, PATIENCE};
use crate::code::{Code, Outcome};
use crate::guard;
use crate::host::{self, Access};
use crate::objects::copy::{Copy, Side};
use crate::objects::graph::GraphWork;
use crate::objects::late::MOST;
use crate::objects::stream::{Event, LEGACY, LEGACY_BY_NAME, PER_THREAD, StreamKey};
use crate::objects::work::{Callback, Item, NodeOf, Work};
use crate::objects::{Handle, HostFunction};

/// How long a thread sleeps that waits for a stream which another thread lets go on.
const POLL: Duration = Duration::from_micros(200);

/// Streams and events by their handles.
impl Driver {
    /// The stream with this handle; default streams are those of the current context.
    pub(crate) fn stream(&mut self, stream: Handle) -> Outcome<StreamKey> {
        let key = match stream {
            LEGACY | LEGACY_BY_NAME => StreamKey {
                context: self.current_context()?,
                stream: LEGACY,
            },
            PER_THREAD => StreamKey {
                context: self.current_context()?,
                stream,
            },
            _ => StreamKey {
                context: { self.streams.get(&stream) }
                    .filter(|known| !known.is_destroyed)
                    .ok_or(Code::INVALID_HANDLE)?
                    .context,
                stream,
            },
        };
        Ok(key)
    }

    /// Whether a stream waits for the legacy stream, and that for it.
    pub(crate) fn is_blocking(&self, key: StreamKey) -> bool {
        self.streams
            .get(&key.stream)
            .is_none_or(|stream| !stream.is_apart)
    }

    pub(crate) fn event(&mut self, event: Handle) -> Outcome<&mut Event> {
        self.events
            .get_mut(&event)
            .filter(|known| !known.is_destroyed)
            .ok_or(Code::INVALID_HANDLE)
    }
}

/// The fate of the first work of a stream.
enum Step {
    /// Nothing is ready.
    Idle,
    Done,
    /// A round of a loop that has had many, with nothing else that is ready.
    Round,
    /// A function of the program is to be called, and then [`Driver::called`].
    Call(StreamKey, HostCall),
}

/// A call of a function of the program.
#[derive(Clone, Copy)]
enum HostCall {
    Function(HostFunction, usize),
    /// The state of the context is the second argument.
    Callback(Callback, Handle, c_int, usize),
}

impl HostCall {
    /// # Safety
    ///
    /// The program gave the function for this call, which is made once.
    unsafe fn make(self) {
        // SAFETY: the caller promises it.
        unsafe {
            match self {
                HostCall::Function(function, data) => function(data as *mut c_void),
                HostCall::Callback(function, stream, state, data) => {
                    function(stream, state, data as *mut c_void);
                }
            }
        }
    }
}

impl Driver {
    /// Whether the host that waits for a stream has waited: it has nothing to do, and what its next
    /// work would be behind is done.
    pub(crate) fn is_through(&self, key: StreamKey) -> bool {
        let has_none = |wanted: &dyn Fn(&StreamKey) -> bool| {
            let mut queues = self.queues.streams.iter();
            queues.all(|(other, queue)| queue.is_empty() || !wanted(other))
        };
        match key.stream {
            _ if !self.is_blocking(key) => self.queues.is_empty(key),
            LEGACY => has_none(&|other| other.context == key.context && self.is_blocking(*other)),
            _ => {
                let legacy = StreamKey {
                    stream: LEGACY,
                    ..key
                };
                self.queues.is_empty(key) && self.queues.is_empty(legacy)
            }
        }
    }

    /// The error of earlier work of a context that its next call returns.
    fn take_error(&mut self, context: Handle) -> Outcome {
        let context = self.context(context)?;
        match context.refused.take().or(context.fault) {
            Some(code) => Err(code),
            None => Ok(()),
        }
    }

    /// Whether the first work of a stream may be done now.
    fn is_ready(&self, key: StreamKey, item: &Item) -> bool {
        if self.queues.calling.contains(&key) {
            return false;
        }
        let has_earlier = |other: &StreamKey| {
            let first = self.queues.streams.get(other).and_then(VecDeque::front);
            first.is_some_and(|first| first.ticket < item.ticket)
        };
        let is_free = match key.stream {
            LEGACY => !self.queues.streams.keys().any(|other| {
                *other != key
                    && other.context == key.context
                    && self.is_blocking(*other)
                    && has_earlier(other)
            }),
            _ => {
                !(self.is_blocking(key)
                    && has_earlier(&StreamKey {
                        stream: LEGACY,
                        ..key
                    }))
            }
        };
        is_free
            && match item.work {
                Work::Wait(event, number, _) => self
                    .events
                    .get(&event)
                    .is_none_or(|event| !event.pending.contains(&number)),
                Work::WaitValue {
                    address,
                    value,
                    bytes,
                    condition,
                } => condition.holds(self.value_at(address, bytes), value, bytes),
                Work::All(ref graph) => {
                    let mut items = self.queues.streams.values().flatten();
                    let is_own = |launched: &Arc<GraphWork>| launched.id == graph.id;
                    !items.any(|other| {
                        other.ticket < item.ticket && other.graph.as_ref().is_some_and(is_own)
                    })
                }
                _ => true,
            }
    }

    fn value_at(&self, address: u64, bytes: u32) -> u64 {
        let mut value = [0; 8];
        let bytes = &mut value[..bytes as usize];
        match is_device_address(address) {
            // The address was checked when the wait was enqueued; a buffer that was freed since
            // reads as 0.
            true => drop(self.machine.read(address, bytes)),
            // So does a word of the program's own memory that it has unmapped since.
            false if !host::allows(Access::Read, address, bytes.len() as u64) => {}
            // SAFETY: the program keeps the word until the stream has passed the wait.
            false => bytes.copy_from_slice(unsafe {
                std::slice::from_raw_parts(address as *const u8, bytes.len())
            }),
        }
        u64::from_le_bytes(value)
    }

    /// Does one piece of work that is ready.
    fn step(&mut self) -> Step {
        let own = guard::Own::begin();
        let step = self.first_step();
        drop(own);
        self.close_again();
        step
    }

    fn first_step(&mut self) -> Step {
        let queues = self.queues.streams.iter();
        let first = queues.filter_map(|(key, queue)| Some((*key, queue.front()?)));
        let ready = first
            .filter(|(key, item)| self.is_ready(*key, item))
            .min_by_key(|(key, item)| {
                let rank = self.late.as_ref().map_or(0, |late| late.rank(*key));
                (item.rounds / ROUNDS_IN_TURN, rank, item.ticket)
            })
            .map(|(key, _)| key);
        let Some(key) = ready else { return Step::Idle };
        let Some(item) = self
            .queues
            .streams
            .get_mut(&key)
            .and_then(VecDeque::pop_front)
        else {
            return Step::Idle;
        };
        if let Some(late) = &mut self.late {
            late.has_done(key);
        }
        let ticket = item.ticket;
        let mut is_whole = true;
        let begun = self.begin_command(&item);
        let done = match &item.work {
            Work::All(all) => {
                if item
                    .graph
                    .as_ref()
                    .is_some_and(|graph| Arc::ptr_eq(graph, all))
                {
                    self.begin_conditions(all);
                }
                let run = { begun.as_ref() }.map(|own| self.between.begin_run(all, own));
                let queue = self.queues.streams.entry(key).or_default();
                let part = |work, node| Item {
                    ticket,
                    work,
                    sent: item.sent.clone(),
                    graph: item.graph.clone(),
                    node,
                    rounds: 0,
                };
                if let Some(run) = run {
                    queue.push_front(part(Work::Nothing, Some(NodeOf::End(run))));
                }
                let order = match &mut self.late {
                    Some(late) => late.nodes(all),
                    None => (0..all.work.len()).collect(),
                };
                for index in order.into_iter().rev() {
                    let node = run.map(|run| NodeOf::Node(run, index));
                    queue.push_front(part(all.work[index].clone(), node));
                }
                Ok(())
            }
            Work::Call(function, data) => {
                self.begin_call(key, &item, begun.as_ref());
                return Step::Call(key, HostCall::Function(*function, *data));
            }
            Work::Callback(function, stream, data) => {
                self.begin_call(key, &item, begun.as_ref());
                let context = self.contexts.get(&key.context);
                let state = context
                    .and_then(|context| context.fault)
                    .map_or(0, |Code(number)| number);
                return Step::Call(key, HostCall::Callback(*function, *stream, state, *data));
            }
            Work::Branch(branch) => self.do_branch(key, &item, branch, begun.as_ref()),
            Work::Launch(launch) => {
                self.let_kernel_set(&item);
                let launched = launch.execute(self);
                let set = self.kernel_has_set();
                self.between.sets(begun.as_ref(), &set);
                launched.map(|is_done| is_whole = is_done)
            }
            other => self.execute(other),
        };
        let ended = done.and_then(|()| self.end_command(&item.work, begun.as_ref()));
        if let Err(code) = ended {
            self.fail(key.context, code);
        }
        if ended.is_err() || !is_whole {
            self.work_was_left(key, &item);
        }
        if item.rounds < ROUNDS_IN_TURN {
            Step::Done
        } else {
            Step::Round
        }
    }

    fn execute(&mut self, work: &Work) -> Outcome {
        match work {
            // SAFETY: the program keeps the memory of a copy until its stream has passed it.
            Work::Copy(copy) => unsafe { copy.execute(self) },
            // SAFETY: as of a copy; what was taken is there.
            Work::Staged(copy, taken) => unsafe { copy.out_of(taken).execute(self) },
            // SAFETY: the program keeps the memory of a fill until its stream has passed it.
            Work::Fill(fill) => unsafe { fill.execute(self) },
            Work::Record(event, number, _) => {
                if let Some(known) = self.events.get_mut(event) {
                    known.pending.remove(number);
                    if *number == known.recorded {
                        known.time = Some(Instant::now());
                    }
                    if known.is_destroyed && known.pending.is_empty() {
                        self.events.remove(event);
                    }
                }
                Ok(())
            }
            Work::WriteValue {
                address,
                value,
                bytes,
            } => {
                let value = value.to_le_bytes();
                let copy = Copy::of(
                    Side::device(*address),
                    Side::any(value.as_ptr() as u64),
                    *bytes as usize,
                );
                // SAFETY: the value is ours, and the program keeps the word.
                unsafe { copy.execute(self) }
            }
            Work::Make(address) => self.make(*address),
            Work::Free(address) => {
                if self.free(*address) {
                    Ok(())
                } else {
                    Err(Code::INVALID_VALUE)
                }
            }
            Work::Nothing
            | Work::Wait(..)
            | Work::WaitValue { .. }
            | Work::RecordInGraph(_)
            | Work::WaitInGraph(_)
            | Work::Within(_) => Ok(()),
            Work::Launch(_)
            | Work::Call(..)
            | Work::Callback(..)
            | Work::All(_)
            | Work::Branch(_) => unreachable!("done by `step`"),
        }
    }

    /// A fault makes its context unusable, and ends what its streams have to do. An event that
    /// would have been recorded counts as recorded: nothing waits for ever. Callbacks are called
    /// with the error, as `cuStreamAddCallback` promises.
    fn fail(&mut self, context: Handle, code: Code) {
        if !matches!(
            code,
            Code::NOT_SUPPORTED
                | Code::INVALID_VALUE
                | Code::LAUNCH_OUT_OF_RESOURCES
                | Code::OUT_OF_MEMORY
        ) {
            if let Some(context) = self.contexts.get_mut(&context) {
                context.fault.get_or_insert(code);
            }
            self.queues.keep_callbacks(context);
            self.open_all();
            for event in self
                .events
                .values_mut()
                .filter(|event| event.context == context)
            {
                event.pending.clear();
            }
        }
        if let Some(context) = self.contexts.get_mut(&context) {
            context.refused = Some(code);
        }
    }

    /// A function runs as the first work of its stream, so that later work waits for it.
    fn begin_call(&mut self, key: StreamKey, item: &Item, begun: Option<&Begun>) {
        self.queues.calling.insert(key);
        let queue = self.queues.streams.entry(key).or_default();
        queue.push_front(Item {
            ticket: item.ticket,
            work: Work::Nothing,
            sent: None,
            graph: None,
            node: None,
            rounds: 0,
        });
        let _ = self.end_command(&item.work, begun);
        self.function_begins(begun);
    }

    fn called(&mut self, key: StreamKey) {
        self.queues.calling.remove(&key);
    }
}

/// Does everything that is ready.
pub(crate) fn run() -> Outcome {
    run_until(|_| false)
}

/// Does everything that is ready; where streams are late, until something is so. Loops that go on
/// have as much time as functions of the program, and are gone on with by a later call.
pub(crate) fn run_until(is_done: impl Fn(&Driver) -> bool) -> Outcome {
    run_for(PATIENCE, is_done)
}

/// As [`run_until`], but loops go on until they end, or until something is so.
pub(crate) fn run_with_loops(is_done: impl Fn(&Driver) -> bool) -> Outcome {
    run_for(Duration::MAX, is_done)
}

fn run_for(of_loops: Duration, is_done: impl Fn(&Driver) -> bool) -> Outcome {
    let begun = Instant::now();
    loop {
        let step = with(|driver| {
            let is_enough = driver.late.is_some() && is_done(driver);
            Ok(if is_enough { Step::Idle } else { driver.step() })
        })?;
        match step {
            Step::Idle => return Ok(()),
            Step::Round if begun.elapsed() > of_loops => return Ok(()),
            Step::Round if with(|driver| Ok(is_done(driver)))? => return Ok(()),
            Step::Done | Step::Round => {}
            Step::Call(key, call) => call_aside(key, call),
        }
    }
}

/// Calls a function of the program in a thread of its own, and waits until it has returned, or for
/// [`PATIENCE`]. A function that takes longer lets its stream go on by itself. If the system has no
/// more threads, it is called on this one.
fn call_aside(key: StreamKey, call: HostCall) {
    let make = move || {
        let own = stack(|stack| std::mem::replace(stack, vec![key.context]));
        // SAFETY: the program gave the function for this call, which one thread makes.
        caller::as_stream(|| unsafe { call.make() });
        stack(|stack| *stack = own);
        with(|driver| {
            driver.called(key);
            Ok(())
        })
    };
    let (returned, wait) = mpsc::channel();
    let aside = std::thread::Builder::new().spawn(move || {
        // Errors of the work that follows stay with their context, for the program's next call.
        if make().is_ok() && returned.send(()).is_err() {
            let _ = run();
        }
    });
    match aside {
        Ok(_) => drop(wait.recv_timeout(PATIENCE)),
        Err(_) => drop(make()),
    }
}

/// Enqueues work, or gives it to the graph that the stream records, and does what is ready. An
/// error of the work itself is returned if it was done at once, or else by a later call.
pub(crate) fn submit(stream: Handle, work: Work) -> Outcome {
    let (key, is_waited_for, of_loops) = with(|driver| {
        let key = driver.stream(stream)?;
        if let Some(code) = driver.context(key.context)?.fault {
            return Err(code);
        }
        if driver.record_in_graph(key, &work)? {
            return Ok((key, false, PATIENCE));
        }
        let of_loops = if driver.may_be_behind_loop(&work) {
            PATIENCE
        } else {
            Duration::MAX
        };
        let (work, is_waited_for) = driver.prepared(work)?;
        let sent = driver.sent(key);
        driver.queues.push(key, work, sent);
        Ok((key, is_waited_for, of_loops))
    })?;
    run_for(of_loops, |driver| {
        if is_waited_for {
            driver.is_through(key)
        } else {
            driver.late.is_some() && driver.queues.count() <= MOST
        }
    })?;
    with(|driver| driver.take_error(key.context))
}

/// Waits until a stream has nothing to do, for the host.
pub(crate) fn finish(stream: Handle) -> Outcome {
    let key = end(stream)?;
    with(|driver| {
        driver.host_waits_for_stream(key);
        Ok(())
    })
}

/// Waits until a stream has nothing to do, where a GPU's driver need not wait.
pub(crate) fn end(stream: Handle) -> Outcome<StreamKey> {
    let key = with(|driver| {
        let key = driver.stream(stream)?;
        driver.refuse_while_recording(key)?;
        Ok(key)
    })?;
    finish_all(key.context, |driver| driver.is_through(key))?;
    Ok(key)
}

/// Waits until all streams of a context have nothing to do, for the host.
pub(crate) fn finish_context(context: Handle) -> Outcome {
    let finished = finish_all(context, |driver| {
        let mut streams = driver.queues.streams.iter();
        streams.all(|(key, queue)| key.context != context || queue.is_empty())
    });
    with(|driver| {
        driver.host_waits_for_context(context);
        Ok(())
    })?;
    finished
}

/// Waits until something is so. A context that fails has soon nothing to do but the callbacks,
/// which are still called: the error is given after them.
pub(crate) fn finish_all(context: Handle, is_done: impl Fn(&Driver) -> bool) -> Outcome {
    loop {
        run_until(&is_done)?;
        let ended = with(|driver| {
            if is_done(driver) {
                Ok(Some(driver.take_error(context)))
            } else {
                driver.context(context).map(|_| None)
            }
        })?;
        match ended {
            Some(outcome) => return outcome,
            None => std::thread::sleep(POLL),
        }
    }
}
