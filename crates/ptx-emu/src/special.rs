//! Special registers: their names and values.

use crate::placement::Placement;
use crate::registers::LANES;

/// A special register. All are 32 bits wide but those named so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// `%tid`: thread index in the block, along an axis.
    Tid(usize),
    /// `%ntid`: threads of the block, along an axis.
    Ntid(usize),
    /// `%ctaid`: block index in the grid, along an axis.
    Ctaid(usize),
    /// `%nctaid`: blocks of the grid, along an axis.
    Nctaid(usize),
    /// `%cluster_ctaid`: block index in the cluster, along an axis.
    ClusterCtaid(usize),
    /// `%cluster_nctaid`: blocks of the cluster, along an axis.
    ClusterNctaid(usize),
    /// `%cluster_ctarank`: the block's number in the cluster, x fastest.
    ClusterCtaRank,
    /// `%cluster_nctarank`: blocks of the cluster.
    ClusterNctaRank,
    /// `%clusterid`: cluster index in the grid, along an axis.
    ClusterId(usize),
    /// `%nclusterid`: clusters of the grid, along an axis.
    NClusterId(usize),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    /// The fourth component of a register of three dimensions: 0.
    Zero,
    /// 64 bits.
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    /// `%clock`, `%clock64` and their parts: shifted right by this many bits.
    Clock(u32),
    /// `%globaltimer` and its parts: shifted right by this many bits.
    GlobalTimer(u32),
    /// `%dynamic_smem_size`: dynamic shared memory of the launch, bytes.
    DynamicSharedSize,
    /// `%total_smem_size`: static and dynamic shared memory of the block, bytes.
    TotalSharedSize,
    /// `%envreg1`, `%envreg2`: the high and the low half of the address of the memory in which the
    /// blocks of a cooperative launch meet.
    Workspace {
        /// The high half.
        high: bool,
    },
    /// The other `%envreg`s, whose values only the driver defines.
    Environment(u32),
    /// `%reserved_smem_offset_*`: this many bytes behind the start of the shared memory that the
    /// system reserves in each block.
    ReservedShared(u32),
    /// `%reserved_smem_offset_cap`: its size.
    ReservedSharedSize,
}

/// Shared memory of a block that the system reserves, in bytes, as from compute capability 8.0 on.
pub(crate) const RESERVED_SHARED_BYTES: u32 = 1 << 10;
/// Where cooperative groups find their part of it.
const GROUPS_OFFSET: u32 = 512;

/// The special registers that tell of a block and its launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockView {
    /// Threads of the block.
    pub(crate) threads: [u32; 3],
    /// The block's index.
    pub(crate) block: [u32; 3],
    /// Blocks of the grid.
    pub(crate) blocks: [u32; 3],
    /// Blocks of the cluster.
    pub(crate) cluster: [u32; 3],
    /// The block's number in the grid.
    pub(crate) number: u64,
    /// Where it runs.
    pub(crate) placement: Placement,
    /// When.
    pub(crate) moment: u64,
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) total_shared_bytes: u32,
    /// Offset of the shared memory that the system reserves.
    pub(crate) reserved_shared: u32,
    /// Address of the memory in which blocks meet.
    pub(crate) workspace: u64,
}

impl BlockView {
    /// x, y, z of a thread by its number.
    pub(crate) fn thread_index(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.threads;
        [number % x, number / x % y, number / x / y]
    }

    /// The block's number in its cluster, x fastest.
    fn rank(&self) -> u32 {
        let [x, y, z] = std::array::from_fn(|axis| self.block[axis] % self.cluster[axis]);
        (z * self.cluster[1] + y) * self.cluster[0] + x
    }
}

/// Names of registers that are not modelled.
const OTHERS: [&str; 13] = [
    "tid",
    "ntid",
    "ctaid",
    "nctaid",
    "cluster_ctaid",
    "cluster_nctaid",
    "cluster_ctarank",
    "cluster_nctarank",
    "clusterid",
    "nclusterid",
    "is_explicit_cluster",
    "aggr_smem_size",
    "current_graph_exec",
];

