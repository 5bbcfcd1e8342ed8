//! Bandwidth of each level of memory.

use kernels_gpu::membench::bandwidth::{
    LOADS_AT_ONCE, SHARED_VECTORS_PER_THREAD, VECTORS_PER_THREAD,
};
use kernels_gpu::membench::value;
use serde::{Deserialize, Serialize};

use super::error::MembenchError;
use super::levels::Memory;
use crate::fill::filled;
use crate::kernels::kernels_of;
use device::buffer::{Element, HostBuffer, NamedBuffers};
use device::run::reset;
use device::{Device, DeviceInfo};
use plan::args;
use plan::{LaunchConfig, Plan};
use terminal::progress::Progress;

/// The kind of access to the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Read only.
    Read,
    /// Written only.
    Write,
    /// Half read, half written.
    Copy,
}

impl Access {
    /// The name, one word.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Copy => "copy",
        }
    }
}

/// The amounts to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BandwidthOptions {
    /// Multiprocessors to fill.
    pub multiprocessors: u32,
    /// Blocks per multiprocessor in the reads of L2.
    pub l2_blocks_per_multiprocessor: u32,
    /// Size of each buffer in device memory: a multiple of 16 below 16 GiB, and much more than L2
    /// holds.
    pub device_bytes: u64,
    /// The number of times that memory on chip is read.
    pub passes: u32,
    /// Timed runs; their median counts. One run before them does not count.
    pub samples: u32,
}

/// One measured bandwidth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BandwidthFigure {
    /// The memory that held the bytes.
    pub memory: Memory,
    /// The kind of access.
    pub access: Access,
    /// Distinct bytes, summed over all multiprocessors.
    pub footprint_bytes: u64,
    /// Bytes read plus bytes written in a run.
    pub moved_bytes: u64,
    /// Median time of a run, by device events; `None` on a device without a meaningful clock.
    pub seconds: Option<f64>,
    /// `moved_bytes` / `seconds`.
    pub bytes_per_s: Option<f64>,
}

/// Threads of a block that reads a cache.
const CACHE_THREADS: u32 = 1024;
/// Bytes that each such block reads: one element per thread and load in flight.
const REGION_BYTES: u32 = CACHE_THREADS * LOADS_AT_ONCE * 8;
/// Blocks per multiprocessor in the reads of L1 and shared memory. Both are read by 16-byte loads:
/// by 8-byte loads, L1 of an H100 gives 100 of its 128 bytes per cycle.
const BLOCKS: u32 = 2;
/// Threads of a block that reads shared memory.
const SHARED_THREADS: u32 = 512;
const SHARED_BYTES: u32 = SHARED_THREADS * SHARED_VECTORS_PER_THREAD * 16;
/// Threads of a block, and elements of a thread, in device memory.
const THREADS: u32 = 256;
const ELEMENTS_PER_THREAD: u32 = 4 * VECTORS_PER_THREAD;
const SEED: u32 = 1;

impl BandwidthOptions {
    /// Buffers have 1 GiB, or an eighth of the device's memory. On chip, the passes take a
    /// millisecond.
    pub fn for_device(info: &DeviceInfo) -> BandwidthOptions {
        let multiprocessors = info.multiprocessors.unwrap_or(2);
        let memory = info.memory_bytes.unwrap_or(u64::MAX);
        // The data must be well within L2, with two blocks per multiprocessor if there is room.
        let both = 2 * u64::from(multiprocessors) * u64::from(REGION_BYTES);
        let l2_bytes = info.l2_bytes.unwrap_or(u64::MAX);
        BandwidthOptions {
            multiprocessors,
            l2_blocks_per_multiprocessor: if both <= l2_bytes / 2 { 2 } else { 1 },
            device_bytes: (memory / 8).min(1 << 30) / 16 * 16,
            passes: 4096,
            samples: 7,
        }
    }

    fn check(&self) -> Result<(), MembenchError> {
        let numbers = [
            ("multiprocessors", self.multiprocessors),
            (
                "l2_blocks_per_multiprocessor",
                self.l2_blocks_per_multiprocessor,
            ),
            ("passes", self.passes),
            ("samples", self.samples),
        ];
        if let Some((option, _)) = numbers.into_iter().find(|(_, number)| *number == 0) {
            return Err(MembenchError::Option {
                option,
                value: 0,
                reason: "at least 1".to_owned(),
            });
        }
        let bytes = self.device_bytes;
        if bytes == 0 || !bytes.is_multiple_of(16) || bytes >= 1 << 34 {
            return Err(MembenchError::Option {
                option: "device_bytes",
                value: bytes,
                reason: "a multiple of 16, above 0 and below 17179869184".to_owned(),
            });
        }
        Ok(())
    }
}

