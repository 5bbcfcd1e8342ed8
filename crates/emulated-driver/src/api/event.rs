//! Events.

use std::collections::BTreeSet;
use std::ffi::{c_float, c_uint};

use crate::call::put;
use crate::caller;
use crate::code::{Code, Outcome};
use crate::driver::{queue, with, with_context};
use crate::objects::Handle;
use crate::objects::order::Slot;
use crate::objects::stream::Event;
use crate::objects::work::Work;

fn create(flags: c_uint) -> Outcome<Handle> {
    with_context(|driver, context| {
        let handle = driver.new_handle();
        let event = Event {
            context,
            has_time: flags & 2 == 0,
            recorded: 0,
            pending: BTreeSet::new(),
            time: None,
            moment: Slot::default(),
            captured: None,
            is_destroyed: false,
        };
        driver.events.insert(handle, event);
        Ok(handle)
    })
}

/// In a stream that records a graph, the event is a node of it: `CU_EVENT_RECORD_EXTERNAL` and
/// `CU_EVENT_WAIT_EXTERNAL`, which are invalid elsewhere.
pub(crate) const EXTERNAL: c_uint = 1;

fn record(event: Handle, stream: Handle, flags: c_uint) -> Outcome {
    let work = with(|driver| {
        let key = driver.stream(stream)?;
        if driver.event(event)?.context != key.context {
            return Err(Code::INVALID_HANDLE);
        }
        if flags & EXTERNAL != 0 {
            return driver.event_in_graph(key, Work::RecordInGraph(event));
        }
        if driver.record_event_in_graph(key, event)? {
            return Ok(None);
        }
        Ok(Some(driver.begin_record(event)?))
    })?;
    match work {
        Some(work) => queue::submit(stream, work),
        None => Ok(()),
    }
}

/// The milliseconds between two events. On a GPU two events are never at the same time.
fn elapsed(start: Handle, end: Handle) -> Outcome<c_float> {
    queue::run_until(|driver| {
        let ends = [start, end].map(|event| driver.events.get(&event));
        ends.into_iter().flatten().all(Event::is_done)
    })?;
    with(|driver| {
        let times = [start, end].map(|event| {
            let event = driver.event(event)?;
            if !event.has_time || event.recorded == 0 {
                return Err(Code::INVALID_HANDLE);
            }
            match event.time {
                Some(time) if event.is_done() => Ok(time),
                _ => Err(Code::NOT_READY),
            }
        });
        let [began, ended] = times;
        let (began, ended) = (began?, ended?);
        driver.host_waits_for_event(end);
        let micros = match ended.checked_duration_since(began) {
            Some(time) => (time.as_secs_f64() * 1e6).max(1.0),
            None => -began.duration_since(ended).as_secs_f64() * 1e6,
        };
        Ok((micros / 1e3) as c_float)
    })
}

/// Takes the handle away. Streams that wait for the event do so until it is recorded.
fn destroy(event: Handle) -> Outcome {
    with(|driver| {
        let known = driver.event(event)?;
        known.is_destroyed = true;
        if known.pending.is_empty() {
            driver.events.remove(&event);
        }
        Ok(())
    })
}

driver_api! {
    fn cuEventCreate(to: *mut Handle, flags: c_uint) { put(to, create(flags)?) }
    fn cuEventDestroy(event: Handle) { destroy(event) }
    fn cuEventDestroy_v2(event: Handle) { destroy(event) }
    fn cuEventRecord(event: Handle, stream: Handle) { record(event, stream, 0) }
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) { record(event, stream, flags) }
    fn cuEventQuery(event: Handle) {
        queue::run_until(|driver| driver.events.get(&event).is_none_or(Event::is_done))?;
        with(|driver| {
            let event = driver.event(event)?.clone();
            if event.captured.is_some() {
                return Err(Code::CAPTURED_EVENT);
            }
            match (driver.context(event.context)?.fault, event.is_done()) {
                (Some(code), _) => Err(code),
                (None, true) => {
                    driver.host_waits(&event.moment);
                    Ok(())
                }
                (None, false) => Err(Code::NOT_READY),
            }
        })
    }
    fn cuEventSynchronize(event: Handle) {
        let (context, number, is_done, moment) = with(|driver| {
            let event = driver.event(event)?;
            match event.captured {
                Some(_) => Err(Code::CAPTURED_EVENT),
                None => Ok((event.context, event.recorded, event.is_done(), event.moment.clone())),
            }
        })?;
        if !is_done {
            caller::may_wait_for_event()?;
        }
        queue::finish_all(context, |driver| driver.events.get(&event).is_none_or(|event| !event.pending.contains(&number)))?;
        with(|driver| { driver.host_waits(&moment); Ok(()) })
    }
    fn cuEventElapsedTime(to: *mut c_float, start: Handle, end: Handle) { put(to, elapsed(start, end)?) }
    fn cuEventElapsedTime_v2(to: *mut c_float, start: Handle, end: Handle) { put(to, elapsed(start, end)?) }
}
