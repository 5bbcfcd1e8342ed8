//! What is checked while a kernel runs, beyond what hardware faults on.
//!
//! - `race`: data races in shared and global memory;
//! - `written`: reads of memory that nothing has written.

pub(crate) mod race;
pub(crate) mod written;
