//! CUDA GPUs, through `cust`.
//!
//! - `open`: which GPUs there are; one of them, its context and stream;
//! - `loaded`: a module as the driver compiled it;
//! - `launches`: a plan's commands, laid out so that executing one costs a driver call and nothing more;
//! - `graph`: the same commands, replayed with one call;
//! - `hold`: the stream waits until a timed region is enqueued;
//! - `memory`: a buffer's memory, with or without guard bands;
//! - `session`: buffers and runs;
//! - `fault`: what a failed kernel means, and a device that one has taken down.

mod fault;
mod graph;
mod hold;
mod launches;
mod loaded;
mod memory;
mod open;
mod session;

pub use open::CudaDevice;
