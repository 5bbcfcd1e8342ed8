//! What a multiprocessor can issue at best: independent chains of fused multiply-adds, in registers.

pub mod fma;
