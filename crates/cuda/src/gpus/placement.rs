//! Which stream each command of a plan over several devices runs on, and which others it waits for.
//!
//! Commands of a stream run one after another; a command that depends on one of another stream
//! waits for that one's event. A command goes to a stream whose last command it depends on anyway.
//! Streams then add no order of their own, as long as there are enough. Commands that another
//! device waits for are urgent and go to streams of higher priority: a boundary is computed before
//! the inside, however large the inside is.

use super::driver::stream::SideStream;
use device::share::{Role, Share};
use plan::{Command, Plan};

/// The largest number of streams of one device and priority, unless a group of independent launches
/// has more: then it is their number, at most that of [`MAX_STREAMS_OF_GROUPS`].
const MAX_STREAMS: usize = 4;
/// One launch of a group should not wait for another.
const MAX_STREAMS_OF_GROUPS: usize = 8;

/// Where a command runs, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Position in [`Placement::streams`].
    pub stream: usize,
    /// Commands of other streams that it waits for.
    pub waits: Vec<u32>,
    /// The event that is recorded after it, if others wait for it: position in
    /// [`Placement::events`].
    pub event: Option<usize>,
}

/// The use of a side stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SideStreamUse {
    /// Its device, by number among those of this process.
    pub device: u32,
    /// Blocks of its kernels come before those of streams of a larger rank.
    pub rank: u32,
    /// Whether its commands are sends and receives: a device has one stream of these.
    pub is_wire: bool,
}

/// All commands of a plan on streams.
#[derive(Debug, Clone, Default)]
pub struct Placement {
    /// The streams.
    pub streams: Vec<SideStreamUse>,
    /// For each command; `None` for those of other processes.
    pub slots: Vec<Option<Slot>>,
    /// The device of each event. An event serves one command after another: all that wait for the
    /// first are enqueued before the second.
    pub events: Vec<u32>,
}

