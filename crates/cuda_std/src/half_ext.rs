//! Floats of 16 bits: `f16` and `bf16` of the crate `half`, and conversions that a GPU has as an
//! instruction.
//!
//! The crate's own `to_f32`, `from_f32` and arithmetic work in kernels, and are Rust: some twenty
//! instructions per conversion. A kernel that keeps 16 bits in memory and computes in `f32` writes
//! [`HalfExt`] instead. Both give the same bits on host, emulated device and GPU, except those of
//! NaN.

use half::{bf16, f16};

/// Conversions of `f16` and `bf16`.
pub trait HalfExt: Copy {
    /// This number in 32 bits.
    fn widen(self) -> f32;
    /// The nearest number of 16 bits; of two, the even one. Too large ones become infinite.
    fn narrow(x: f32) -> Self;
}

impl HalfExt for f16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        #[cfg(target_arch = "nvptx64")]
        {
            let x: f32;
            // SAFETY: arithmetic has no preconditions.
            unsafe {
                core::arch::asm!("cvt.f32.f16 {}, {};", out(reg32) x, in(reg16) self.to_bits(),
                    options(pure, nomem, nostack, preserves_flags));
            }
            x
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.to_f32()
        }
    }

    #[inline(always)]
    fn narrow(x: f32) -> f16 {
        #[cfg(target_arch = "nvptx64")]
        {
            let bits: u16;
            // SAFETY: arithmetic has no preconditions.
            unsafe {
                core::arch::asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) x,
                    options(pure, nomem, nostack, preserves_flags));
            }
            f16::from_bits(bits)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            f16::from_f32(x)
        }
    }
}

impl HalfExt for bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        // The upper half of an `f32`.
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32) -> bf16 {
        #[cfg(target_feature = "sm_80")]
        {
            let bits: u16;
            // SAFETY: arithmetic has no preconditions.
            unsafe {
                core::arch::asm!("cvt.rn.bf16.f32 {}, {};", out(reg16) bits, in(reg32) x,
                    options(pure, nomem, nostack, preserves_flags));
            }
            bf16::from_bits(bits)
        }
        // The host, and GPUs without the instruction.
        #[cfg(not(target_feature = "sm_80"))]
        {
            bf16::from_f32(x)
        }
    }
}
