//! The schedule of a plan's streams: a list of actions that is made once, and enqueued in a loop.
//!
//! On one device, commands run one after another on the main stream, and those that the plan
//! records as independent on several streams: a kernel may access more than its arguments state, so
//! that only the plan's author knows what is independent. Over several devices, arguments state
//! every access, and [`Placement`] derives which commands overlap.

use std::ops::Range;

use super::placement::{Placement, SideStreamUse, Slot};
use device::Share;
use plan::{Command, Plan};

/// The largest number of side streams of one device for independent commands. A GPU runs up to 128
/// kernels at once, but few fit it that are worth launching.
const MAX_SIDE_STREAMS: usize = 7;

/// A stream of a schedule: 0 is the main one, the others are side streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamId(usize);

impl StreamId {
    /// The first device's stream, on which runs begin and end.
    pub const MAIN: StreamId = StreamId(0);

    /// The side stream at this position of [`Schedule::side_streams`].
    fn side(position: usize) -> StreamId {
        StreamId(position + 1)
    }

    /// Position in [`Schedule::side_streams`]; `None` for the main stream.
    pub fn side_position(self) -> Option<usize> {
        self.0.checked_sub(1)
    }
}

/// A thing to do with the streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// This many side streams, from the first on, wait for the main stream.
    Fork(usize),
    /// The main stream waits for the side streams that the last fork started.
    Join,
    /// The stream waits for an event, which was recorded after the command of this position.
    Wait {
        stream: StreamId,
        event: usize,
        command: usize,
    },
    /// These commands run one after another on the stream.
    Commands {
        stream: StreamId,
        commands: Range<usize>,
    },
    /// These sends and receives start together, each on its stream.
    Transfers(Vec<(usize, StreamId)>),
    /// The event is recorded on the stream.
    Record { event: usize, stream: StreamId },
}

/// The rank of each of a group's commands: launches of one kernel in one grid, whose blocks take as
/// long, have the same one. A GPU has few ranks.
fn ranks(plan: &Plan, group: Range<usize>) -> impl Iterator<Item = u32> {
    let commands = plan.commands().skip(group.start).take(group.len());
    let commands: Vec<Command<'_>> = commands.collect();
    let is_next = |pair: &[Command<'_>]| match pair {
        [Command::Launch(one), Command::Launch(next)] => {
            (one.kernel_index, one.config) != (next.kernel_index, next.config)
        }
        _ => true,
    };
    let steps: Vec<u32> = commands
        .windows(2)
        .map(|pair| u32::from(is_next(pair)))
        .collect();
    let add = |rank: &mut u32, step| {
        *rank += step;
        Some(*rank)
    };
    [0].into_iter().chain(steps).scan(0, add)
}

/// An action, with the commands of the plan that it belongs to: a group of independent ones, or
/// others in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub commands: Range<usize>,
    pub action: Action,
}

/// The work of all streams for a plan.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    /// The streams beside the main one.
    pub side_streams: Vec<SideStreamUse>,
    /// The device of each event. An event serves one command after another: all that wait for the
    /// first are enqueued before the second.
    pub events: Vec<u32>,
    /// Whether all side streams fork when a run begins, and join when it ends. Otherwise the list
    /// has its own forks and joins.
    pub forks_at_start: bool,
    batches: Vec<Batch>,
    /// The plan's groups of independent commands.
    groups: Vec<Range<usize>>,
}

impl Schedule {
    /// The schedule of this process's streams.
    pub fn new(plan: &Plan, share: &Share) -> Schedule {
        let mut schedule = Schedule {
            groups: plan.groups().to_vec(),
            ..Schedule::default()
        };
        match share.all {
            1 => schedule.follow_plan(plan),
            _ => schedule.follow_placement(plan, Placement::new(plan, share)),
        }
        schedule
    }

    /// One device: the plan's order, except within its groups. There, blocks start in the order of
    /// the launches, and each launch when all blocks of those before it have started: in the order
    /// of their streams' ranks. Without these, a graph starts the last of a group first.
    fn follow_plan(&mut self, plan: &Plan) {
        let len = plan.commands().len();
        let largest = self.groups.iter().max_by_key(|group| group.len());
        let largest = largest.cloned().unwrap_or_default();
        let side_streams = largest.len().saturating_sub(1).min(MAX_SIDE_STREAMS);
        let ranks = ranks(plan, largest);
        self.side_streams = ranks
            .take(side_streams)
            .map(|rank| SideStreamUse {
                device: 0,
                rank,
                is_wire: false,
            })
            .collect();
        let mut at = 0;
        for group in self.groups.clone() {
            self.in_order(at..group.start);
            at = group.end;
            let forked = side_streams.min(group.len().saturating_sub(1));
            if forked == 0 {
                self.in_order(group);
                continue;
            }
            self.push(&group, Action::Fork(forked));
            // The main stream has the last rank.
            let streams = (1..=forked).chain([0]).cycle();
            for (position, stream) in group.clone().zip(streams) {
                let commands = position..position + 1;
                let stream = StreamId(stream);
                self.push(&group, Action::Commands { stream, commands });
            }
            self.push(&group, Action::Join);
        }
        self.in_order(at..len);
    }

