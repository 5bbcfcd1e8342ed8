//! Operations that the lanes of a warp execute together: `shfl`, `vote`, `match`, `redux`, `elect`,
//! `bar.warp.sync`, `activemask`.
//!
//! A warp-wide operation is executed by all lanes of its mask that have not exited, together: lanes
//! that come first wait for the others at the same instruction (PTX ISA, "shfl.sync", "vote.sync",
//! "match.sync", "redux.sync"), at a `bar.warp.sync` at any with the same mask ("bar.warp.sync").
//! Lanes with different masks are different operations (tiles of a warp). Lanes that exit while
//! others wait for them take no part, unless they have accessed memory meanwhile: then they have
//! gone past the operation, which is a fault.

use std::fmt;

use ptx::ScalarType;

use crate::counts::InstructionClass;
use crate::fault::{FaultKind, Stop};
use crate::read::{Read, Reader, other};
use crate::registers::{Flag, LANES, Slot, lanes, lanes_where, lanes_with};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::warp::{State, Warp};

const B32: ScalarType = ScalarType::B32;

/// `shfl`, `vote`, `match`, `redux`, `elect`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Warp, Rule::Strict);
    if r.opcode == "shfl" {
        r.rule = Rule::Shuffled;
    }
    if !r.has("sync") {
        return match r.opcode {
            "vote" => vote_of_active(r),
            _ => Err(r.unsupported("the form without `.sync`")),
        };
    }
    match r.opcode {
        "shfl" => shuffle(r),
        "vote" => vote(r),
        "match" => match_lanes(r),
        "redux" => redux(r),
        _ => elect(r),
    }
}

/// `bar.warp.sync`, from behind `.warp`.
pub(super) fn barrier(r: &mut Reader) -> Read<Op> {
    (r.class, r.rule) = (InstructionClass::Warp, Rule::Strict);
    if !r.has("sync") {
        return Err(r.missing("`.sync`"));
    }
    r.operands(1)?;
    let mask = r.src(ScalarType::U32)?;
    together("bar.warp.sync", mask, WarpBarrier)
}

/// `activemask`.
pub(super) fn active_mask(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Warp;
    r.only_type(B32)?;
    r.operands(1)?;
    let dst = r.dst(B32)?;
    // Which lanes are together depends on the order in which they run.
    r.function.exchange.threads = true;
    other(ActiveMask { dst })
}

fn shuffle(r: &mut Reader) -> Read<Op> {
    let choices = [
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Bfly),
        ("idx", ShuffleMode::Idx),
    ];
    let mode = r.need("mode", &choices)?;
    r.only_type(B32)?;
    r.operands(5)?;
    let (dst, pred) = r.pair(B32)?;
    let [src, lane, clamp, mask] = [r.src(B32)?, r.src(B32)?, r.src(B32)?, r.src(B32)?];
    let shuffle = Shuffle {
        mode,
        dst,
        pred,
        src,
        lane,
        clamp,
        unset: [None; 2],
    };
    together("shfl.sync", mask, shuffle)
}

const VOTES: [(&str, VoteMode); 4] = [
    ("all", VoteMode::All),
    ("any", VoteMode::Any),
    ("uni", VoteMode::Uni),
    ("ballot", VoteMode::Ballot),
];

fn vote(r: &mut Reader) -> Read<Op> {
    let mode = r.need("mode", &VOTES)?;
    let ty = r.only_type(mode.result())?;
    r.operands(3)?;
    let (dst, src) = (r.dst(ty)?, r.flag()?);
    let mask = r.src(B32)?;
    together("vote.sync", mask, Vote { mode, dst, src })
}

/// `vote` without `.sync`, of the lanes that execute it together: gone since sm_70, where nothing
/// says which these are.
fn vote_of_active(r: &mut Reader) -> Read<Op> {
    let mode = r.need("mode", &VOTES)?;
    let ty = r.only_type(mode.result())?;
    r.operands(2)?;
    let (dst, src) = (r.dst(ty)?, r.flag()?);
    r.function.exchange.threads = true;
    other(VoteOfActive(Vote { mode, dst, src }))
}

