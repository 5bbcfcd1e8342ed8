//! The streams and events on which a schedule is carried out.

use std::ops::Range;

use cust::context::{Context, CurrentContext};

use super::driver::check;
use super::driver::stream::{Event, SideStream, StreamRef};
use super::schedule::{Action, Schedule, StreamId};
use device::DriverError;

/// The streams and events of one schedule, beside the main stream.
#[derive(Debug, Default)]
pub struct StreamSet<'d> {
    /// The contexts of this process's devices.
    contexts: Vec<&'d Context>,
    /// Each side stream with its device and the event of its last command.
    side_streams: Vec<(SideStream, u32, Event)>,
    events: Vec<Event>,
    /// The main stream has got to a fork. There is none without side streams.
    forked: Option<Event>,
}

/// Work for streams. The context of a command's stream is current.
#[derive(Debug)]
pub enum Work<'w> {
    /// These commands, one after another on the stream.
    Commands(Range<usize>, StreamRef<'w>),
    /// Sends and receives that start together, by position, each with its stream.
    Transfers(&'w [(usize, StreamRef<'w>)]),
}

/// How far a run has got.
struct Progress {
    /// The device whose context is current, as far as is known.
    device: Option<u32>,
    /// How many side streams have forked from the main one and not joined it.
    forked: usize,
}

impl<'d> StreamSet<'d> {
    /// Streams and events for a schedule. Leaves the first device's context current.
    pub fn new(
        schedule: &Schedule,
        contexts: Vec<&'d Context>,
    ) -> Result<StreamSet<'d>, DriverError> {
        let mut set = StreamSet {
            contexts,
            ..StreamSet::default()
        };
        for side in &schedule.side_streams {
            set.enter(side.device)?;
            let stream = SideStream::new(side.rank)?;
            set.side_streams.push((stream, side.device, Event::new()?));
        }
        for &device in &schedule.events {
            set.enter(device)?;
            set.events.push(Event::new()?);
        }
        set.enter(0)?;
        if !set.side_streams.is_empty() {
            set.forked = Some(Event::new()?);
        }
        Ok(set)
    }

    /// Carries out the schedule for these commands. They begin when `main`, a stream of the first
    /// device, gets there, and it goes on when all of them have finished. `enqueue` gets them in
    /// order. The first device's context is current before and after.
    ///
    /// # Errors
    ///
    /// The first of `enqueue` or of the driver. `main` waits all the same for what was enqueued
    /// before.
    pub fn run<E: From<DriverError>>(
        &self,
        schedule: &Schedule,
        range: Range<usize>,
        main: StreamRef<'_>,
        enqueue: impl FnMut(Work<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if range.is_empty() {
            return Ok(());
        }
        let mut progress = Progress {
            device: Some(0),
            forked: 0,
        };
        let enqueued = self.act(schedule, &range, main, &mut progress, enqueue);
        let entered = self.make_current(0, &mut progress);
        let joined = self.join(main, &mut progress);
        enqueued?;
        entered?;
        Ok(joined?)
    }

    fn act<E: From<DriverError>>(
        &self,
        schedule: &Schedule,
        range: &Range<usize>,
        main: StreamRef<'_>,
        progress: &mut Progress,
        mut enqueue: impl FnMut(Work<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let get = |id: StreamId| match id.side_position() {
            None => (main, 0),
            Some(side) => {
                let (stream, device, _) = &self.side_streams[side];
                (stream.get(), *device)
            }
        };
        if schedule.forks_at_start {
            self.fork(self.side_streams.len(), main, progress)?;
        }
        for action in schedule.actions(range.clone()) {
            match action {
                Action::Fork(streams) => self.fork(*streams, main, progress)?,
                Action::Join => self.join(main, progress)?,
                Action::Wait {
                    stream,
                    event,
                    command,
                } => {
                    // Commands before the range have finished, and their events may be older.
                    if *command >= range.start {
                        let (stream, device) = get(*stream);
                        self.make_current(device, progress)?;
                        stream.wait(&self.events[*event])?;
                    }
                }
                Action::Commands { stream, commands } => {
                    let (stream, device) = get(*stream);
                    self.make_current(device, progress)?;
                    let first = commands.start.max(range.start);
                    enqueue(Work::Commands(first..commands.end.min(range.end), stream))?;
                }
                Action::Transfers(wires) => {
                    let streams: Vec<(usize, StreamRef<'_>)> = wires
                        .iter()
                        .map(|&(command, id)| (command, get(id).0))
                        .collect();
                    enqueue(Work::Transfers(&streams))?;
                    // NCCL may have changed the context.
                    progress.device = None;
                }
                Action::Record { event, stream } => {
                    let (stream, device) = get(*stream);
                    self.make_current(device, progress)?;
                    self.events[*event].record(stream)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the first side streams wait until the main stream gets here.
    fn fork(
        &self,
        streams: usize,
        main: StreamRef<'_>,
        progress: &mut Progress,
    ) -> Result<(), DriverError> {
        if let Some(forked) = &self.forked {
            forked.record(main)?;
            for (stream, ..) in &self.side_streams[..streams] {
                stream.get().wait(forked)?;
                progress.forked += 1;
            }
        }
        Ok(())
    }

    /// Makes the main stream wait for the side streams that have forked.
    fn join(&self, main: StreamRef<'_>, progress: &mut Progress) -> Result<(), DriverError> {
        let forked = std::mem::take(&mut progress.forked);
        for (stream, _, done) in &self.side_streams[..forked] {
            done.record(stream.get())?;
            main.wait(done)?;
        }
        Ok(())
    }

    /// Makes the device's context current on this thread, unless it is.
    fn make_current(&self, device: u32, progress: &mut Progress) -> Result<(), DriverError> {
        if progress.device != Some(device) {
            self.enter(device)?;
            progress.device = Some(device);
        }
        Ok(())
    }

    fn enter(&self, device: u32) -> Result<(), DriverError> {
        let set = CurrentContext::set_current(self.contexts[device as usize]);
        check("cuCtxSetCurrent", set)
    }
}
