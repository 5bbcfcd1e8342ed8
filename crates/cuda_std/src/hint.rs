//! Hints to the compiler.

/// The value itself, of which the compiler knows nothing: what is computed from it is computed here.
///
/// LLVM moves what is the same in each turn of a loop out of it, and keeps an address of its own for each access of the loop. A kernel whose registers are
/// full of data then has these in local memory. A loop that takes its counter and strides through this function computes them anew instead.
///
/// ```ignore
/// while i < end {
///     // Without it: an address a row, all the time, in place of one multiplication and an addition each.
///     let i = hint::opaque(i);
///     for row in 0..ROWS {
///         sum[row] += x[(i * stride + row * width) as usize];
///     }
///     i += 1;
/// }
/// ```
#[inline(always)]
pub fn opaque(value: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let same: u32;
        // SAFETY: it only copies. Not `pure`, which would let it move.
        unsafe {
            core::arch::asm!(
                "mov.b32 {same}, {value};",
                value = in(reg32) value,
                same = out(reg32) same,
                options(nomem, nostack, preserves_flags)
            );
        }
        same
    }
    #[cfg(not(target_arch = "nvptx64"))]
    value
}
