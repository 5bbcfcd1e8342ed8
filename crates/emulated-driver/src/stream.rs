//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use crate::api::{Handle, Outcome, put};
use crate::code::Code;
use crate::driver::{Driver, with, with_context};
use crate::launch;
use crate::queue::{self, Condition, HostFunction, Work};

/// The legacy default stream of a context.
pub(crate) const LEGACY: Handle = 0;
/// Handles that `cuda.h` defines: the legacy stream, and the one of each thread.
const LEGACY_BY_NAME: Handle = 1;
const PER_THREAD: Handle = 2;

/// A stream that was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) context: Handle,
    /// It and the legacy stream do not wait for each other.
    is_apart: bool,
    priority: c_int,
}

/// A stream, default ones among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StreamKey {
    pub(crate) context: Handle,
    pub(crate) stream: Handle,
}

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
                context: self
                    .streams
                    .get(&stream)
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
}

fn create(flags: c_uint, priority: c_int) -> Outcome<Handle> {
    with_context(|driver, context| {
        let handle = driver.new_handle();
        let stream = Stream {
            context,
            is_apart: flags & 1 != 0,
            // As the driver does with those outside the range.
            priority: priority.clamp(-5, 0),
        };
        driver.streams.insert(handle, stream);
        Ok(handle)
    })
}

/// A stream ends when its work is done. Here it has none that could not be done at once, or waits.
fn destroy(stream: Handle) -> Outcome {
    with(|driver| {
        driver
            .streams
            .get(&stream)
            .map(|_| ())
            .ok_or(Code::INVALID_HANDLE)
    })?;
    // The context may have failed; the stream ends nevertheless.
    let _ = queue::finish(stream);
    with(|driver| {
        driver.streams.remove(&stream);
        Ok(())
    })
}

fn wait_value(stream: Handle, address: u64, value: u64, bytes: u32, flags: c_uint) -> Outcome {
    let condition = match flags & 3 {
        0 => Condition::AtLeast,
        1 => Condition::Equal,
        2 => Condition::And,
        _ => Condition::Nor,
    };
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
        queue::run()?;
        with(|driver| {
            let key = driver.stream(stream)?;
            driver.refuse_while_recording(key)?;
            match (driver.context(key.context)?.fault, driver.queues.is_empty(key)) {
                (Some(code), _) => Err(code),
                (None, true) => Ok(()),
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
        crate::api::put_if_wanted(green, 0);
        put(to, with(|driver| Ok(driver.stream(stream)?.context))?)
    }
    fn cuStreamGetDevice(stream: Handle, to: *mut c_int) {
        put(to, with(|driver| { let key = driver.stream(stream)?; driver.device_of(key.context) })?)
    }
    fn cuStreamGetId(stream: Handle, to: *mut u64) { with(|driver| driver.stream(stream).map(|_| ()))?; put(to, stream as u64) }
    fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) {
        let joined = with(|driver| {
            let key = driver.stream(stream)?;
            driver.join_capture(key, event)
        })?;
        if joined {
            return Ok(());
        }
        let number = with(|driver| Ok(driver.event(event)?.recorded))?;
        queue::submit(stream, Work::Wait(event, number))
    }
    fn cuStreamAddCallback(stream: Handle, function: Option<unsafe extern "C" fn(Handle, c_int, *mut c_void)>, data: usize, _flags: c_uint) {
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
    fn cuStreamWriteValue32(stream: Handle, address: u64, value: c_uint, _flags: c_uint) { queue::submit(stream, Work::WriteValue { address, value: value.into(), bytes: 4 }) }
    fn cuStreamWriteValue32_v2(stream: Handle, address: u64, value: c_uint, _flags: c_uint) { queue::submit(stream, Work::WriteValue { address, value: value.into(), bytes: 4 }) }
    fn cuStreamWriteValue64(stream: Handle, address: u64, value: u64, _flags: c_uint) { queue::submit(stream, Work::WriteValue { address, value, bytes: 8 }) }
    fn cuStreamWriteValue64_v2(stream: Handle, address: u64, value: u64, _flags: c_uint) { queue::submit(stream, Work::WriteValue { address, value, bytes: 8 }) }
    fn cuStreamCopyAttributes(_to: Handle, _from: Handle) { Ok(()) }
    fn cuStreamSetAttribute(_stream: Handle, _attribute: c_int, _value: *const c_void) { Ok(()) }
    fn cuStreamGetAttribute(_stream: Handle, _attribute: c_int, to: *mut [u8; 64]) { put(to, [0; 64]) }
    fn cuLaunchKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *const *const c_void, extra: *const *const c_void) {
        launch::launch(function, launch::Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes), stream, parameters, extra)
    }
    fn cuLaunchCooperativeKernel(function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, parameters: *const *const c_void) {
        let shape = launch::Shape { is_cooperative: true, ..launch::Shape::new([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared_bytes) };
        launch::launch(function, shape, stream, parameters, std::ptr::null())
    }
    fn cuLaunchKernelEx(config: *const launch::Config, function: Handle, parameters: *const *const c_void, extra: *const *const c_void) {
        let config = crate::api::get(config)?;
        let shape = config.shape()?;
        launch::launch(function, shape, config.stream, parameters, extra)
    }
}
