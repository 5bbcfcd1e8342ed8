//! Allocations: device memory, managed and page-locked memory, and what pointers are.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::AtomicU32;

use crate::call::{get, put, put_if_wanted};
use crate::code::{Code, Outcome};
use crate::driver::{DEVICE_BYTES, queue, with, with_context};
use crate::host::{self, Access};
use crate::objects::Handle;
use crate::objects::memory::Kind;
use crate::report;

/// Pitches are multiples of this.
const PITCH_BYTES: usize = 512;

fn allocate(bytes: usize) -> Outcome<u64> {
    with_context(|driver, context| driver.allocate(context, bytes, None))
}

fn allocate_host(bytes: usize) -> Outcome<*mut c_void> {
    let address = with_context(|driver, context| {
        let name = driver.name("host allocation");
        driver.share(context, bytes, Kind::Host, &name)
    })?;
    Ok(address as *mut c_void)
}

/// Frees memory of one of some kinds, after everything that may use it has ended.
fn free(address: u64, kinds: &[Kind]) -> Outcome {
    if address == 0 {
        return Ok(());
    }
    let context = with(|driver| {
        driver.may_be_unsafe()?;
        let known = driver.allocations.get(&address);
        let Some(known) = known.filter(|known| kinds.contains(&known.kind)) else {
            driver.note_second_free(address);
            return Err(Code::INVALID_VALUE);
        };
        Ok(known.context)
    })?;
    // A fault of the context does not keep memory from being freed.
    let _ = queue::finish_context(context);
    with(|driver| {
        if driver.free(address) {
            driver.is_freed_by_call(address);
            Ok(())
        } else {
            Err(Code::INVALID_VALUE)
        }
    })
}

fn allocate_pitch(width: usize, height: usize) -> Outcome<(u64, usize)> {
    let pitch = width
        .checked_next_multiple_of(PITCH_BYTES)
        .ok_or(Code::OUT_OF_MEMORY)?;
    let bytes = pitch.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?;
    Ok((allocate(bytes)?, pitch))
}

fn free_and_total() -> Outcome<(usize, usize)> {
    with_context(|driver, context| {
        let device = driver.device_of(context)?;
        let used = driver.device(device)?.used_bytes;
        Ok(((DEVICE_BYTES - used) as usize, DEVICE_BYTES as usize))
    })
}

fn range(address: u64) -> Outcome<(u64, usize)> {
    with(|driver| {
        let (start, allocation) = driver.allocation(address).ok_or(Code::NOT_FOUND)?;
        Ok((start, allocation.bytes as usize))
    })
}

