//! Threads that begin at the start of a cache line, for rows that begin anywhere: a warp's accesses
//! then fill whole lines.

/// Elements in a cache line of 128 bytes. A field begins at the start of a line.
pub const fn len<T>() -> u32 {
    128 / size_of::<T>() as u32
}

/// The number of threads for a row of `n` elements, if the first thread is at the start of the
/// cache line in which the row begins.
pub const fn row_threads<T>(n: u32) -> u32 {
    // Rows begin at multiples of n. Modulo a line, these are the multiples of the largest power of
    // two in both.
    let between_starts = 1 << (n | len::<T>()).trailing_zeros();
    n + len::<T>() - between_starts
}
