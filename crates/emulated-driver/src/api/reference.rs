//! Texture and surface references, which old PTX names its textures by.
//!
//! A launch takes what its references are bound to: each change waits for what streams have to do.

use std::ffi::{c_char, c_float, c_int, c_uint};

use super::array::FlatDescriptor;
use crate::call::{get, put, put_if_wanted, text};
use crate::code::{Code, Outcome};
use crate::driver::{queue, with, with_context};
use crate::objects::Handle;
use crate::objects::reference::TextureReference;
use crate::objects::texture::Resource;

/// `CU_TRSA_OVERRIDE_FORMAT`, the one flag of `cuTexRefSetArray`: the format is the array's.
const OVERRIDE_FORMAT: c_uint = 1;

fn change(reference: Handle, change: impl FnOnce(&mut TextureReference) -> Outcome) -> Outcome {
    queue::run_with_loops(|driver| driver.queues.are_empty())?;
    with_context(|driver, _| driver.change_reference(reference, change))
}

fn set(reference: Handle, set: impl FnOnce(&mut TextureReference)) -> Outcome {
    change(reference, |one| {
        set(one);
        Ok(())
    })
}

fn known(reference: Handle) -> Outcome<TextureReference> {
    with(|driver| driver.reference(reference))
}

fn bind(reference: Handle, resource: Resource, flags: c_uint) -> Outcome {
    if flags != OVERRIDE_FORMAT {
        return Err(Code::INVALID_VALUE);
    }
    set(reference, |one| one.resource = Some(resource))
}

/// # Safety
///
/// As [`put_if_wanted`].
unsafe fn bind_row(offset: *mut usize, reference: Handle, address: u64, bytes: usize) -> Outcome {
    set(reference, |one| {
        one.resource = Some(Resource::linear(address, one.format, bytes));
    })?;
    // Fetches begin at the address itself, whatever a GPU needs it to be a multiple of.
    // SAFETY: the caller promises it.
    unsafe { put_if_wanted(offset, 0) };
    Ok(())
}

/// # Safety
///
/// As [`get`].
unsafe fn bind_rows(
    reference: Handle,
    descriptor: *const FlatDescriptor,
    address: u64,
    pitch: usize,
) -> Outcome {
    // SAFETY: the caller promises it.
    let FlatDescriptor {
        width,
        height,
        format,
        channels,
    } = unsafe { get(descriptor)? };
    set(reference, |one| {
        one.format = (format, channels);
        one.resource = Some(Resource::pitched(
            address,
            one.format,
            [width, height, pitch],
        ));
    })
}

/// The address that a reference is bound to.
fn address(reference: Handle) -> Outcome<u64> {
    let resource = known(reference)?.resource;
    resource
        .and_then(|resource| resource.address())
        .ok_or(Code::INVALID_VALUE)
}

fn dimension(dimension: c_int) -> Outcome<usize> {
    usize::try_from(dimension).map_err(|_| Code::INVALID_VALUE)
}