/// Makes memory of the program's own usable by kernels, at its own address.
fn register(host: u64, bytes: usize) -> Outcome {
    with_context(|driver, context| {
        if bytes == 0 || host == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let refuse = |why: &str| {
            report::refused(&format!(
                "{bytes} bytes at {host:#x} cannot be registered: {why}"
            ))
        };
        if !host::allows(Access::Read, host, bytes as u64) {
            return Err(refuse("the program does not have them"));
        }
        if driver.overlaps(host, bytes as u64) {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        let name = driver.name("registered host memory");
        let end = host + bytes as u64;
        let is_shared = driver.machine.share_at(host, bytes as u64, &name, |base| {
            let words = (end - base).div_ceil(4) as usize;
            // SAFETY: the program has the memory, and keeps it until it unregisters it. The words
            // reach out of it at both ends, inside its pages, where nothing is accessed.
            Some(unsafe { std::slice::from_raw_parts(base as *const AtomicU32, words) })
        });
        if is_shared {
            driver.host_waits_for_context(context);
            driver.note(host, bytes, Kind::Registered, context, None)
        } else {
            Err(refuse("kernels have other memory at these addresses"))
        }
    })
}

fn unregister(host: u64) -> Outcome {
    with(|driver| {
        let known = driver.allocations.get(&host);
        if known.is_none_or(|known| known.kind != Kind::Registered) {
            return Err(Code::HOST_MEMORY_NOT_REGISTERED);
        }
        driver.free(host);
        Ok(())
    })
}

/// The address that kernels have for memory of the host: the same.
fn device_pointer(host: u64) -> Outcome<u64> {
    with(|driver| {
        let (_, known) = driver.allocation(host).ok_or(Code::INVALID_VALUE)?;
        match known.kind {
            Kind::Registered | Kind::Host | Kind::Managed => Ok(host),
            Kind::Device | Kind::Variable => Err(Code::INVALID_VALUE),
        }
    })
}

/// Writes an attribute of a pointer.
///
/// # Safety
///
/// `to` has room for the attribute, as `cuPointerGetAttribute` documents it.
unsafe fn put_attribute(to: *mut c_void, attribute: c_int, pointer: u64) -> Outcome {
    let (start, known) = with(|driver| {
        let (start, known) = driver.allocation(pointer).ok_or(Code::INVALID_VALUE)?;
        Ok((start, *known))
    })?;
    let is_of_host = matches!(known.kind, Kind::Host | Kind::Registered);
    let has_host = is_of_host || known.kind == Kind::Managed;
    // SAFETY: the caller promises the room.
    unsafe {
        match attribute {
            1 => put(to.cast::<Handle>(), known.context),
            2 => put(to.cast::<c_uint>(), if is_of_host { 1 } else { 2 }),
            3 => put(to.cast::<u64>(), pointer),
            4 if has_host => put(to.cast::<u64>(), pointer),
            6 => put(to.cast::<c_uint>(), 1),
            7 => put(to.cast::<u64>(), start),
            8 => put(to.cast::<c_uint>(), (known.kind == Kind::Managed).into()),
            9 => put(to.cast::<c_int>(), known.device),
            10 | 14 | 15 | 17 => put(to.cast::<c_uint>(), 0),
            11 | 19 => put(to.cast::<u64>(), start),
            12 | 18 => put(to.cast::<usize>(), known.bytes as usize),
            13 => put(to.cast::<c_uint>(), 1),
            16 => put(to.cast::<c_uint>(), 3),
            20 => put(to.cast::<u64>(), start),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

driver_api! {
    fn cuMemAlloc(to: *mut u64, bytes: usize) { put(to, allocate(bytes)?) }
    fn cuMemAlloc_v2(to: *mut u64, bytes: usize) { put(to, allocate(bytes)?) }
    fn cuMemAllocPitch(to: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: c_uint) {
        let (address, bytes) = allocate_pitch(width, height)?;
        put(pitch, bytes)?;
        put(to, address)
    }
    fn cuMemAllocPitch_v2(to: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: c_uint) {
        let (address, bytes) = allocate_pitch(width, height)?;
        put(pitch, bytes)?;
        put(to, address)
    }
    fn cuMemAllocManaged(to: *mut u64, bytes: usize, _flags: c_uint) {
        put(to, with_context(|driver, context| { let name = driver.name("managed allocation"); driver.share(context, bytes, Kind::Managed, &name) })?)
    }
    fn cuMemFree(address: u64) { free(address, &[Kind::Device, Kind::Managed]) }
    fn cuMemFree_v2(address: u64) { free(address, &[Kind::Device, Kind::Managed]) }
    fn cuMemAllocHost(to: *mut *mut c_void, bytes: usize) { put(to, allocate_host(bytes)?) }
    fn cuMemAllocHost_v2(to: *mut *mut c_void, bytes: usize) { put(to, allocate_host(bytes)?) }
    fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, _flags: c_uint) { put(to, allocate_host(bytes)?) }
    fn cuMemFreeHost(address: u64) { free(address, &[Kind::Host]) }
    fn cuMemHostGetDevicePointer(to: *mut u64, host: u64, _flags: c_uint) { put(to, device_pointer(host)?) }
    fn cuMemHostGetDevicePointer_v2(to: *mut u64, host: u64, _flags: c_uint) { put(to, device_pointer(host)?) }
    fn cuMemHostGetFlags(to: *mut c_uint, host: u64) { device_pointer(host)?; put(to, 2) }
    fn cuMemHostRegister(host: u64, bytes: usize, _flags: c_uint) { register(host, bytes) }
    fn cuMemHostRegister_v2(host: u64, bytes: usize, _flags: c_uint) { register(host, bytes) }
    fn cuMemHostUnregister(host: u64) { unregister(host) }
    fn cuMemGetInfo(free: *mut usize, total: *mut usize) {
        let (unused, all) = free_and_total()?;
        put_if_wanted(free, unused);
        put_if_wanted(total, all);
        Ok(())
    }
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (unused, all) = free_and_total()?;
        put_if_wanted(free, unused);
        put_if_wanted(total, all);
        Ok(())
    }
    fn cuMemGetAddressRange(start: *mut u64, bytes: *mut usize, address: u64) {
        let (begin, size) = range(address)?;
        put_if_wanted(start, begin);
        put_if_wanted(bytes, size);
        Ok(())
    }
    fn cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) {
        let (begin, size) = range(address)?;
        put_if_wanted(start, begin);
        put_if_wanted(bytes, size);
        Ok(())
    }
    fn cuPointerGetAttribute(to: *mut c_void, attribute: c_int, pointer: u64) { put_attribute(to, attribute, pointer) }
    fn cuPointerGetAttributes(count: c_uint, attributes: *const c_int, to: *const *mut c_void, pointer: u64) {
        for index in 0..count as usize {
            let (attribute, to) = (get(attributes.add(index))?, get(to.add(index))?);
            // An attribute that the pointer does not have is 0 here, without an error; a device is
            // -2.
            if put_attribute(to, attribute, pointer).is_err() {
                match attribute {
                    9 => put(to.cast::<c_int>(), -2)?,
                    2 | 6 | 8 | 10 | 13 | 14 | 15 | 16 => put(to.cast::<c_uint>(), 0)?,
                    _ => put(to.cast::<u64>(), 0)?,
                }
            }
        }
        Ok(())
    }
    fn cuPointerSetAttribute(_value: *const c_void, _attribute: c_int, _pointer: u64) { Ok(()) }
    fn cuMemAdvise(_address: u64, _bytes: usize, _advice: c_int, _device: c_int) { Ok(()) }
    fn cuMemAdvise_v2(_address: u64, _bytes: usize, _advice: c_int, _location: u64) { Ok(()) }
    fn cuMemPrefetchAsync(_address: u64, _bytes: usize, _device: c_int, _stream: Handle) { Ok(()) }
    fn cuMemPrefetchAsync_v2(_address: u64, _bytes: usize, _location: u64, _flags: c_uint, _stream: Handle) { Ok(()) }
    fn cuMemRangeGetAttribute(to: *mut c_int, bytes: usize, _attribute: c_int, _address: u64, _count: usize) {
        // Nothing was advised: no device is preferred.
        for index in 0..bytes / 4 {
            put(to.add(index), -2)?;
        }
        Ok(())
    }
}
