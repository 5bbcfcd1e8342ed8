//! Pools of memory, and allocations in the order of a stream. A pool keeps nothing.

use std::ffi::{c_int, c_void};

use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::{queue, with};
use crate::objects::Handle;
use crate::objects::work::Work;
use crate::report;

/// A device as a place, and what it may do.
const DEVICE: c_int = 1;
const READ_AND_WRITE: c_int = 3;

fn allocate(bytes: usize, pool: Option<Handle>, stream: Handle) -> Outcome<u64> {
    // Another context than the stream's may be current, or none.
    with(|driver| {
        let key = driver.stream(stream)?;
        let context = key.context;
        if let Some(code) = driver.context(context)?.fault {
            return Err(code);
        }
        let device = driver.device_of(context)?;
        let pool = match pool {
            Some(pool) => driver.pool(pool).map(|_| pool)?,
            None => driver.default_pool(device)?,
        };
        let Some((_, capture)) = driver.valid_capture_of(key)? else {
            driver.may_be_unsafe()?;
            let address = driver.allocate(context, bytes, Some(pool))?;
            driver.stream_makes(key, address, bytes as u64);
            return Ok(address);
        };
        // It is a node of the graph. A GPU's driver adds none for nothing.
        if bytes == 0 {
            return Ok(0);
        }
        let at = capture.place(key);
        let allowed = driver.pool(pool)?.allowed.iter();
        let access = allowed
            .map(|other| [DEVICE, *other, READ_AND_WRITE])
            .collect();
        let (node, address) = driver.add_allocation(at, bytes, device, access)?;
        driver.follow(key, node);
        Ok(address)
    })
}

fn free(address: u64, stream: Handle) -> Outcome {
    let is_node = with(|driver| {
        let key = driver.stream(stream)?;
        if let Some((_, capture)) = driver.valid_capture_of(key)? {
            let at = capture.place(key);
            let node = driver.add_free(at, address)?;
            driver.follow(key, node);
            return Ok(true);
        }
        driver.may_be_unsafe()?;
        if driver.is_freed_by_call(address) {
            return Ok(false);
        }
        driver.note_second_free(address);
        Err(Code::INVALID_VALUE)
    })?;
    if is_node {
        return Ok(());
    }
    queue::submit(stream, Work::Free(address))
}

/// The device of a `CUmemLocation`: the kind of place, and its number. Pools are of devices, and of
/// memory that stays there, `CU_MEM_ALLOCATION_TYPE_PINNED`.
///
/// # Safety
///
/// As [`get`].
unsafe fn place(location: *const [c_int; 2], kind: c_int) -> Outcome<c_int> {
    const PINNED: c_int = 1;
    // SAFETY: the caller promises it.
    let [place, device] = unsafe { get(location)? };
    if (place, kind) == (DEVICE, PINNED) {
        return Ok(device);
    }
    report::unsupported(
        report::Need::Function,
        "a default pool of host memory or of managed memory is not supported",
    );
    Err(Code::NOT_SUPPORTED)
}

fn current_pool(device: c_int) -> Outcome<Handle> {
    with(|driver| match driver.device(device)?.pool {
        Some(pool) => Ok(pool),
        None => driver.default_pool(device),
    })
}

fn set_current_pool(device: c_int, pool: Handle) -> Outcome {
    with(|driver| {
        driver.pool(pool)?;
        driver.device(device)?.pool = Some(pool);
        Ok(())
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
        free(address, stream)
    }
    fn cuDeviceGetDefaultMemPool(to: *mut Handle, device: c_int) { put(to, with(|driver| driver.default_pool(device))?) }
    fn cuDeviceGetMemPool(to: *mut Handle, device: c_int) { put(to, current_pool(device)?) }
    fn cuDeviceSetMemPool(device: c_int, pool: Handle) { set_current_pool(device, pool) }
    fn cuMemGetDefaultMemPool(to: *mut Handle, location: *const [c_int; 2], kind: c_int) {
        let device = place(location, kind)?;
        put(to, with(|driver| driver.default_pool(device))?)
    }
    fn cuMemGetMemPool(to: *mut Handle, location: *const [c_int; 2], kind: c_int) { put(to, current_pool(place(location, kind)?)?) }
    fn cuMemSetMemPool(location: *const [c_int; 2], kind: c_int, pool: Handle) { set_current_pool(place(location, kind)?, pool) }
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
