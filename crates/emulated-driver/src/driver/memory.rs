//! Allocations, pools and arrays.

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

use ptx_emu::GUARD_BYTES;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;

use super::{DEVICE_BYTES, Driver, is_device_address};
use crate::code::{Code, Outcome};
use crate::objects::Handle;
use crate::objects::memory::{Allocation, Array, Descriptor, Kind, Pool};

impl Driver {
    /// Allocates device memory.
    pub(crate) fn allocate(
        &mut self,
        context: Handle,
        bytes: usize,
        pool: Option<Handle>,
    ) -> Outcome<u64> {
        self.allocate_named("allocation", context, bytes, pool)
    }

    /// As [`Driver::allocate`]; messages call the memory so.
    fn allocate_named(
        &mut self,
        what: &str,
        context: Handle,
        bytes: usize,
        pool: Option<Handle>,
    ) -> Outcome<u64> {
        let device = self.device_of(context)?;
        let used = self.device(device)?.used_bytes;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if bytes as u64 > DEVICE_BYTES - used {
            return Err(Code::OUT_OF_MEMORY);
        }
        let name = self.name(what);
        let address = self
            .machine
            .allocate(bytes as u64, &name)
            .map_err(|_| Code::OUT_OF_MEMORY)?;
        self.note(address, bytes, Kind::Device, context, pool)?;
        if pool.is_none() {
            self.host_waits_for_context(context);
        }
        self.device(device)?.used_bytes += bytes as u64;
        Ok(address)
    }

    /// A name for messages: programs do not name their memory.
    pub(crate) fn name(&mut self, what: &str) -> String {
        self.allocated += 1;
        format!("{what} {}", self.allocated)
    }

    /// Adds an allocation to those that are known.
    pub(crate) fn note(
        &mut self,
        address: u64,
        bytes: usize,
        kind: Kind,
        context: Handle,
        pool: Option<Handle>,
    ) -> Outcome {
        let allocation = Allocation {
            bytes: bytes as u64,
            kind,
            context,
            device: self.device_of(context)?,
            pool,
        };
        self.allocations.insert(address, allocation);
        self.note_allocation(address);
        Ok(())
    }

    /// Allocates memory that host and kernels use under one address: among the addresses of
    /// buffers, or where the system has room, if a process has no such addresses. Linux on aarch64
    /// has kernels that give a process 39 bits of address.
    pub(crate) fn share(
        &mut self,
        context: Handle,
        bytes: usize,
        kind: Kind,
        name: &str,
    ) -> Outcome<u64> {
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let shared = self
            .machine
            .share(bytes as u64, name, |address| map(address, bytes));
        let address = shared
            .or_else(|| self.share_anywhere(bytes, name))
            .ok_or(Code::OUT_OF_MEMORY)?;
        self.note(address, bytes, kind, context, None)?;
        self.may_guard(address);
        self.host_waits_for_context(context);
        Ok(address)
    }

    fn share_anywhere(&mut self, bytes: usize, name: &str) -> Option<u64> {
        let words = map_anywhere(bytes)?;
        let address = words.as_ptr() as u64;
        let is_shared = self
            .machine
            .share_at(address, bytes as u64, name, |_| Some(words));
        if !is_shared {
            unmap(address, bytes);
        }
        is_shared.then_some(address)
    }

    /// Frees the memory that begins at an address; false if there is none.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let Some(allocation) = self.allocations.remove(&address) else {
            return false;
        };
        self.forget_guards(&(address..address + allocation.bytes));
        self.machine.free(address);
        self.made_at.remove(&address);
        self.freed.insert(address);
        self.between.forget(address..address + allocation.bytes);
        match allocation.kind {
            Kind::Device => {
                let is_of_graph = self.graph_memory.contains_key(&address);
                if let Ok(device) = self.device(allocation.device) {
                    device.used_bytes -= allocation.bytes;
                    if is_of_graph {
                        device.of_graphs.remove(allocation.bytes);
                    }
                }
            }
            Kind::Managed | Kind::Host => unmap(address, allocation.bytes as usize),
            Kind::Registered | Kind::Variable => {}
        }
        true
    }

    /// The allocation that an address lies in, and where it begins.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, &Allocation)> {
        let (start, allocation) = self.allocations.range(..=address).next_back()?;
        (address - start < allocation.bytes).then_some((*start, allocation))
    }

    /// Whether all these bytes lie in one allocation.
    pub(crate) fn has(&self, address: u64, bytes: u64) -> bool {
        self.allocation(address)
            .is_some_and(|(start, known)| bytes <= known.bytes - (address - start))
    }

    /// Whether one of these bytes lies in an allocation.
    pub(crate) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let before = self.allocations.range(..address + bytes).next_back();
        before.is_some_and(|(start, known)| start + known.bytes > address)
    }
}

/// Pools.
impl Driver {
    /// The first pool of a device, which is made if there is none.
    pub(crate) fn default_pool(&mut self, device: i32) -> Outcome<Handle> {
        if let Some(pool) = self.device(device)?.default_pool {
            return Ok(pool);
        }
        let pool = self.new_pool(device);
        self.device(device)?.default_pool = Some(pool);
        Ok(pool)
    }

    pub(crate) fn new_pool(&mut self, device: i32) -> Handle {
        let handle = self.new_handle();
        let pool = Pool {
            device,
            allowed: BTreeSet::new(),
            set: HashMap::new(),
        };
        self.pools.insert(handle, pool);
        handle
    }

    pub(crate) fn pool(&mut self, pool: Handle) -> Outcome<&mut Pool> {
        self.pools.get_mut(&pool).ok_or(Code::INVALID_VALUE)
    }

