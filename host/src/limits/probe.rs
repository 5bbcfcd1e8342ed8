//! The plan behind each limit, and its expected result.

use kernels_gpu::limits::{CHAINS, STARTS, STEPS_PER_TURN, start_f32, start_f64};
use kernels_gpu::membench::bandwidth::{
    LOADS_AT_ONCE, SHARED_VECTORS_PER_THREAD, VECTORS_PER_THREAD,
};
use kernels_gpu::membench::value;

use super::{Limit, Options};
use crate::kernels::kernels_of;
use crate::membench::MembenchError;
use device::Scalar;
use device::Session;
use device::buffer::{Element, HostBuffer};
use std::sync::Arc;

use device::module::Module;
use plan::args;
use plan::{BufferId, LaunchConfig, Plan};

/// A plan that exercises one limit, and its expected result.
pub struct Probe {
    /// The plan's kernels.
    pub module: Arc<Module>,
    /// The plan. It does the same in every run.
    pub plan: Plan,
    /// Bytes or operations of a run.
    pub amount: u64,
    /// Buffers that are filled with a byte before the first run.
    filled: Vec<(BufferId, u8)>,
    expected: Expected,
}

/// The expected result of a sample.
enum Expected {
    /// The result is not checked.
    Nothing,
    /// This buffer, which is 0 before, increases by this much in each run.
    Sum(BufferId, u32),
    /// Every element i of this buffer is [`value`] i.
    Values(BufferId),
    /// This buffer consists of copies of the other.
    Repeated(BufferId, HostBuffer),
}

/// The value of every byte in the buffers that are summed.
const BYTE: u8 = 0x5b;
const ELEMENT: u32 = u32::from_ne_bytes([BYTE; 4]);

/// Threads of a block, and elements of a thread, in device memory.
const THREADS: u32 = 256;
const ELEMENTS_PER_THREAD: u32 = 4 * VECTORS_PER_THREAD;
/// Threads of a block that reads L2, and the bytes that it reads: one element per thread and load
/// in flight.
const L2_THREADS: u32 = 1024;
const L2_REGION_BYTES: u32 = L2_THREADS * LOADS_AT_ONCE * 8;
/// Threads of a block that reads shared memory.
const SHARED_THREADS: u32 = 512;
const SHARED_BYTES: u32 = SHARED_THREADS * SHARED_VECTORS_PER_THREAD * 16;
/// Threads of a block that computes.
const FMA_THREADS: u32 = 1024;
/// Blocks per multiprocessor, for probes on chip.
const BLOCKS: u32 = 2;
const SEED: u32 = 1;
/// The chains' a and b.
const FMA_A: f32 = -0.999_999;
const FMA_B: f32 = 1.0;

impl Probe {
    /// Records the plan of a limit.
    pub fn new(limit: Limit, options: &Options) -> Result<Probe, MembenchError> {
        match limit {
            Limit::Copy => copy(options),
            Limit::Read => read(options),
            Limit::Write => write(options),
            Limit::L2 => read_l2(options),
            Limit::Shared => read_shared(options),
            Limit::Fp32 => fma(options, "limits_fma_f32", |start, steps| {
                let chains = (0..CHAINS).map(|chain| {
                    (0..steps).fold(start_f32(chain, start), |x, _| x.mul_add(FMA_A, FMA_B))
                });
                chains.reduce(|sum, x| sum + x).expect("some chains")
            }),
            Limit::Fp64 => fma(options, "limits_fma_f64", |start, steps| {
                let (a, b) = (f64::from(FMA_A), f64::from(FMA_B));
                let chains = (0..CHAINS)
                    .map(|chain| (0..steps).fold(start_f64(chain, start), |x, _| x.mul_add(a, b)));
                chains.reduce(|sum, x| sum + x).expect("some chains")
            }),
        }
    }

