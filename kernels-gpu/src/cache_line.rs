//! Threads that begin where a cache line does, wherever a row begins: a warp's accesses then fill
//! whole lines.

/// Elements in a cache line of 128 bytes. A field begins with a whole one.
pub const fn len<T>() -> u32 {
    128 / size_of::<T>() as u32
}

/// How many threads a row of `n` elements needs, if its first is at the start of the cache line in
/// which the row begins.
pub const fn row_threads<T>(n: u32) -> u32 {
    // Rows begin at multiples of n; modulo a line those are the multiples of the largest power of
    // two in both.
    let between_starts = 1 << (n | len::<T>()).trailing_zeros();
    n + len::<T>() - between_starts
}
