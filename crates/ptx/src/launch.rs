//! The shape of a launch, checked against the kernel and the device's limits.

use crate::program::Function;

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Blocks of a cluster in x, y, z; 1, 1, 1 without clusters, or for the shape that the kernel
    /// asks for.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared_bytes: u32,
}

/// The limits that a device sets to the shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeLimits {
    /// Blocks of a grid in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Shared memory that a kernel declares with a size, in bytes.
    pub static_shared_bytes: u32,
    /// Static and dynamic shared memory of a block together, in bytes.
    pub shared_bytes: u32,
    /// Blocks of a cluster.
    pub cluster_blocks: u32,
    /// The launch asks for no more blocks of a cluster than every device with clusters runs.
    pub is_portable: bool,
}

/// A launch whose shape does not fit its kernel or the device.
///
/// The text has no remedy that is a name in one language: who tells it knows for whom, and adds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// An empty grid, block or cluster.
    #[error("the {what} is {extents:?}: no dimension may be 0")]
    Empty {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// As asked for.
        extents: [u32; 3],
    },
    /// A grid or block that is too long in one direction.
    #[error("{what} {extents:?} exceeds the device's limit {limit:?} in {}", AXES[*axis])]
    ExtentTooLarge {
        /// `grid` or `block`.
        what: &'static str,
        /// As asked for.
        extents: [u32; 3],
        /// The device's limit.
        limit: [u32; 3],
        /// First direction in which it is exceeded.
        axis: usize,
    },
    /// A block with more threads than the device allows.
    #[error("a block of {block:?} has {threads} threads; the device allows {limit}")]
    TooManyThreads {
        /// As asked for.
        block: [u32; 3],
        /// Their product.
        threads: u128,
        /// The device's limit.
        limit: u32,
    },
    /// A block with more threads than the kernel was compiled for.
    #[error(
        "a block of {block:?} has {threads} threads, but the kernel was compiled for at most {limit}"
    )]
    LaunchBounds {
        /// As asked for.
        block: [u32; 3],
        /// Their product.
        threads: u128,
        /// `.maxntid`.
        limit: u128,
    },
    /// A block whose threads need more registers than a block has.
    #[error(
        "a thread of the kernel needs at least {needed} registers, so that a block of {block:?} takes {taken}; a block has {limit}"
    )]
    Registers {
        /// As asked for.
        block: [u32; 3],
        /// Those that a thread needs at least.
        needed: u32,
        /// Those that the block takes then: threads and registers come in units.
        taken: u64,
        /// [`BLOCK_REGISTERS`].
        limit: u32,
    },
    /// A block other than the one the kernel was compiled for.
    #[error(
        "the kernel was compiled for blocks of {required:?} (`.reqntid`) and nothing else, not {block:?}"
    )]
    RequiredBlock {
        /// As asked for.
        block: [u32; 3],
        /// `.reqntid`.
        required: [u32; 3],
    },
    /// More shared memory declared with a size than the device allows.
    #[error(
        "the kernel has {static_bytes} bytes of static shared memory, and may have {limit_bytes}"
    )]
    StaticSharedMemory {
        /// Declared with a size in the PTX.
        static_bytes: u32,
        /// The device's limit.
        limit_bytes: u32,
    },
    /// More shared memory than a block can have.
    #[error(
        "a block needs {bytes} bytes of shared memory ({static_bytes} declared in the kernel, {dynamic_bytes} asked for by the launch); the device allows {limit_bytes}; use smaller tiles"
    )]
    SharedMemory {
        /// Both together, with what lies between them for alignment.
        bytes: u64,
        /// Declared with a size in the PTX.
        static_bytes: u32,
        /// Asked for by the launch.
        dynamic_bytes: u32,
        /// The device's limit.
        limit_bytes: u32,
    },
    /// A cluster other than the one the kernel was compiled for.
    #[error(
        "the kernel was compiled for clusters of {required:?} blocks (`.reqnctapercluster`) and nothing else, not {cluster:?}"
    )]
    RequiredCluster {
        /// As asked for.
        cluster: [u32; 3],
        /// `.reqnctapercluster`.
        required: [u32; 3],
    },
    /// A cluster with more blocks than the device runs.
    #[error(
        "a cluster of {cluster:?} has {blocks} blocks; {}",
        if *is_portable {
            format!("every device with clusters runs {limit}")
        } else {
            format!("{limit} is the most")
        }
    )]
    ClusterTooLarge {
        /// As asked for.
        cluster: [u32; 3],
        /// Their product.
        blocks: u128,
        /// The device's limit.
        limit: u32,
        /// [`ShapeLimits::is_portable`].
        is_portable: bool,
    },
    /// A cluster with more blocks than the kernel was compiled for.
    #[error(
        "a cluster of {cluster:?} has {blocks} blocks, but the kernel was compiled for at most {limit} (`.maxclusterrank`)"
    )]
    ClusterBounds {
        /// As asked for.
        cluster: [u32; 3],
        /// Their product.
        blocks: u128,
        /// `.maxclusterrank`.
        limit: u32,
    },
    /// A grid that a cluster does not divide.
    #[error(
        "grid {grid:?} is not a multiple of cluster {cluster:?}; round it up to a multiple of {} blocks in {}, and return early in the extra blocks",
        cluster[*axis], AXES[*axis]
    )]
    ClusterShape {
        /// As asked for.
        cluster: [u32; 3],
        /// As asked for.
        grid: [u32; 3],
        /// First direction in which it does not.
        axis: usize,
    },
}

