//! The linker: it takes one text.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::call::{put, put_if_wanted, text};
use crate::code::{Code, Outcome};
use crate::image;
use crate::objects::Handle;
use crate::report;

/// Device code that is linked: one text, which ends in a NUL. The handle is its address, since the
/// program reads it.
struct Link {
    text: Vec<u8>,
}

fn new_link() -> Handle {
    Box::into_raw(Box::new(Link { text: vec![0] })) as Handle
}

/// # Safety
///
/// The address is null or of `bytes` bytes.
unsafe fn bytes_of<'a>(data: *const c_void, bytes: usize) -> Outcome<&'a [u8]> {
    if data.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), bytes) })
}

/// # Safety
///
/// The handle is null or of a [`Link`].
unsafe fn add_to_link(link: Handle, kind: c_int, data: &[u8]) -> Outcome {
    const KIND_PTX: c_int = 1;
    const KIND_FAT_BINARY: c_int = 2;
    // SAFETY: the caller promises it.
    let link = unsafe { (link as *mut Link).as_mut() }.ok_or(Code::INVALID_HANDLE)?;
    if !matches!(kind, KIND_PTX | KIND_FAT_BINARY) || link.text.len() > 1 {
        report::unsupported(
            report::Need::Module,
            "cuLinkAddData links one PTX text alone; several, and machine code, are not supported",
        );
        return Err(Code::NOT_SUPPORTED);
    }
    let text = image::of_file(data).map_err(|_| Code::INVALID_IMAGE)?;
    link.text = text.into_bytes();
    link.text.push(0);
    Ok(())
}

driver_api! {
    fn cuLinkCreate(_count: c_uint, _options: *const c_uint, _values: *mut *mut c_void, to: *mut Handle) { put(to, new_link()) }
    fn cuLinkCreate_v2(_count: c_uint, _options: *const c_uint, _values: *mut *mut c_void, to: *mut Handle) { put(to, new_link()) }
    fn cuLinkAddData(link: Handle, kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char,
        _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) { add_to_link(link, kind, bytes_of(data, bytes)?) }
    fn cuLinkAddData_v2(link: Handle, kind: c_int, data: *const c_void, bytes: usize, _name: *const c_char,
        _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) { add_to_link(link, kind, bytes_of(data, bytes)?) }
    fn cuLinkAddFile(link: Handle, kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) {
        add_to_link(link, kind, &std::fs::read(text(path)?).map_err(|_| Code::FILE_NOT_FOUND)?)
    }
    fn cuLinkAddFile_v2(link: Handle, kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) {
        add_to_link(link, kind, &std::fs::read(text(path)?).map_err(|_| Code::FILE_NOT_FOUND)?)
    }
    fn cuLinkComplete(link: Handle, image: *mut *const c_void, bytes: *mut usize) {
        let link = (link as *const Link).as_ref().ok_or(Code::INVALID_HANDLE)?;
        put(image, link.text.as_ptr().cast())?;
        put_if_wanted(bytes, link.text.len());
        Ok(())
    }
    fn cuLinkDestroy(link: Handle) {
        if link == 0 {
            return Err(Code::INVALID_HANDLE);
        }
        drop(Box::from_raw(link as *mut Link));
        Ok(())
    }
}