/// A function that measures one figure.
type Measure = fn(&dyn Device, &BandwidthOptions) -> Result<BandwidthFigure, MembenchError>;

/// Measures the bandwidth of shared memory, L1, L2 (read) and device memory (read, write, copy).
///
/// Kernels sum the data that they read, and the host reads back the data that they write. Both are
/// compared with the CPU's. `progress` receives the number of figures done.
///
/// # Errors
///
/// [`MembenchError`] for options that make no sense, errors of the device, a wrong sum or wrong
/// bytes.
pub fn bandwidth(
    device: &dyn Device,
    options: &BandwidthOptions,
    progress: &dyn Progress,
) -> Result<Vec<BandwidthFigure>, MembenchError> {
    options.check()?;
    let measures: [Measure; 6] = [read_shared, read_l1, read_l2, read, write, copy];
    let mut figures = Vec::new();
    for measure in measures {
        progress.update(figures.len() as u64, measures.len() as u64);
        figures.push(measure(device, options)?);
    }
    progress.update(measures.len() as u64, measures.len() as u64);
    Ok(figures)
}

fn read_shared(
    device: &dyn Device,
    options: &BandwidthOptions,
) -> Result<BandwidthFigure, MembenchError> {
    let blocks = BLOCKS * options.multiprocessors;
    let mut plan = Plan::new("membench_read_shared");
    let sum = plan.buffer("sum", Element::U32, 1);
    let config = LaunchConfig::new(blocks, SHARED_THREADS).with_shared_mem_bytes(SHARED_BYTES);
    let args = args![sum, options.passes, SEED];
    plan.launch("membench_read_shared", config, args)?;
    plan.output("sum", sum);
    let of_block = sum_of(&elements(SHARED_BYTES.into())?);
    let expected = of_block.wrapping_mul(blocks).wrapping_mul(options.passes);
    let footprint_bytes = u64::from(blocks) * u64::from(SHARED_BYTES);
    let time = measure(device, options, &plan, vec![], Expected::Sum(expected))?;
    Ok(time.figure(
        Memory::Shared,
        Access::Read,
        footprint_bytes,
        footprint_bytes * u64::from(options.passes),
    ))
}

fn read_l1(
    device: &dyn Device,
    options: &BandwidthOptions,
) -> Result<BandwidthFigure, MembenchError> {
    let blocks = BLOCKS * options.multiprocessors;
    let config = LaunchConfig::new(blocks, SHARED_THREADS);
    read_cache(device, options, Memory::L1, config, SHARED_BYTES)
}

fn read_l2(
    device: &dyn Device,
    options: &BandwidthOptions,
) -> Result<BandwidthFigure, MembenchError> {
    let blocks = options.l2_blocks_per_multiprocessor * options.multiprocessors;
    let config = LaunchConfig::new(blocks, CACHE_THREADS);
    read_cache(device, options, Memory::L2, config, REGION_BYTES)
}

/// Reads of this cache, in which each block has a region of this size.
fn read_cache(
    device: &dyn Device,
    options: &BandwidthOptions,
    memory: Memory,
    config: LaunchConfig,
    region_bytes: u32,
) -> Result<BandwidthFigure, MembenchError> {
    let footprint_bytes = u64::from(config.grid[0]) * u64::from(region_bytes);
    let src_elements = elements(footprint_bytes)?;
    let kernel = match memory {
        Memory::L1 => "membench_read_l1",
        _ => "membench_read_cg",
    };
    let mut plan = Plan::new(kernel);
    let src = plan.buffer("src", Element::U32, src_elements.len());
    let sum = plan.buffer("sum", Element::U32, 1);
    match memory {
        Memory::L1 => plan.launch(kernel, config, args![src, sum, options.passes])?,
        _ => plan.launch(
            kernel,
            config,
            args![src, sum, region_bytes / 8, options.passes],
        )?,
    };
    plan.output("sum", sum);
    let expected = sum_of(&src_elements).wrapping_mul(options.passes);
    let inputs = vec![("src".to_owned(), src_elements.into())];
    let time = measure(device, options, &plan, inputs, Expected::Sum(expected))?;
    Ok(time.figure(
        memory,
        Access::Read,
        footprint_bytes,
        footprint_bytes * u64::from(options.passes),
    ))
}

fn read(device: &dyn Device, options: &BandwidthOptions) -> Result<BandwidthFigure, MembenchError> {
    let src_elements = elements(options.device_bytes)?;
    let mut plan = Plan::new("membench_read");
    let src = plan.buffer("src", Element::U32, src_elements.len());
    let sum = plan.buffer("sum", Element::U32, 1);
    plan.launch(
        "membench_read",
        covering(src_elements.len())?,
        args![src.slice(), sum],
    )?;
    plan.output("sum", sum);
    let expected = Expected::Sum(sum_of(&src_elements));
    let inputs = vec![("src".to_owned(), src_elements.into())];
    let bytes = options.device_bytes;
    let time = measure(device, options, &plan, inputs, expected)?;
    Ok(time.figure(Memory::Device, Access::Read, bytes, bytes))
}

