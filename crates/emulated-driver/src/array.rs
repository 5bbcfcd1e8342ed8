//! CUDA arrays: memory of elements in up to three dimensions, by rows.
//!
//! They can be made, described and copied. Textures and surfaces, which kernels read them by, are
//! not supported.

use std::ffi::c_uint;

use crate::api::{Handle, Outcome, get, put};
use crate::code::Code;
use crate::copy::{Copy, Side};
use crate::driver::{Driver, with, with_context};
use crate::queue::{self, Work};

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Descriptor {
    width: usize,
    /// 0 for one dimension.
    height: usize,
    /// Layers; 0 for one or two dimensions.
    depth: usize,
    format: c_uint,
    channels: c_uint,
    flags: c_uint,
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FlatDescriptor {
    width: usize,
    height: usize,
    format: c_uint,
    channels: c_uint,
}

/// An array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    descriptor: Descriptor,
    pub(crate) address: u64,
    /// Bytes of a row, and rows of a layer.
    pub(crate) pitch: usize,
    pub(crate) rows: usize,
}

/// Bytes of an element's channel, by `CUarray_format`.
fn channel_bytes(format: c_uint) -> Outcome<usize> {
    match format {
        0x01 | 0x08 => Ok(1),
        0x02 | 0x09 | 0x10 => Ok(2),
        0x03 | 0x0a | 0x20 => Ok(4),
        _ => Err(Code::INVALID_VALUE),
    }
}

impl Driver {
    /// The array with this handle.
    pub(crate) fn array(&self, array: Handle) -> Outcome<Array> {
        self.arrays.get(&array).copied().ok_or(Code::INVALID_HANDLE)
    }

    fn new_array(&mut self, context: Handle, descriptor: Descriptor) -> Outcome<Handle> {
        let Descriptor {
            width,
            height,
            depth,
            format,
            channels,
            ..
        } = descriptor;
        if width == 0 || !matches!(channels, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        let pitch = width * channels as usize * channel_bytes(format)?;
        let rows = height.max(1);
        let bytes = pitch
            .checked_mul(rows)
            .and_then(|layer| layer.checked_mul(depth.max(1)));
        let address = self.allocate(context, bytes.ok_or(Code::INVALID_VALUE)?, None)?;
        let handle = self.new_handle();
        let array = Array {
            descriptor,
            address,
            pitch,
            rows,
        };
        self.arrays.insert(handle, array);
        Ok(handle)
    }
}

fn create(descriptor: Descriptor) -> Outcome<Handle> {
    with_context(|driver, context| driver.new_array(context, descriptor))
}

/// # Safety
///
/// As [`get`].
unsafe fn flat(from: *const FlatDescriptor) -> Outcome<Descriptor> {
    // SAFETY: the caller promises it.
    let FlatDescriptor {
        width,
        height,
        format,
        channels,
    } = unsafe { get(from) }?;
    Ok(Descriptor {
        width,
        height,
        depth: 0,
        format,
        channels,
        flags: 0,
    })
}

/// # Safety
///
/// As [`put`].
unsafe fn put_flat(to: *mut FlatDescriptor, array: Handle) -> Outcome {
    let Descriptor {
        width,
        height,
        format,
        channels,
        ..
    } = with(|driver| driver.array(array))?.descriptor;
    // SAFETY: the caller promises it.
    unsafe {
        put(
            to,
            FlatDescriptor {
                width,
                height,
                format,
                channels,
            },
        )
    }
}

/// # Safety
///
/// As [`put`].
unsafe fn put_descriptor(to: *mut Descriptor, array: Handle) -> Outcome {
    let known = with(|driver| driver.array(array))?;
    // SAFETY: the caller promises it.
    unsafe { put(to, known.descriptor) }
}

/// The address of a byte of an array.
fn address(array: Handle, offset: usize) -> Outcome<u64> {
    Ok(with(|driver| driver.array(array))?.address + offset as u64)
}

/// Copies bytes that lie together, and waits.
fn copy(to: u64, from: u64, bytes: usize) -> Outcome {
    queue::submit(0, Work::Copy(Copy::of(to, from, bytes)))?;
    queue::finish(0)
}

/// One side of a copy, from a place in an array on.
pub(crate) fn side(array: Handle, x: usize, y: usize, z: usize) -> Outcome<Side> {
    let known = with(|driver| driver.array(array))?;
    let layer = known.pitch * known.rows;
    Ok(Side {
        address: known.address + (x + y * known.pitch + z * layer) as u64,
        pitch: known.pitch as u64,
        layer: layer as u64,
    })
}

driver_api! {
    fn cuArrayCreate(to: *mut Handle, descriptor: *const FlatDescriptor) { put(to, create(flat(descriptor)?)?) }
    fn cuArrayCreate_v2(to: *mut Handle, descriptor: *const FlatDescriptor) { put(to, create(flat(descriptor)?)?) }
    fn cuArray3DCreate(to: *mut Handle, descriptor: *const Descriptor) { put(to, create(get(descriptor)?)?) }
    fn cuArray3DCreate_v2(to: *mut Handle, descriptor: *const Descriptor) { put(to, create(get(descriptor)?)?) }
    fn cuArrayGetDescriptor(to: *mut FlatDescriptor, array: Handle) { put_flat(to, array) }
    fn cuArrayGetDescriptor_v2(to: *mut FlatDescriptor, array: Handle) { put_flat(to, array) }
    fn cuArray3DGetDescriptor(to: *mut Descriptor, array: Handle) { put_descriptor(to, array) }
    fn cuArray3DGetDescriptor_v2(to: *mut Descriptor, array: Handle) { put_descriptor(to, array) }
    fn cuArrayDestroy(array: Handle) {
        with(|driver| {
            let known = driver.arrays.remove(&array).ok_or(Code::INVALID_HANDLE)?;
            driver.free(known.address);
            Ok(())
        })
    }
    fn cuMemcpyHtoA(array: Handle, offset: usize, from: u64, bytes: usize) { copy(address(array, offset)?, from, bytes) }
    fn cuMemcpyHtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) { copy(address(array, offset)?, from, bytes) }
    fn cuMemcpyDtoA(array: Handle, offset: usize, from: u64, bytes: usize) { copy(address(array, offset)?, from, bytes) }
    fn cuMemcpyDtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) { copy(address(array, offset)?, from, bytes) }
    fn cuMemcpyAtoH(to: u64, array: Handle, offset: usize, bytes: usize) { copy(to, address(array, offset)?, bytes) }
    fn cuMemcpyAtoH_v2(to: u64, array: Handle, offset: usize, bytes: usize) { copy(to, address(array, offset)?, bytes) }
    fn cuMemcpyAtoD(to: u64, array: Handle, offset: usize, bytes: usize) { copy(to, address(array, offset)?, bytes) }
    fn cuMemcpyAtoD_v2(to: u64, array: Handle, offset: usize, bytes: usize) { copy(to, address(array, offset)?, bytes) }
}
