//! The cluster: its barrier, `barrier.cluster`; addresses in the shared memory of its blocks,
//! `mapa`, `getctarank`.

use ptx::{ScalarType, Space};

use crate::address_origin::Makes;
use crate::counts::InstructionClass;
use crate::fault::{FaultKind, Stop};
use crate::memory::{SHARED_WINDOW, in_cluster, rank_of, space_of};
use crate::read::{Read, Reader, Width, other};
use crate::registers::{Slot, lanes};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::warp::{State, Warp};

/// `barrier.cluster.arrive` and `barrier.cluster.wait`; `.cluster` is taken already.
pub(super) fn barrier(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Barrier, Rule::Strict);
    let aligned = r.has("aligned");
    let arrives = r.need("`.arrive` or `.wait`", &[("arrive", true), ("wait", false)])?;
    if !arrives {
        r.has("acquire");
        r.operands(0)?;
        return other(Wait);
    }
    let releases = r.choice(&[("release", true), ("relaxed", false)]);
    r.operands(0)?;
    let releases = releases.unwrap_or(true);
    other(Arrive { aligned, releases })
}

#[derive(Debug)]
struct Arrive {
    /// All lanes of the warp must arrive at the same instruction.
    aligned: bool,
    releases: bool,
}

impl Execute for Arrive {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let sanitize = runner.launch.sanitize;
        let again = warp.arrived & at.active;
        if again != 0 {
            let reason =
                "a thread arrives at the cluster's barrier a second time, without a wait between";
            return Err(invalid(runner, warp, again, at.pc, reason.to_owned()));
        }
        let others = warp.arrived & !warp.passed & warp.live;
        if self.aligned && sanitize.barriers && others != 0 && warp.arrived_at != at.pc {
            let place = &runner.launch.code.infos[warp.arrived_at as usize].position;
            let reason = format!(
                "threads of one warp arrive at the cluster's barrier at different places; the other is {place}"
            );
            return Err(invalid(runner, warp, at.active, at.pc, reason));
        }
        warp.arrived |= at.active;
        warp.arrived_at = at.pc;
        if self.releases && sanitize.races {
            let warp = runner.warp_number(warp.index);
            runner
                .sanitizer
                .clocks
                .arrive(warp, &mut runner.cluster.arriving);
        }
        runner.cluster.has_arrivals = true;
        runner.cluster.recheck = true;
        Ok(Next::Step)
    }
}

#[derive(Debug)]
struct Wait;

impl Execute for Wait {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let strangers = at.active & !warp.arrived;
        if strangers != 0 {
            let reason = "a thread waits for the cluster's barrier without having arrived at it";
            return Err(invalid(runner, warp, strangers, at.pc, reason.to_owned()));
        }
        let goes_on = at.active & warp.passed;
        if goes_on != 0 {
            warp.leave_cluster_barrier(goes_on);
            runner.block.has_met_cluster = true;
            runner.see_all(warp.index);
            if runner.launch.sanitize.races {
                let warp = runner.warp_number(warp.index);
                runner.sanitizer.clocks.pass(warp, &runner.cluster.released);
            }
        }
        let waits = at.active & !goes_on;
        if waits == 0 {
            return Ok(Next::Step);
        }
        let mask = warp.groups[at.group].mask;
        if mask != waits {
            warp.split(at.group, mask & !waits, at.pc + 1, at.pc);
        }
        warp.groups[at.group].state = State::ClusterBarrier;
        Ok(Next::Choose)
    }
}

fn invalid(runner: &BlockRunner, warp: &Warp, mask: u32, pc: u32, reason: String) -> Stop {
    let kind = FaultKind::InvalidBarrier { reason };
    runner.fault(warp.first_thread(mask), pc, kind)
}

/// `mapa`: the address, in the shared memory of the block of a rank, that corresponds to one in
/// shared memory.
pub(super) fn map_address(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Move, Rule::Strict);
    r.makes = Makes::Anything;
    let (space, ty) = address_type(r)?;
    r.operands(3)?;
    let dst = r.dst(ty)?;
    let operand = r.operand()?;
    let src = r.value(operand, ty, Width::Exact)?;
    let rank = r.src(ScalarType::U32)?;
    other(MapAddress {
        dst,
        src,
        rank,
        is_generic: space == Space::Generic,
    })
}

/// `getctarank`: the rank of the block in whose shared memory an address is.
pub(super) fn rank_of_address(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Move, Rule::Strict);
    let (space, ty) = address_type(r)?;
    r.operands(2)?;
    let dst = r.dst(ScalarType::U32)?;
    let operand = r.operand()?;
    let src = r.value(operand, ty, Width::Exact)?;
    other(RankOfAddress {
        dst,
        src,
        is_generic: space == Space::Generic,
    })
}

/// The space of an address, and its type.
fn address_type(r: &mut Reader) -> Read<(Space, ScalarType)> {
    let space = match r.space() {
        None => Space::Generic,
        Some(Space::SharedCluster) => Space::SharedCluster,
        Some(space) => return Err(r.unsupported(&format!("modifier `.{}`", space.name()))),
    };
    match r.ty()? {
        ScalarType::U32 if space == Space::Generic => {
            Err(r.unsupported("a generic address of less than 64 bits"))
        }
        ty @ (ScalarType::U32 | ScalarType::U64) => Ok((space, ty)),
        ty => Err(r.unsupported_type(ty)),
    }
}

#[derive(Debug)]
struct MapAddress {
    dst: Slot,
    src: Slot,
    rank: Slot,
    /// Addresses are generic, not shared.
    is_generic: bool,
}

impl Execute for MapAddress {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let address = warp.registers.lane(self.src, lane);
            let address = shared_address(address, self.is_generic)
                .ok_or_else(|| not_shared(runner, warp.thread(lane), at.pc, "mapa", address))?;
            let (_, offset) = rank_of(address);
            let rank = warp.registers.lane(self.rank, lane) as u32;
            let mapped = if rank as usize == runner.block.rank {
                offset
            } else {
                in_cluster(offset, rank)
            };
            let base = if self.is_generic { SHARED_WINDOW } else { 0 };
            warp.registers.set_lane(self.dst, lane, base + mapped);
        }
        Ok(Next::Step)
    }
}

#[derive(Debug)]
struct RankOfAddress {
    dst: Slot,
    src: Slot,
    /// The address is generic, not shared.
    is_generic: bool,
}

impl Execute for RankOfAddress {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        for lane in lanes(at.active) {
            let address = warp.registers.lane(self.src, lane);
            let address = shared_address(address, self.is_generic).ok_or_else(|| {
                not_shared(runner, warp.thread(lane), at.pc, "getctarank", address)
            })?;
            let rank = rank_of(address).0.unwrap_or(runner.block.rank as u32);
            warp.registers.set_lane(self.dst, lane, rank.into());
        }
        Ok(Next::Step)
    }
}

/// The shared address of one that may be generic, if it is in shared memory.
fn shared_address(address: u64, is_generic: bool) -> Option<u64> {
    if is_generic {
        (space_of(address) == Space::Shared).then(|| address - SHARED_WINDOW)
    } else {
        Some(address)
    }
}

fn not_shared(
    runner: &BlockRunner,
    thread: u32,
    pc: u32,
    instruction: &'static str,
    address: u64,
) -> Stop {
    let kind = FaultKind::NotShared {
        instruction,
        address,
    };
    runner.fault(thread, pc, kind)
}
