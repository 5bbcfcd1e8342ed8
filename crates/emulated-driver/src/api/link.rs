//! The linker: it makes one text of several.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::jit_log::JitLog;
use crate::call::{put, put_if_wanted, text};
use crate::code::{Code, Outcome};
use crate::no_ptx::NoPtx;
use crate::objects::Handle;
use crate::parts::Parts;
use crate::report;
use crate::stderr::tell;

/// Device code that is linked. The handle is its address, since the program reads what it has.
struct Link {
    parts: Parts,
    log: JitLog,
    /// The linked text, which ends in a NUL.
    linked: Vec<u8>,
}

/// # Safety
///
/// As [`JitLog::of`]; the program keeps the values and the buffers until the link is destroyed.
unsafe fn new_link(count: c_uint, options: *const c_uint, values: *mut *mut c_void) -> Handle {
    let link = Link {
        parts: Parts::default(),
        // SAFETY: the caller promises it.
        log: unsafe { JitLog::of(count, options, values) },
        linked: Vec::new(),
    };
    Box::into_raw(Box::new(link)) as Handle
}

/// # Safety
///
/// The handle is null or of a [`Link`] that no other thread uses.
unsafe fn link_of<'a>(link: Handle) -> Outcome<&'a mut Link> {
    // SAFETY: the caller promises it.
    unsafe { (link as *mut Link).as_mut() }.ok_or(Code::INVALID_HANDLE)
}

impl Link {
    /// Tells why something is not linked, where the program has asked for it too.
    fn refuse(&self, reason: &NoPtx) -> Code {
        let told = format!("device code cannot be linked: {reason}");
        if let NoPtx::Link(_) | NoPtx::Unknown(_) = reason {
            // A GPU's linker refuses it as well.
            tell(format_args!("{told}"));
        } else {
            report::unsupported(report::Need::Module, &told);
        }
        // SAFETY: the program keeps values and buffers as long as the link.
        unsafe { self.log.put(&format!("error   : {reason}")) };
        reason.code()
    }

    fn add(&mut self, name: Option<String>, content: &[u8]) -> Outcome {
        let name = name.unwrap_or_else(|| format!("input {}", self.parts.count() + 1));
        let added = self.parts.add(&name, content);
        added.map_err(|reason| self.refuse(&reason))
    }

    fn complete(&mut self) -> Outcome {
        let linked = self.parts.link().map_err(|reason| self.refuse(&reason))?;
        // SAFETY: the program keeps values and buffers as long as the link.
        unsafe { self.log.put("") };
        self.linked = linked.into_bytes();
        self.linked.push(0);
        Ok(())
    }
}

/// The kind of the data is seen in its content.
///
/// # Safety
///
/// As [`link_of`]; the data are null or of that size, the name is null or a text.
unsafe fn add_data(
    link: Handle,
    data: *const c_void,
    bytes: usize,
    name: *const c_char,
) -> Outcome {
    // SAFETY: the caller promises it.
    let link = unsafe { link_of(link)? };
    if data.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the caller promises it.
    let (content, name) = unsafe {
        let content = std::slice::from_raw_parts(data.cast(), bytes);
        (content, text(name).ok())
    };
    link.add(name, content)
}

/// # Safety
///
/// As [`link_of`]; the path is null or a text.
unsafe fn add_file(link: Handle, path: *const c_char) -> Outcome {
    // SAFETY: the caller promises it.
    let (link, path) = unsafe { (link_of(link)?, text(path)?) };
    let content = std::fs::read(&path).map_err(|_| Code::FILE_NOT_FOUND)?;
    link.add(Some(path), &content)
}

driver_api! {
    fn cuLinkCreate(count: c_uint, options: *const c_uint, values: *mut *mut c_void, to: *mut Handle) {
        put(to, new_link(count, options, values))
    }
    fn cuLinkCreate_v2(count: c_uint, options: *const c_uint, values: *mut *mut c_void, to: *mut Handle) {
        put(to, new_link(count, options, values))
    }
    fn cuLinkAddData(link: Handle, _kind: c_int, data: *const c_void, bytes: usize, name: *const c_char,
        _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) { add_data(link, data, bytes, name) }
    fn cuLinkAddData_v2(link: Handle, _kind: c_int, data: *const c_void, bytes: usize, name: *const c_char,
        _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) { add_data(link, data, bytes, name) }
    fn cuLinkAddFile(link: Handle, _kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) {
        add_file(link, path)
    }
    fn cuLinkAddFile_v2(link: Handle, _kind: c_int, path: *const c_char, _count: c_uint, _options: *const c_uint, _values: *mut *mut c_void) {
        add_file(link, path)
    }
    fn cuLinkComplete(link: Handle, image: *mut *const c_void, bytes: *mut usize) {
        let link = link_of(link)?;
        link.complete()?;
        put(image, link.linked.as_ptr().cast())?;
        put_if_wanted(bytes, link.linked.len());
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
