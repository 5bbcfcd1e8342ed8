//! Operations that the lanes of a warp execute together: `shfl`, `vote`, `match`, `redux`, `elect`,
//! `bar.warp.sync`, `activemask`. How the lanes come together: `together`.

use ptx::{ErrorKind, Problem, ScalarType};

use crate::counts::InstructionClass;
use crate::fault::{FaultKind, Stop};
use crate::read::{Read, Reader, other};
use crate::registers::{Flag, LANES, Registers, Slot, lanes, lanes_that_equal};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::Rule;
use crate::unset_values::shadows::Shadow;
use crate::warp::Warp;

use super::party::{Offers, Party, Together};
use super::together::together;

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
            "shfl" => shuffle_of_active(r),
            opcode => {
                let (opcode, missing) = (opcode.to_string(), "`.sync`");
                let kind = ErrorKind::MissingModifier { opcode, missing };
                Err(Problem::new(r.syntax().opcode.pos, kind).into())
            }
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
    r.exchange.threads = true;
    other(ActiveMask { dst })
}

fn shuffle(r: &mut Reader) -> Read<Op> {
    let shuffle = read_shuffle(r, 5)?;
    let mask = r.src(B32)?;
    together(r.written(), mask, shuffle)
}

/// A shuffle with this many operands. Reads the first four.
fn read_shuffle(r: &mut Reader, operands: usize) -> Read<Shuffle> {
    let choices = [
        ("up", ShuffleMode::Up),
        ("down", ShuffleMode::Down),
        ("bfly", ShuffleMode::Bfly),
        ("idx", ShuffleMode::Idx),
    ];
    let mode = r.need("mode", &choices)?;
    r.only_type(B32)?;
    r.operands(operands)?;
    let (dst, pred) = r.pair(B32)?;
    let [src, lane, clamp] = [r.src(B32)?, r.src(B32)?, r.src(B32)?];
    Ok(Shuffle {
        mode,
        dst,
        pred,
        src,
        lane,
        clamp,
        unset: [None; 2],
    })
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
    together(r.written(), mask, Vote { mode, dst, src })
}

/// `vote` without `.sync`.
fn vote_of_active(r: &mut Reader) -> Read<Op> {
    let mode = r.need("mode", &VOTES)?;
    let ty = r.only_type(mode.result())?;
    r.operands(2)?;
    let (dst, src) = (r.dst(ty)?, r.flag()?);
    of_active(r, Vote { mode, dst, src })
}

/// `shfl` without `.sync`.
fn shuffle_of_active(r: &mut Reader) -> Read<Op> {
    let shuffle = read_shuffle(r, 4)?;
    of_active(r, shuffle)
}

/// The form without `.sync` of an operation, of the lanes that execute it together: gone since
/// sm_70, where nothing says which these are (PTX ISA, "vote (deprecated)", "shfl (deprecated)").
fn of_active(r: &mut Reader, op: impl Together + 'static) -> Read<Op> {
    let program = r.body.program();
    if program.version >= (6, 4) && program.architecture() >= Some(70) {
        let opcode = r.opcode;
        let message = format!(
            "PTX has no `{opcode}` without `.sync` for sm_70 and higher, from version 6.4 on: write `{opcode}.sync`, whose last operand is the mask of the lanes that take part"
        );
        return Err(Problem::invalid(r.syntax().opcode.pos, message).into());
    }
    r.exchange.threads = true;
    other(OfActive(op))
}

#[derive(Debug)]
struct OfActive<T>(T);

impl<T: Together> Execute for OfActive<T> {
    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        self.0.track(shadow, is_late);
    }

    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let party = Party {
            pc: at.pc,
            active: at.active,
            partners: [at.active; LANES],
            offers: self.0.offers(&warp.registers),
        };
        Together::execute(&self.0, runner, warp, &party)?;
        Ok(Next::Step)
    }
}

