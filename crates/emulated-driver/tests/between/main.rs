//! Programs that are wrong between their commands, each with a twin that is right, and the message.
//!
//! Numbers of streams and allocations count up through the program, and addresses differ: messages
//! here have them by letters, in the order in which they come.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
mod told;
mod accesses;
mod branches;
mod graph_memory;
mod graphs;
mod host;
mod lifetimes;
mod orders;
mod streams;

/// Kernels of 32 threads, a word each: `produce(to)` writes, `consume(from, to)` copies,
/// `update(data)` reads and writes, `tally(word)` adds to one word by atomics, `evens(to)` and
/// `odds(to)` write every second word, `signals(flag, data)` writes data and then a flag behind a
/// fence, `follows(flag, data)` reads the flag, a fence, and then the data; `publishes(flag, data)`
/// writes both by plain stores, with a fence between.
const KERNELS: &str = include_str!("kernels.ptx");
