//! From a request to launch to the blocks that run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use ptx::{Function, LaunchShape, ShapeLimits};
use rayon::prelude::*;

use crate::cluster::{ClusterRunner, Progress};
use crate::config::{DeviceLimits, LaunchConfig, Options, Schedule};
use crate::coresident;
use crate::fault::{LaunchError, Stop};
use crate::order::Order;
use crate::runner::LaunchContext;
use crate::tally::Tallies;
use crate::turn::KIND;

/// The most blocks of a launch: each has a number among all that the machine ever ran.
const MAX_BLOCKS: u64 = u32::MAX as u64 - 1;

/// Checks a launch with a parameter block for each device against the kernel, the registers that it
/// needs at least, and a device's limits.
pub(crate) fn validate(
    kernel: &Function,
    config: &LaunchConfig,
    params: &[&[u8]],
    limits: &DeviceLimits,
    needed_registers: impl FnOnce() -> u32,
) -> Result<(), LaunchError> {
    let mut lens = params.iter().map(|params| params.len());
    if let Some(given) = lens.find(|len| *len != kernel.kernel_param_bytes as usize) {
        return Err(LaunchError::Parameters {
            kernel: kernel.name.clone(),
            expected: kernel.kernel_param_bytes,
            given,
        });
    }
    let shape = LaunchShape {
        grid: config.grid,
        block: config.block,
        cluster: config.cluster,
        dynamic_shared_bytes: config.shared_mem_bytes,
    };
    let allowed = ShapeLimits {
        grid: limits.grid,
        block: limits.block,
        threads_per_block: limits.threads_per_block,
        static_shared_bytes: limits.static_shared_bytes,
        shared_bytes: limits.shared_bytes,
        cluster_blocks: limits.cluster_blocks,
        is_portable: false,
    };
    let checked = kernel
        .check_shape(&shape, &allowed)
        .and_then(|()| kernel.check_registers(config.block, needed_registers));
    checked.map_err(|error| LaunchError::Shape {
        kernel: kernel.name.clone(),
        error,
    })?;
    let blocks = config.grid.into_iter().map(u128::from).product::<u128>();
    if blocks * params.len() as u128 > MAX_BLOCKS.into() {
        return Err(LaunchError::Blocks {
            shape: config.grid,
            limit: MAX_BLOCKS,
        });
    }
    if kernel.local_bytes > limits.local_bytes_per_thread {
        return Err(LaunchError::LocalMemory {
            kernel: kernel.name.clone(),
            given: kernel.local_bytes.into(),
            limit: limits.local_bytes_per_thread.into(),
        });
    }
    Ok(())
}

/// The schedule of one launch: launches of one seed have orders of their own, except in the kind of
/// order that its last bits say.
pub(crate) fn schedule(schedule: Schedule, first_block: u32) -> Schedule {
    match schedule {
        Schedule::InOrder => schedule,
        Schedule::Random { seed } => Schedule::Random {
            seed: seed ^ (u64::from(first_block).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !KIND),
        },
    }
}

/// The end of a launch that fails: why, and the place in the order of starts of the cluster at
/// fault. No place if any of the clusters that run together may be.
type Failed = (Option<u64>, Stop);

/// The number of host threads that `threads` means.
pub(crate) fn host_threads(threads: usize) -> usize {
    match threads {
        0 => rayon::current_num_threads(),
        _ => threads,
    }
}

/// The clusters that run, of a launch of this number of blocks: every one, or those of `most`
/// blocks.
pub(crate) fn order(launch: &LaunchContext, blocks: u64, most: Option<u64>) -> Order {
    let in_cluster = u64::from(launch.cluster_blocks());
    let clusters = blocks / in_cluster;
    let is_sample = !launch.exchange.blocks || blocks > Options::SAMPLED_TOGETHER;
    let most = most.filter(|_| is_sample);
    let most = most.map(|most| most.div_ceil(in_cluster));
    Order::new(launch.schedule, clusters, most, launch.seed)
}

/// Runs these clusters on up to `threads` host threads. Of several faults, the one of the block
/// that starts first is given.
pub(crate) fn run(
    launch: &LaunchContext,
    order: &Order,
    threads: usize,
) -> Result<Tallies, Failed> {
    let chosen = order.len();
    if launch.exchange.blocks && chosen > 1 {
        return coresident::run(launch, order, 0, Vec::new()).map_err(|stop| (None, stop));
    }
    let threads = if launch.is_sequential() {
        1
    } else {
        host_threads(threads)
    };
    let next = AtomicU64::new(0);
    // Position in the order of the first cluster known to fail.
    let failed = AtomicU64::new(u64::MAX);
    let fault: Mutex<Option<(u64, Stop)>> = Mutex::new(None);
    // Clusters that wait for others, which so are not independent: once there is one, no more
    // start here.
    let waiting = Mutex::new(Vec::new());
    let waits = AtomicBool::new(false);
    let work = || {
        let mut tallies = launch.code.tallies(launch.kernel);
        let mut runner = ClusterRunner::new(launch);
        runner.has_company = chosen > 1;
        loop {
            let is_over = waits.load(Relaxed) || launch.attempt.has_failed();
            let position = if is_over {
                u64::MAX
            } else {
                next.fetch_add(1, Relaxed)
            };
            if position >= chosen || position > failed.load(Relaxed) {
                return tallies;
            }
            let ended = runner.run(order.at(position), &mut tallies);
            if let Ok(Progress::Waits) = ended {
                launch.attempt.note_meeting();
                waits.store(true, Relaxed);
                let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                waiting.push((position, runner));
                return tallies;
            }
            runner.leave(position);
            launch.attempt.note_end();
            if let Err(stop) = ended {
                failed.fetch_min(position, Relaxed);
                let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
                if fault
                    .as_ref()
                    .is_none_or(|(earlier, _)| position < *earlier)
                {
                    *fault = Some((position, stop));
                }
            }
        }
    };
    let workers = chosen.min(threads as u64);
    let tallies = match workers {
        0 | 1 => work(),
        _ => (0..workers)
            .into_par_iter()
            .map(|_| work())
            .reduce_with(|mut a, b| {
                a.add(&b);
                a
            })
            .unwrap_or_else(|| launch.code.tallies(launch.kernel)),
    };
    if let Some((position, stop)) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err((Some(position), stop));
    }
    let waiting = waiting.into_inner().unwrap_or_else(PoisonError::into_inner);
    if waiting.is_empty() || launch.attempt.has_failed() {
        return Ok(tallies);
    }
    let started = next.into_inner().min(chosen);
    go_on(launch, order, started, waiting, tallies).map_err(|stop| (None, stop))
}

/// Runs clusters that wait, and those from `started` on, together. `tallies` are those until now.
fn go_on<'a>(
    launch: &'a LaunchContext<'a>,
    order: &'a Order,
    started: u64,
    mut waiting: Vec<(u64, ClusterRunner<'a>)>,
    mut tallies: Tallies,
) -> Result<Tallies, Stop> {
    waiting.sort_by_key(|(position, _)| *position);
    tallies.add(&coresident::run(launch, order, started, waiting)?);
    Ok(tallies)
}