#[derive(Debug)]
struct VoteOfActive(Vote);

impl Execute for VoteOfActive {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let party = Party {
            pc: at.pc,
            active: at.active,
            partners: [at.active; LANES],
        };
        Together::execute(&self.0, runner, warp, &party)?;
        Ok(Next::Step)
    }
}

fn match_lanes(r: &mut Reader) -> Read<Op> {
    let all = r.need("`.any` or `.all`", &[("any", false), ("all", true)])?;
    let ty = r.ty()?;
    if !matches!(ty, ScalarType::B32 | ScalarType::B64) {
        return Err(r.unsupported_type(ty));
    }
    r.operands(3)?;
    let (dst, pred) = r.pair(B32)?;
    if pred.is_some() && !all {
        return Err(r.unsupported("a predicate destination with `.any`"));
    }
    let (src, mask) = (r.src(ty)?, r.src(B32)?);
    let matching = Match {
        all,
        dst,
        pred,
        src,
    };
    together("match.sync", mask, matching)
}

fn redux(r: &mut Reader) -> Read<Op> {
    let choices = [
        ("add", ReduxOp::Add),
        ("min", ReduxOp::Min),
        ("max", ReduxOp::Max),
        ("and", ReduxOp::And),
        ("or", ReduxOp::Or),
        ("xor", ReduxOp::Xor),
    ];
    let op = r.need("operation", &choices)?;
    let is_signed = r.int_type_32()?.is_signed();
    r.operands(3)?;
    let [dst, src, mask] = [r.dst(B32)?, r.src(B32)?, r.src(B32)?];
    let redux = Redux {
        op,
        is_signed,
        dst,
        src,
    };
    together("redux.sync", mask, redux)
}

fn elect(r: &mut Reader) -> Read<Op> {
    r.operands(2)?;
    let (dst, Some(pred)) = r.pair(B32)? else {
        return Err(r.unsupported("a missing predicate destination"));
    };
    let mask = r.src(B32)?;
    together("elect.sync", mask, Elect { dst, pred })
}

pub(super) fn together(name: &'static str, mask: Slot, op: impl Together + 'static) -> Read<Op> {
    other(WarpSync { name, mask, op })
}

/// Lanes that execute an operation together.
#[derive(Clone, Copy)]
pub(super) struct Party {
    pub(super) pc: u32,
    /// All lanes that execute the instruction now.
    pub(super) active: u32,
    /// The partners of each lane that take part.
    partners: [u32; LANES],
}

/// An operation that the lanes of a mask execute together.
pub(super) trait Together: fmt::Debug + Send + Sync {
    /// Lanes may execute it by different instructions.
    const AT_ANY_PLACE: bool = false;
    /// It changes registers alone: see [`Execute::is_quiet`].
    const IS_QUIET: bool = false;

    /// Executes it for lanes whose partners are all there.
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, party: &Party)
    -> Result<(), Stop>;

    /// See [`Execute::track`].
    fn track(&mut self, _shadow: &dyn Fn(Slot) -> Option<Slot>, _is_late: bool) {}
}

/// An instruction that the lanes of a mask execute together.
#[derive(Debug)]
struct WarpSync<T> {
    name: &'static str,
    mask: Slot,
    op: T,
}

