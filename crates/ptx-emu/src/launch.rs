//! From a request to launch to the blocks that run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use ptx::Function;
use rayon::prelude::*;

use crate::check::fences::Fences;
use crate::cluster::ClusterRunner;
use crate::config::{DeviceLimits, LaunchConfig, Schedule};
use crate::coresident;
use crate::fault::{LaunchError, Stop};
use crate::order::Order;
use crate::registers::LANES;
use crate::runner::LaunchContext;
use crate::tally::Tallies;
use crate::turn::KIND;

/// Most blocks of a launch: each has a number among all that the machine ever ran.
const MAX_BLOCKS: u64 = u32::MAX as u64 - 1;

/// Checks a launch against the kernel and the device's limits.
pub(crate) fn validate(
    kernel: &Function,
    config: &LaunchConfig,
    params: &[u8],
    limits: &DeviceLimits,
) -> Result<(), LaunchError> {
    if params.len() != kernel.kernel_param_bytes as usize {
        return Err(LaunchError::Parameters {
            kernel: kernel.name.clone(),
            expected: kernel.kernel_param_bytes,
            given: params.len(),
        });
    }
    let shapes = [
        ("grid", config.grid, limits.grid),
        ("block", config.block, limits.block),
    ];
    for (what, shape, limits) in shapes {
        if shape.contains(&0) {
            return Err(LaunchError::Empty { what, shape });
        }
        for ((axis, given), limit) in ["x", "y", "z"].into_iter().zip(shape).zip(limits) {
            if given > limit {
                return Err(LaunchError::Dimension {
                    what,
                    axis,
                    given,
                    limit,
                });
            }
        }
    }
    let product = |shape: [u32; 3]| {
        shape
            .into_iter()
            .try_fold(1u64, |product, n| product.checked_mul(n.into()))
    };
    let threads = product(config.block).unwrap_or(u64::MAX);
    let mut allowed = vec![("the device".to_owned(), u64::from(limits.threads_per_block))];
    if let Some(limit) = kernel.max_threads.and_then(product) {
        allowed.push((format!("kernel `{}`", kernel.name), limit));
    }
    for (who, limit) in allowed {
        if threads > limit {
            return Err(LaunchError::Threads {
                given: threads,
                limit,
                who,
            });
        }
    }
    if let Some(required) = kernel.required_threads
        && config.block != required
    {
        return Err(LaunchError::RequiredBlock {
            kernel: kernel.name.clone(),
            required,
        });
    }
    let cluster = cluster(kernel, config);
    if cluster.contains(&0) {
        return Err(LaunchError::Empty {
            what: "cluster",
            shape: cluster,
        });
    }
    if let Some(required) = kernel.required_cluster
        && cluster != required
    {
        return Err(LaunchError::RequiredCluster {
            kernel: kernel.name.clone(),
            required,
        });
    }
    let mut allowed = vec![("the device".to_owned(), limits.cluster_blocks)];
    if let Some(limit) = kernel.max_cluster_blocks {
        allowed.push((format!("kernel `{}`", kernel.name), limit));
    }
    for (who, limit) in allowed {
        if product(cluster).is_none_or(|blocks| blocks > limit.into()) {
            return Err(LaunchError::ClusterBlocks {
                shape: cluster,
                limit,
                who,
            });
        }
    }
    if (0..3).any(|axis| !config.grid[axis].is_multiple_of(cluster[axis])) {
        return Err(LaunchError::ClusterShape {
            cluster,
            grid: config.grid,
        });
    }
    if product(config.grid).is_none_or(|blocks| blocks > MAX_BLOCKS) {
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
    let shared = [
        (
            "static",
            u64::from(kernel.shared_bytes),
            limits.static_shared_bytes,
        ),
        (
            "static and dynamic",
            shared_bytes(kernel, config),
            limits.shared_bytes,
        ),
    ];
    for (what, given, limit) in shared {
        if given > limit.into() {
            return Err(LaunchError::SharedMemory {
                what,
                given,
                limit: limit.into(),
            });
        }
    }
    Ok(())
}

/// The cluster's shape: the launch's, or the one that the kernel asks for if the launch names none.
pub(crate) fn cluster(kernel: &Function, config: &LaunchConfig) -> [u32; 3] {
    match kernel.required_cluster {
        Some(required) if config.cluster == [1; 3] => required,
        _ => config.cluster,
    }
}

/// Shared memory of a block, static and dynamic.
pub(crate) fn shared_bytes(kernel: &Function, config: &LaunchConfig) -> u64 {
    match config.shared_mem_bytes {
        0 => kernel.shared_bytes.into(),
        dynamic => u64::from(kernel.dynamic_shared_offset) + u64::from(dynamic),
    }
}

/// Blocks of a valid grid.
pub(crate) fn blocks(config: &LaunchConfig) -> u64 {
    config.grid.into_iter().map(u64::from).product()
}

/// What each block publishes, if that is kept.
pub(crate) fn fences(config: &LaunchConfig, are_kept: bool) -> Fences {
    let threads: u32 = config.block.iter().product();
    let blocks = if are_kept { blocks(config) } else { 0 };
    Fences::new(blocks, (threads as usize).div_ceil(LANES))
}

/// The schedule of one launch: launches of one seed have orders of their own, but for what its last bits say.
pub(crate) fn schedule(schedule: Schedule, first_block: u32) -> Schedule {
    match schedule {
        Schedule::InOrder => schedule,
        Schedule::Random { seed } => Schedule::Random {
            seed: seed ^ (u64::from(first_block).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !KIND),
        },
    }
}

/// Runs every block, or `most` of them, on up to `threads` host threads. Of several faults, the one of the block that
/// starts first is given.
pub(crate) fn run(
    launch: &LaunchContext,
    blocks: u64,
    most: Option<u64>,
    threads: usize,
) -> Result<Tallies, Stop> {
    let in_cluster = u64::from(launch.cluster_blocks());
    let clusters = blocks / in_cluster;
    let most = most.map(|most| most.div_ceil(in_cluster));
    let order = Order::new(launch.schedule, clusters, most);
    let clusters = order.len();
    if launch.exchange.blocks && clusters > 1 {
        return coresident::run(launch, &order);
    }
    let next = AtomicU64::new(0);
    // Position in the order of the first cluster known to fail.
    let failed = AtomicU64::new(u64::MAX);
    let fault: Mutex<Option<(u64, Stop)>> = Mutex::new(None);
    let work = || {
        let mut runner = ClusterRunner::new(launch);
        loop {
            let position = next.fetch_add(1, Relaxed);
            if position >= clusters || position > failed.load(Relaxed) {
                return runner.into_tallies();
            }
            if let Err(stop) = runner.run(order.at(position)) {
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
    let threads = if threads == 0 {
        rayon::current_num_threads()
    } else {
        threads
    };
    let workers = clusters.min(threads as u64);
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
    match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, stop)) => Err(stop),
        None => Ok(tallies),
    }
}