/// Special registers of three dimensions.
const VECTORS: [&str; 8] = [
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%clusterid",
    "%nclusterid",
];

impl Special {
    /// True for the name of a register of three dimensions. It has a fourth component, which is 0.
    pub(crate) fn is_vector(name: &str) -> bool {
        VECTORS.contains(&name)
    }

    /// The special register of that name. `None` if the name is not one; an error, which says so,
    /// if it is one that is not modelled.
    pub(crate) fn named(name: &str, component: Option<&str>) -> Option<Result<Special, String>> {
        let bare = name.strip_prefix('%')?;
        if component == Some("w") && Self::is_vector(name) {
            return Some(Ok(Special::Zero));
        }
        let axis = component.and_then(|c| ["x", "y", "z"].iter().position(|axis| *axis == c));
        let found = match (bare, axis, component) {
            ("tid", Some(axis), _) => Special::Tid(axis),
            ("ntid", Some(axis), _) => Special::Ntid(axis),
            ("ctaid", Some(axis), _) => Special::Ctaid(axis),
            ("nctaid", Some(axis), _) => Special::Nctaid(axis),
            ("cluster_ctaid", Some(axis), _) => Special::ClusterCtaid(axis),
            ("cluster_nctaid", Some(axis), _) => Special::ClusterNctaid(axis),
            ("cluster_ctarank", _, None) => Special::ClusterCtaRank,
            ("cluster_nctarank", _, None) => Special::ClusterNctaRank,
            ("clusterid", Some(axis), _) => Special::ClusterId(axis),
            ("nclusterid", Some(axis), _) => Special::NClusterId(axis),
            ("laneid", _, None) => Special::LaneId,
            ("warpid", _, None) => Special::WarpId,
            ("nwarpid", _, None) => Special::NWarpId,
            ("smid", _, None) => Special::SmId,
            ("nsmid", _, None) => Special::NSmId,
            ("gridid", _, None) => Special::GridId,
            ("lanemask_eq", _, None) => Special::LaneMaskEq,
            ("lanemask_le", _, None) => Special::LaneMaskLe,
            ("lanemask_lt", _, None) => Special::LaneMaskLt,
            ("lanemask_ge", _, None) => Special::LaneMaskGe,
            ("lanemask_gt", _, None) => Special::LaneMaskGt,
            ("clock" | "clock64", _, None) => Special::Clock(0),
            ("clock_hi", _, None) => Special::Clock(32),
            ("globaltimer" | "globaltimer_lo", _, None) => Special::GlobalTimer(0),
            ("globaltimer_hi", _, None) => Special::GlobalTimer(32),
            ("dynamic_smem_size", _, None) => Special::DynamicSharedSize,
            ("total_smem_size", _, None) => Special::TotalSharedSize,
            ("envreg1", _, None) => Special::Workspace { high: true },
            ("envreg2", _, None) => Special::Workspace { high: false },
            ("reserved_smem_offset_begin" | "reserved_smem_offset_0", _, None) => {
                Special::ReservedShared(0)
            }
            ("reserved_smem_offset_1", _, None) => Special::ReservedShared(GROUPS_OFFSET),
            ("reserved_smem_offset_end", _, None) => Special::ReservedShared(RESERVED_SHARED_BYTES),
            ("reserved_smem_offset_cap", _, None) => Special::ReservedSharedSize,
            (_, _, None) if let Some(number) = environment(bare) => Special::Environment(number),
            _ => {
                return is_known(bare).then(|| {
                    let dotted = component.map(|c| format!(".{c}")).unwrap_or_default();
                    Err(format!("special register `{name}{dotted}`"))
                });
            }
        };
        Some(Ok(found))
    }

    /// True if the lanes of a warp may have different ones.
    pub(crate) fn is_of_lane(self) -> bool {
        matches!(
            self,
            Special::Tid(_)
                | Special::LaneId
                | Special::LaneMaskEq
                | Special::LaneMaskLe
                | Special::LaneMaskLt
                | Special::LaneMaskGe
                | Special::LaneMaskGt
        )
    }

