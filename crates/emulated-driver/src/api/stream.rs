//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use crate::api::event::EXTERNAL;
use crate::call::{put, put_if_wanted};
use crate::code::{Code, Outcome};
use crate::driver::copy::check_side;
use crate::driver::{queue, with, with_context};
use crate::objects::copy::Place;
use crate::objects::stream::{Stream, StreamKey};
use crate::objects::work::{Callback, Condition, Work};
use crate::objects::{Handle, HostFunction};

fn create(flags: c_uint, priority: c_int) -> Outcome<Handle> {
    with_context(|driver, context| {
        let handle = driver.new_handle();
        driver.compare_commands();
        let stream = Stream {
            context,
            is_apart: flags & 1 != 0,
            // As the driver does with those outside the range.
            priority: priority.clamp(-5, 0),
            number: driver.between.new_stream(),
            is_destroyed: false,
        };
        driver.streams.insert(handle, stream);
        Ok(handle)
    })
}

/// Takes the handle away. The stream itself ends when its work is done, later.
fn destroy(stream: Handle) -> Outcome {
    queue::run_until(|_| true)?;
    with(|driver| {
        let known = driver.streams.get_mut(&stream);
        let known = known
            .filter(|known| !known.is_destroyed)
            .ok_or(Code::INVALID_HANDLE)?;
        known.is_destroyed = true;
        let context = known.context;
        if driver.queues.is_empty(StreamKey { context, stream }) {
            driver.streams.remove(&stream);
        }
        Ok(())
    })
}

/// Checks that a word which a stream waits for or writes is one that kernels may access.
fn check_word(address: u64, bytes: u32) -> Outcome {
    with(|driver| {
        let has = |from, count| driver.will_have(from, count);
        check_side(
            "a stream's word",
            Place::Device,
            (address, bytes.into()),
            has,
        )
    })
}

fn write_value(stream: Handle, address: u64, value: u64, bytes: u32) -> Outcome {
    check_word(address, bytes)?;
    queue::submit(
        stream,
        Work::WriteValue {
            address,
            value,
            bytes,
        },
    )
}

fn wait_value(stream: Handle, address: u64, value: u64, bytes: u32, flags: c_uint) -> Outcome {
    let condition = match flags & 3 {
        0 => Condition::AtLeast,
        1 => Condition::Equal,
        2 => Condition::And,
        _ => Condition::Nor,
    };
    check_word(address, bytes)?;
    queue::submit(
        stream,
        Work::WaitValue {
            address,
            value,
            bytes,
            condition,
        },
    )
}

driver_api! {
    fn cuStreamCreate(to: *mut Handle, flags: c_uint) { put(to, create(flags, 0)?) }
    fn cuStreamCreateWithPriority(to: *mut Handle, flags: c_uint, priority: c_int) { put(to, create(flags, priority)?) }
    fn cuStreamDestroy(stream: Handle) { destroy(stream) }
    fn cuStreamDestroy_v2(stream: Handle) { destroy(stream) }
    fn cuStreamSynchronize(stream: Handle) { queue::finish(stream) }
    fn cuStreamQuery(stream: Handle) {
        let key = with(|driver| driver.stream(stream))?;
        queue::run_until(|driver| driver.is_through(key))?;
        with(|driver| {
            driver.refuse_while_recording(key)?;
            match (driver.context(key.context)?.fault, driver.is_through(key)) {
                (Some(code), _) => Err(code),
                (None, true) => {
                    driver.host_waits_for_stream(key);
                    Ok(())
                }
                (None, false) => Err(Code::NOT_READY),
            }
        })
    }
    fn cuStreamGetFlags(stream: Handle, to: *mut c_uint) {
        put(to, with(|driver| { let key = driver.stream(stream)?; Ok((!driver.is_blocking(key)).into()) })?)
    }
    fn cuStreamGetPriority(stream: Handle, to: *mut c_int) {
        put(to, with(|driver| { driver.stream(stream)?; Ok(driver.streams.get(&stream).map_or(0, |stream| stream.priority)) })?)
    }
    fn cuStreamGetCtx(stream: Handle, to: *mut Handle) { put(to, with(|driver| Ok(driver.stream(stream)?.context))?) }
    fn cuStreamGetCtx_v2(stream: Handle, to: *mut Handle, green: *mut Handle) {
        put_if_wanted(green, 0);
        put(to, with(|driver| Ok(driver.stream(stream)?.context))?)
    }
    fn cuStreamGetDevice(stream: Handle, to: *mut c_int) {
        put(to, with(|driver| { let key = driver.stream(stream)?; driver.device_of(key.context) })?)
    }
    fn cuStreamGetId(stream: Handle, to: *mut u64) { with(|driver| driver.stream(stream).map(|_| ()))?; put(to, stream as u64) }
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint) {
        let work = with(|driver| {
            let key = driver.stream(stream)?;
            if flags & EXTERNAL != 0 {
                return driver.event_in_graph(key, Work::WaitInGraph(event));
            }
            if driver.join_capture(key, event)? {
                return Ok(None);
            }
            Ok(Some(driver.wait_for(event)?))
        })?;
        match work {
            Some(work) => queue::submit(stream, work),
            None => Ok(()),
        }
    }
    fn cuStreamAddCallback(stream: Handle, function: Option<Callback>, data: usize, _flags: c_uint) {
        queue::submit(stream, Work::Callback(function.ok_or(Code::INVALID_VALUE)?, stream, data))
    }
    fn cuLaunchHostFunc(stream: Handle, function: Option<HostFunction>, data: usize) {
        queue::submit(stream, Work::Call(function.ok_or(Code::INVALID_VALUE)?, data))
    }
    fn cuLaunchHostFunc_v2(stream: Handle, function: Option<HostFunction>, data: usize, _mode: c_uint) {
        queue::submit(stream, Work::Call(function.ok_or(Code::INVALID_VALUE)?, data))
    }
    fn cuStreamAttachMemAsync(stream: Handle, _address: u64, _bytes: usize, _flags: c_uint) {
        with(|driver| driver.stream(stream).map(|_| ()))
    }
    fn cuStreamWaitValue32(stream: Handle, address: u64, value: c_uint, flags: c_uint) { wait_value(stream, address, value.into(), 4, flags) }
    fn cuStreamWaitValue32_v2(stream: Handle, address: u64, value: c_uint, flags: c_uint) { wait_value(stream, address, value.into(), 4, flags) }
    fn cuStreamWaitValue64(stream: Handle, address: u64, value: u64, flags: c_uint) { wait_value(stream, address, value, 8, flags) }
    fn cuStreamWaitValue64_v2(stream: Handle, address: u64, value: u64, flags: c_uint) { wait_value(stream, address, value, 8, flags) }
    fn cuStreamWriteValue32(stream: Handle, address: u64, value: c_uint, _flags: c_uint) { write_value(stream, address, value.into(), 4) }
    fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: c_uint, _flags: c_uint) { write_value(stream, address, value.into(), 4) }
    fn cuStreamWriteValue64(stream: Handle, address: u64, value: u64, _flags: c_uint) { write_value(stream, address, value, 8) }
    fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, _flags: c_uint) { write_value(stream, address, value, 8) }
    fn cuStreamCopyAttributes(_to: Handle, _from: Handle) { Ok(()) }
    fn cuStreamSetAttribute(_stream: Handle, _attribute: c_int, _value: *const c_void) { Ok(()) }
    fn cuStreamGetAttribute(_stream: Handle, _attribute: c_int, to: *mut [u8; 64]) { put(to, [0; 64]) }
}