fn write(
    device: &dyn Device,
    options: &BandwidthOptions,
) -> Result<BandwidthFigure, MembenchError> {
    let expected = elements(options.device_bytes)?;
    let mut plan = Plan::new("membench_write");
    let dst = plan.buffer("dst", Element::U32, expected.len());
    let args = args![dst, expected.len(), SEED];
    plan.launch("membench_write", covering(expected.len())?, args)?;
    plan.output("dst", dst);
    let bytes = options.device_bytes;
    let time = measure(device, options, &plan, vec![], Expected::Bytes(expected))?;
    Ok(time.figure(Memory::Device, Access::Write, bytes, bytes))
}

fn copy(device: &dyn Device, options: &BandwidthOptions) -> Result<BandwidthFigure, MembenchError> {
    let expected = elements(options.device_bytes)?;
    let mut plan = Plan::new("membench_copy");
    let src = plan.buffer("src", Element::U32, expected.len());
    let dst = plan.buffer("dst", Element::U32, expected.len());
    let config = covering(expected.len())?;
    plan.launch("membench_copy", config, args![src.slice(), dst])?;
    plan.output("dst", dst);
    let inputs = vec![("src".to_owned(), elements(options.device_bytes)?.into())];
    let bytes = 2 * options.device_bytes;
    let time = measure(device, options, &plan, inputs, Expected::Bytes(expected))?;
    Ok(time.figure(Memory::Device, Access::Copy, bytes, bytes))
}

/// The launch for `len` elements.
fn covering(len: usize) -> Result<LaunchConfig, MembenchError> {
    let threads = len.div_ceil(ELEMENTS_PER_THREAD as usize) as u32;
    Ok(LaunchConfig::covering(threads, THREADS)?)
}

/// The first `bytes` bytes of the elements that every buffer holds.
fn elements(bytes: u64) -> Result<Vec<u32>, MembenchError> {
    Ok(filled(bytes as usize / 4, |i| value(i as u32, SEED))?)
}

fn sum_of(elements: &[u32]) -> u32 {
    elements.iter().fold(0, |sum, &v| sum.wrapping_add(v))
}

/// The expected result of a run.
enum Expected {
    /// The sum of one run, in buffer `sum`.
    Sum(u32),
    /// The contents of buffer `dst`.
    Bytes(Vec<u32>),
}

/// Median time of the samples, if the device has a clock.
struct Time(Option<f64>);

impl Time {
    fn figure(
        self,
        memory: Memory,
        access: Access,
        footprint_bytes: u64,
        moved_bytes: u64,
    ) -> BandwidthFigure {
        BandwidthFigure {
            memory,
            access,
            footprint_bytes,
            moved_bytes,
            seconds: self.0,
            bytes_per_s: self
                .0
                .map(|seconds| moved_bytes as f64 / seconds.max(1e-12)),
        }
    }
}

/// Times the plan, whose name is its kernel's, and checks the result of the last run.
fn measure(
    device: &dyn Device,
    options: &BandwidthOptions,
    plan: &Plan,
    inputs: NamedBuffers,
    expected: Expected,
) -> Result<Time, MembenchError> {
    let mut session = device.prepare(&kernels_of("membench"), plan)?;
    reset(session.as_mut(), plan, &inputs)?;
    let mut times = Vec::new();
    for sample in 0..=options.samples {
        if let Expected::Sum(_) = expected {
            session.write(plan.find_buffer("sum")?, &HostBuffer::from(vec![0_u32]))?;
        }
        let timing = session.run()?;
        if sample > 0 {
            times.push(timing.device.map(|time| time.as_secs_f64()));
        }
    }
    let wrong = |right: String, got: String| MembenchError::Wrong {
        kernel: plan.kernels()[0].clone(),
        expected: right,
        got,
    };
    match expected {
        Expected::Sum(expected) => {
            let got = session.read(plan.find_buffer("sum")?)?.as_slice::<u32>()?[0];
            if got != expected {
                return Err(wrong(format!("the sum {expected}"), got.to_string()));
            }
        }
        Expected::Bytes(expected) => {
            let got = session.read(plan.find_buffer("dst")?)?;
            let got = got.as_slice::<u32>()?;
            if let Some(i) = (0..expected.len()).find(|&i| got[i] != expected[i]) {
                let element = format!("{:#x} in element {i}", expected[i]);
                return Err(wrong(element, format!("{:#x}", got[i])));
            }
        }
    }
    let times: Option<Vec<f64>> = times.into_iter().collect();
    Ok(Time(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })))
}
