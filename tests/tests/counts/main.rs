//! What the emulated device counts of kernels written in Rust, against numbers worked out by hand.
//!
//! A warp is 32 threads, a sector 32 bytes, so a warp that reads 4 contiguous bytes a lane touches 4 sectors. Shared
//! memory has 32 banks of 4 bytes, and serves one word of each at once: a wavefront. Buffers start at a multiple of 256.

#[path = "../emulated/mod.rs"]
mod emulated;

mod execution;
mod global;
mod shared;

use host::device::{Counts, KernelReport};
use ptx_emu::{GlobalTraffic, SharedTraffic};

/// Requests, sectors, ideal sectors, bytes.
fn global(requests: u64, sectors: u64, ideal_sectors: u64, bytes: u64) -> GlobalTraffic {
    GlobalTraffic {
        requests,
        sectors,
        ideal_sectors,
        bytes,
    }
}

/// Requests, wavefronts, ideal wavefronts, bytes.
fn shared(requests: u64, wavefronts: u64, ideal_wavefronts: u64, bytes: u64) -> SharedTraffic {
    SharedTraffic {
        requests,
        wavefronts,
        ideal_wavefronts,
        bytes,
    }
}

/// The line of `counted.rs` that bears the mark, or the one above a mark that starts with `^`.
fn marked(mark: &str) -> u32 {
    let text = include_str!("../../bad-kernels/src/counted.rs");
    let line_of = |mark: &str| {
        let index = text.lines().position(|line| line.ends_with(mark))?;
        Some(index as u32 + 1)
    };
    line_of(&format!("//~ {mark}"))
        .or_else(|| Some(line_of(&format!("//~^ {mark}"))? - 1))
        .expect("a marked line")
}

/// The counts of the marked line.
fn at(report: &KernelReport, mark: &str) -> Counts {
    let line = marked(mark);
    let lines = report.total.lines();
    let found = lines.into_iter().find(|counts| {
        let source = counts.source.as_ref();
        source.is_some_and(|at| at.file.ends_with("/counted.rs") && at.line == line)
    });
    found.expect("an executed line").counts
}
