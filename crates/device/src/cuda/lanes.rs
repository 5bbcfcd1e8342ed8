//! The streams and events of a plan over several devices: see [`Schedule`].

use std::ops::Range;

use cust::context::{Context, ContextHandle, CurrentContext};
use cust::sys::{self, CUstream};

use super::fan::{self, Event, SideStream};
use super::schedule::{Schedule, Slot};
use crate::device_error::DriverError;
use crate::driver::check;

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
    One(usize, CUstream),
    /// Sends and receives that start together, by position, each with its stream.
    Wires(&'b [(usize, CUstream)]),
}

impl Lanes {
    /// Streams and events for a schedule. Leaves the first device's context current.
    pub fn new(schedule: Schedule, contexts: &Contexts<'_>) -> Result<Lanes, DriverError> {
        let streams = schedule.lanes.iter().map(|lane| {
            contexts.enter(lane.device)?;
            Ok((SideStream::of_priority(lane.is_urgent)?, Event::new()?))
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
    ///
    /// # Safety
    ///
    /// `main` and all contexts live.
    pub unsafe fn run<E: From<DriverError>>(
        &self,
        range: Range<usize>,
        main: CUstream,
        contexts: &Contexts<'_>,
        enqueue: impl FnMut(Batch<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // SAFETY: the caller's; events and streams are of the devices that the schedule says.
        unsafe {
            fan::record(&self.begun, main)?;
            for (stream, _) in &self.streams {
                fan::wait(stream.0, &self.begun)?;
            }
            let enqueued = self.enqueue_slots(range, contexts, enqueue);
            let entered = contexts.enter(0);
            let joined = self.streams.iter().try_for_each(|(stream, done)| {
                fan::record(done, stream.0)?;
                fan::wait(main, done)
            });
            enqueued?;
            entered?;
            Ok(joined?)
        }
    }

    /// # Safety
    ///
    /// As [`Lanes::run`].
    unsafe fn enqueue_slots<E: From<DriverError>>(
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
        let mut batch: Vec<(usize, CUstream)> = Vec::new();
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
                    // SAFETY: the caller's.
                    unsafe { self.wait_for(slot, range.start) }?;
                    batch.push((*position, self.streams[slot.lane].0.0));
                }
                enqueue(Batch::Wires(&batch))?;
                current = None;
                for (_, slot) in &of_batch {
                    // SAFETY: the caller's.
                    unsafe { self.record(slot) }?;
                }
                continue;
            }
            if current != Some(lane.device) {
                contexts.enter(lane.device)?;
                current = Some(lane.device);
            }
            // SAFETY: the caller's.
            unsafe { self.wait_for(slot, range.start) }?;
            enqueue(Batch::One(position, self.streams[slot.lane].0.0))?;
            // SAFETY: the caller's.
            unsafe { self.record(slot) }?;
        }
        Ok(())
    }

    /// Makes a command's stream wait for what it waits for; what is before `start` has finished.
    ///
    /// # Safety
    ///
    /// As [`Lanes::run`].
    unsafe fn wait_for(&self, slot: &Slot, start: usize) -> Result<(), DriverError> {
        let waits = slot.waits.iter().filter(|&&wait| wait as usize >= start);
        for &wait in waits {
            let event = self.schedule.slots[wait as usize].as_ref();
            let event = event.and_then(|slot| slot.event);
            let event = &self.events[event.expect("a command that is waited for has an event")];
            // SAFETY: the caller's; the event was recorded after that command, and not since.
            unsafe { fan::wait(self.streams[slot.lane].0.0, event) }?;
        }
        Ok(())
    }

    /// Records a command's event, if others wait for it.
    ///
    /// # Safety
    ///
    /// As [`Lanes::run`].
    unsafe fn record(&self, slot: &Slot) -> Result<(), DriverError> {
        match slot.event {
            None => Ok(()),
            // SAFETY: the caller's; event and stream are of one device.
            Some(event) => unsafe { fan::record(&self.events[event], self.streams[slot.lane].0.0) },
        }
    }
}

/// Lets kernels of the first context reach the memory of the second, if the devices can. `false` if they cannot.
pub fn reach(from: &Context, to: &Context) -> Result<bool, DriverError> {
    /// The context has this access already.
    const ALREADY: u32 = 704;
    /// The devices cannot.
    const UNSUPPORTED: u32 = 217;
    check("cuCtxSetCurrent", CurrentContext::set_current(from))?;
    // SAFETY: the context lives.
    let result = unsafe { sys::cuCtxEnablePeerAccess(to.get_inner(), 0) };
    match check("cuCtxEnablePeerAccess", result) {
        Err(cause) if cause.code == UNSUPPORTED => Ok(false),
        Err(cause) if cause.code != ALREADY => Err(cause),
        _ => Ok(true),
    }
}