fn match_lanes(r: &mut Reader) -> Read<Op> {
    let all = r.need("`.any` or `.all`", &[("any", false), ("all", true)])?;
    let ty = r.ty()?;
    if !matches!(ty, ScalarType::B32 | ScalarType::B64) {
        return Err(r.no_such_type(ty));
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
    together(r.written(), mask, matching)
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
    together(r.written(), mask, redux)
}

fn elect(r: &mut Reader) -> Read<Op> {
    r.operands(2)?;
    let (dst, Some(pred)) = r.pair(B32)? else {
        return Err(r.unsupported("a missing predicate destination"));
    };
    let mask = r.src(B32)?;
    together(r.written(), mask, Elect { dst, pred })
}

#[derive(Debug)]
struct WarpBarrier;

impl Together for WarpBarrier {
    fn is_at_any_place(&self) -> bool {
        true
    }

    fn is_quiet(&self) -> bool {
        true
    }

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
    unset: [Option<(Shadow, Option<Shadow>)>; 2],
}

impl Shuffle {
    /// The rows of the unset bits that count now.
    fn unset(&self, registers: &Registers) -> Option<(Shadow, Option<Shadow>)> {
        let [early, late] = self.unset;
        late.filter(|_| registers.late).or(early)
    }
}

impl Together for Shuffle {
    fn is_at_any_place(&self) -> bool {
        true
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn track(&mut self, shadow: &dyn Fn(Slot) -> Option<Shadow>, is_late: bool) {
        let dst = self.dst.and_then(shadow);
        self.unset[usize::from(is_late)] = dst.map(|dst| (dst, shadow(self.src)));
    }

    fn offers(&self, registers: &Registers) -> Offers {
        let src = self.unset(registers).and_then(|(_, src)| src);
        Offers {
            low: *registers.r32(self.src.row),
            unset: src.map_or([0; LANES], |src| *registers.r32(src.bits.row)),
            origins: src.map_or([0; LANES], |src| *registers.r32(src.origin)),
            ..Offers::default()
        }
    }

    fn execute(
        &self,
        runner: &mut BlockRunner,
        warp: &mut Warp,
        party: &Party,
    ) -> Result<(), Stop> {
        let [selector, clamp] = [self.lane, self.clamp].map(|slot| *warp.registers.r32(slot.row));
        let unset = self.unset(&warp.registers);
        for lane in lanes(party.active) {
            let (source, in_range) =
                shuffle_source(self.mode, lane as u32, selector[lane], clamp[lane]);
            let from = if in_range { source } else { lane as u32 };
            if party.partners[lane] >> from & 1 == 0 && runner.launch.sanitize.barriers {
                let kind = FaultKind::ShuffleFromInactive {
                    lane: from,
                    participants: party.partners[lane],
                };
                return Err(runner.fault(warp.thread(lane), party.pc, kind));
            }
            if let Some(dst) = self.dst {
                warp.registers.r32_mut(dst.row)[lane] = party.offers.low[from as usize];
            }
            if let Some((dst, _)) = unset {
                warp.registers.r32_mut(dst.bits.row)[lane] = party.offers.unset[from as usize];
                warp.registers.r32_mut(dst.origin)[lane] = party.offers.origins[from as usize];
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
    fn is_at_any_place(&self) -> bool {
        true
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn offers(&self, registers: &Registers) -> Offers {
        Offers {
            flags: registers.flag(self.src),
            ..Offers::default()
        }
    }

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        for lane in lanes(party.active) {
            let partners = party.partners[lane];
            let votes = party.offers.flags & partners;
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
    fn is_at_any_place(&self) -> bool {
        true
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn offers(&self, registers: &Registers) -> Offers {
        let values: [u64; LANES] = std::array::from_fn(|lane| registers.lane(self.src, lane));
        Offers {
            low: values.map(|value| value as u32),
            high: values.map(|value| (value >> 32) as u32),
            ..Offers::default()
        }
    }

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        let Offers { low, high, .. } = &party.offers;
        let equals = lanes_that_equal(low, high, party.active);
        for lane in lanes(party.active) {
            let same = equals[lane] & party.partners[lane];
            let agree = same == party.partners[lane];
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
    fn is_at_any_place(&self) -> bool {
        true
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn offers(&self, registers: &Registers) -> Offers {
        Offers {
            low: *registers.r32(self.src.row),
            ..Offers::default()
        }
    }

    fn execute(&self, _: &mut BlockRunner, warp: &mut Warp, party: &Party) -> Result<(), Stop> {
        for lane in lanes(party.active) {
            let members = lanes(party.partners[lane]).map(|lane| party.offers.low[lane]);
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
    fn is_at_any_place(&self) -> bool {
        true
    }

    fn is_quiet(&self) -> bool {
        true
    }

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
