//! CUDA arrays: memory of elements in up to three dimensions, by rows.
//!
//! They can be made, described and copied, and be the levels of a mipmap. Kernels read them by
//! textures and surfaces: see `texture.rs`.

use std::ffi::c_uint;

use crate::api::copy::now;
use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::{with, with_context};
use crate::objects::Handle;
use crate::objects::copy::Side;
use crate::objects::memory::Descriptor;

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct FlatDescriptor {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) format: c_uint,
    pub(super) channels: c_uint,
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

/// An array from a byte on.
fn side(array: Handle, offset: usize) -> Outcome<Side> {
    with(|driver| driver.array(array))?.side(offset, 0, 0)
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
    fn cuMipmappedArrayCreate(to: *mut Handle, descriptor: *const Descriptor, levels: c_uint) {
        let descriptor = get(descriptor)?;
        put(to, with_context(|driver, context| driver.new_mipmap(context, descriptor, levels as usize))?)
    }
    fn cuMipmappedArrayGetLevel(to: *mut Handle, mipmap: Handle, level: c_uint) {
        put(to, with(|driver| driver.mipmap(mipmap)?.get(level as usize).copied().ok_or(Code::INVALID_VALUE))?)
    }
    fn cuMipmappedArrayDestroy(mipmap: Handle) { with(|driver| driver.destroy_mipmap(mipmap)) }
    fn cuMemcpyHtoA(array: Handle, offset: usize, from: u64, bytes: usize) { now(side(array, offset)?, Side::any(from), bytes) }
    fn cuMemcpyHtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) { now(side(array, offset)?, Side::any(from), bytes) }
    fn cuMemcpyDtoA(array: Handle, offset: usize, from: u64, bytes: usize) { now(side(array, offset)?, Side::device(from), bytes) }
    fn cuMemcpyDtoA_v2(array: Handle, offset: usize, from: u64, bytes: usize) { now(side(array, offset)?, Side::device(from), bytes) }
    fn cuMemcpyAtoH(to: u64, array: Handle, offset: usize, bytes: usize) { now(Side::any(to), side(array, offset)?, bytes) }
    fn cuMemcpyAtoH_v2(to: u64, array: Handle, offset: usize, bytes: usize) { now(Side::any(to), side(array, offset)?, bytes) }
    fn cuMemcpyAtoD(to: u64, array: Handle, offset: usize, bytes: usize) { now(Side::device(to), side(array, offset)?, bytes) }
    fn cuMemcpyAtoD_v2(to: u64, array: Handle, offset: usize, bytes: usize) { now(Side::device(to), side(array, offset)?, bytes) }
}
