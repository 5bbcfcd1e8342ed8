//! Special registers.

/// One axis of a grid or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are the axes")]
pub enum Axis {
    X,
    Y,
    Z,
}

impl Axis {
    /// 0, 1 or 2.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A special register. All are 32 bits wide but those named so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`: thread index in the block.
    Tid(Axis),
    /// `%ntid`: threads of the block.
    Ntid(Axis),
    /// `%ctaid`: block index in the grid.
    Ctaid(Axis),
    /// `%nctaid`: blocks of the grid.
    Nctaid(Axis),
    /// `%laneid`.
    LaneId,
    /// `%warpid`.
    WarpId,
    /// `%nwarpid`.
    NWarpId,
    /// `%smid`.
    SmId,
    /// `%nsmid`.
    NSmId,
    /// `%gridid`, 64 bits.
    GridId,
    /// `%lanemask_eq`.
    LaneMaskEq,
    /// `%lanemask_le`.
    LaneMaskLe,
    /// `%lanemask_lt`.
    LaneMaskLt,
    /// `%lanemask_ge`.
    LaneMaskGe,
    /// `%lanemask_gt`.
    LaneMaskGt,
    /// `%clock`.
    Clock,
    /// `%clock_hi`.
    ClockHi,
    /// `%clock64`, 64 bits.
    Clock64,
    /// `%globaltimer`, 64 bits, nanoseconds.
    GlobalTimer,
    /// `%globaltimer_lo`.
    GlobalTimerLo,
    /// `%globaltimer_hi`.
    GlobalTimerHi,
    /// `%dynamic_smem_size`: dynamic shared memory of the launch, bytes.
    DynamicSharedSize,
    /// `%total_smem_size`: static and dynamic shared memory of the block, bytes.
    TotalSharedSize,
}

impl Special {
    /// Width in bits: 32 or 64.
    pub const fn bits(self) -> u32 {
        match self {
            Special::GridId | Special::Clock64 | Special::GlobalTimer => 64,
            _ => 32,
        }
    }
}
