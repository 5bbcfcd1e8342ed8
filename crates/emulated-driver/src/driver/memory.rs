//! Allocations, pools and arrays.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::AtomicU32;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::param::page_size;

use super::{DEVICE_BYTES, Driver};
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
        let device = self.device_of(context)?;
        let used = self.device(device)?.used_bytes;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        if bytes as u64 > DEVICE_BYTES - used {
            return Err(Code::OUT_OF_MEMORY);
        }
        let name = self.name("allocation");
        let address = self
            .machine
            .allocate(bytes as u64, &name)
            .map_err(|_| Code::OUT_OF_MEMORY)?;
        self.note(address, bytes, Kind::Device, context, pool)?;
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
        Ok(())
    }

    /// Allocates memory that host and kernels use under one address.
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
        let address = shared.ok_or(Code::OUT_OF_MEMORY)?;
        self.note(address, bytes, kind, context, None)?;
        Ok(address)
    }

    /// Frees the memory that begins at an address; false if there is none.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        let Some(allocation) = self.allocations.remove(&address) else {
            return false;
        };
        self.machine.free(address);
        match allocation.kind {
            Kind::Device => {
                if let Ok(device) = self.device(allocation.device) {
                    device.used_bytes -= allocation.bytes;
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
        let address = self.allocate(context, bytes, None)?;
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

/// Ends what [`map`] began. The emulator has let go of it.
fn unmap(address: u64, bytes: usize) {
    // SAFETY: the program frees it, so that it does not use it any more.
    let _ = unsafe { munmap(address as *mut c_void, bytes.next_multiple_of(page_size())) };
}
