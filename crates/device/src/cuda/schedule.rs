//! On which stream each command of a plan over several devices runs, and which others it waits for.
//!
//! A lane is a stream of a device. Commands of a lane run one after another; where a command depends on one of another lane, it waits for
//! that one's event. A command goes to a lane whose last command it depends on anyway, so that lanes add no order of their own as long as there
//! are enough. What another device waits for is urgent and has lanes of higher priority: a boundary is computed before the inside, however
//! large that is.

use std::ops::Range;

use crate::share::{Role, Share};
use plan::{Command, Plan};

/// The most lanes of one device and priority.
const MOST_LANES: usize = 4;

/// A stream that commands run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Its device, by number among those of this process.
    pub device: u32,
    /// Whether another device waits for its commands.
    pub is_urgent: bool,
    /// Whether its commands are sends and receives: a device has one lane of these.
    pub is_wire: bool,
}

/// Where a command runs, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Position in [`Schedule::lanes`].
    pub lane: usize,
    /// Commands of other lanes that it waits for.
    pub waits: Vec<u32>,
    /// The event that is recorded after it, if others wait for it: position in [`Schedule::events`].
    pub event: Option<usize>,
}

/// All commands of a plan on lanes.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// For each command; `None` for those of other processes.
    pub slots: Vec<Option<Slot>>,
    /// Sends and receives that start together, by positions of their commands, in order and apart: those of a group of independent commands, or one
    /// by itself. Other commands may lie between them.
    pub wires: Vec<Range<u32>>,
    /// The device of each event. An event serves one command after another: all that wait for the first are enqueued before the second.
    pub events: Vec<u32>,
}

impl Schedule {
    /// Puts this process's commands on lanes.
    pub fn new(plan: &Plan, share: &Share) -> Schedule {
        let dependencies = plan.dependencies();
        let devices: Vec<u32> = { plan.commands() }
            .map(|command| command.device(plan.buffers()))
            .collect();
        let is_urgent = urgent(plan, &dependencies, &devices);
        let mut placing = Placing::default();
        let commands = plan.commands().zip(&dependencies).enumerate();
        for (position, (command, waits)) in commands {
            let (device, is_wire) = match share.role(plan, &command) {
                Role::Execute(device) => (device, false),
                Role::Send { from: device, .. } | Role::Receive { to: device, .. } => {
                    (device, true)
                }
                Role::Nothing => {
                    placing.pass();
                    continue;
                }
            };
            let lane = Lane {
                device: device - share.own.start,
                is_urgent: is_wire || is_urgent[position],
                is_wire,
            };
            placing.place(position as u32, lane, waits);
        }
        let mut schedule = placing.schedule;
        schedule.assign_events(plan);
        let is_wire = |position: usize| {
            let slot = schedule.slots[position].as_ref();
            slot.is_some_and(|slot| schedule.lanes[slot.lane].is_wire)
        };
        let stages = plan.stages().map(|stage| {
            let first = stage.clone().find(|&position| is_wire(position));
            first.map(|first| first as u32..stage.end as u32)
        });
        schedule.wires = stages.flatten().collect();
        schedule
    }

    /// Gives an event to each command that others wait for.
    fn assign_events(&mut self, plan: &Plan) {
        let mut last_waiter = vec![None; self.slots.len()];
        for (position, slot) in self.slots.iter().enumerate() {
            for &wait in slot.iter().flat_map(|slot| &slot.waits) {
                last_waiter[wait as usize] = Some(position);
            }
        }
        // Events that no command enqueued from here on waits for, and those that become so with a command.
        let mut free: Vec<usize> = Vec::new();
        let mut freed: Vec<Vec<usize>> = vec![Vec::new(); self.slots.len()];
        // Sends and receives are enqueued before others of their stage.
        for stage in plan.stages() {
            for position in stage.clone() {
                let (Some(last), Some(slot)) = (last_waiter[position], &mut self.slots[position])
                else {
                    continue;
                };
                let device = self.lanes[slot.lane].device;
                let found = free.iter().position(|&event| self.events[event] == device);
                let event = match found {
                    Some(at) => free.swap_remove(at),
                    None => {
                        self.events.push(device);
                        self.events.len() - 1
                    }
                };
                slot.event = Some(event);
                freed[last].push(event);
            }
            for position in stage {
                free.append(&mut freed[position]);
            }
        }
    }
}

/// Which commands another device waits for: copies to one, and what such a command, or one on another device, waits for directly.
fn urgent(plan: &Plan, dependencies: &[Vec<u32>], devices: &[u32]) -> Vec<bool> {
    let mut is_urgent: Vec<bool> = { plan.commands().zip(devices) }
        .map(|(command, &device)| match command {
            Command::Copy(copy) => plan.buffers()[copy.dst.index()].device != device,
            _ => false,
        })
        .collect();
    let is_exchange = is_urgent.clone();
    for (position, waits) in dependencies.iter().enumerate() {
        for &wait in waits {
            let wait = wait as usize;
            // A copy waits for its source, and for whoever read what it overwrites, which was long before.
            is_urgent[wait] |= is_exchange[position] == (devices[wait] == devices[position]);
        }
    }
    is_urgent
}

