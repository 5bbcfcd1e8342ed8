//! Memory of the program: whether it may be accessed.

use std::ffi::c_ulong;

use rustix::param::page_size;

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// As many places as a call of Linux takes.
const PLACES: usize = 1024;

/// Whether the program may access all these bytes. Linux is asked for one byte per page.
///
/// To ask for writing writes bytes that are there already. The range is one that is written next.
pub(crate) fn allows(access: Access, address: u64, bytes: u64) -> bool {
    let Some(end) = address.checked_add(bytes) else {
        return false;
    };
    let page_bytes = page_size() as u64;
    let later = (address / page_bytes + 1..end.div_ceil(page_bytes)).map(|page| page * page_bytes);
    let mut all = std::iter::once(address).chain(later);
    bytes == 0
        || loop {
            let places: Vec<libc::iovec> = all.by_ref().take(PLACES).map(byte_at).collect();
            if places.is_empty() {
                break true;
            }
            match allows_each(access, &places) {
                Some(true) => {}
                Some(false) => break false,
                // A sandbox may forbid the question. The access then meets the answer.
                None => break true,
            }
        }
}

fn byte_at(address: u64) -> libc::iovec {
    libc::iovec {
        iov_base: address as *mut _,
        iov_len: 1,
    }
}

/// `None` where Linux does not answer.
fn allows_each(access: Access, places: &[libc::iovec]) -> Option<bool> {
    let mut bytes = vec![0u8; places.len()];
    let own = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let (program, count) = (std::process::id() as i32, places.len() as c_ulong);
    // SAFETY: `own` is room for all bytes. Linux checks the places.
    let read = unsafe { libc::process_vm_readv(program, &own, 1, places.as_ptr(), count, 0) };
    let is_forbidden = || {
        let error = std::io::Error::last_os_error().raw_os_error();
        matches!(error, Some(libc::ENOSYS | libc::EPERM))
    };
    if read < 0 && is_forbidden() {
        return None;
    }
    let is_whole = |moved: isize| moved == places.len() as isize;
    Some(match access {
        _ if !is_whole(read) => false,
        Access::Read => true,
        // SAFETY: `own` holds what was just read from the places, which Linux checks.
        Access::Write => is_whole(unsafe {
            libc::process_vm_writev(program, &own, 1, places.as_ptr(), count, 0)
        }),
    })
}
