//! The commands of a plan, and the shape of a launch.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Arg, Buffer, BufferId, PlanError};

/// Up to three extents; those left out are 1. Made from a number, a tuple of two or three, or an
/// array of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim3(pub [u32; 3]);

impl From<u32> for Dim3 {
    fn from(x: u32) -> Dim3 {
        Dim3([x, 1, 1])
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Dim3 {
        Dim3([x, y, 1])
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Dim3 {
        Dim3([x, y, z])
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from(extents: [u32; 3]) -> Dim3 {
        Dim3(extents)
    }
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchConfig {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of each block.
    pub shared_mem_bytes: u32,
    /// Blocks of a cluster in x, y, z: a whole number of clusters makes the grid. 1, 1, 1 without
    /// clusters.
    ///
    /// The blocks of a cluster run at the same time and reach each other's shared memory: see
    /// `cuda_std::cluster`. They need compute capability 9.0.
    #[serde(default = "one_block", skip_serializing_if = "is_one_block")]
    pub cluster: [u32; 3],
    /// A cluster may have more than [`PORTABLE_CLUSTER_BLOCKS`], as far as the device goes along.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub non_portable_cluster: bool,
}

/// The maximum number of blocks of a cluster that every device with clusters runs (CUDA C++
/// Programming Guide, "Thread Block Clusters").
pub const PORTABLE_CLUSTER_BLOCKS: u32 = 8;

fn one_block() -> [u32; 3] {
    [1; 3]
}

fn is_one_block(cluster: &[u32; 3]) -> bool {
    *cluster == [1; 3]
}

impl LaunchConfig {
    /// A grid of blocks, without dynamic shared memory.
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> LaunchConfig {
        LaunchConfig {
            grid: grid.into().0,
            block: block.into().0,
            shared_mem_bytes: 0,
            cluster: one_block(),
            non_portable_cluster: false,
        }
    }

    /// The smallest grid of such blocks that has at least one thread for each of `threads`.
    ///
    /// # Errors
    ///
    /// [`PlanError::NothingToCover`] if one of the extents is 0.
    pub fn covering(
        threads: impl Into<Dim3>,
        block: impl Into<Dim3>,
    ) -> Result<LaunchConfig, PlanError> {
        let (threads, block) = (threads.into().0, block.into().0);
        if threads.contains(&0) || block.contains(&0) {
            return Err(PlanError::NothingToCover { threads, block });
        }
        let grid = std::array::from_fn(|axis| threads[axis].div_ceil(block[axis]));
        Ok(LaunchConfig::new(grid, block))
    }

    /// Gives each block this much dynamic shared memory.
    pub fn with_shared_mem_bytes(self, shared_mem_bytes: u32) -> LaunchConfig {
        LaunchConfig {
            shared_mem_bytes,
            ..self
        }
    }

    /// Launches in clusters of this many blocks, up to [`PORTABLE_CLUSTER_BLOCKS`] in all. The grid
    /// must be a whole number of clusters in each direction.
    pub fn with_cluster(self, cluster: impl Into<Dim3>) -> LaunchConfig {
        LaunchConfig {
            cluster: cluster.into().0,
            ..self
        }
    }

    /// [`LaunchConfig::with_cluster`], with the grid rounded up to whole clusters. The kernel's
    /// threads that are too many do nothing. A grid that cannot be rounded up stays as it is, and
    /// is refused when the plan is checked.
    pub fn in_whole_clusters(self, cluster: impl Into<Dim3>) -> LaunchConfig {
        let mut config = self.with_cluster(cluster);
        for (blocks, of_cluster) in config.grid.iter_mut().zip(config.cluster) {
            let rounded = blocks.checked_next_multiple_of(of_cluster);
            *blocks = rounded.unwrap_or(*blocks);
        }
        config
    }

    /// Launches in clusters that may have more blocks than is portable: up to 16 on compute
    /// capability 9.0. The device decides whether it has enough multiprocessors together, and may
    /// refuse the launch.
    pub fn with_non_portable_cluster(self, cluster: impl Into<Dim3>) -> LaunchConfig {
        LaunchConfig {
            non_portable_cluster: true,
            ..self.with_cluster(cluster)
        }
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u128 {
        self.block
            .iter()
            .map(|&extent| u128::from(extent))
            .product()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u128 {
        self.grid.iter().map(|&extent| u128::from(extent)).product()
    }
}

/// A kernel launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Launch<'p> {
    /// The kernel's name in the PTX.
    pub kernel: &'p str,
    /// That name as a small number: position in [`crate::Plan::kernels`].
    pub kernel_index: usize,
    /// Grid, block, shared memory.
    pub config: LaunchConfig,
    /// In the order of the kernel's parameters.
    pub args: &'p [Arg],
}

/// A copy from one buffer to another, or within one; the two ranges do not overlap. In elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// Source.
    pub src: BufferId,
    /// First element read.
    pub src_start: u64,
    /// Destination; of the same type.
    pub dst: BufferId,
    /// First element written.
    pub dst_start: u64,
    /// Number of elements.
    pub len: u64,
}

/// A whole buffer set to one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// Destination.
    pub dst: BufferId,
    /// Value of each of its bytes.
    pub byte: u8,
}

/// One step of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command<'p> {
    /// A kernel launch.
    Launch(Launch<'p>),
    /// A copy between buffers.
    Copy(Copy),
    /// A buffer set to one byte.
    Fill(Fill),
}

impl Command<'_> {
    /// The buffers that the command accesses, in the order in which it names them, and whether it
    /// may write them ([`Arg::may_write`]).
    pub fn accesses(&self) -> impl Iterator<Item = (BufferId, bool)> {
        let (args, src, dst) = match *self {
            Command::Launch(launch) => (launch.args, None, None),
            Command::Copy(copy) => (&[][..], Some(copy.src), Some(copy.dst)),
            Command::Fill(fill) => (&[][..], None, Some(fill.dst)),
        };
        let of_launch = args
            .iter()
            .filter_map(|arg| arg.buffer().map(|id| (id, arg.may_write())));
        of_launch
            .chain(src.map(|id| (id, false)))
            .chain(dst.map(|id| (id, true)))
    }

    /// The elements that the command accesses at most, and whether it may write them: of a launch,
    /// what its arguments say. `buffers` are the plan's.
    pub fn bounds(&self, buffers: &[Buffer]) -> impl Iterator<Item = (BufferId, Range<u64>, bool)> {
        let args = match *self {
            Command::Launch(launch) => launch.args,
            _ => &[],
        };
        let of_args = args.iter().filter_map(|arg| {
            let id = arg.buffer()?;
            let elements = match *arg {
                Arg::SliceAt { offset, len, .. }
                | Arg::BufferRange { offset, len, .. }
                | Arg::Within { offset, len, .. } => offset..offset + len,
                _ => 0..buffers[id.index()].len,
            };
            Some((id, elements, arg.may_write()))
        });
        of_args.chain(self.moved(buffers))
    }

    /// The device that the command runs on: that of the first buffer that it may write, or else of
    /// the first that it reads. It accesses others' memory directly. A copy between devices is of
    /// the source's.
    pub fn device(&self, buffers: &[Buffer]) -> u32 {
        let on = |id: BufferId| buffers[id.index()].device;
        match *self {
            Command::Launch(Launch { args, .. }) => {
                let written = args.iter().find(|arg| arg.may_write());
                let any = args.iter().find(|arg| arg.buffer().is_some());
                written.or(any).and_then(Arg::buffer).map_or(0, on)
            }
            Command::Copy(copy) => on(copy.src),
            Command::Fill(fill) => on(fill.dst),
        }
    }

    /// The elements that a copy or a fill reads and writes, with whether it writes them; of a
    /// launch nothing, since what a kernel accesses is known only when it runs. `buffers` are the
    /// plan's.
    pub fn moved(
        &self,
        buffers: &[Buffer],
    ) -> impl Iterator<Item = (BufferId, Range<u64>, bool)> + use<> {
        let of = |id, start: u64, len, writes| Some((id, start..start + len, writes));
        let all = match *self {
            Command::Launch(_) => [None, None],
            Command::Copy(copy) => [
                of(copy.src, copy.src_start, copy.len, false),
                of(copy.dst, copy.dst_start, copy.len, true),
            ],
            Command::Fill(fill) => [of(fill.dst, 0, buffers[fill.dst.index()].len, true), None],
        };
        all.into_iter().flatten()
    }
}

/// A command as it is stored: names and arguments are kept once, aside, so that thousands are
/// cheap.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stored {
    Launch {
        kernel: u32,
        config: LaunchConfig,
        args: Range<u32>,
    },
    Copy(Copy),
    Fill(Fill),
}
