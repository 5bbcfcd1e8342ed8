//! One launch of a kernel of a text of PTX, on arguments as people write them.
//!
//! # Purpose
//!
//! [`emulate FILE.ptx`](../emulate) and the [page in the book](../live) ask for a launch in words,
//! `--block 256 f32[1024]=iota 2.0f32`, and show what came of it. Here is what both share, so that
//! they read the words alike and find the same.
//!
//! # Contract
//!
//! - A launch has a machine of its own: nothing is left of an earlier one.
//! - Nothing here asks for a terminal, a file or threads: it runs in a browser too.
//!
//! # Spine
//!
//! | file | what it holds |
//! |---|---|
//! | `arguments.rs` | the arguments of a kernel |
//! | `extents.rs` | the extents of a grid, a block, a cluster |
//! | `launch.rs` | a launch: its machine, its buffers, its outcome, its recording |
//! | `counts.rs` | the work of launches |

mod arguments;
mod counts;
mod extents;
mod launch;

pub use arguments::{Argument, Buffer};
pub use counts::Counts;
pub use extents::Extents;
pub use launch::{Launched, Refused, Trial};
