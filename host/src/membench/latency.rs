//! Latency by pointer chase, against the footprint of the chain.

use kernels_gpu::membench::chase::LOADS_PER_TURN;
use serde::{Deserialize, Serialize};

use super::chain::{random_cycle, walk};
use super::error::MembenchError;
use crate::kernels::kernels_of;
use device::buffer::Element;
use device::error::Error;
use device::run::reset;
use device::{Device, DeviceInfo};
use plan::args;
use plan::{LaunchConfig, Plan};
use terminal::progress::Progress;

/// The load instruction of the chase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// `ld.global.ca`: cached in L1 and L2.
    Ca,
    /// `ld.global.cg`: cached in L2.
    Cg,
    /// `ld.global.cv`: fetched again each time.
    Cv,
    /// `ld.shared`.
    Shared,
}

impl Path {
    /// Every path.
    pub const ALL: [Path; 4] = [Path::Ca, Path::Cg, Path::Cv, Path::Shared];

    /// The instruction.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Ca => "ld.global.ca",
            Path::Cg => "ld.global.cg",
            Path::Cv => "ld.global.cv",
            Path::Shared => "ld.shared",
        }
    }

    const fn kernel(self) -> &'static str {
        match self {
            Path::Ca => "membench_chase_ca",
            Path::Cg => "membench_chase_cg",
            Path::Cv => "membench_chase_cv",
            Path::Shared => "membench_chase_shared",
        }
    }
}

/// The options of the sweep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyOptions {
    /// Sizes of the memory that a chain spans, ascending. The sweep of shared memory leaves out
    /// those that it cannot hold.
    pub footprints_bytes: Vec<u64>,
    /// Distance of neighbouring nodes in memory: each node is in its own cache line. In shared
    /// memory, which has no lines, a node is one 4-byte word.
    pub line_bytes: u32,
    /// Timed loads per sample, a multiple of 8.
    pub loads: u32,
    /// The largest number of warm-up loads before the timed ones, of a chain that L2 may hold.
    /// These go once around the chain if it has fewer nodes.
    pub most_warm_loads: u32,
    /// Samples; their median counts. One sample before them does not count.
    pub samples: u32,
    /// The chains' seed.
    pub seed: u64,
}

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;
/// A node's address.
const WORD: u32 = 8;
/// A node in shared memory.
const SHARED_WORD: u64 = 4;

impl LatencyOptions {
    /// Footprints from 1 KiB to 1 GiB, or to a quarter of the device's memory, four per octave, and
    /// eight around the size of L2, where latency rises in small steps; lines of 128 bytes, as in a
    /// GPU's caches.
    pub fn for_device(info: &DeviceInfo) -> LatencyOptions {
        let most = info.memory_bytes.map_or(GIB, |bytes| GIB.min(bytes / 4));
        let around_l2 = info.l2_bytes.map_or(0..0, |bytes| bytes / 2..3 * bytes);
        // Whole lines: an octave has at least 8.
        let eighths = (0..).map(|step: u64| (KIB << (step / 8)) / 8 * (8 + step % 8));
        let footprints = eighths
            .zip(0_u64..)
            .filter(|(bytes, step)| step.is_multiple_of(2) || around_l2.contains(bytes))
            .map(|(bytes, _)| bytes);
        LatencyOptions {
            footprints_bytes: footprints.take_while(|&bytes| bytes <= most).collect(),
            line_bytes: 128,
            loads: 1 << 15,
            most_warm_loads: 1 << 19,
            samples: 3,
            seed: 1,
        }
    }

    fn check(&self) -> Result<(), MembenchError> {
        let refuse = |option, value: u64, reason: &str| {
            Err(MembenchError::Option {
                option,
                value,
                reason: reason.to_owned(),
            })
        };
        if self.line_bytes == 0 || !self.line_bytes.is_multiple_of(WORD) {
            let reason = "nodes hold addresses: a multiple of 8 bytes";
            return refuse("line_bytes", self.line_bytes.into(), reason);
        }
        if self.loads == 0 || !self.loads.is_multiple_of(LOADS_PER_TURN) {
            let reason = "loads are timed 8 at a time: a multiple of 8";
            return refuse("loads", self.loads.into(), reason);
        }
        if self.samples == 0 {
            return refuse("samples", 0, "at least 1");
        }
        if self.footprints_bytes.is_empty() {
            return refuse("footprints", 0, "at least 1");
        }
        for &bytes in &self.footprints_bytes {
            if bytes < u64::from(self.line_bytes) {
                return refuse("footprint", bytes, "a chain has at least one line");
            }
            if bytes / u64::from(self.line_bytes) > i32::MAX as u64 {
                return refuse("footprint", bytes, "a chain has at most 2147483647 nodes");
            }
        }
        Ok(())
    }
}

/// One footprint.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyPoint {
    /// Memory that the chain spans.
    pub footprint_bytes: u64,
    /// Time from one load's issue to the next's, in cycles of the multiprocessor.
    pub cycles: f64,
    /// That time in nanoseconds, by the device's global timer.
    pub ns: f64,
}

