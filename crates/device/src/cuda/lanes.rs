//! The streams and events of a plan over several devices: see [`Schedule`].

use std::ops::Range;

use cust::context::{Context, CurrentContext};

use super::schedule::{Schedule, Slot};
use crate::device_error::DriverError;
use crate::driver::check;
use crate::driver::stream::{Event, SideStream, StreamRef};

/// The contexts of this process's devices.
#[derive(Debug, Clone)]
pub struct Contexts<'d>(pub Vec<&'d Context>);

impl Contexts<'_> {
    /// Makes the device's context current on this thread.
    pub fn enter(&self, device: u32) -> Result<(), DriverError> {
        let set = CurrentContext::set_current(self.0[device as usize]);
        check("cuCtxSetCurrent", set)
    }
}

/// What a scheduled plan runs on.
#[derive(Debug)]
pub struct Lanes {
    schedule: Schedule,
    /// For each lane, its stream, and the event of its last command.
    streams: Vec<(SideStream, Event)>,
    events: Vec<Event>,
    /// The first device's main stream has got to the commands.
    begun: Event,
}

/// What goes to streams.
#[derive(Debug)]
pub enum Batch<'b> {
    /// The command at this position, to a stream whose context is current.
    One(usize, StreamRef<'b>),
    /// Sends and receives that start together, by position, each with its stream.
    Wires(&'b [(usize, StreamRef<'b>)]),
}

impl Lanes {
    /// Streams and events for a schedule. Leaves the first device's context current.
    pub fn new(schedule: Schedule, contexts: &Contexts<'_>) -> Result<Lanes, DriverError> {
        let streams = schedule.lanes.iter().map(|lane| {
            contexts.enter(lane.device)?;
            Ok((SideStream::new(lane.is_urgent)?, Event::new()?))
        });
        let streams = streams.collect::<Result<_, DriverError>>()?;
        let events = schedule.events.iter().map(|&device| {
            contexts.enter(device)?;
            Event::new()
        });
        let events = events.collect::<Result<_, DriverError>>()?;
        contexts.enter(0)?;
        Ok(Lanes {
            schedule,
            streams,
            events,
            begun: Event::new()?,
        })
    }

    /// Enqueues commands: they begin when `main`, a stream of the first device, gets there, and it goes on when all of them have finished. `enqueue`
    /// gets them in order. The first device's context is current afterwards.
    ///
    /// # Errors
    ///
    /// The first of `enqueue` or of the driver. What was enqueued before is waited for all the same.
    pub fn run<E: From<DriverError>>(
        &self,
        range: Range<usize>,
        main: StreamRef<'_>,
        contexts: &Contexts<'_>,
        enqueue: impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.begun.record(main)?;
        for (stream, _) in &self.streams {
            stream.get().wait(&self.begun)?;
        }
        let enqueued = self.enqueue_slots(range, contexts, enqueue);
        let entered = contexts.enter(0);
        let joined = self.streams.iter().try_for_each(|(stream, done)| {
            done.record(stream.get())?;
            main.wait(done)
        });
        enqueued?;
        entered?;
        Ok(joined?)
    }

    /// Enqueues the commands, in order.
    fn enqueue_slots<E: From<DriverError>>(
        &self,
        range: Range<usize>,
        contexts: &Contexts<'_>,
        mut enqueue: impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Schedule {
            lanes,
            slots,
            wires,
            ..
        } = &self.schedule;
        let mut current = None;
        let mut batch: Vec<(usize, StreamRef<'_>)> = Vec::new();
        for position in range.clone() {
            let Some(slot) = &slots[position] else {
                continue;
            };
            let lane = &lanes[slot.lane];
            if lane.is_wire {
                let after = wires.partition_point(|wires| wires.start <= position as u32);
                if wires[after - 1].start != position as u32 {
                    // It started with the first of its batch.
                    continue;
                }
                let end = (wires[after - 1].end as usize).min(range.end);
                let of_batch = (position..end).filter_map(|position| {
                    let slot = slots[position].as_ref()?;
                    lanes[slot.lane].is_wire.then_some((position, slot))
                });
                let of_batch: Vec<(usize, &Slot)> = of_batch.collect();
                batch.clear();
                for (position, slot) in &of_batch {
                    self.wait_for(slot, range.start)?;
                    batch.push((*position, self.streams[slot.lane].0.get()));
                }
                enqueue(Batch::Wires(&batch))?;
                current = None;
                for (_, slot) in &of_batch {
                    self.record(slot)?;
                }
                continue;
            }
            if current != Some(lane.device) {
                contexts.enter(lane.device)?;
                current = Some(lane.device);
            }
            self.wait_for(slot, range.start)?;
            enqueue(Batch::One(position, self.streams[slot.lane].0.get()))?;
            self.record(slot)?;
        }
        Ok(())
    }

    /// Makes a command's stream wait for what it waits for; what is before `start` has finished.
    fn wait_for(&self, slot: &Slot, start: usize) -> Result<(), DriverError> {
        let waits = slot.waits.iter().filter(|&&wait| wait as usize >= start);
        for &wait in waits {
            let event = self.schedule.slots[wait as usize].as_ref();
            let event = event.and_then(|slot| slot.event);
            let event = &self.events[event.expect("a command that is waited for has an event")];
            self.streams[slot.lane].0.get().wait(event)?;
        }
        Ok(())
    }

    /// Records a command's event, if others wait for it.
    fn record(&self, slot: &Slot) -> Result<(), DriverError> {
        match slot.event {
            None => Ok(()),
            Some(event) => self.events[event].record(self.streams[slot.lane].0.get()),
        }
    }
}
