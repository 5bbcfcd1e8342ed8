//! The values of a function, each made at one place: static single assignment.

use super::steps::{Memories, Steps};
use crate::liveness::{Liveness, numbers_of};

/// Entries of the tables that this may take; a function for which they are not enough has no
/// values.
const MAX_ENTRIES: usize = 1 << 21;

/// The number of a value.
pub(super) type Id = u32;
/// The value that takes no register: constants, and all that nothing has set.
pub(super) const FREE: Id = 0;
/// The value of constants that differ from lane to lane, which takes none either.
pub(super) const OF_LANE: Id = 1;

/// The making of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// Again at any time, from no register.
    Free,
    /// From its operands, at any time.
    Pure,
    /// By floating-point arithmetic, also at any time.
    Float,
    /// By a load. Until memory has another version, it may be done later instead.
    Loaded,
    /// There and then alone: atomics, shuffles, volatile loads.
    Once,
    /// Where ways meet: one of its operands, which come from the node's predecessors in order.
    Met,
}

/// A value.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) made: Made,
    /// Halves of a register that it takes; 0 for predicates.
    pub(super) halves: u32,
    /// The node that it is made in, and the position; that of one that is met at the start of its
    /// node is the node's.
    pub(super) node: u32,
    pub(super) at: usize,
    pub(super) operands: Vec<Id>,
    /// Of a load, what it is from, and the versions of global and shared memory.
    pub(super) loads: Memories,
    pub(super) versions: [Id; 2],
}

/// A use that is not a value: by a store, a barrier, an atomic.
#[derive(Debug)]
pub(super) struct Sink {
    pub(super) node: u32,
    pub(super) at: usize,
    pub(super) operands: Vec<Id>,
}

/// A point that values are carried across: a barrier, or the start of a loop's round.
#[derive(Debug)]
pub(super) struct Point {
    pub(super) node: u32,
    /// The position of the first instruction behind it.
    pub(super) at: usize,
    /// It is the start of a round.
    pub(super) is_round: bool,
    /// The values that are live there.
    pub(super) live: Vec<Id>,
    /// The versions of global and shared memory.
    pub(super) versions: [Id; 2],
}

/// The values of a function.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) values: Vec<Value>,
    pub(super) sinks: Vec<Sink>,
    pub(super) points: Vec<Point>,
    pub(super) predecessors: Vec<Vec<u32>>,
    /// Whether a way leads from the node back to it.
    pub(super) starts_rounds: Vec<bool>,
}

/// The numbers of the two memories behind those of registers.
const MEMORIES: [usize; 2] = [0, 1];

struct Builder<'a> {
    code: &'a Steps,
    liveness: &'a Liveness,
    registers: usize,
    done: Values,
    /// The value of each number now, and the node for which it was set.
    now: Vec<(Id, u32)>,
    /// The values at the end of each node, by number.
    ends: Vec<Vec<(u32, Id)>>,
    entries: usize,
}

impl Values {
    /// Those of a function; `None` if it is too large.
    pub(super) fn of(code: &Steps, liveness: &Liveness) -> Option<Self> {
        let nodes = liveness.nodes.len();
        let mut done = Values {
            predecessors: vec![Vec::new(); nodes],
            starts_rounds: vec![false; nodes],
            ..Values::default()
        };
        let registers = code.halves.len();
        let order = order(liveness, &mut done);
        let mut builder = Builder {
            code,
            liveness,
            registers,
            done,
            now: vec![(FREE, u32::MAX); registers + MEMORIES.len()],
            ends: vec![Vec::new(); nodes],
            entries: 0,
        };
        for _ in [FREE, OF_LANE] {
            builder.value(Made::Free, 0, (0, 0), Vec::new());
        }
        let mut met = Vec::new();
        for &node in &order {
            builder.node(node, &mut met)?;
        }
        builder.fill(&met);
        builder.done.simplify();
        Some(builder.done)
    }

