//! What is checked while a kernel runs, beyond what hardware faults on.
//!
//! - `footprint`: what launches read and wrote;
//! - `race`: data races in shared and global memory;
//! - `written`: reads of memory that nothing has written.

pub(crate) mod footprint;
pub(crate) mod race;
pub(crate) mod written;