/// Latency against footprint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatencyCurve {
    /// The load instruction of the chase.
    pub path: Path,
    /// The points, in the order of the footprints.
    pub points: Vec<LatencyPoint>,
}

/// Measures the latency of loads by `path`.
///
/// One thread follows a chain of pointers that visits every line of the footprint once, in random
/// order, before it repeats. Each load waits for the one before, and a prefetcher finds no pattern.
/// The chase must end at the same node as the CPU's. `progress` receives the number of footprints
/// done.
///
/// # Errors
///
/// [`MembenchError`] for options that make no sense, errors of the device, or an end at the wrong
/// node.
pub fn latency(
    device: &dyn Device,
    path: Path,
    options: &LatencyOptions,
    progress: &dyn Progress,
) -> Result<LatencyCurve, MembenchError> {
    options.check()?;
    let most = match path {
        Path::Shared => device.info().limits.shared_mem_per_block_bytes.into(),
        _ => u64::MAX,
    };
    let footprints = || {
        let all = options.footprints_bytes.iter().copied();
        all.filter(move |&bytes| bytes <= most)
    };
    let total = footprints().count() as u64;
    let mut points = Vec::new();
    for bytes in footprints() {
        progress.update(points.len() as u64, total);
        points.push(chase(device, path, bytes, options)?);
    }
    progress.update(total, total);
    Ok(LatencyCurve { path, points })
}

/// Measures one footprint: the median of the samples.
fn chase(
    device: &dyn Device,
    path: Path,
    footprint_bytes: u64,
    options: &LatencyOptions,
) -> Result<LatencyPoint, MembenchError> {
    let line_bytes = match path {
        Path::Shared => SHARED_WORD,
        _ => options.line_bytes.into(),
    };
    let nodes = (footprint_bytes / line_bytes) as u32;
    // No cache holds the chain: what was linked or loaded before is driven out, for L2 would keep
    // some of it.
    let l2_bytes = device.info().l2_bytes.unwrap_or(u64::MAX);
    let is_beyond = path != Path::Shared && footprint_bytes > l2_bytes;
    let (warm_loads, displacing_bytes) = if is_beyond {
        (nodes.min(LOADS_PER_TURN), 3 * l2_bytes)
    } else {
        (nodes.min(options.most_warm_loads), 0)
    };
    let next = random_cycle(nodes, options.seed);
    let place = |loads: u32| u64::from(walk(&next, loads.into())) * line_bytes;
    let expected = [place(warm_loads), place(warm_loads + options.loads)];

    let plan = record(path, nodes, options, warm_loads, displacing_bytes)?;
    let mut session = device.prepare(&kernels_of("membench"), &plan)?;
    reset(
        session.as_mut(),
        &plan,
        &vec![("next".to_owned(), next.into())],
    )?;
    let (places, times) = (plan.find_output("places")?, plan.find_output("times")?);
    let mut samples = Vec::new();
    for sample in 0..=options.samples {
        session.run()?;
        let got = session.read(places)?;
        let got = got.as_slice::<u64>()?;
        if got != expected {
            return Err(MembenchError::Wrong {
                kernel: path.kernel().to_owned(),
                expected: format!("places {expected:?}"),
                got: format!("{got:?}"),
            });
        }
        // During the first sample, the device's clocks may be low and its code is not loaded.
        if sample > 0 {
            let times = session.read(times)?;
            let times = times.as_slice::<u64>()?;
            samples.push((times[0], times[1]));
        }
    }
    samples.sort_unstable();
    let (cycles, ns) = samples[samples.len() / 2];
    let per_load = |time: u64| time as f64 / f64::from(options.loads);
    Ok(LatencyPoint {
        footprint_bytes,
        cycles: per_load(cycles),
        ns: per_load(ns),
    })
}

pub(super) fn record(
    path: Path,
    nodes: u32,
    options: &LatencyOptions,
    warm_loads: u32,
    displacing_bytes: u64,
) -> Result<Plan, Error> {
    let mut plan = Plan::new(format!("{}, {nodes} nodes", path.kernel()));
    let next = plan.buffer("next", Element::U32, nodes as usize);
    let places = plan.buffer("places", Element::U64, 2);
    let times = plan.buffer("times", Element::U64, 2);
    let loads = options.loads;
    if path == Path::Shared {
        let config = LaunchConfig::new(1, 256).with_shared_mem_bytes(nodes * SHARED_WORD as u32);
        let args = args![next.slice(), places, times, warm_loads, loads];
        plan.launch(path.kernel(), config, args)?;
    } else {
        let words = options.line_bytes / WORD;
        let chain = plan.scratch("chain", Element::U64, nodes as usize * words as usize);
        plan.launch(
            "membench_link",
            LaunchConfig::covering(nodes, 256)?,
            args![next.slice(), chain, words],
        )?;
        if displacing_bytes > 0 {
            let others = plan.scratch("others", Element::U8, displacing_bytes as usize);
            plan.fill(others, 0)?;
        }
        let args = args![chain, places, times, warm_loads, loads];
        plan.launch(path.kernel(), LaunchConfig::new(1, 1), args)?;
    }
    plan.output("places", places);
    plan.output("times", times);
    Ok(plan)
}
