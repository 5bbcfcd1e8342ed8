//! Hints to the compiler.

/// Returns the value itself. The compiler knows nothing about the result, and cannot move
/// computations with it to an earlier place.
///
/// LLVM moves values that are the same in each iteration out of a loop, and keeps a separate
/// address for each access of the loop. A kernel whose registers are full of data then keeps these
/// addresses in local memory. A loop that takes its counter and strides through this function
/// computes them again instead.
///
/// ```
/// # use cuda_std::{hint, prelude::*};
/// # const ROWS: usize = 4;
/// # #[kernel]
/// # pub unsafe fn rows(x: &[f32], out: *mut f32, end: u32, stride: u32) {
/// # let (mut i, mut sum, width) = (0, [0.0; ROWS], stride as usize / ROWS);
/// while i < end {
///     // Without this call, each row has an address that takes registers all the time. With it,
///     // each iteration has one multiplication, and each row an addition.
///     i = hint::opaque(i);
///     for row in 0..ROWS {
///         sum[row] += x[(i * stride) as usize + row * width];
///     }
///     i += 1;
/// }
/// # for (row, sum) in sum.into_iter().enumerate() {
/// #     unsafe { *out.add(row) = sum };
/// # }
/// # }
/// ```
///
/// LLVM also moves the computation for a conditional store into the branch that stores: several
/// such stores then wait for one another's results. A value that went through this function is
/// computed before the branch.
#[inline(always)]
pub fn opaque<T: Opaque>(value: T) -> T {
    value.opaque()
}

/// A type that [`opaque`] takes: its values fit in one register.
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
                    // SAFETY: the assembly only copies. It is not `pure`, which would let LLVM move
                    // it.
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