impl<T: Together> Execute for WarpSync<T> {
    fn is_quiet(&self) -> bool {
        T::IS_QUIET
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Slot>, is_late: bool) {
        self.op.track(shadow, is_late);
    }

    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let At { group, pc, active } = at;
        let group_mask = warp.groups[group].mask;
        let masks = *warp.registers.r32(self.mask.row);
        // The lanes that wait for a mask at other instructions.
        let elsewhere = |warp: &Warp, wanted: u32| match T::AT_ANY_PLACE {
            false => 0,
            true => warp
                .groups
                .iter()
                .fold(0, |lanes, other| match other.state {
                    State::Lanes { instruction, mask }
                        if (instruction, mask) == (self.name, wanted) =>
                    {
                        lanes | other.mask
                    }
                    _ => lanes,
                }),
        };
        let (mut complete, mut joined, mut missing) = (0, 0, 0);
        // Of lanes with the same mask, at one time.
        let (mut unseen, mut outside) = (active, 0);
        while unseen != 0 {
            let mask = masks[unseen.trailing_zeros() as usize];
            let here = unseen & lanes_with(&masks, mask);
            unseen &= !here;
            outside |= here & !mask;
            let there = elsewhere(warp, mask);
            let absent = mask & warp.live & !(here | there);
            if absent == 0 {
                complete |= here;
                joined |= there;
            }
            missing |= absent;
        }
        if let Some(lane) = lanes(outside).next() {
            let kind = FaultKind::LaneNotInMask {
                instruction: self.name,
                mask: masks[lane],
                lane: lane as u32,
            };
            return Err(runner.fault(warp.thread(lane), pc, kind));
        }
        if group_mask != active {
            warp.split(group, group_mask & !active, pc + 1, pc);
        }
        if complete != 0 {
            let party = Party {
                pc,
                active: complete,
                partners: std::array::from_fn(|lane| masks[lane] & (complete | joined)),
            };
            self.op.execute(runner, warp, &party)?;
            warp.awaited &= !(complete | joined);
            for other in &mut warp.groups {
                if other.mask & joined != 0 {
                    other.state = State::Ready;
                    other.pc += 1;
                }
            }
        }
        let is_whole = complete == active && joined == 0;
        warp.spin.note_exchange(if is_whole { active } else { 0 });
        if complete == active && group_mask == active {
            if runner.launch.apart().is_none() {
                return Ok(Next::Step);
            }
            // The lanes part again.
            warp.groups[group].pc += 1;
            return Ok(Next::Choose);
        }
        if complete != 0 {
            warp.split(group, complete, pc + 1, pc);
        }
        // From here on it counts what the missing lanes do.
        warp.acted &= !(missing & !warp.awaited);
        warp.awaited |= missing;
        let mut rest = active & !complete;
        while rest != 0 {
            let mask = masks[rest.trailing_zeros() as usize];
            let waiting = lanes_where(rest, |lane| masks[lane] == mask);
            rest &= !waiting;
            let index = if rest == 0 {
                group
            } else {
                warp.split(group, waiting, pc, pc);
                warp.groups.len() - 1
            };
            warp.groups[index].state = State::Lanes {
                instruction: self.name,
                mask,
            };
        }
        if warp.groups[group].mask == 0 {
            warp.groups.swap_remove(group);
        }
        Ok(Next::Choose)
    }
}

#[derive(Debug)]
struct WarpBarrier;

impl Together for WarpBarrier {
    const AT_ANY_PLACE: bool = true;
    const IS_QUIET: bool = true;

    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        let mut rest = party.active;
        while rest != 0 && runner.launch.sanitize.races {
            let mask = party.partners[rest.trailing_zeros() as usize];
            let number = runner.warp_number(warp.index);
            runner
                .sanitizer
                .clocks
                .warp_barrier(number, mask, warp.lanes);
            rest &= !mask;
        }
        Ok(())
    }
}

/// `shfl.sync`: `dst` from another lane's `src`; `pred` says whether that lane was in range.
#[derive(Debug)]
struct Shuffle {
    mode: ShuffleMode,
    dst: Option<Slot>,
    pred: Option<u32>,
    src: Slot,
    lane: Slot,
    clamp: Slot,
    /// The rows of the unset bits of `dst` and `src`; the same where values that were loaded from
    /// shared memory may be unset.
    unset: [Option<(Slot, Option<Slot>)>; 2],
}

