//! Functions that the language itself calls: comparing two slices calls `memcmp`.
//!
//! `core` leaves them to the platform, and a GPU has none. (Copies and fills need no function: the
//! back end writes loops.)

/// C's `memcmp`: the result is below, at or above 0 as `a`'s first different byte is below, at or
/// above `b`'s.
///
/// # Safety
/// `a` and `b` point to `n` initialised bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: the caller's.
        let (a, b) = unsafe { (*a.add(i), *b.add(i)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// BSD's `bcmp`: 0 if the bytes are equal.
///
/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe { memcmp(a, b, n) }
}