    /// Adds commands that run one after another on the main stream.
    fn in_order(&mut self, commands: Range<usize>) {
        if !commands.is_empty() {
            let stream = StreamId::MAIN;
            self.push(&commands.clone(), Action::Commands { stream, commands });
        }
    }

    /// Several devices: each command where and when its slot says.
    fn follow_placement(&mut self, plan: &Plan, placement: Placement) {
        let Placement {
            streams,
            slots,
            events,
        } = placement;
        for stage in plan.stages() {
            let placed: Vec<(usize, &Slot)> = stage
                .clone()
                .filter_map(|position| {
                    let slot = slots[position].as_ref()?;
                    Some((position, slot))
                })
                .collect();
            let is_wire = |(_, slot): &&(usize, &Slot)| streams[slot.stream].is_wire;
            let wires: Vec<(usize, &Slot)> = placed.iter().filter(is_wire).copied().collect();
            for (position, slot) in &placed {
                if !streams[slot.stream].is_wire {
                    let action = Action::Commands {
                        stream: StreamId::side(slot.stream),
                        commands: *position..position + 1,
                    };
                    self.push_placed(&stage, &slots, &[(*position, slot)], action);
                } else if wires[0].0 == *position {
                    // The first of the stage starts all of them.
                    let wire = |&(at, own): &(usize, &Slot)| (at, StreamId::side(own.stream));
                    let action = Action::Transfers(wires.iter().map(wire).collect());
                    self.push_placed(&stage, &slots, &wires, action);
                }
            }
        }
        (self.side_streams, self.events, self.forks_at_start) = (streams, events, true);
    }

    /// Adds an action of placed commands: what they wait for before it, their events after it.
    fn push_placed(
        &mut self,
        stage: &Range<usize>,
        slots: &[Option<Slot>],
        placed: &[(usize, &Slot)],
        action: Action,
    ) {
        for (_, slot) in placed {
            for &command in &slot.waits {
                let command = command as usize;
                let event = slots[command].as_ref().and_then(|awaited| awaited.event);
                let wait = Action::Wait {
                    stream: StreamId::side(slot.stream),
                    event: event.expect("a command that is waited for has an event"),
                    command,
                };
                self.push(stage, wait);
            }
        }
        self.push(stage, action);
        for (_, slot) in placed {
            if let Some(event) = slot.event {
                let stream = StreamId::side(slot.stream);
                self.push(stage, Action::Record { event, stream });
            }
        }
    }

    fn push(&mut self, commands: &Range<usize>, action: Action) {
        self.batches.push(Batch {
            commands: commands.clone(),
            action,
        });
    }

    /// The actions of these commands, in order. The range begins and ends at a
    /// [`Schedule::boundary`]. The first and the last action may have more commands than the range.
    pub fn actions(&self, range: Range<usize>) -> impl Iterator<Item = &Action> {
        let first = self
            .batches
            .partition_point(|batch| batch.commands.end <= range.start);
        self.batches[first..]
            .iter()
            .take_while(move |batch| batch.commands.start < range.end)
            .map(|batch| &batch.action)
    }

    /// Whether the ranks of streams count in a graph: on one device, where they are the order of
    /// a group's launches. Over several, launches at the seams have the first rank; their exchange
    /// is hidden anyway, and blocks that push in front make the others late, by 1 to 3 % of a
    /// timestep on two H200.
    pub fn has_priorities_in_graphs(&self) -> bool {
        !self.forks_at_start
    }

    /// The group of independent commands that a command belongs to.
    pub fn group_of(&self, position: usize) -> Option<&Range<usize>> {
        let after = self.groups.partition_point(|group| group.start <= position);
        let group = self.groups.get(after.checked_sub(1)?)?;
        group.contains(&position).then_some(group)
    }

    /// Where the plan can be parted: this position, or the end of the group that it would part.
    pub fn boundary(&self, position: usize) -> usize {
        match self.group_of(position) {
            Some(group) if group.start < position => group.end,
            _ => position,
        }
    }
}

#[cfg(test)]
mod tests;
