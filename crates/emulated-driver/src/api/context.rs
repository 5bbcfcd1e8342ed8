//! Contexts.

use std::ffi::{c_int, c_uint, c_void};

use crate::call::{put, put_if_wanted};
use crate::code::{Code, Outcome};
use crate::driver::context::{current, stack};
use crate::driver::{queue, with};
use crate::objects::Handle;
use crate::objects::context::{AtEnd, STACK_SIZE, Stored};

/// Calls what the CUDA runtime wants to be called when a context ends, with the driver unlocked.
fn ended(context: Handle, stored: AtEnd) {
    for (key, entry) in stored {
        if let Some(at_end) = entry.at_end {
            // SAFETY: the runtime gave the function for this call with these values.
            unsafe { at_end(context, key as *mut c_void, entry.value as *mut c_void) };
        }
    }
}

fn push(context: Handle) {
    stack(|stack| stack.push(context));
}

fn pop() -> Outcome<Handle> {
    stack(Vec::pop).ok_or(Code::INVALID_CONTEXT)
}

fn create(device: c_int, flags: c_uint) -> Outcome<Handle> {
    let context = with(|driver| {
        driver.device(device)?;
        Ok(driver.new_context(device, flags, false))
    })?;
    push(context);
    Ok(context)
}

/// The context given, or the current one if it is 0.
fn given_or_current(context: Handle) -> Handle {
    if context == 0 { current() } else { context }
}

driver_api! {
    fn cuCtxCreate(to: *mut Handle, flags: c_uint, device: c_int) { put(to, create(device, flags)?) }
    fn cuCtxCreate_v2(to: *mut Handle, flags: c_uint, device: c_int) { put(to, create(device, flags)?) }
    fn cuCtxCreate_v3(to: *mut Handle, _affinity: *const c_void, _count: c_int, flags: c_uint, device: c_int) {
        put(to, create(device, flags)?)
    }
    fn cuCtxCreate_v4(to: *mut Handle, _params: *const c_void, flags: c_uint, device: c_int) {
        put(to, create(device, flags)?)
    }
    fn cuCtxDestroy(context: Handle) { destroy(context) }
    fn cuCtxDestroy_v2(context: Handle) { destroy(context) }
    fn cuCtxPushCurrent(context: Handle) { push_known(context) }
    fn cuCtxPushCurrent_v2(context: Handle) { push_known(context) }
    fn cuCtxPopCurrent(to: *mut Handle) { let context = pop()?; put_if_wanted(to, context); Ok(()) }
    fn cuCtxPopCurrent_v2(to: *mut Handle) { let context = pop()?; put_if_wanted(to, context); Ok(()) }
    fn cuCtxSetCurrent(context: Handle) {
        if context != 0 {
            with(|driver| driver.context(context).map(|_| ()))?;
        }
        stack(|stack| {
            stack.pop();
            if context != 0 {
                stack.push(context);
            }
        });
        Ok(())
    }
    fn cuCtxGetCurrent(to: *mut Handle) { put(to, current()) }
    fn cuCtxGetDevice(to: *mut c_int) {
        put(to, with(|driver| { let context = driver.current_context()?; driver.device_of(context) })?)
    }
    fn cuCtxGetDevice_v2(to: *mut c_int, context: Handle) {
        put(to, with(|driver| driver.device_of(given_or_current(context)))?)
    }
    fn cuCtxGetFlags(to: *mut c_uint) { put(to, with(|driver| Ok(driver.context(current())?.flags))?) }
    fn cuCtxSetFlags(flags: c_uint) { with(|driver| { driver.context(current())?.flags = flags; Ok(()) }) }
    fn cuCtxGetId(context: Handle, to: *mut u64) {
        let context = given_or_current(context);
        with(|driver| driver.context(context).map(|_| ()))?;
        put(to, context as u64)
    }
    fn cuCtxGetApiVersion(context: Handle, to: *mut c_uint) {
        with(|driver| driver.context(given_or_current(context)).map(|_| ()))?;
        put(to, 3020)
    }
    fn cuCtxSynchronize() { queue::finish_context(current()) }
    fn cuCtxSynchronize_v2(context: Handle) { queue::finish_context(given_or_current(context)) }
    fn cuCtxGetLimit(to: *mut usize, limit: c_uint) {
        put(to, with(|driver| driver.context(current())?.limit(limit))?)
    }
    fn cuCtxSetLimit(limit: c_uint, value: usize) {
        with(|driver| {
            let context = driver.context(current())?;
            context.limit(limit)?;
            context.limits.insert(limit, value);
            if limit == STACK_SIZE {
                driver.machine.set_stack_bytes(value as u64);
            }
            Ok(())
        })
    }
    fn cuCtxGetCacheConfig(to: *mut c_uint) { put(to, with(|driver| Ok(driver.context(current())?.cache))?) }
    fn cuCtxSetCacheConfig(config: c_uint) { with(|driver| { driver.context(current())?.cache = config; Ok(()) }) }
    fn cuCtxGetSharedMemConfig(to: *mut c_uint) { put(to, with(|driver| Ok(driver.context(current())?.shared))?) }
    fn cuCtxSetSharedMemConfig(config: c_uint) { with(|driver| { driver.context(current())?.shared = config; Ok(()) }) }
    fn cuCtxResetPersistingL2Cache() { with(|driver| driver.live_context().map(|_| ())) }
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        with(|driver| driver.current_context())?;
        put_if_wanted(least, 0);
        put_if_wanted(greatest, -5);
        Ok(())
    }
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) {
        with(|driver| {
            let (own, other) = (driver.live_context()?, driver.device_of(peer)?);
            let context = driver.context(own)?;
            if flags != 0 {
                return Err(Code::INVALID_VALUE);
            }
            if context.device == other {
                return Err(Code::INVALID_DEVICE);
            }
            if context.peers.contains(&peer) {
                return Err(Code::PEER_ACCESS_ALREADY_ENABLED);
            }
            context.peers.push(peer);
            Ok(())
        })
    }
    fn cuCtxDisablePeerAccess(peer: Handle) {
        with(|driver| {
            let context = driver.context(current())?;
            let index = context.peers.iter().position(|known| *known == peer);
            context.peers.remove(index.ok_or(Code::PEER_ACCESS_NOT_ENABLED)?);
            Ok(())
        })
    }
    fn cuDevicePrimaryCtxRetain(to: *mut Handle, device: c_int) {
        let context = with(|driver| {
            let context = driver.primary(device)?;
            driver.device(device)?.retained += 1;
            Ok(context)
        })?;
        put(to, context)
    }
    fn cuDevicePrimaryCtxRelease(device: c_int) { release(device) }
    fn cuDevicePrimaryCtxRelease_v2(device: c_int) { release(device) }
    fn cuDevicePrimaryCtxReset(device: c_int) { reset(device) }
    fn cuDevicePrimaryCtxReset_v2(device: c_int) { reset(device) }
    fn cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) { set_primary_flags(device, flags) }
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) { set_primary_flags(device, flags) }
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, is_active: *mut c_int) {
        let (set, active) = with(|driver| {
            let device = driver.device(device)?;
            Ok((device.primary_flags, device.retained > 0))
        })?;
        put(flags, set)?;
        put(is_active, active.into())
    }
    fn cuCtxAttach(to: *mut Handle, _flags: c_uint) { put(to, with(|driver| driver.current_context())?) }
    fn cuCtxDetach(context: Handle) { destroy(context) }
}