    /// Prepares the buffers for the first run.
    pub fn write_inputs(&self, session: &mut dyn Session) -> Result<(), MembenchError> {
        for id in self.plan.buffer_ids() {
            session.poison(id)?;
        }
        for &(id, byte) in &self.filled {
            session.fill(id, byte)?;
        }
        Ok(())
    }

    /// Prepares the buffers for a sample.
    pub fn begin_sample(&self, session: &mut dyn Session) -> Result<(), MembenchError> {
        if let Expected::Sum(sum, _) = self.expected {
            session.fill(sum, 0)?;
        }
        Ok(())
    }

    /// Checks the result of the last sample, which had this many runs.
    pub fn check(&self, session: &mut dyn Session, runs: u32) -> Result<(), MembenchError> {
        let wrong = |expected: String, got: String| MembenchError::Wrong {
            kernel: self.plan.kernels()[0].clone(),
            expected,
            got,
        };
        match &self.expected {
            Expected::Nothing => {}
            &Expected::Sum(id, of_run) => {
                let expected = of_run.wrapping_mul(runs);
                let got = session.read(id)?.as_slice::<u32>()?[0];
                if got != expected {
                    return Err(wrong(format!("the sum {expected}"), got.to_string()));
                }
            }
            &Expected::Values(id) => {
                let got = session.read(id)?;
                let mut got = got.as_slice::<u32>()?.iter().zip(0..);
                if let Some((got, i)) = got.find(|&(&got, i)| got != value(i, SEED)) {
                    let expected = format!("{:#x} in element {i}", value(i, SEED));
                    return Err(wrong(expected, format!("{got:#x}")));
                }
            }
            Expected::Repeated(id, expected) => {
                let got = session.read(*id)?;
                let element = expected.element();
                let mut got = got.bytes().chunks(expected.bytes().len()).zip(0..);
                let different = |(chunk, _): &(&[u8], u64)| *chunk != expected.bytes();
                if let Some((got, at)) = got.find(different) {
                    let got = HostBuffer::from_bytes(element, got)?;
                    let place = format!("{expected:?} from element {}", at * expected.len() as u64);
                    return Err(wrong(place, format!("{got:?}")));
                }
            }
        }
        Ok(())
    }
}

/// The lab whose kernels probe memory.
const MEMBENCH: &str = "membench";

/// The kernels that probe arithmetic.
const LIMITS: &str = "limits";

fn copy(options: &Options) -> Result<Probe, MembenchError> {
    let mut plan = Plan::new("copy bandwidth");
    let len = options.device_bytes as usize;
    let src = plan.buffer("src", Element::U8, len);
    let dst = plan.buffer("dst", Element::U8, len);
    plan.copy(src, dst)?;
    plan.output("dst", dst);
    Ok(Probe {
        module: kernels_of(LIMITS),
        plan,
        amount: 2 * options.device_bytes,
        filled: vec![(src, BYTE)],
        expected: Expected::Nothing,
    })
}

fn read(options: &Options) -> Result<Probe, MembenchError> {
    let mut plan = Plan::new("read bandwidth");
    let len = (options.device_bytes / 4) as u32;
    let src = plan.buffer("src", Element::U32, len as usize);
    let sum = plan.buffer("sum", Element::U32, 1);
    plan.launch("membench_read", covering(len)?, args![src.slice(), sum])?;
    plan.output("sum", sum);
    Ok(Probe {
        module: kernels_of(MEMBENCH),
        plan,
        amount: options.device_bytes,
        filled: vec![(src, BYTE)],
        expected: Expected::Sum(sum, ELEMENT.wrapping_mul(len)),
    })
}

fn write(options: &Options) -> Result<Probe, MembenchError> {
    // Half the size, because the host reads the result back.
    let bytes = (options.device_bytes / 32 * 16).max(16);
    let mut plan = Plan::new("write bandwidth");
    let len = (bytes / 4) as u32;
    let dst = plan.buffer("dst", Element::U32, len as usize);
    let args = args![dst, u64::from(len), SEED];
    plan.launch("membench_write", covering(len)?, args)?;
    plan.output("dst", dst);
    Ok(Probe {
        module: kernels_of(MEMBENCH),
        plan,
        amount: bytes,
        filled: vec![],
        expected: Expected::Values(dst),
    })
}

