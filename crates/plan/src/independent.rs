//! Commands that are recorded as independent: what is wrong if they are not, and the check of
//! copies and fills, which say themselves what they access. The accesses of kernels are known only
//! when they run: the emulated device checks them.

use std::ops::Range;

use crate::{BufferId, Dependence, Plan};

/// The effect of a command on an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Does {
    /// Its position in the plan.
    pub command: usize,
    /// Whether it writes the element; else it reads it.
    pub writes: bool,
}

impl Plan {
    /// The fault of two commands that access an element of the buffer of this name, one of them to
    /// write it.
    pub fn dependence(&self, buffer: &str, element: u64, one: Does, other: Does) -> Dependence {
        let mut both = [one, other];
        both.sort_by_key(|does| does.command);
        Dependence {
            plan: self.name().to_owned(),
            commands: both.map(|does| self.describe(does.command)),
            buffer: buffer.to_owned(),
            element,
            writes: both.map(|does| does.writes),
        }
    }
}

/// Elements that a command surely reads or writes.
#[derive(Clone, Copy)]
struct Access {
    buffer: BufferId,
    start: u64,
    end: u64,
    does: Does,
}

/// Checks that of the copies and fills in this range none writes what another reads or writes.
pub(crate) fn check(plan: &Plan, range: Range<usize>) -> Result<(), Box<Dependence>> {
    let commands = plan
        .commands()
        .enumerate()
        .skip(range.start)
        .take(range.len());
    let mut accesses: Vec<Access> = commands
        .flat_map(|(command, moved)| {
            let moved = moved.moved(plan.buffers());
            moved.map(move |(buffer, elements, writes)| Access {
                buffer,
                start: elements.start,
                end: elements.end,
                does: Does { command, writes },
            })
        })
        .collect();
    accesses.sort_by_key(|access| (access.buffer.index, access.start));
    for of_buffer in accesses.chunk_by(|a, b| a.buffer == b.buffer) {
        let (mut any, mut writing) = (Farthest::default(), Farthest::default());
        for access in of_buffer {
            let before = if access.does.writes { &any } else { &writing };
            if let Some(earlier) = before.meeting(access) {
                let buffer = &plan.buffers()[access.buffer.index()].name;
                let dependence = plan.dependence(buffer, access.start, earlier.does, access.does);
                return Err(Box::new(dependence));
            }
            any.add(*access);
            if access.does.writes {
                writing.add(*access);
            }
        }
    }
    Ok(())
}

/// The accesses of two commands that reach farthest: one that begins later meets some other
/// command's if it meets one of them.
#[derive(Default)]
struct Farthest([Option<Access>; 2]);

impl Farthest {
    fn add(&mut self, access: Access) {
        let end = |known: &Option<Access>| known.map_or(0, |known| known.end);
        let [first, second] = &mut self.0;
        let is_same = |known: &Option<Access>| {
            known.is_some_and(|known| known.does.command == access.does.command)
        };
        let slot = match (is_same(first), is_same(second)) {
            (true, _) => first,
            (_, true) => second,
            _ if end(first) <= end(second) => first,
            _ => second,
        };
        if end(slot) < access.end {
            *slot = Some(access);
        }
    }

    fn meeting(&self, access: &Access) -> Option<Access> {
        let meets =
            |known: &Access| known.does.command != access.does.command && known.end > access.start;
        self.0.into_iter().flatten().find(meets)
    }
}