    /// Replaces values that are the same wherever ways meet.
    fn simplify(&mut self) {
        let mut same: Vec<Id> = (0..self.values.len() as Id).collect();
        fn find(same: &mut [Id], mut id: Id) -> Id {
            while same[id as usize] != id {
                same[id as usize] = same[same[id as usize] as usize];
                id = same[id as usize];
            }
            id
        }
        loop {
            let mut changed = false;
            for id in 0..self.values.len() as Id {
                if self.values[id as usize].made != Made::Met || find(&mut same, id) != id {
                    continue;
                }
                let mut only = None;
                let mut is_one = true;
                for &operand in &self.values[id as usize].operands {
                    let operand = find(&mut same, operand);
                    is_one &= operand == id || *only.get_or_insert(operand) == operand;
                }
                if is_one {
                    same[id as usize] = only.unwrap_or(FREE);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let mut settle = |ids: &mut [Id]| {
            for id in ids {
                *id = find(&mut same, *id);
            }
        };
        for value in &mut self.values {
            settle(&mut value.operands);
            settle(&mut value.versions);
        }
        for sink in &mut self.sinks {
            settle(&mut sink.operands);
        }
        for point in &mut self.points {
            settle(&mut point.live);
            settle(&mut point.versions);
            point.live.sort_unstable();
            point.live.dedup();
        }
    }
}

/// The nodes that control reaches, each behind a predecessor. Fills the predecessors, and tells
/// where rounds start.
fn order(liveness: &Liveness, values: &mut Values) -> Vec<u32> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        Not,
        Begun,
        Done,
    }
    let mut visits = vec![Visit::Not; liveness.nodes.len()];
    let mut order = Vec::new();
    let mut way = vec![(0_usize, 0_usize)];
    visits[0] = Visit::Begun;
    while let Some(&mut (node, ref mut next)) = way.last_mut() {
        let Some(&successor) = liveness.nodes[node].successors.get(*next) else {
            visits[node] = Visit::Done;
            order.push(node as u32);
            way.pop();
            continue;
        };
        *next += 1;
        values.predecessors[successor].push(node as u32);
        match visits[successor] {
            Visit::Not => {
                visits[successor] = Visit::Begun;
                way.push((successor, 0));
            }
            Visit::Begun => values.starts_rounds[successor] = true,
            Visit::Done => {}
        }
    }
    order.reverse();
    order
}

impl Builder<'_> {
    fn value(&mut self, made: Made, halves: u32, place: (u32, usize), operands: Vec<Id>) -> Id {
        self.done.values.push(Value {
            made,
            halves,
            node: place.0,
            at: place.1,
            operands,
            loads: [false; 2],
            versions: [FREE; 2],
        });
        self.done.values.len() as Id - 1
    }

    fn get(&self, node: u32, number: usize) -> Id {
        let (id, of) = self.now[number];
        match self.code.is_of_lane.get(number) {
            _ if of == node => id,
            Some(true) => OF_LANE,
            _ => FREE,
        }
    }

    fn memories(&self) -> [usize; 2] {
        MEMORIES.map(|memory| self.registers + memory)
    }

    /// Reads a node whose predecessors come before it, except where a round starts. `met` takes the
    /// values that are met, and their numbers.
    fn node(&mut self, node: u32, met: &mut Vec<(Id, u32)>) -> Option<()> {
        let range = self.liveness.nodes[node as usize].instructions.clone();
        let live: Vec<usize> = self.liveness.at_start(node as usize).collect();
        let numbers = live.iter().copied().chain(self.memories());
        match *self.done.predecessors[node as usize] {
            [before] if node != 0 && !self.done.starts_rounds[node as usize] => {
                let end = std::mem::take(&mut self.ends[before as usize]);
                for &(number, id) in &end {
                    self.now[number as usize] = (id, node);
                }
                self.ends[before as usize] = end;
            }
            [] => {
                for number in self.memories() {
                    self.now[number] = (self.value(Made::Once, 0, (node, 0), Vec::new()), node);
                }
            }
            _ => {
                for number in numbers {
                    let halves = self.code.halves.get(number).copied().unwrap_or(0);
                    let id = self.value(Made::Met, halves, (node, range.start), Vec::new());
                    self.now[number] = (id, node);
                    met.push((id, number as u32));
                    self.entries += self.done.predecessors[node as usize].len();
                }
            }
        }
        if self.done.starts_rounds[node as usize] {
            self.point((node, range.start), true, &live);
        }
        let mut barriers = self.live_behind_barriers(node);
        for at in range {
            self.step(node, at);
            if let Some((_, behind)) = barriers.pop_if(|(barrier, _)| *barrier == at) {
                self.point((node, at + 1), false, &behind);
            }
        }
        let live_after = self.liveness.at_end(node as usize);
        let kept = numbers_of(&live_after).chain(self.memories());
        let end = kept.map(|number| (number as u32, self.get(node, number)));
        self.ends[node as usize] = end.filter(|(_, id)| *id != FREE).collect();
        self.entries += self.ends[node as usize].len();
        (self.entries < MAX_ENTRIES).then_some(())
    }