    /// True if the register tells of shared memory that the system reserves.
    pub(crate) fn is_reserved_shared(self) -> bool {
        matches!(
            self,
            Special::ReservedShared(_) | Special::ReservedSharedSize
        )
    }

    /// True if the register changes from block to block of a launch.
    pub(crate) fn depends_on_block(self) -> bool {
        matches!(
            self,
            Special::Ctaid(_)
                | Special::ClusterCtaid(_)
                | Special::ClusterCtaRank
                | Special::ClusterId(_)
                | Special::SmId
                | Special::WarpId
        )
    }

    /// True if the register tells where a block runs, which may change while it runs.
    pub(crate) fn may_change(self) -> bool {
        matches!(self, Special::SmId | Special::WarpId)
    }

    /// True if the register may differ among the threads of a block.
    pub(crate) fn depends_on_thread(self) -> bool {
        use Special::*;
        matches!(
            self,
            Tid(_)
                | LaneId
                | WarpId
                | LaneMaskEq
                | LaneMaskLe
                | LaneMaskLt
                | LaneMaskGe
                | LaneMaskGt
        )
    }

    /// The value for a thread of the block, by its number; 0 for clocks, which an instruction of
    /// their own reads.
    pub(crate) fn value(self, view: &BlockView, thread: u32) -> u64 {
        if self == Special::GridId {
            return view.placement.grid;
        }
        self.value_of_32_bits(view, thread).into()
    }

    fn value_of_32_bits(self, view: &BlockView, thread: u32) -> u32 {
        let lane = thread % LANES as u32;
        match self {
            Special::Tid(axis) => view.thread_index(thread)[axis],
            Special::Ntid(axis) => view.threads[axis],
            Special::Ctaid(axis) => view.block[axis],
            Special::Nctaid(axis) => view.blocks[axis],
            Special::ClusterCtaid(axis) => view.block[axis] % view.cluster[axis],
            Special::ClusterNctaid(axis) => view.cluster[axis],
            Special::ClusterCtaRank => view.rank(),
            Special::ClusterNctaRank => view.cluster.iter().product(),
            Special::ClusterId(axis) => view.block[axis] / view.cluster[axis],
            Special::NClusterId(axis) => view.blocks[axis] / view.cluster[axis],
            Special::LaneId => lane,
            Special::WarpId => {
                let warp = thread / LANES as u32;
                view.placement.warp(view.number, warp, view.moment)
            }
            Special::NWarpId => view.placement.warp_ids,
            Special::SmId => view.placement.multiprocessor(view.number, view.moment),
            Special::NSmId => view.placement.multiprocessor_ids,
            Special::LaneMaskEq => 1 << lane,
            Special::LaneMaskLe => u32::MAX >> (31 - lane),
            Special::LaneMaskLt => (1 << lane) - 1,
            Special::LaneMaskGe => u32::MAX << lane,
            Special::LaneMaskGt => (u32::MAX << lane) << 1,
            Special::DynamicSharedSize => view.dynamic_shared_bytes,
            Special::TotalSharedSize => view.total_shared_bytes,
            Special::Workspace { high: true } => (view.workspace >> 32) as u32,
            Special::Workspace { high: false } => view.workspace as u32,
            Special::Environment(number) => view.placement.environment(number),
            Special::ReservedShared(offset) => view.reserved_shared + offset,
            Special::ReservedSharedSize => RESERVED_SHARED_BYTES,
            Special::Zero | Special::GridId | Special::Clock(_) | Special::GlobalTimer(_) => 0,
        }
    }
}

/// The number of an `%envreg`: there are 32.
fn environment(bare: &str) -> Option<u32> {
    let number: u32 = bare.strip_prefix("envreg")?.parse().ok()?;
    (number < 32).then_some(number)
}

/// True if PTX has a special register of that name, which is not modelled.
fn is_known(bare: &str) -> bool {
    let is_numbered = |prefix| {
        let number = bare.strip_prefix(prefix);
        number.is_some_and(|n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    OTHERS.contains(&bare) || is_numbered("pm")
}
