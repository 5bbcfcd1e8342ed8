//! A page on which one steps through what a kernel did: its warps, its memory, and its mistake.
//!
//! [`page`] makes one of a [`Recording`] of the emulator. The page stands alone: it has its
//! script, its style and the recording in it, and asks nothing of a network. Its recording is JSON,
//! deflated and in base64; `format.rs` says what its fields mean.
//!
//! A [`Replayer`] chooses the launch to show, a [`Wish`] says how much of it, a [`Mistake`] where
//! the page opens. The feature `flags` has the flags of commands that write one.

mod facts;
#[cfg(feature = "flags")]
mod flags;
mod format;
mod mistake;
mod replayer;
mod wish;

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use ptx_emu::Recording;
use units::count;

pub use facts::{Facts, source};
#[cfg(feature = "flags")]
pub use flags::{Page, ReplayArgs};
use format::Document;
pub use mistake::Mistake;
pub use replayer::Replayer;
pub use wish::{NoSuchBlock, Wish};

const HTML: &str = include_str!("page/replay.html");
const STYLE: &str = include_str!("page/replay.css");
/// One script, in parts of a thought each.
const SCRIPT: &str = concat!(
    include_str!("page/state.js"),
    include_str!("page/time.js"),
    include_str!("page/code.js"),
    include_str!("page/lanes.js"),
    include_str!("page/map.js"),
    include_str!("page/memory.js"),
    include_str!("page/page.js"),
);

/// The page of a recording of a kernel of this program. It opens at the mistake, if there was one.
/// It does without sources whose text is not at hand.
///
/// ```
/// use ptx_emu::{
///     DeviceLimits, Executable, LaunchConfig, Machine, Options, RecordedBlocks, RecordingPlan,
/// };
/// use replay::Facts;
///
/// let mut machine = Machine::new(DeviceLimits::default(), Options::default());
/// let program = Executable::parse(
///     ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }",
/// )?;
/// let module = machine.load(program)?;
/// machine.record(Some(RecordingPlan {
///     blocks: RecordedBlocks::Numbered(vec![0]),
///     most_steps: 100,
///     keeps_last: false,
/// }));
/// let config = LaunchConfig {
///     grid: [1; 3],
///     block: [32, 1, 1],
///     shared_mem_bytes: 0,
///     cluster: [1; 3],
/// };
/// machine.launch(&module, "nothing", &config, Vec::<u8>::new())?;
/// let recording = machine.take_recording().expect("it was asked for");
/// let page = replay::page(&recording, module.program(), None, &Facts::LOCAL);
/// assert!(page.starts_with("<!doctype html>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Panics
///
/// Never: everything in a recording can be written as JSON.
pub fn page(
    recording: &Recording,
    program: &ptx::Program,
    mistake: Option<&Mistake>,
    facts: &Facts<'_>,
) -> String {
    let document = Document::of(recording, program, mistake, facts);
    let json = serde_json::to_vec(&document).expect("it has strings for keys");
    let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
    deflated.write_all(&json).expect("memory takes all bytes");
    let deflated = deflated.finish().expect("memory takes all bytes");
    // The recording comes last, so that nothing in it can be taken for a place of another.
    HTML.replace("/*STYLE*/", STYLE)
        .replace("/*SCRIPT*/", SCRIPT)
        .replace("<!--RECORDING-->", &STANDARD.encode(deflated))
}

/// The extent of a recording in words: "24 steps of 1 block".
pub fn extent(recording: &Recording, mistake: Option<&Mistake>) -> String {
    let cut = match (recording.is_cut, mistake.is_some()) {
        (false, _) => "",
        (true, true) => ", the last; --replay-steps takes more",
        (true, false) => ", the first; --replay-steps takes more",
    };
    let steps = count(recording.steps.len(), "step");
    format!("{steps} of {}{cut}", count(recording.blocks.len(), "block"))
}
