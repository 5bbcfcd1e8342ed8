//! Control flow within a function, and the ends of threads: `bra`, `brx`, `exit`, `trap`, `brkpt`,
//! `nanosleep`, `griddepcontrol`, `pmevent`.

use std::sync::Arc;

use ptx::{Name, OperandKind, ScalarType};

use crate::counts::InstructionClass;
use crate::fault::{FaultKind, Stop};
use crate::read::{Read, Reader, other};
use crate::registers::{Slot, lanes, lanes_where};
use crate::runner::{At, BlockRunner, Execute, Next, Op};
use crate::unset_values::facts::{Flow, Rule};
use crate::warp::{Frame, Group, PATIENCE, Warp};

/// `bra`, `brx`, `exit`, `trap`, `brkpt`.
pub(super) fn read(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Control;
    let is_uniform = r.has("uni");
    match r.opcode {
        "bra" => {
            r.operands(1)?;
            let label = name(r, "a label")?;
            let label = r.body.label(label)?;
            r.flow = Flow::Branch(label);
            let target = r.function.entry + label;
            return Ok(Op::Branch { target });
        }
        "brx" => {
            if !r.has("idx") {
                return Err(r.missing("`.idx`"));
            }
            r.operands(2)?;
            let index = r.src(ScalarType::U32)?;
            let table = name(r, "a branch table")?;
            let targets = r.body.branch_table(table)?;
            (r.flow, r.rule) = (Flow::Table(targets.clone()), Rule::Strict);
            return other(BranchTable {
                index,
                entry: r.function.entry,
                targets,
            });
        }
        _ if is_uniform => return Err(r.unsupported("modifier `.uni`")),
        _ => r.operands(0)?,
    }
    match r.opcode {
        "exit" => {
            r.flow = Flow::End;
            other(Exit)
        }
        "trap" => {
            r.flow = Flow::End;
            other(Trap)
        }
        _ => other(Breakpoint),
    }
}

/// `nanosleep`.
pub(super) fn sleep(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let ty = r.only_type(ScalarType::U32)?;
    r.operands(1)?;
    r.src(ty)?;
    other(Sleep)
}

/// `griddepcontrol`: no launch starts before the one before it has ended, so that nothing is left
/// to wait for.
pub(super) fn grid_dependency(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    r.need("action", &[("wait", ()), ("launch_dependents", ())])?;
    r.operands(0)?;
    other(Nothing)
}

/// `pmevent`: events are for a profiler, and there is none.
///
/// PTX ISA 9.7.19.3: `a` is an event from 0 to 15, and `.mask` takes 16 bits, one for each.
pub(super) fn profiler_event(r: &mut Reader) -> Read<Op> {
    r.class = InstructionClass::Other;
    let greatest = if r.has("mask") { 0xffff } else { 15 };
    r.operands(1)?;
    if r.constant()? > greatest {
        return Err(r.unsupported(&format!("an event above {greatest}")));
    }
    other(Nothing)
}

#[derive(Debug)]
struct Nothing;

impl Execute for Nothing {
    fn execute(&self, _: &mut BlockRunner, _: &mut Warp, _: At) -> Result<Next, Stop> {
        Ok(Next::Step)
    }
}

fn name<'a>(r: &mut Reader<'_, '_, 'a>, expected: &'static str) -> Read<Name<'a>> {
    let operand = r.operand()?;
    match operand.kind {
        OperandKind::Name(text, None) => Ok(Name {
            text,
            pos: operand.pos,
        }),
        _ => Err(r.unexpected(operand, expected)),
    }
}

/// `brx.idx`: to `targets[index]`, counted from the function's entry.
#[derive(Debug)]
struct BranchTable {
    index: Slot,
    entry: u32,
    targets: Arc<[u32]>,
}

impl Execute for BranchTable {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let At { group, pc, active } = at;
        let entries: [u32; 32] =
            std::array::from_fn(|lane| warp.registers.lane(self.index, lane) as u32);
        let target = |lane: usize| {
            let target = self.targets.get(entries[lane] as usize);
            target.map(|target| self.entry + target)
        };
        let is_whole = active == warp.groups[group].mask;
        let first = active.trailing_zeros() as usize;
        if let Some(only) = target(first)
            && is_whole
            && lanes(active).all(|lane| entries[lane] == entries[first])
        {
            warp.groups[group].pc = only;
            return Ok(Next::Choose);
        }
        let (mut rest, mut parts) = (active, 0);
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            let Some(taken) = target(lane) else {
                let kind = FaultKind::BadBranchTable {
                    index: entries[lane],
                    entries: self.targets.len() as u32,
                };
                return Err(runner.fault(warp.thread(lane), pc, kind));
            };
            let same = lanes_where(rest, |each| target(each) == Some(taken));
            rest &= !same;
            parts += 1;
            warp.split(group, same, taken, pc + 1);
        }
        if is_whole {
            warp.groups.swap_remove(group);
        }
        if parts > 1 || !is_whole {
            runner.tallies.execution(pc).divergent += 1;
        }
        Ok(Next::Choose)
    }
}

/// The end of the thread.
#[derive(Debug)]
struct Exit;

impl Execute for Exit {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        runner.exit(warp, at.group, at.active)?;
        Ok(Next::Choose)
    }
}

/// The launch fails.
#[derive(Debug)]
struct Trap;

impl Execute for Trap {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        let pc = blamed(runner, warp, at.group);
        Err(runner.fault(warp.first_thread(at.active), pc, FaultKind::Trap))
    }
}

/// The position that helps a user: a group's own, or, in a function of a library (a panic), that of
/// the innermost call outside.
pub(super) fn blamed(runner: &BlockRunner, warp: &Warp, group: usize) -> u32 {
    let infos = &runner.launch.code.infos;
    let Group {
        mut pc, mut frame, ..
    } = warp.groups[group];
    while frame != 0 && infos[pc as usize].position.is_in_library() {
        let Frame {
            call_pc, parent, ..
        } = warp.frames[frame as usize];
        (pc, frame) = (call_pc, parent);
    }
    pc
}

/// A breakpoint: without a debugger attached the launch fails.
#[derive(Debug)]
struct Breakpoint;

impl Execute for Breakpoint {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, at: At) -> Result<Next, Stop> {
        Err(runner.fault(warp.first_thread(at.active), at.pc, FaultKind::Breakpoint))
    }
}

/// Lets others go first.
#[derive(Debug)]
struct Sleep;

impl Execute for Sleep {
    fn execute(&self, runner: &mut BlockRunner, warp: &mut Warp, _: At) -> Result<Next, Stop> {
        runner.note_poll(warp, PATIENCE);
        Ok(Next::Step)
    }

    fn is_quiet(&self) -> bool {
        true
    }
}
