//! The instructions of a function, as far as values go through them.

use ptx::{RegClass, Space};

use super::values::Made;
use crate::counts::InstructionClass;
use crate::registers::Slot;
use crate::unset_values::Spaces;
use crate::unset_values::facts::{Facts, Flow};
use crate::unset_values::shadows::Numbers;

/// Global memory and shared memory.
pub(super) type Memories = [bool; 2];

/// Halves of the widest register.
const WIDEST: u32 = 4;

/// An instruction.
#[derive(Debug)]
pub(super) struct Step {
    /// How it makes its results.
    pub(super) made: Made,
    /// Something depends on its operands, whether its results are used or not.
    pub(super) is_sink: bool,
    pub(super) is_barrier: bool,
    /// The memories that it loads from, and those that may be different after it.
    pub(super) loads: Memories,
    pub(super) changes: Memories,
    pub(super) operands: Vec<usize>,
    /// Halves of registers that each result takes at most, and of each operand what matters.
    pub(super) most_written: u32,
    pub(super) most_read: u32,
    pub(super) guard: Option<usize>,
    pub(super) writes: Vec<usize>,
}

/// The instructions of a function, and the numbers of its registers and constants.
#[derive(Debug)]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// For each register the halves of a 32-bit one that it takes.
    pub(super) halves: Vec<u32>,
    /// Whether a number is that of a constant that differs from lane to lane.
    pub(super) is_of_lane: Vec<bool>,
}

impl Steps {
    pub(super) fn of(
        facts: &[Facts],
        classes: impl Iterator<Item = InstructionClass>,
        (numbers, lane_rows): (Numbers, impl Iterator<Item = Slot>),
        spaces: Spaces,
    ) -> Self {
        let mut halves = vec![0; numbers.count()];
        let steps = facts.iter().zip(classes).map(|(facts, class)| {
            for &slot in facts.writes.iter().flatten() {
                let halves = &mut halves[numbers.of(slot)];
                let own = match slot.class {
                    RegClass::Pred => 0,
                    RegClass::B16 => 1,
                    RegClass::B32 => 2,
                    RegClass::B64 => 4,
                };
                *halves = if *halves == 0 { own } else { own.min(*halves) };
            }
            step(facts, class, numbers, spaces)
        });
        let steps = steps.collect();
        let mut is_of_lane = vec![false; numbers.count()];
        for slot in lane_rows {
            is_of_lane[numbers.of(slot)] = true;
        }
        Self {
            steps,
            halves,
            is_of_lane,
        }
    }
}

fn step(facts: &Facts, class: InstructionClass, numbers: Numbers, spaces: Spaces) -> Step {
    let number = |slot: Slot| numbers.of(slot);
    let space = facts.elements.map(|elements| elements.space);
    let memories = match space.or(facts.word.map(|word| word.space)) {
        // A compiler may keep in registers after all what is in local memory.
        Some(Space::Local | Space::Param | Space::Const) => [false; 2],
        Some(Space::Shared | Space::SharedCluster) => [false, true],
        Some(Space::Global) => [true, false],
        Some(Space::Generic) => [true; 2],
        None => [class != InstructionClass::Load; 2],
    };
    let is_shared = memories != [false; 2];
    let may_be_own = space == Some(Space::Generic) && spaces.has_local;
    let (mut loads, mut changes) = ([false; 2], [false; 2]);
    let (made, is_sink) = match class {
        InstructionClass::Integer | InstructionClass::Move | InstructionClass::Conversion => {
            (Made::Pure, false)
        }
        InstructionClass::Float32 | InstructionClass::Float64 => (Made::Float, false),
        InstructionClass::Load if facts.writes.is_empty() => (Made::Free, true),
        InstructionClass::Load if !is_shared || may_be_own => (Made::Free, false),
        InstructionClass::Load if facts.strength.is_some() => (Made::Once, true),
        InstructionClass::Load => {
            if !facts.elements.is_some_and(|elements| elements.is_constant) {
                loads = memories;
            }
            (Made::Loaded, false)
        }
        InstructionClass::Store => {
            changes = memories;
            (Made::Free, is_shared && !may_be_own)
        }
        InstructionClass::Atomic | InstructionClass::Barrier => {
            changes = memories;
            (Made::Once, true)
        }
        InstructionClass::Warp => (Made::Once, true),
        // A function may be inlined, and then use no argument and return a constant.
        InstructionClass::Control => (Made::Free, matches!(facts.flow, Flow::Table(_))),
        InstructionClass::Other => {
            changes = memories;
            (Made::Free, true)
        }
    };
    let of_elements = facts
        .elements
        .map_or(WIDEST, |elements| match elements.bytes {
            ..=2 => 1,
            3..=4 => 2,
            _ => WIDEST,
        });
    Step {
        made,
        most_written: match class {
            // The upper half may be zero, or be of no use.
            InstructionClass::Integer => 2,
            InstructionClass::Load => of_elements,
            _ => WIDEST,
        },
        most_read: if class == InstructionClass::Store {
            of_elements
        } else {
            WIDEST
        },
        is_sink,
        is_barrier: class == InstructionClass::Barrier,
        loads,
        changes,
        operands: facts.operands().map(number).collect(),
        guard: facts.guard.map(|row| {
            number(Slot {
                class: RegClass::Pred,
                row,
            })
        }),
        writes: facts.writes.iter().flatten().copied().map(number).collect(),
    }
}