    /// Of each barrier in a node, from the last to the first, its position and what is live behind
    /// it.
    fn live_behind_barriers(&self, node: u32) -> Vec<(usize, Vec<usize>)> {
        let range = self.liveness.nodes[node as usize].instructions.clone();
        let mut behind = Vec::new();
        if !self.code.steps[range.clone()]
            .iter()
            .any(|step| step.is_barrier)
        {
            return behind;
        }
        let mut live = self.liveness.at_end(node as usize);
        for at in range.rev() {
            let step = &self.code.steps[at];
            if step.is_barrier {
                behind.push((at, numbers_of(&live).collect()));
            }
            if step.guard.is_none() {
                for &number in &step.writes {
                    live[number / 64] &= !(1 << (number % 64));
                }
            }
            for &number in step.operands.iter().chain(&step.guard) {
                live[number / 64] |= 1 << (number % 64);
            }
        }
        behind
    }

    fn point(&mut self, place: (u32, usize), is_round: bool, live: &[usize]) {
        let (node, at) = place;
        self.done.points.push(Point {
            node,
            at,
            is_round,
            live: live.iter().map(|&number| self.get(node, number)).collect(),
            versions: self.memories().map(|memory| self.get(node, memory)),
        });
        self.entries += live.len();
    }

    fn step(&mut self, node: u32, at: usize) {
        let code = self.code;
        let step = &code.steps[at];
        let place = (node, at);
        let operands: Vec<Id> = step.operands.iter().map(|&n| self.get(node, n)).collect();
        let guard = step.guard.map(|number| self.get(node, number));
        if step.is_sink || guard.is_some() && step.writes.is_empty() {
            let mut used = if step.is_sink {
                operands.clone()
            } else {
                Vec::new()
            };
            for id in &mut used {
                // The lower half of a register may be stored.
                if *id != FREE && self.done.values[*id as usize].halves > step.most_read {
                    *id = self.value(Made::Pure, step.most_read, place, vec![*id]);
                }
            }
            self.done.sinks.push(Sink {
                node,
                at,
                operands: used.into_iter().chain(guard).collect(),
            });
        }
        let versions = self.memories().map(|memory| self.get(node, memory));
        for &number in &step.writes {
            let halves = code.halves[number].min(step.most_written);
            let mut id = match step.made {
                Made::Free => FREE,
                made => self.value(made, halves, place, operands.clone()),
            };
            if step.made == Made::Loaded {
                let value = &mut self.done.values[id as usize];
                (value.loads, value.versions) = (step.loads, versions);
            }
            if let Some(guard) = guard {
                let choice = vec![id, self.get(node, number), guard];
                id = self.value(Made::Pure, halves, place, choice);
            }
            self.now[number] = (id, node);
        }
        for (memory, changes) in self.memories().into_iter().zip(step.changes) {
            if changes {
                self.now[memory] = (self.value(Made::Once, 0, place, Vec::new()), node);
            }
        }
    }

    /// Fills in the operands of values that are met.
    fn fill(&mut self, met: &[(Id, u32)]) {
        for &(id, number) in met {
            let node = self.done.values[id as usize].node as usize;
            let of = |before: &u32| {
                let end = &self.ends[*before as usize];
                let found = end.binary_search_by_key(&number, |(number, _)| *number);
                found.map_or(FREE, |found| end[found].1)
            };
            let mut operands: Vec<Id> = self.done.predecessors[node].iter().map(of).collect();
            // Control comes to the entry from outside, too.
            operands.extend((node == 0).then_some(FREE));
            self.done.values[id as usize].operands = operands;
        }
    }
}
