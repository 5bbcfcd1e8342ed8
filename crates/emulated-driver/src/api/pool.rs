//! Pools of memory, and allocations in the order of a stream. A pool keeps nothing.

use std::ffi::{c_int, c_void};

use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::{queue, with, with_context};
use crate::objects::Handle;
use crate::objects::memory::Kind;
use crate::objects::work::Work;

fn allocate(bytes: usize, pool: Option<Handle>, stream: Handle) -> Outcome<u64> {
    with_context(|driver, context| {
        let key = driver.stream(stream)?;
        let device = driver.device_of(context)?;
        let pool = match pool {
            Some(pool) => driver.pool(pool).map(|_| pool)?,
            None => driver.default_pool(device)?,
        };
        let address = driver.allocate(context, bytes, Some(pool))?;
        // In a graph it is a node of that.
        if driver.valid_capture_of(key)?.is_none() {
            driver.stream_makes(key, address, bytes as u64);
        }
        Ok(address)
    })
}

/// Attributes that are 64 bits wide: the threshold of release, and bytes that are held and used.
const THRESHOLD: c_int = 4;
const FIRST_BYTES: c_int = 5;
const LAST_BYTES: c_int = 8;

driver_api! {
    fn cuMemAllocAsync(to: *mut u64, bytes: usize, stream: Handle) { put(to, allocate(bytes, None, stream)?) }
    fn cuMemAllocFromPoolAsync(to: *mut u64, bytes: usize, pool: Handle, stream: Handle) {
        put(to, allocate(bytes, Some(pool), stream)?)
    }
    fn cuMemFreeAsync(address: u64, stream: Handle) {
        with(|driver| {
            if driver.allocations.get(&address).is_some_and(|known| known.kind == Kind::Device) {
                return Ok(());
            }
            driver.note_second_free(address);
            Err(Code::INVALID_VALUE)
        })?;
        queue::submit(stream, Work::Free(address))
    }
    fn cuDeviceGetDefaultMemPool(to: *mut Handle, device: c_int) { put(to, with(|driver| driver.default_pool(device))?) }
    fn cuDeviceGetMemPool(to: *mut Handle, device: c_int) {
        put(to, with(|driver| match driver.device(device)?.pool {
            Some(pool) => Ok(pool),
            None => driver.default_pool(device),
        })?)
    }
    fn cuDeviceSetMemPool(device: c_int, pool: Handle) {
        with(|driver| {
            driver.pool(pool)?;
            driver.device(device)?.pool = Some(pool);
            Ok(())
        })
    }
    fn cuMemPoolCreate(to: *mut Handle, properties: *const [c_int; 4]) {
        // Kind of allocation, kinds of handles, kind of location, and its number.
        let [_, _, _, device] = get(properties)?;
        put(to, with(|driver| { driver.device(device)?; Ok(driver.new_pool(device)) })?)
    }
    fn cuMemPoolDestroy(pool: Handle) { with(|driver| driver.pools.remove(&pool).map(|_| ()).ok_or(Code::INVALID_VALUE)) }
    fn cuMemPoolTrimTo(pool: Handle, _bytes: usize) { with(|driver| driver.pool(pool).map(|_| ())) }
    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: *const c_void) {
        let value = match attribute {
            THRESHOLD..=LAST_BYTES => get(value.cast::<u64>())?,
            _ => get(value.cast::<c_int>())? as u64,
        };
        with(|driver| { driver.pool(pool)?.set.insert(attribute, value); Ok(()) })
    }
    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, to: *mut c_void) {
        let (set, bytes) = with(|driver| Ok((driver.pool(pool)?.set.get(&attribute).copied(), driver.pool_bytes(pool))))?;
        match attribute {
            FIRST_BYTES..=LAST_BYTES => put(to.cast::<u64>(), bytes),
            THRESHOLD => put(to.cast::<u64>(), set.unwrap_or(0)),
            _ => put(to.cast::<c_int>(), set.unwrap_or(1) as c_int),
        }
    }
    fn cuMemPoolSetAccess(pool: Handle, access: *const [c_int; 3], count: usize) {
        for index in 0..count {
            // The kind of place, its number, and what it may do: nothing, or read and write.
            let [_, device, flags] = get(access.add(index))?;
            with(|driver| {
                let allowed = &mut driver.pool(pool)?.allowed;
                if flags == 0 { allowed.remove(&device) } else { allowed.insert(device) };
                Ok(())
            })?;
        }
        with(|driver| driver.pool(pool).map(|_| ()))
    }
    fn cuMemPoolGetAccess(to: *mut c_int, pool: Handle, location: *const [c_int; 2]) {
        let [_, device] = get(location)?;
        let may = with(|driver| {
            let pool = driver.pool(pool)?;
            Ok(pool.device == device || pool.allowed.contains(&device))
        })?;
        put(to, if may { 3 } else { 0 })
    }
}