/// The 32-bit registers that a block may have, and that a multiprocessor has: on all devices since
/// compute capability 7.0 (CUDA guide, "Compute Capabilities").
pub const BLOCK_REGISTERS: u32 = 1 << 16;
/// The most registers of a thread.
const THREAD_REGISTERS: u32 = 255;
/// Warps take registers in units, and each quarter of a multiprocessor has its own. It runs every
/// fourth warp of a block.
const REGISTER_UNIT: u32 = 256;
const PARTS: u32 = 4;

/// Warps that a multiprocessor has registers for, if each thread takes this many, in all of its
/// parts together; of threads that take none, more than it runs.
pub fn warps_by_registers(registers: u32) -> u32 {
    let of_warp = (32 * registers).next_multiple_of(REGISTER_UNIT).max(1);
    BLOCK_REGISTERS / PARTS / of_warp * PARTS
}

/// The registers that a block takes.
pub fn block_registers(threads: u32, registers: u32) -> u64 {
    let warps = threads.div_ceil(32).next_multiple_of(PARTS);
    u64::from(warps) * u64::from((32 * registers).next_multiple_of(REGISTER_UNIT))
}

const AXES: [&str; 3] = ["x", "y", "z"];

impl Function {
    /// Checks the shape of a launch of this kernel.
    ///
    /// # Errors
    /// The first fault found: in grid and block, then in shared memory, then in the cluster.
    pub fn check_shape(&self, shape: &LaunchShape, limits: &ShapeLimits) -> Result<(), ShapeError> {
        self.check_extents(shape, limits)?;
        self.check_shared(shape, limits)?;
        self.check_cluster(shape, limits)
    }

    fn check_extents(&self, shape: &LaunchShape, limits: &ShapeLimits) -> Result<(), ShapeError> {
        let block = shape.block;
        let both = [
            ("grid", shape.grid, limits.grid),
            ("block", block, limits.block),
        ];
        for (what, extents, limit) in both {
            if extents.contains(&0) {
                return Err(ShapeError::Empty { what, extents });
            }
            if let Some(axis) = (0..3).find(|&axis| extents[axis] > limit[axis]) {
                return Err(ShapeError::ExtentTooLarge {
                    what,
                    extents,
                    limit,
                    axis,
                });
            }
        }
        let threads = product(block);
        if threads > limits.threads_per_block.into() {
            return Err(ShapeError::TooManyThreads {
                block,
                threads,
                limit: limits.threads_per_block,
            });
        }
        if let Some(limit) = self.max_threads.map(product)
            && threads > limit
        {
            return Err(ShapeError::LaunchBounds {
                block,
                threads,
                limit,
            });
        }
        match self.required_threads {
            Some(required) if required != block => {
                Err(ShapeError::RequiredBlock { block, required })
            }
            _ => Ok(()),
        }
    }

