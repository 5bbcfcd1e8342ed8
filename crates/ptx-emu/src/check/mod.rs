//! The checks while a kernel runs, beyond the faults of hardware.
//!
//! - `fences`: what blocks have published by fences;
//! - `footprint`: what launches read and wrote;
//! - `race`: data races in shared and global memory;
//! - `relaxed`: weak loads that count as relaxed;
//! - `sanitizer`: what the checks remember of a running block;
//! - `writes`: reads of memory that nothing has written.

pub(crate) mod fences;
pub(crate) mod footprint;
pub(crate) mod race;
pub(crate) mod relaxed;
pub(crate) mod sanitizer;
pub(crate) mod writes;
