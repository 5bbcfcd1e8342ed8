//! Measures kernels: how long they take, and what limits them.
//!
//! For an engineer who asks whether a variant is fast, and for the commands `harness perf` and
//! `tune`, which are functions of this crate. What was measured is a document of crate
//! [`results`], which also shows and compares it. Crate [`inspect`] counts what kernels do.
//!
//! # Contract
//!
//! - A figure is a median with its interval, from samples after warm-up. A rule decides how many:
//!   `stats::SamplingRule`. Doubts widen the interval: `stats::Summary::doubt`.
//! - Everything that is compared is timed in turns on one device, in memory that it shares.
//! - A sample is discarded where it is taken (`perf/interleaved/mod.rs`, `Sampled::sample`), for
//!   one reason: the device lowered its clocks (`perf/watch.rs`, `Watch::discard`). Discarded
//!   samples stay in the document with their reason; `stats::sampling` leaves them out.
//!   Nothing is discarded for its value.
//! - The result of a timed run is checked; what that means for its figures is in [`results`].
//! - What fails is in its row. An error ends a measurement only where nothing could be measured.
//!
//! # The spine, in reading order
//!
//! | file                       | what it holds                                               |
//! |----------------------------|-------------------------------------------------------------|
//! | `perf/mod.rs`              | the arguments; `run_in`, the measurement as a plan          |
//! | `perf/bench/mod.rs`        | all rows of a case, on every device                         |
//! | `perf/bench/contenders.rs` | what takes turns: variants, caps, peers, numbers of devices |
//! | `perf/bench/rows.rs`       | the maker of rows: contenders on devices become timed rows  |
//! | `perf/bench/groups.rs`     | contenders that memory holds together take turns            |
//! | `perf/timed_run.rs`        | a prepared run, ours or a peer's                            |
//! | `perf/interleaved/mod.rs`  | runs timed in turns: warm-up, samples, batches, energy      |
//! | `perf/watch.rs`            | clocks and throttling: which samples count                  |
//! | `perf/bench/check.rs`      | whether results are right                                   |
//! | `perf/reporters.rs`        | events, and who consumes them: terminal, JSON, HTML         |
//! | `tune/mod.rs`              | launch shapes tried on this GPU, and the table of the best  |
//!
//! # Limits
//!
//! - The emulated device is never timed: its exact counts stand where times would be.
//! - Peers: CUDA C++ with nvcc at hand; Python for one variant of one lab (`peer`).
//! - `perf --gpus` times one variant, without peers or caps of registers, and compares results with
//!   those of fewer GPUs, not with the CPU's.

pub mod code_lines;
mod peer;
pub mod perf;
pub mod register_cap;
pub mod tune;
