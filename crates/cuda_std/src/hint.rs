//! Hints to the compiler.

/// The value itself, of which the compiler knows nothing: what is computed from it is computed
/// here.
///
/// LLVM moves what is the same in each turn of a loop out of it, and keeps an address of its own
/// for each access of the loop. A kernel whose registers are full of data then has these in local
/// memory. A loop that takes its counter and strides through this function computes them anew
/// instead.
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
///
/// LLVM also moves what is computed for a store that not all threads make into the branch that
/// makes it: several such stores then wait for one another's results. What went through this
/// function is computed before the branch.
#[inline(always)]
pub fn opaque<T: Opaque>(value: T) -> T {
    value.opaque()
}

/// A type of which [`opaque`] takes values: those that are one register.
pub trait Opaque: Copy {
    #[doc(hidden)]
    fn opaque(self) -> Self;
}

macro_rules! opaque {
    ($($ty:ty: $bits:literal, $class:ident;)*) => {$(
        impl Opaque for $ty {
            #[inline(always)]
            fn opaque(self) -> Self {
                #[cfg(target_arch = "nvptx64")]
                {
                    let same: Self;
                    // SAFETY: it only copies. Not `pure`, which would let it move.
                    unsafe {
                        core::arch::asm!(
                            concat!("mov.b", $bits, " {same}, {value};"),
                            value = in($class) self,
                            same = out($class) same,
                            options(nomem, nostack, preserves_flags)
                        );
                    }
                    same
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self
            }
        }
    )*};
}

opaque! {
    u32: "32", reg32;
    f32: "32", reg32;
    f64: "64", reg64;
}
