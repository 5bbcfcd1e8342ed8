//! Data races: two accesses to the same bytes, at least one a store, that nothing orders.
//!
//! # Model
//!
//! Every granule of memory (the narrowest access of the running kernel) remembers two stores and
//! two loads, of the latest that nothing orders, each with the lanes of a warp that made it, and as
//! many strong ones apart. An access is compared with them: it is a race if the earlier access is
//! by another thread, is not ordered before this one, at least one of the two is a store, and not
//! both are strong in a way that suits the other.
//!
//! Order within a block follows barriers, as vector clocks: each warp has a clock that advances at
//! every barrier it takes part in, and knows for every warp (itself included) up to which of its
//! clocks accesses are ordered before its own. `bar.sync` orders all threads that take part (PTX
//! ISA, "barrier"), `bar.warp.sync` the lanes of its mask ("bar.warp.sync"). Lanes of one warp that
//! execute together are **not** ordered by that: since Volta nothing keeps a warp in step (CUDA
//! programming guide, "Independent thread scheduling"), so two lanes that exchange data need
//! `bar.warp.sync` or a barrier. Shuffles and votes order no memory accesses ("shfl.sync"). The
//! warp barrier does not order accesses of lanes that exited without it.
//!
//! Threads may also order their accesses through memory ("Release and acquire patterns"): a fence,
//! then a strong store or an atomic; by another thread a strong load or an atomic that sees it,
//! then a fence. What a warp did before a fence, and what it knows of others, is taken as ordered
//! before what another warp does after a strong load or an atomic and then a fence, at any
//! location. Accesses that release or acquire have their fences.
//!
//! A lane that arrives at an object of `mbarrier` releases what it did, and what other lanes of its
//! warp did before they synchronised with it; a wait acquires that ("mbarrier", "test_wait").
//!
//! The blocks of a cluster are ordered by its barrier: an arrival releases what the thread's warp
//! did and knows, a wait acquires what all arrivals released ("barrier.cluster"). Clocks are those
//! of all warps of the cluster.
//!
//! Between other blocks of one launch nothing is ordered, except through device-wide fences: a
//! store is taken as ordered before another block's access if such a fence has followed it, by its
//! warp or by one that knows of it; then a strong store or an atomic, by a warp that knows of the
//! fence; after that a strong load or an atomic of the other block; and then a fence there, by a
//! warp that the accessing one knows of. Launches are ordered.
//!
//! Rules:
//! - strong accesses (atomics, `.volatile`, `.relaxed` and stronger) do not race with each other
//!   ("Data-races": morally strong) if they are of the same width, and each thread is in the scope
//!   of the other's access;
//! - an atomic whose old value the program looks at is behind all strong stores to its bytes before
//!   it, and so is what is behind it: by that the last block resets a counter. Module `relaxed` has
//!   plain loads that count as relaxed;
//! - a store of the value that is there already, by another store, is not reported: several lanes
//!   or warps that set the same flag are a common and harmless idiom (compute-sanitizer's racecheck
//!   gives it as a note too). Lanes of one instruction that store different values to one address
//!   are a race: which one stays is not defined ("st");
//! - `ld.global.nc` of data that any thread stores during the launch, before or after, is a fault,
//!   ordered or not ("ld.global.nc"); a store after it that changes nothing is none.
//!
//! # Blind spots
//!
//! - A race shows only if both accesses happen in this run. Their order does not matter, except
//!   between stores: the values that are compared are those of this run.
//! - Of many loads (or equal stores) those of two warps are remembered; with barriers among parts
//!   of a block one of several races may be missed.
//! - Order through fences is approximate in the direction of missing races: which location a strong
//!   access reads is not considered; a barrier passes on what is fenced and what has been seen, so
//!   that either may be another thread's than the fence; lanes of a warp count as one.
//! - Of a warp whose lanes arrive at the cluster's barrier one after the other, all count as
//!   arrived with the last. If one lane of a warp waits for an object of `mbarrier`, all have what
//!   other warps released there; what single lanes have released is passed on as if their warps
//!   had.
//! - Granules are as wide as the narrowest access of the kernel: bytes stored by different threads
//!   are told apart in kernels that store bytes.
//!
//! # Layout
//!
//! `order` says what is ordered before what, `arrivals` and `lane_clocks` what a single lane
//! releases, `strength` for whom an access is strong; `cell` what a granule remembers; `line` is
//! what granules in a row remember: `runs` together, and `alone` where each is one lane's; `part`
//! says which of them an access is of; `pages` holds the lines of a buffer.

mod alone;
mod arrivals;
mod cell;
mod lane_clocks;
mod line;
mod order;
mod pages;
mod part;
mod runs;
#[cfg(test)]
mod shortcuts;
mod strength;
#[cfg(test)]
mod tests;

pub(crate) use cell::{Conflict, Kind};
pub(crate) use lane_clocks::LaneClocks;
pub(crate) use line::Line;
pub(crate) use order::{BlockOrder, Clocks, DeviceOrder, Leftovers, Looked, Now, Record};
pub(crate) use pages::{LaneLines, OwnPage, PAGE, PageGuard, RaceShadow, Saved};
pub(crate) use part::{LINE, LaneMap, Part};
pub(crate) use strength::{Scope, Strength};