/// A schedule in the making.
#[derive(Default)]
struct Placing {
    schedule: Schedule,
    /// For each lane, the last command on it.
    tails: Vec<u32>,
    /// For each command and lane, how many of the plan's first commands have surely finished on that lane when the command has.
    clocks: Vec<Vec<u32>>,
}

impl Placing {
    /// Leaves out a command of another process.
    fn pass(&mut self) {
        self.clocks.push(Vec::new());
        self.schedule.slots.push(None);
    }

    fn place(&mut self, position: u32, wanted: Lane, waits: &[u32]) {
        let is_here = |wait: &&u32| self.schedule.slots[**wait as usize].is_some();
        let waits: Vec<u32> = waits.iter().filter(is_here).copied().collect();
        let waits = &waits[..];
        let mut clock = Vec::new();
        for &wait in waits {
            merge(&mut clock, &self.clocks[wait as usize]);
        }
        let lane = self.choose(wanted, &clock, waits);
        // What came before on its lane has finished, too.
        let mut before = match self.tails.get(lane) {
            Some(&tail) => self.clocks[tail as usize].clone(),
            None => Vec::new(),
        };
        let mut events = Vec::new();
        for &wait in waits.iter().rev() {
            let slot = self.schedule.slots[wait as usize].as_ref();
            let of = slot.expect("a command of this process").lane;
            if before.get(of).copied().unwrap_or(0) <= wait {
                events.push(wait);
                merge(&mut before, &self.clocks[wait as usize]);
            }
        }
        if before.len() <= lane {
            before.resize(lane + 1, 0);
        }
        before[lane] = position + 1;
        if lane == self.schedule.lanes.len() {
            self.schedule.lanes.push(wanted);
            self.tails.push(position);
        }
        self.tails[lane] = position;
        self.clocks.push(before);
        self.schedule.slots.push(Some(Slot {
            lane,
            waits: events,
            event: None,
        }));
    }

    /// The lane whose last command is the latest that the new one follows anyway; else a new one, or the one that has been still for longest.
    fn choose(&self, wanted: Lane, clock: &[u32], waits: &[u32]) -> usize {
        let fitting = { self.schedule.lanes.iter().enumerate() }
            .filter(|(_, lane)| **lane == wanted)
            .map(|(lane, _)| lane);
        let fitting: Vec<usize> = fitting.collect();
        let most = if wanted.is_wire { 1 } else { MOST_LANES };
        let followed = fitting.iter().copied().filter(|&lane| {
            let tail = self.tails[lane];
            clock.get(lane).is_some_and(|&until| until > tail)
        });
        let best = followed.max_by_key(|&lane| {
            let tail = self.tails[lane];
            (waits.contains(&tail), tail)
        });
        match best {
            Some(lane) => lane,
            None if fitting.len() < most => self.schedule.lanes.len(),
            None => { fitting.into_iter() }
                .min_by_key(|&lane| self.tails[lane])
                .expect("there are lanes"),
        }
    }
}

