//! What barriers and warp-wide instructions are made of.

use ptx::{BarrierReduction, IntType, ReduxOp, ShuffleMode, VoteMode};

use super::Flag;
use crate::registers::Slot;

/// A barrier of the block.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub(crate) aligned: bool,
    pub(crate) id: Slot,
    pub(crate) threads: Option<Slot>,
    pub(crate) kind: BarrierKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `dst` is a predicate slot for `And` and `Or`, a 32-bit row for `Popc`.
    Reduce {
        op: BarrierReduction,
        dst: u32,
        src: Flag,
    },
}

/// An instruction that the lanes of a mask execute together.
#[derive(Clone, Debug)]
pub(crate) struct WarpSync {
    pub(crate) mask: Slot,
    pub(crate) kind: WarpSyncKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum WarpSyncKind {
    Barrier,
    Shuffle {
        mode: ShuffleMode,
        dst: Option<Slot>,
        pred: Option<u32>,
        src: Slot,
        lane: Slot,
        clamp: Slot,
    },
    /// `dst` is a predicate slot, or a 32-bit row for a ballot.
    Vote {
        mode: VoteMode,
        dst: u32,
        src: Flag,
    },
    Match {
        all: bool,
        dst: Option<Slot>,
        pred: Option<u32>,
        src: Slot,
    },
    Redux {
        op: ReduxOp,
        ty: IntType,
        dst: Slot,
        src: Slot,
    },
    Elect {
        dst: Option<Slot>,
        pred: u32,
    },
}

impl WarpSyncKind {
    /// The instruction's name.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Barrier => "bar.warp.sync",
            Self::Shuffle { .. } => "shfl.sync",
            Self::Vote { .. } => "vote.sync",
            Self::Match { .. } => "match.sync",
            Self::Redux { .. } => "redux.sync",
            Self::Elect { .. } => "elect.sync",
        }
    }
}