driver_api! {
    fn cuModuleGetTexRef(to: *mut Handle, module: Handle, name: *const c_char) {
        let name = text(name)?;
        put(to, with(|driver| driver.texture_reference(module, &name))?)
    }
    fn cuModuleGetSurfRef(to: *mut Handle, module: Handle, name: *const c_char) {
        let name = text(name)?;
        put(to, with(|driver| driver.surface_reference(module, &name))?)
    }
    fn cuSurfRefSetArray(reference: Handle, array: Handle, flags: c_uint) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        queue::run_with_loops(|driver| driver.queues.are_empty())?;
        with_context(|driver, _| driver.bind_surface(reference, array))
    }
    fn cuSurfRefGetArray(to: *mut Handle, reference: Handle) {
        let array = with(|driver| {
            let known = driver.surface_references.get(&reference);
            known.ok_or(Code::INVALID_HANDLE)?.array.ok_or(Code::INVALID_VALUE)
        })?;
        put(to, array)
    }
    fn cuTexRefSetArray(reference: Handle, array: Handle, flags: c_uint) { bind(reference, Resource::of_array(array), flags) }
    fn cuTexRefSetMipmappedArray(reference: Handle, mipmap: Handle, flags: c_uint) { bind(reference, Resource::of_mipmap(mipmap), flags) }
    fn cuTexRefSetAddress(offset: *mut usize, reference: Handle, address: u64, bytes: usize) { bind_row(offset, reference, address, bytes) }
    fn cuTexRefSetAddress_v2(offset: *mut usize, reference: Handle, address: u64, bytes: usize) { bind_row(offset, reference, address, bytes) }
    fn cuTexRefSetAddress2D(reference: Handle, of: *const FlatDescriptor, address: u64, pitch: usize) { bind_rows(reference, of, address, pitch) }
    fn cuTexRefSetAddress2D_v2(reference: Handle, of: *const FlatDescriptor, address: u64, pitch: usize) { bind_rows(reference, of, address, pitch) }
    fn cuTexRefSetAddress2D_v3(reference: Handle, of: *const FlatDescriptor, address: u64, pitch: usize) { bind_rows(reference, of, address, pitch) }
    fn cuTexRefSetFormat(reference: Handle, format: c_uint, channels: c_int) {
        set(reference, |one| {
            one.format = (format, channels as c_uint);
            one.resource = one.resource.map(|resource| resource.of_format(one.format));
        })
    }
    fn cuTexRefSetAddressMode(reference: Handle, of: c_int, mode: c_uint) {
        let of = dimension(of)?;
        change(reference, |one| one.mode(of).map(|to| *to = mode).ok_or(Code::INVALID_VALUE))
    }
    fn cuTexRefSetFilterMode(reference: Handle, mode: c_uint) { set(reference, |one| one.sampling.filter = mode) }
    fn cuTexRefSetMipmapFilterMode(reference: Handle, mode: c_uint) { set(reference, |one| one.sampling.mipmap_filter = mode) }
    fn cuTexRefSetMipmapLevelBias(reference: Handle, bias: c_float) { set(reference, |one| one.sampling.mipmap_bias = bias) }
    fn cuTexRefSetMipmapLevelClamp(reference: Handle, least: c_float, greatest: c_float) {
        set(reference, |one| one.sampling.mipmap_levels = [least, greatest])
    }
    fn cuTexRefSetMaxAnisotropy(reference: Handle, most: c_uint) { set(reference, |one| one.sampling.max_anisotropy = most) }
    fn cuTexRefSetBorderColor(reference: Handle, color: *const [c_float; 4]) {
        let color = get(color)?;
        set(reference, |one| one.sampling.border = color)
    }
    fn cuTexRefSetFlags(reference: Handle, flags: c_uint) { set(reference, |one| one.sampling.flags = flags) }
    fn cuTexRefGetAddress(to: *mut u64, reference: Handle) { put(to, address(reference)?) }
    fn cuTexRefGetAddress_v2(to: *mut u64, reference: Handle) { put(to, address(reference)?) }
    fn cuTexRefGetArray(to: *mut Handle, reference: Handle) {
        put(to, known(reference)?.resource.and_then(|resource| resource.array()).ok_or(Code::INVALID_VALUE)?)
    }
    fn cuTexRefGetMipmappedArray(to: *mut Handle, reference: Handle) {
        put(to, known(reference)?.resource.and_then(|resource| resource.mipmap()).ok_or(Code::INVALID_VALUE)?)
    }
    fn cuTexRefGetAddressMode(to: *mut c_uint, reference: Handle, of: c_int) {
        let of = dimension(of)?;
        put(to, *known(reference)?.mode(of).ok_or(Code::INVALID_VALUE)?)
    }
    fn cuTexRefGetFilterMode(to: *mut c_uint, reference: Handle) { put(to, known(reference)?.sampling.filter) }
    fn cuTexRefGetFormat(to: *mut c_uint, channels: *mut c_int, reference: Handle) {
        let (format, count) = known(reference)?.format;
        put_if_wanted(channels, count as c_int);
        put(to, format)
    }
    fn cuTexRefGetMipmapFilterMode(to: *mut c_uint, reference: Handle) { put(to, known(reference)?.sampling.mipmap_filter) }
    fn cuTexRefGetMipmapLevelBias(to: *mut c_float, reference: Handle) { put(to, known(reference)?.sampling.mipmap_bias) }
    fn cuTexRefGetMipmapLevelClamp(least: *mut c_float, greatest: *mut c_float, reference: Handle) {
        let levels = known(reference)?.sampling.mipmap_levels;
        put(least, levels[0])?;
        put(greatest, levels[1])
    }
    fn cuTexRefGetMaxAnisotropy(to: *mut c_int, reference: Handle) { put(to, known(reference)?.sampling.max_anisotropy as c_int) }
    fn cuTexRefGetBorderColor(to: *mut [c_float; 4], reference: Handle) { put(to, known(reference)?.sampling.border) }
    fn cuTexRefGetFlags(to: *mut c_uint, reference: Handle) { put(to, known(reference)?.sampling.flags) }
}