/// Raises each entry of a clock to that of another.
fn merge(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, other) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Element;
    use plan::{LaunchConfig, args};

    /// Slabs on two devices, whose seam is computed first and exchanged.
    fn slabs(steps: u32) -> Plan {
        let mut plan = Plan::new("slabs");
        let one = LaunchConfig::new(1, 1);
        let fields: Vec<_> = (0..4)
            .map(|i| plan.scratch_on(i % 2, format!("f{i}"), Element::F64, 10))
            .collect();
        for step in 0..steps as usize {
            let (from, to) = fields.split_at(2);
            let (from, to) = if step % 2 == 0 {
                (from, to)
            } else {
                (to, from)
            };
            for (slab, at) in [(0, 8), (1, 1)] {
                let args = args![from[slab].slice(), to[slab].range(at, 1)];
                plan.launch("seam", one, args).unwrap();
            }
            plan.copy_range(to[0], 8, to[1], 0, 1).unwrap();
            plan.copy_range(to[1], 1, to[0], 9, 1).unwrap();
            for (slab, first) in [(0, 0), (1, 2)] {
                let read = from[slab].slice_at(slab as u64, 9);
                let args = args![read, to[slab].range(first, 8)];
                plan.launch("rest", one, args).unwrap();
            }
        }
        plan
    }

    #[test]
    fn the_seam_is_urgent_and_the_rest_is_not() {
        let schedule = Schedule::new(&slabs(50), &Share::whole(2));
        let slots = schedule.slots[..6].iter().flatten();
        let lanes = slots.map(|slot| schedule.lanes[slot.lane]);
        let lanes: Vec<_> = lanes.map(|lane| (lane.device, lane.is_urgent)).collect();
        assert_eq!(
            lanes,
            [
                (0, true),
                (1, true),
                (0, true),
                (1, true),
                (0, false),
                (1, false)
            ]
        );
        // Few of each serve a run of any length.
        assert!(schedule.lanes.len() <= 8, "{:?}", schedule.lanes);
        assert!(schedule.events.len() <= 24, "{:?}", schedule.events);
        // Of a later step: a seam waits for the other's copy and for the rest, the rest for the seam and no copy.
        let slot = |position: usize| schedule.slots[position].as_ref().unwrap();
        let waits = |step: usize, command: usize| slot(6 * step + command).waits.len();
        for step in 10..50 {
            for command in [0, 1] {
                assert!((1..=3).contains(&waits(step, command)), "{step} {command}");
            }
            for command in [4, 5] {
                assert!(waits(step, command) <= 2, "{step} {command}");
            }
        }
    }

    /// Checks that lanes and events keep the plan's order wherever it matters to this process.
    fn check(plan: &Plan, share: &Share) -> Result<(), TestCaseError> {
        let schedule = Schedule::new(plan, share);
        let mut follows: Vec<Vec<bool>> = Vec::new();
        let mut tails = vec![None; schedule.lanes.len()];
        let mut holds = vec![None; schedule.events.len()];
        for (position, slot) in schedule.slots.iter().enumerate() {
            let mut before = vec![false; schedule.slots.len()];
            let Some(slot) = slot else {
                follows.push(before);
                continue;
            };
            let tail = tails[slot.lane].replace(position);
            for early in slot.waits.iter().map(|&wait| wait as usize).chain(tail) {
                before[early] = true;
                for (mine, its) in before.iter_mut().zip(&follows[early]) {
                    *mine |= its;
                }
            }
            for &wait in &slot.waits {
                let event = schedule.slots[wait as usize]
                    .as_ref()
                    .unwrap()
                    .event
                    .unwrap();
                prop_assert_eq!(holds[event], Some(wait), "the event is another's");
            }
            if let Some(event) = slot.event {
                prop_assert_eq!(schedule.events[event], schedule.lanes[slot.lane].device);
                holds[event] = Some(position as u32);
            }
            follows.push(before);
        }
        for (late, waits) in plan.dependencies().iter().enumerate() {
            let is_here = |position: usize| schedule.slots[position].is_some();
            for &early in waits {
                let both = is_here(late) && is_here(early as usize);
                prop_assert!(
                    !both || follows[late][early as usize],
                    "{} before {}",
                    late,
                    early
                );
            }
        }
        Ok(())
    }

    /// One process with all devices, and two that share them.
    fn shares() -> [Share; 3] {
        let own = |own| Share { own, all: 3 };
        [own(0..3), own(0..1), own(1..3)]
    }

    #[test]
    fn sends_and_receives_of_a_step_start_together() {
        let mut plan = Plan::new("p");
        let [a, b] = [0, 1].map(|i| plan.scratch_on(i, format!("b{i}"), Element::U32, 12));
        let one = LaunchConfig::new(1, 1);
        for _ in 0..2 {
            plan.launch("k", one, args![a]).unwrap();
            let exchange = |plan: &mut Plan| {
                plan.copy_range(a, 1, b, 0, 1)?;
                plan.copy_range(b, 1, a, 0, 1)
            };
            plan.independent(exchange).unwrap();
            plan.copy_range(a, 5, b, 5, 1).unwrap();
        }
        let share = Share { own: 1..2, all: 2 };
        let schedule = Schedule::new(&plan, &share);
        assert_eq!(schedule.wires, [1..3, 3..4, 5..7, 7..8]);
        let here = |position: &usize| schedule.slots[*position].is_some();
        let here: Vec<usize> = (0..8).filter(here).collect();
        assert_eq!(here, [1, 2, 3, 5, 6, 7]);
        assert_eq!(schedule.lanes.len(), 1, "they are all of one wire");
        assert_eq!(Schedule::new(&plan, &Share::whole(2)).wires, []);
    }

    #[test]
    fn slabs_keep_their_order() {
        for share in shares() {
            check(&slabs(40), &share).unwrap();
        }
    }

    proptest! {
        #[test]
        fn whatever_depends_waits(moves in prop::collection::vec((0_usize..4, 0_u64..8, 0_u64..8, 1_u64..4, 0_usize..4), 1..60)) {
            let mut plan = Plan::new("p");
            let ids: Vec<_> = (0..4).map(|i| plan.scratch_on(i % 3, format!("b{i}"), Element::U32, 12)).collect();
            for (buffer, read, written, len, to) in moves {
                if to != buffer {
                    plan.copy_range(ids[buffer], read, ids[to], written, len).unwrap();
                } else {
                    let args = args![ids[(buffer + 1) % 4].slice_at(read, len), ids[buffer].range(written, len)];
                    plan.launch("k", LaunchConfig::new(1, 1), args).unwrap();
                }
            }
            for share in shares() {
                check(&plan, &share)?;
            }
        }
    }
}
