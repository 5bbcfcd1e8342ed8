//! Says what kernels do, without timing them: exact counts on the emulated device, the code of each
//! line, occupancy by the hardware's numbers.
//!
//! For an engineer who asks where a variant's instructions and sectors go, and for the commands
//! `harness profile`, `counts` and `occupancy`, which are functions of this crate. It needs no GPU.
//! Crate `measure`, which times kernels, stands on it.
//!
//! # Contract
//!
//! - Counts are the emulated device's: the same at every run, exact for the program that ran.
//! - `counts --baseline` fails only where a count grew, and names the kernel and the count.
//! - Registers, spills and SASS come from programs of CUDA's toolkit, where they are installed.
//!   Where one is not, the rest is said, and that it is missing.
//! - Occupancy is arithmetic: the block's needs against the limits of a compute capability.
//!
//! # The spine, in reading order
//!
//! | file                   | what it holds                                               |
//! |------------------------|-------------------------------------------------------------|
//! | `profile/mod.rs`       | `harness profile`: one case, its variants, their profiles    |
//! | `profile/figures.rs`   | the counts of a kernel, and ratios of them                   |
//! | `profile/kernel.rs`    | a kernel's counts as tables                                  |
//! | `profile/listing.rs`   | PTX and SASS of a kernel, and what ptxas says of it          |
//! | `counts/mod.rs`        | `harness counts`: kernels of a lab, a submission, a PTX file |
//! | `counts/gate.rs`       | the document of counts, and what grew since a baseline       |
//! | `occupancy/mod.rs`     | `harness occupancy`: blocks on a multiprocessor              |
//! | `toolkit.rs`           | where the toolkit's programs are                             |
//!
//! # Limits
//!
//! - A GPU's own counters are not read.
//! - Caches are not simulated: sectors are those that warps ask for.

pub mod counts;
pub mod occupancy;
pub mod profile;
pub mod toolkit;