impl Placement {
    /// Puts this process's commands on streams.
    pub fn new(plan: &Plan, share: &Share) -> Placement {
        let dependencies = plan.dependencies();
        let devices: Vec<u32> = plan
            .commands()
            .map(|command| command.device(plan.buffers()))
            .collect();
        let is_urgent = urgent(plan, &dependencies, &devices);
        let mut placing = Placing {
            most: most_streams(plan),
            ..Placing::default()
        };
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
            let wanted = SideStreamUse {
                device: device - share.own.start,
                rank: if is_wire || is_urgent[position] {
                    0
                } else {
                    SideStream::LAST
                },
                is_wire,
            };
            placing.place(position as u32, wanted, waits);
        }
        let mut placement = placing.placement;
        placement.assign_events(plan);
        placement
    }

    /// Gives an event to each command that others wait for.
    fn assign_events(&mut self, plan: &Plan) {
        let mut last_waiter = vec![None; self.slots.len()];
        for (position, slot) in self.slots.iter().enumerate() {
            for &wait in slot.iter().flat_map(|slot| &slot.waits) {
                last_waiter[wait as usize] = Some(position);
            }
        }
        // Events that no command enqueued from here on waits for, and those that become so with a
        // command.
        let mut free: Vec<usize> = Vec::new();
        let mut freed: Vec<Vec<usize>> = vec![Vec::new(); self.slots.len()];
        // Sends and receives are enqueued before others of their stage.
        for stage in plan.stages() {
            for position in stage.clone() {
                let (Some(last), Some(slot)) = (last_waiter[position], &mut self.slots[position])
                else {
                    continue;
                };
                let device = self.streams[slot.stream].device;
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

/// Which commands another device waits for: copies to one, and what such a command, or one on
/// another device, waits for directly.
fn urgent(plan: &Plan, dependencies: &[Vec<u32>], devices: &[u32]) -> Vec<bool> {
    let mut is_urgent: Vec<bool> = plan
        .commands()
        .zip(devices)
        .map(|(command, &device)| match command {
            Command::Copy(copy) => plan.buffers()[copy.dst.index()].device != device,
            _ => false,
        })
        .collect();
    let is_exchange = is_urgent.clone();
    for (position, waits) in dependencies.iter().enumerate() {
        for &wait in waits {
            let wait = wait as usize;
            // A copy waits for its source, and for the commands that read what it overwrites. Those
            // ran long before.
            is_urgent[wait] |= is_exchange[position] == (devices[wait] == devices[position]);
        }
    }
    is_urgent
}

/// The largest number of streams of one device and priority, except of sends and receives.
fn most_streams(plan: &Plan) -> usize {
    let commands: Vec<Command<'_>> = plan.commands().collect();
    let of_launches = plan.groups().iter().filter(|group| {
        let first = commands[group.start];
        matches!(first, Command::Launch(_))
    });
    let largest = of_launches.map(ExactSizeIterator::len).max();
    largest
        .unwrap_or(0)
        .clamp(MAX_STREAMS, MAX_STREAMS_OF_GROUPS)
}

/// A placement in the making.
#[derive(Default)]
struct Placing {
    placement: Placement,
    /// See [`most_streams`].
    most: usize,
    /// For each stream, the last command on it.
    tails: Vec<u32>,
    /// For each command and stream, how many of the plan's first commands have surely finished on
    /// that stream when the command has.
    clocks: Vec<Vec<u32>>,
}

impl Placing {
    /// Leaves out a command of another process.
    fn pass(&mut self) {
        self.clocks.push(Vec::new());
        self.placement.slots.push(None);
    }

    fn place(&mut self, position: u32, wanted: SideStreamUse, waits: &[u32]) {
        let is_here = |wait: &&u32| self.placement.slots[**wait as usize].is_some();
        let waits: Vec<u32> = waits.iter().filter(is_here).copied().collect();
        let waits = &waits[..];
        let mut clock = Vec::new();
        for &wait in waits {
            merge(&mut clock, &self.clocks[wait as usize]);
        }
        let stream = self.choose(wanted, &clock, waits);
        // Earlier commands of its stream have finished, too.
        let mut before = match self.tails.get(stream) {
            Some(&tail) => self.clocks[tail as usize].clone(),
            None => Vec::new(),
        };
        let mut events = Vec::new();
        for &wait in waits.iter().rev() {
            let slot = self.placement.slots[wait as usize].as_ref();
            let of = slot.expect("a command of this process").stream;
            if before.get(of).copied().unwrap_or(0) <= wait {
                events.push(wait);
                merge(&mut before, &self.clocks[wait as usize]);
            }
        }
        if before.len() <= stream {
            before.resize(stream + 1, 0);
        }
        before[stream] = position + 1;
        if stream == self.placement.streams.len() {
            self.placement.streams.push(wanted);
            self.tails.push(position);
        }
        self.tails[stream] = position;
        self.clocks.push(before);
        self.placement.slots.push(Some(Slot {
            stream,
            waits: events,
            event: None,
        }));
    }

    /// The stream whose last command is the latest that the new one follows anyway; else a new one,
    /// or the one that has been still for longest.
    fn choose(&self, wanted: SideStreamUse, clock: &[u32], waits: &[u32]) -> usize {
        let fitting: Vec<usize> = self
            .placement
            .streams
            .iter()
            .enumerate()
            .filter(|(_, stream)| **stream == wanted)
            .map(|(stream, _)| stream)
            .collect();
        let most = if wanted.is_wire { 1 } else { self.most };
        let followed = fitting.iter().copied().filter(|&stream| {
            let tail = self.tails[stream];
            clock.get(stream).is_some_and(|&until| until > tail)
        });
        let best = followed.max_by_key(|&stream| {
            let tail = self.tails[stream];
            (waits.contains(&tail), tail)
        });
        match best {
            Some(stream) => stream,
            None if fitting.len() < most => self.placement.streams.len(),
            None => { fitting.into_iter() }
                .min_by_key(|&stream| self.tails[stream])
                .expect("there are streams"),
        }
    }
}

/// Raises each entry of a clock to that of another.
fn merge(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, its) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*its);
    }
}