    /// Bytes of the allocations from a pool.
    pub(crate) fn pool_bytes(&self, pool: Handle) -> u64 {
        let own = self.allocations.values();
        own.filter(|known| known.pool == Some(pool))
            .map(|known| known.bytes)
            .sum()
    }
}

/// Arrays.
impl Driver {
    /// The array with this handle.
    pub(crate) fn array(&self, array: Handle) -> Outcome<Array> {
        self.arrays.get(&array).copied().ok_or(Code::INVALID_HANDLE)
    }

    pub(crate) fn new_array(&mut self, context: Handle, descriptor: Descriptor) -> Outcome<Handle> {
        let (pitch, bytes) = (descriptor.pitch()?, descriptor.bytes()?);
        let address = self.allocate_named("array", context, bytes, None)?;
        let handle = self.new_handle();
        let array = Array {
            descriptor,
            address,
            pitch,
            rows: descriptor.rows(),
        };
        self.arrays.insert(handle, array);
        Ok(handle)
    }
}

/// Mipmaps.
impl Driver {
    /// The levels of a mipmapped array.
    pub(crate) fn mipmap(&self, mipmap: Handle) -> Outcome<&[Handle]> {
        let levels = self.mipmaps.get(&mipmap);
        levels.map(|levels| &levels[..]).ok_or(Code::INVALID_HANDLE)
    }

    /// Makes an array of levels: as many as there may be, if the program asks for more.
    pub(crate) fn new_mipmap(
        &mut self,
        context: Handle,
        descriptor: Descriptor,
        levels: usize,
    ) -> Outcome<Handle> {
        let count = levels.clamp(1, descriptor.levels());
        let mut made = Vec::with_capacity(count);
        for level in 0..count {
            match self.new_array(context, descriptor.level(level)) {
                Ok(array) => made.push(array),
                Err(code) => {
                    self.destroy_arrays(&made);
                    return Err(code);
                }
            }
        }
        let handle = self.new_handle();
        self.mipmaps.insert(handle, made);
        Ok(handle)
    }

    pub(crate) fn destroy_mipmap(&mut self, mipmap: Handle) -> Outcome {
        let levels = self.mipmaps.remove(&mipmap).ok_or(Code::INVALID_HANDLE)?;
        self.destroy_arrays(&levels);
        Ok(())
    }

    fn destroy_arrays(&mut self, arrays: &[Handle]) {
        for array in arrays {
            if let Some(known) = self.arrays.remove(array) {
                self.free(known.address);
            }
        }
    }
}

/// Maps memory of the host at an address where it has none.
fn map(address: u64, bytes: usize) -> Option<&'static [AtomicU32]> {
    let whole = bytes.checked_next_multiple_of(page_size())?;
    // SAFETY: the flag keeps every mapping that there is.
    let mapped = unsafe {
        mmap_anonymous(
            address as *mut c_void,
            whole,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE,
        )
    };
    let start = mapped.ok()?;
    if start as u64 != address {
        // A kernel that does not know the flag takes the address for a hint.
        // SAFETY: it was just mapped.
        let _ = unsafe { munmap(start, whole) };
        return None;
    }
    // SAFETY: the memory holds zeros, is aligned to a page, and stays mapped until the emulator has
    // let go of it: `Driver::free`.
    Some(unsafe { std::slice::from_raw_parts(start.cast(), whole / 4) })
}

/// Shared memory that the system places begins at multiples of this, as large buffers do.
const PLACED: usize = 2 << 20;
const GUARD: usize = GUARD_BYTES as usize;
/// How many bytes of address a process has at least. One that lacks those of buffers has no more.
const FEW_ADDRESSES: usize = 1 << 39;

/// Maps memory of the host where the system has room. The gaps at both ends, as between buffers,
/// stay the mapping's own, so that nothing that a kernel may access lies behind its end.
fn map_anywhere(bytes: usize) -> Option<&'static [AtomicU32]> {
    if bytes > FEW_ADDRESSES {
        return None;
    }
    let whole = bytes.next_multiple_of(page_size());
    let reserved = whole + PLACED + 2 * GUARD;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the address is the system's choice.
    let first =
        unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::empty(), flags) };
    let first = first.ok()? as usize;
    let start = (first + GUARD).next_multiple_of(PLACED);
    let (before, behind) = (start - GUARD, start + whole + GUARD);
    // SAFETY: these are the ends of what was just mapped, and nothing uses them.
    unsafe {
        if before > first {
            let _ = munmap(first as *mut c_void, before - first);
        }
        if first + reserved > behind {
            let _ = munmap(behind as *mut c_void, first + reserved - behind);
        }
    }
    // SAFETY: this is the middle of it.
    let opened = unsafe {
        mprotect(
            start as *mut c_void,
            whole,
            MprotectFlags::READ | MprotectFlags::WRITE,
        )
    };
    if opened.is_err() {
        unmap(start as u64, bytes);
        return None;
    }
    // SAFETY: as in `map`.
    Some(unsafe { std::slice::from_raw_parts(start as *const AtomicU32, whole / 4) })
}

/// Ends what [`map`] or [`map_anywhere`] began. The emulator has let go of it.
fn unmap(address: u64, bytes: usize) {
    let guard = if is_device_address(address) { 0 } else { GUARD };
    let whole = bytes.next_multiple_of(page_size()) + 2 * guard;
    // SAFETY: the program frees it, so that it does not use it any more.
    let _ = unsafe { munmap((address as usize - guard) as *mut c_void, whole) };
}
