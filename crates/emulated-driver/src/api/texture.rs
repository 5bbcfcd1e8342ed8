//! Textures and surfaces, which kernels read arrays and memory by.

use std::ffi::{c_int, c_uint};

use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::{with, with_context};
use crate::objects::texture::{Made, Resource, TextureDescriptor, View};

/// # Safety
///
/// As [`get`]; the view may be null.
unsafe fn texture(
    resource: *const Resource,
    sampling: *const TextureDescriptor,
    view: *const View,
) -> Outcome<u64> {
    // SAFETY: the caller promises it.
    let (resource, sampling) = unsafe { (get(resource)?, get(sampling)?) };
    let view = if view.is_null() {
        None
    } else {
        // SAFETY: as above.
        Some(unsafe { get(view)? })
    };
    with_context(|driver, _| driver.new_texture(resource, sampling, view))
}

fn made(object: u64) -> Outcome<Made> {
    with(|driver| {
        driver
            .images
            .get(&object)
            .copied()
            .ok_or(Code::INVALID_VALUE)
    })
}

fn sampling(object: u64) -> Outcome<TextureDescriptor> {
    made(object)?.sampling.ok_or(Code::INVALID_VALUE)
}

driver_api! {
    fn cuTexObjectCreate(to: *mut u64, resource: *const Resource, sampling: *const TextureDescriptor, view: *const View) {
        put(to, texture(resource, sampling, view)?)
    }
    fn cuTexObjectDestroy(object: u64) { with(|driver| driver.destroy_texture(object)) }
    fn cuTexObjectGetResourceDesc(to: *mut Resource, object: u64) { sampling(object)?; put(to, made(object)?.resource) }
    fn cuTexObjectGetTextureDesc(to: *mut TextureDescriptor, object: u64) { put(to, sampling(object)?) }
    fn cuTexObjectGetResourceViewDesc(to: *mut View, object: u64) { put(to, made(object)?.view.ok_or(Code::INVALID_VALUE)?) }
    fn cuSurfObjectCreate(to: *mut u64, resource: *const Resource) {
        let resource = get(resource)?;
        put(to, with_context(|driver, _| driver.new_surface(resource))?)
    }
    fn cuSurfObjectDestroy(object: u64) { with(|driver| driver.destroy_surface(object)) }
    fn cuSurfObjectGetResourceDesc(to: *mut Resource, object: u64) {
        let made = made(object)?;
        if made.sampling.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        put(to, made.resource)
    }
    fn cuDeviceGetTexture1DLinearMaxWidth(to: *mut usize, _format: c_uint, _channels: c_uint, _device: c_int) { put(to, 1 << 28) }
}