impl Together for Shuffle {
    const IS_QUIET: bool = true;

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Slot>, is_late: bool) {
        let dst = self.dst.and_then(shadow);
        self.unset[usize::from(is_late)] = dst.map(|dst| (dst, shadow(self.src)));
    }

    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        let [values, selector, clamp] =
            [self.src, self.lane, self.clamp].map(|slot| *warp.registers.r32(slot.row));
        let [early, late] = self.unset;
        let unset = late.filter(|_| warp.registers.late).or(early);
        let unset = unset.map(|(dst, src)| {
            let bits = src.map_or([0; LANES], |src| *warp.registers.r32(src.row));
            (dst, bits)
        });
        for lane in lanes(party.active) {
            let (source, in_range) =
                shuffle_source(self.mode, lane as u32, selector[lane], clamp[lane]);
            let from = if in_range { source } else { lane as u32 };
            if party.partners[lane] >> from & 1 == 0 {
                let kind = FaultKind::ShuffleFromInactive {
                    lane: from,
                    participants: party.partners[lane],
                };
                return Err(runner.fault(warp.thread(lane), party.pc, kind));
            }
            if let Some(dst) = self.dst {
                warp.registers.r32_mut(dst.row)[lane] = values[from as usize];
            }
            if let Some((dst, bits)) = &unset {
                warp.registers.r32_mut(dst.row)[lane] = bits[from as usize];
            }
            if let Some(pred) = self.pred {
                set_pred(warp, pred, lane, in_range);
            }
        }
        Ok(())
    }
}

/// `vote.sync`.
#[derive(Debug)]
struct Vote {
    mode: VoteMode,
    /// A predicate, or 32 bits for a ballot.
    dst: Slot,
    src: Flag,
}

impl Together for Vote {
    const IS_QUIET: bool = true;

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        let bits = warp.registers.flag(self.src);
        for lane in lanes(party.active) {
            let partners = party.partners[lane];
            let votes = bits & partners;
            let result = match self.mode {
                VoteMode::Ballot => votes,
                VoteMode::All => u32::from(votes == partners),
                VoteMode::Any => u32::from(votes != 0),
                VoteMode::Uni => u32::from(votes == 0 || votes == partners),
            };
            warp.registers.set_lane(self.dst, lane, result.into());
        }
        Ok(())
    }
}

/// `match.any.sync`, `match.all.sync`: lanes whose `src` equals this lane's.
#[derive(Debug)]
struct Match {
    all: bool,
    dst: Option<Slot>,
    /// Only with `all`.
    pred: Option<u32>,
    src: Slot,
}

impl Together for Match {
    const IS_QUIET: bool = true;

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        let values: [u64; LANES] = std::array::from_fn(|lane| warp.registers.lane(self.src, lane));
        for lane in lanes(party.active) {
            let partners = party.partners[lane];
            let same = lanes_where(partners, |other| values[other] == values[lane]);
            let agree = same == partners;
            if let Some(dst) = self.dst {
                warp.registers.r32_mut(dst.row)[lane] = if self.all && !agree { 0 } else { same };
            }
            if let Some(pred) = self.pred {
                set_pred(warp, pred, lane, agree);
            }
        }
        Ok(())
    }
}

/// `redux.sync`.
#[derive(Debug)]
struct Redux {
    op: ReduxOp,
    is_signed: bool,
    dst: Slot,
    src: Slot,
}

impl Together for Redux {
    const IS_QUIET: bool = true;

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        let values = *warp.registers.r32(self.src.row);
        for lane in lanes(party.active) {
            let members = lanes(party.partners[lane]).map(|lane| values[lane]);
            let result = members.reduce(|a, b| reduce(self.op, self.is_signed, a, b));
            warp.registers.r32_mut(self.dst.row)[lane] = result.unwrap_or(0);
        }
        Ok(())
    }
}

/// `elect.sync`: `dst` is the elected lane, `pred` true in it.
#[derive(Debug)]
struct Elect {
    dst: Option<Slot>,
    pred: u32,
}