    /// Checks the registers of a block against those that a block has. A thread needs at least
    /// `needed`, which is asked for only if so large a block can take too many.
    ///
    /// # Errors
    /// [`ShapeError::Registers`].
    pub fn check_registers(
        &self,
        block: [u32; 3],
        needed: impl FnOnce() -> u32,
    ) -> Result<(), ShapeError> {
        let threads = u32::try_from(product(block)).unwrap_or(u32::MAX >> 8);
        let taken_by = |registers| block_registers(threads, registers);
        if taken_by(self.bounded_registers(THREAD_REGISTERS)) <= BLOCK_REGISTERS.into() {
            return Ok(());
        }
        let needed = self.bounded_registers(needed());
        let taken = taken_by(needed);
        if taken <= BLOCK_REGISTERS.into() {
            return Ok(());
        }
        Err(ShapeError::Registers {
            block,
            needed,
            taken,
            limit: BLOCK_REGISTERS,
        })
    }

    /// The registers that a compiler gives a thread that needs `needed`: as many, or fewer if the
    /// kernel bounds its registers or its blocks. The rest goes to local memory then.
    pub fn bounded_registers(&self, needed: u32) -> u32 {
        let mut most = self.max_registers.unwrap_or(THREAD_REGISTERS);
        if let Some(threads) = self.required_threads.or(self.max_threads).map(product) {
            let warps = threads.div_ceil(32).clamp(1, 1 << 16) as u32;
            let warps =
                u64::from(warps.next_multiple_of(PARTS)) * u64::from(self.min_blocks.unwrap_or(1));
            let of_warp = (u64::from(BLOCK_REGISTERS) / warps.max(1)) as u32;
            most = most.min(of_warp / REGISTER_UNIT * REGISTER_UNIT / 32);
        }
        needed.min(most)
    }

    fn check_shared(&self, shape: &LaunchShape, limits: &ShapeLimits) -> Result<(), ShapeError> {
        let static_bytes = self.shared_bytes;
        if static_bytes > limits.static_shared_bytes {
            return Err(ShapeError::StaticSharedMemory {
                static_bytes,
                limit_bytes: limits.static_shared_bytes,
            });
        }
        let dynamic_bytes = shape.dynamic_shared_bytes;
        let bytes = self.block_shared_bytes(dynamic_bytes);
        if bytes > limits.shared_bytes.into() {
            return Err(ShapeError::SharedMemory {
                bytes,
                static_bytes,
                dynamic_bytes,
                limit_bytes: limits.shared_bytes,
            });
        }
        Ok(())
    }

    fn check_cluster(&self, shape: &LaunchShape, limits: &ShapeLimits) -> Result<(), ShapeError> {
        let (grid, cluster) = (shape.grid, self.cluster(shape.cluster));
        if cluster.contains(&0) {
            return Err(ShapeError::Empty {
                what: "cluster",
                extents: cluster,
            });
        }
        if let Some(required) = self.required_cluster
            && cluster != required
        {
            return Err(ShapeError::RequiredCluster { cluster, required });
        }
        let blocks = product(cluster);
        if blocks > limits.cluster_blocks.into() {
            return Err(ShapeError::ClusterTooLarge {
                cluster,
                blocks,
                limit: limits.cluster_blocks,
                is_portable: limits.is_portable,
            });
        }
        if let Some(limit) = self.max_cluster_blocks
            && blocks > limit.into()
        {
            return Err(ShapeError::ClusterBounds {
                cluster,
                blocks,
                limit,
            });
        }
        match (0..3).find(|&axis| !grid[axis].is_multiple_of(cluster[axis])) {
            None => Ok(()),
            Some(axis) => Err(ShapeError::ClusterShape {
                cluster,
                grid,
                axis,
            }),
        }
    }

    /// The cluster's shape: that of the launch, or the one that the kernel asks for if the launch
    /// names none.
    pub fn cluster(&self, of_launch: [u32; 3]) -> [u32; 3] {
        match self.required_cluster {
            Some(required) if of_launch == [1; 3] => required,
            _ => of_launch,
        }
    }

    /// Shared memory of a block with this much dynamic shared memory, in bytes.
    pub fn block_shared_bytes(&self, dynamic_bytes: u32) -> u64 {
        match dynamic_bytes {
            0 => self.shared_bytes.into(),
            dynamic => u64::from(self.dynamic_shared_offset) + u64::from(dynamic),
        }
    }
}

fn product(extents: [u32; 3]) -> u128 {
    extents.into_iter().map(u128::from).product()
}