fn push_known(context: Handle) -> Outcome {
    with(|driver| driver.context(context).map(|_| ()))?;
    push(context);
    Ok(())
}

fn destroy(context: Handle) -> Outcome {
    let stored = with(|driver| {
        if driver.context(context)?.is_primary {
            return Err(Code::INVALID_CONTEXT);
        }
        let stored = driver.clear_context(context);
        driver.contexts.remove(&context);
        Ok(stored)
    })?;
    stack(|stack| {
        if stack.last() == Some(&context) {
            stack.pop();
        }
    });
    ended(context, stored);
    Ok(())
}

fn release(device: c_int) -> Outcome {
    let is_last = with(|driver| {
        let device = driver.device(device)?;
        device.retained = device
            .retained
            .checked_sub(1)
            .ok_or(Code::INVALID_CONTEXT)?;
        Ok(device.retained == 0)
    })?;
    if is_last { reset(device) } else { Ok(()) }
}

/// Empties a primary context. Its handle stays valid, as on a GPU.
fn reset(device: c_int) -> Outcome {
    let Some(context) = with(|driver| Ok(driver.device(device)?.primary))? else {
        return Ok(());
    };
    let stored = with(|driver| Ok(driver.clear_context(context)))?;
    ended(context, stored);
    Ok(())
}

fn set_primary_flags(device: c_int, flags: c_uint) -> Outcome {
    with(|driver| {
        driver.device(device)?.primary_flags = flags;
        if let Some(context) = driver.device(device)?.primary {
            driver.context(context)?.flags = flags;
        }
        Ok(())
    })
}

/// Reads a value of the CUDA runtime that is kept with a context.
pub(crate) fn stored(context: Handle, key: usize) -> Outcome<usize> {
    with(|driver| {
        let context = driver.context(given_or_current(context))?;
        let stored = context.storage.get(&key).ok_or(Code::INVALID_HANDLE)?;
        Ok(stored.value)
    })
}

/// Keeps a value of the CUDA runtime with a context.
pub(crate) fn store(context: Handle, key: usize, stored: Stored) -> Outcome {
    with(|driver| {
        let context = driver.context(given_or_current(context))?;
        context.storage.insert(key, stored);
        Ok(())
    })
}

/// Forgets such a value.
pub(crate) fn forget(context: Handle, key: usize) -> Outcome {
    with(|driver| {
        let context = driver.context(given_or_current(context))?;
        context.storage.remove(&key);
        Ok(())
    })
}
