//! Memory of the program: whether it may be accessed.

use std::ffi::c_ulong;

/// A kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A page; some systems have larger ones.
const PAGE_BYTES: u64 = 4096;

/// As many places as a call of Linux takes.
const PLACES: usize = 1024;

/// Whether the program may access all these bytes. Linux is asked for one byte per page.
///
/// To ask for writing writes bytes that are there already. The range is one that is written next.
pub(crate) fn allows(access: Access, address: u64, bytes: u64) -> bool {
    let Some(end) = address.checked_add(bytes) else {
        return false;
    };
    let later = (address / PAGE_BYTES + 1..end.div_ceil(PAGE_BYTES)).map(|page| page * PAGE_BYTES);
    let mut all = std::iter::once(address).chain(later);
    bytes == 0
        || loop {
            let places: Vec<libc::iovec> = all.by_ref().take(PLACES).map(byte_at).collect();
            if places.is_empty() {
                break true;
            }
            if !allows_each(access, &places) {
                break false;
            }
        }
}

fn byte_at(address: u64) -> libc::iovec {
    libc::iovec {
        iov_base: address as *mut _,
        iov_len: 1,
    }
}

fn allows_each(access: Access, places: &[libc::iovec]) -> bool {
    let mut bytes = vec![0u8; places.len()];
    let own = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: bytes.len(),
    };
    let (program, count) = (std::process::id() as i32, places.len() as c_ulong);
    // SAFETY: `own` is room for all bytes. Linux checks the places.
    let read = unsafe { libc::process_vm_readv(program, &own, 1, places.as_ptr(), count, 0) };
    // A sandbox may forbid the question. The copy then meets the answer.
    let is_forbidden = || {
        let error = std::io::Error::last_os_error().raw_os_error();
        matches!(error, Some(libc::ENOSYS | libc::EPERM))
    };
    if read < 0 && is_forbidden() {
        return true;
    }
    let is_whole = |moved: isize| moved == places.len() as isize;
    match access {
        _ if !is_whole(read) => false,
        Access::Read => true,
        // SAFETY: `own` holds what was just read from the places, which Linux checks.
        Access::Write => is_whole(unsafe {
            libc::process_vm_writev(program, &own, 1, places.as_ptr(), count, 0)
        }),
    }
}