impl Together for Elect {
    const IS_QUIET: bool = true;

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        for lane in lanes(party.active) {
            let leader = party.partners[lane].trailing_zeros();
            if let Some(dst) = self.dst {
                warp.registers.r32_mut(dst.row)[lane] = leader;
            }
            set_pred(warp, self.pred, lane, leader == lane as u32);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct ActiveMask {
    dst: Slot,
}

impl Execute for ActiveMask {
    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        warp.registers.fill(self.dst, at.active, at.active.into());
        Ok(Next::Step)
    }
}

fn set_pred(warp: &mut Warp, slot: u32, lane: usize, value: bool) {
    let value = if value { u32::MAX } else { 0 };
    warp.registers.set_pred(slot, 1 << lane, value);
}

/// Lane selection of `shfl.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

impl VoteMode {
    /// The type of the result.
    fn result(self) -> ScalarType {
        match self {
            VoteMode::Ballot => B32,
            _ => ScalarType::Pred,
        }
    }
}

/// Result of `vote.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VoteMode {
    /// True where every lane's source is true.
    All,
    /// True where any lane's source is true.
    Any,
    /// True where all lanes agree.
    Uni,
    /// A mask of the lanes whose source is true.
    Ballot,
}

/// Operation of `redux.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReduxOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// The lane that a shuffle reads, and whether it is in range (PTX ISA, "shfl.sync").
fn shuffle_source(mode: ShuffleMode, lane: u32, selector: u32, clamp: u32) -> (u32, bool) {
    let b = selector & 31;
    let (clamp, segment) = (clamp & 31, clamp >> 8 & 31);
    let first = lane & segment;
    let last = first | (clamp & !segment);
    match mode {
        ShuffleMode::Up => {
            let source = lane.wrapping_sub(b);
            (source & 31, source as i32 >= last as i32)
        }
        ShuffleMode::Down => ((lane + b) & 31, lane + b <= last),
        ShuffleMode::Bfly => (lane ^ b, lane ^ b <= last),
        ShuffleMode::Idx => {
            let source = first | (b & !segment);
            (source & 31, source <= last)
        }
    }
}

fn reduce(op: ReduxOp, is_signed: bool, a: u32, b: u32) -> u32 {
    match (op, is_signed) {
        (ReduxOp::Add, _) => a.wrapping_add(b),
        (ReduxOp::And, _) => a & b,
        (ReduxOp::Or, _) => a | b,
        (ReduxOp::Xor, _) => a ^ b,
        (ReduxOp::Min, false) => a.min(b),
        (ReduxOp::Max, false) => a.max(b),
        (ReduxOp::Min, true) => (a as i32).min(b as i32) as u32,
        (ReduxOp::Max, true) => (a as i32).max(b as i32) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_of_whole_warps() {
        // Rust and CUDA pass 0x1f (0 for `up`) as the clamp of a full-width shuffle.
        assert_eq!(shuffle_source(ShuffleMode::Up, 5, 1, 0), (4, true));
        assert!(!shuffle_source(ShuffleMode::Up, 0, 1, 0).1);
        assert_eq!(shuffle_source(ShuffleMode::Down, 30, 1, 0x1f), (31, true));
        assert!(!shuffle_source(ShuffleMode::Down, 31, 1, 0x1f).1);
        assert_eq!(shuffle_source(ShuffleMode::Bfly, 5, 16, 0x1f), (21, true));
        assert_eq!(shuffle_source(ShuffleMode::Idx, 5, 40, 0x1f), (8, true));
    }

    #[test]
    fn shuffles_of_segments_of_eight() {
        let clamp = (32 - 8) << 8 | 0x1f;
        assert_eq!(shuffle_source(ShuffleMode::Down, 9, 6, clamp), (15, true));
        assert!(!shuffle_source(ShuffleMode::Down, 9, 7, clamp).1);
        assert_eq!(shuffle_source(ShuffleMode::Idx, 9, 3, clamp), (11, true));
        assert_eq!(
            shuffle_source(ShuffleMode::Up, 9, 1, (32 - 8) << 8),
            (8, true)
        );
        assert!(!shuffle_source(ShuffleMode::Up, 8, 1, (32 - 8) << 8).1);
    }
}