fn read_l2(options: &Options) -> Result<Probe, MembenchError> {
    let blocks = BLOCKS * options.multiprocessors;
    let words = L2_REGION_BYTES / 8;
    let elements = 2 * words * blocks;
    let mut plan = Plan::new("L2 bandwidth");
    let src = plan.buffer("src", Element::U32, elements as usize);
    let sum = plan.buffer("sum", Element::U32, 1);
    let config = LaunchConfig::new(blocks, L2_THREADS);
    let args = args![src, sum, words, options.passes];
    plan.launch("membench_read_cg", config, args)?;
    plan.output("sum", sum);
    let of_pass = ELEMENT.wrapping_mul(elements);
    Ok(Probe {
        module: kernels_of(MEMBENCH),
        plan,
        amount: 4 * u64::from(elements) * u64::from(options.passes),
        filled: vec![(src, BYTE)],
        expected: Expected::Sum(sum, of_pass.wrapping_mul(options.passes)),
    })
}

fn read_shared(options: &Options) -> Result<Probe, MembenchError> {
    let blocks = BLOCKS * options.multiprocessors;
    let mut plan = Plan::new("shared memory bandwidth");
    let sum = plan.buffer("sum", Element::U32, 1);
    let config = LaunchConfig::new(blocks, SHARED_THREADS).with_shared_mem_bytes(SHARED_BYTES);
    let args = args![sum, options.passes, SEED];
    plan.launch("membench_read_shared", config, args)?;
    plan.output("sum", sum);
    let values = (0..SHARED_BYTES / 4).map(|i| value(i, SEED));
    let of_block = values.fold(0, u32::wrapping_add);
    let of_pass = of_block.wrapping_mul(blocks);
    Ok(Probe {
        module: kernels_of(MEMBENCH),
        plan,
        amount: u64::from(blocks) * u64::from(SHARED_BYTES) * u64::from(options.passes),
        filled: vec![],
        expected: Expected::Sum(sum, of_pass.wrapping_mul(options.passes)),
    })
}

/// `sum` computes the value that a thread writes, from its lane's start value and its number of
/// steps.
fn fma<T: Scalar>(
    options: &Options,
    kernel: &str,
    sum: impl Fn(u32, u32) -> T,
) -> Result<Probe, MembenchError>
where
    HostBuffer: From<Vec<T>>,
{
    let blocks = BLOCKS * options.multiprocessors;
    let threads = blocks * FMA_THREADS;
    let mut plan = Plan::new(kernel);
    let sums = plan.buffer("sums", T::ELEMENT, threads as usize);
    let config = LaunchConfig::new(blocks, FMA_THREADS);
    let args = match T::ELEMENT {
        Element::F64 => args![sums, options.turns, f64::from(FMA_A), f64::from(FMA_B)],
        _ => args![sums, options.turns, FMA_A, FMA_B],
    };
    plan.launch(kernel, config, args)?;
    plan.output("sums", sums);
    let steps = options.turns * STEPS_PER_TURN;
    let expected: Vec<T> = (0..STARTS).map(|start| sum(start, steps)).collect();
    let fmas = u64::from(threads) * CHAINS as u64 * u64::from(steps);
    Ok(Probe {
        module: kernels_of(LIMITS),
        plan,
        amount: 2 * fmas,
        filled: vec![],
        expected: Expected::Repeated(sums, expected.into()),
    })
}

/// The launch for this many elements.
fn covering(elements: u32) -> Result<LaunchConfig, MembenchError> {
    Ok(LaunchConfig::covering(
        elements.div_ceil(ELEMENTS_PER_THREAD),
        THREADS,
    )?)
}
