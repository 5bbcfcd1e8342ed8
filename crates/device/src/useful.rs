//! How much of a plan's results each device computes.
//!
//! A plan is followed from its end to its beginning. At the end the bytes of its outputs count. A
//! launch that stores some that count is useful: what it stores before that does not count, and
//! what it reads does. A copy hands on what counts from where it copies to. So a store counts if a
//! result follows from it, however many buffers, copies and devices lie between; a store that is
//! overwritten, or never read, does not.
//!
//! Where accesses are seen, a launch has *computed* a value of the results if it stores the value,
//! and has not read it: a kernel that only moves what another device has computed has not.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::buffer::NamedBuffers;
use crate::pieces::{Pieces, pieces};
use plan::{BufferId, Command, Plan};

/// The bits of an element, and its bytes.
pub(crate) type Value = (u64, usize);

/// The bytes that launches that run at once read and write of one memory, which has a number of the
/// caller's.
#[derive(Debug, Clone, Default)]
pub(crate) struct Touched {
    pub memory: u64,
    pub read: Vec<Range<u64>>,
    pub written: Vec<Range<u64>>,
    /// Values of the results that are stored and were not read, with where they begin.
    pub computed: Vec<(u64, Value)>,
}

/// Launches that run at once, and what they have touched together.
#[derive(Debug, Clone)]
pub(crate) struct Launched {
    /// Their positions in the plan, in order.
    pub positions: Vec<usize>,
    pub touched: Vec<Touched>,
    /// Whether all of `written` was written for sure.
    pub is_exact: bool,
}

/// How many values of the results devices have computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Computed {
    /// Of each device. A value that two have computed counts for both.
    pub by_device: Vec<u64>,
    /// All together.
    pub all: u64,
}

/// The values of the results that tell who computed them: each is there once, and is not an input.
pub(crate) fn telling(inputs: &NamedBuffers, outputs: &NamedBuffers) -> HashSet<Value> {
    let mut times: HashMap<Value, u32> = HashMap::new();
    for (of, weight) in [(outputs, 1), (inputs, 2)] {
        for (_, buffer) in of {
            for value in values(buffer.bytes(), buffer.element().size()) {
                *times.entry(value).or_default() += weight;
            }
        }
    }
    times.retain(|_, times| *times == 1);
    times.into_keys().collect()
}

/// The elements of this size that some bytes are.
pub(crate) fn values(bytes: &[u8], size: usize) -> impl Iterator<Item = Value> {
    bytes.chunks_exact(size).map(move |element| {
        let mut bits = [0; 8];
        let len = size.min(8);
        bits[..len].copy_from_slice(&element[..len]);
        (u64::from_le_bytes(bits), size)
    })
}

/// Of each device of a plan, the elements that its launches store and a result depends on, each as
/// often as a launch stores it; as far as launches say what they may write. One that says more than
/// it does counts for more.
///
/// # Panics
///
/// If the plan was not checked.
pub fn stated_stores(plan: &Plan) -> Vec<u64> {
    let sizes = sizes(plan);
    let launches = plan
        .commands()
        .enumerate()
        .filter_map(|(position, command)| {
            let Command::Launch(_) = command else {
                return None;
            };
            let touched = command
                .bounds(plan.buffers())
                .map(|(id, elements, may_write)| {
                    let size = sizes[id.index()];
                    let bytes = elements.start * size..elements.end * size;
                    Touched {
                        memory: id.index() as u64,
                        read: vec![bytes.clone()],
                        written: may_write.then_some(bytes).into_iter().collect(),
                        computed: Vec::new(),
                    }
                });
            let launched = Launched {
                positions: vec![position],
                touched: touched.collect(),
                is_exact: false,
            };
            Some((position, launched))
        });
    let launches: HashMap<usize, Launched> = launches.collect();
    let commands: Vec<Command<'_>> = plan.commands().collect();
    let mut stored = vec![0; plan.devices() as usize];
    follow(
        plan,
        &launches,
        |id| id.index() as u64,
        |launched, counting| {
            for touched in &launched.touched {
                // Each memory is a buffer, by its index.
                let size = sizes[touched.memory as usize];
                let useful = touched
                    .written
                    .iter()
                    .flat_map(|range| counting.of(touched.memory, range));
                let elements: u64 = useful.map(|part| (part.end - part.start) / size).sum();
                let launch = &commands[launched.positions[0]];
                let device = launch.device(plan.buffers());
                stored[device as usize] += elements;
            }
        },
    );
    stored
}

/// Of each device the values that its launches have computed and a result depends on. `launches`
/// are by the first of their positions; `memory` is the number of a buffer that has memory.
pub(crate) fn computed(
    plan: &Plan,
    launches: &HashMap<usize, Launched>,
    memory: impl Fn(BufferId) -> u64,
) -> Computed {
    let sizes = sizes(plan);
    let commands: Vec<Command<'_>> = plan.commands().collect();
    let by_memory: HashMap<u64, BufferId> = plan.in_memory().map(|id| (memory(id), id)).collect();
    let mut found = vec![HashSet::new(); plan.devices() as usize];
    follow(plan, launches, memory, |launched, counting| {
        let own: Vec<_> = launched.positions.iter().map(|&of| commands[of]).collect();
        for touched in &launched.touched {
            let Some(&id) = by_memory.get(&touched.memory) else {
                continue;
            };
            for &(at, value) in &touched.computed {
                let element = at / sizes[id.index()];
                if !counting.of(touched.memory, &(at..at + 1)).is_empty()
                    && let Some(device) = storing(&own, id, element, plan)
                {
                    found[device].insert(value);
                }
            }
        }
    });
    let all: HashSet<&Value> = found.iter().flatten().collect();
    Computed {
        all: all.len() as u64,
        by_device: found.iter().map(|values| values.len() as u64).collect(),
    }
}

fn sizes(plan: &Plan) -> Vec<u64> {
    let buffers = plan.buffers().iter();
    buffers.map(|buffer| buffer.element.size() as u64).collect()
}

/// Follows a plan from its end to its beginning, and calls `see` with each launch that is useful,
/// and with what counts after it.
fn follow(
    plan: &Plan,
    launches: &HashMap<usize, Launched>,
    memory: impl Fn(BufferId) -> u64,
    mut see: impl FnMut(&Launched, &Counting),
) {
    let (buffers, sizes) = (plan.buffers(), sizes(plan));
    let mut counting = Counting::default();
    for (_, output) in plan.outputs() {
        for piece in pieces(plan, *output, Pieces::Owned) {
            let bytes = (piece.whole.end - piece.whole.start) as u64;
            counting.add(memory(piece.part), piece.offset..piece.offset + bytes);
        }
    }
    let commands: Vec<Command<'_>> = plan.commands().collect();
    for (position, command) in commands.iter().enumerate().rev() {
        match command {
            Command::Launch(_) => {
                let is_useful = |launched: &&Launched| {
                    let all = launched.touched.iter();
                    let mut written = all.flat_map(|touched| {
                        touched.written.iter().map(|range| (touched.memory, range))
                    });
                    written.any(|(of, range)| !counting.of(of, range).is_empty())
                };
                let useful = launches.get(&position).filter(is_useful);
                let Some(launched) = useful else { continue };
                see(launched, &counting);
                for touched in launched.touched.iter().filter(|_| launched.is_exact) {
                    for range in &touched.written {
                        counting.remove(touched.memory, range);
                    }
                }
                for touched in &launched.touched {
                    for range in &touched.read {
                        counting.add(touched.memory, range.clone());
                    }
                }
            }
            Command::Copy(copy) => {
                let size = sizes[copy.dst.index()];
                let start = copy.dst_start * size;
                let range = start..start + copy.len * size;
                let needed = counting.of(memory(copy.dst), &range);
                counting.remove(memory(copy.dst), &range);
                let from = copy.src_start * size;
                for part in needed {
                    let moved = from + (part.start - start)..from + (part.end - start);
                    counting.add(memory(copy.src), moved);
                }
            }
            Command::Fill(fill) => {
                for part in plan.memory_of(fill.dst) {
                    counting.remove(memory(part), &(0..buffers[part.index()].bytes()));
                }
            }
        }
    }
}

/// The device of the launch that stored an element. Of launches that run at once, whose accesses
/// are known only together, it is the one that may write there, and of several the one where the
/// buffer lives.
fn storing(launches: &[Command<'_>], id: BufferId, element: u64, plan: &Plan) -> Option<usize> {
    let buffers = plan.buffers();
    let device = |launch: &Command<'_>| launch.device(buffers) as usize;
    if let [launch] = launches {
        return Some(device(launch));
    }
    let may = |launch: &&Command<'_>| {
        let mut bounds = launch.bounds(buffers);
        bounds.any(|(of, range, writes)| of == id && writes && range.contains(&element))
    };
    let home = buffers[id.index()].device as usize;
    let mut able = launches.iter().filter(may).map(device);
    let first = able.next()?;
    let at_home = first == home || able.any(|other| other == home);
    Some(if at_home { home } else { first })
}

/// The bytes that count, of each memory: ranges that are apart, by their start.
#[derive(Debug, Default)]
struct Counting(HashMap<u64, BTreeMap<u64, u64>>);

impl Counting {
    fn add(&mut self, memory: u64, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let ranges = self.0.entry(memory).or_default();
        let mut whole = range;
        // Those that it overlaps or meets become one with it.
        while let Some((&start, &end)) = ranges.range(..=whole.end).next_back()
            && end >= whole.start
        {
            ranges.remove(&start);
            whole = whole.start.min(start)..whole.end.max(end);
        }
        ranges.insert(whole.start, whole.end);
    }

    fn remove(&mut self, memory: u64, range: &Range<u64>) {
        let Some(ranges) = self.0.get_mut(&memory) else {
            return;
        };
        while let Some((&start, &end)) = ranges.range(..range.end).next_back()
            && end > range.start
        {
            ranges.remove(&start);
            if end > range.end {
                ranges.insert(range.end, end);
            }
            if start < range.start {
                ranges.insert(start, range.start);
            }
        }
    }

    /// The parts of a range that count, in order.
    fn of(&self, memory: u64, range: &Range<u64>) -> Vec<Range<u64>> {
        let Some(ranges) = self.0.get(&memory) else {
            return Vec::new();
        };
        let before = ranges.range(..range.start).next_back();
        let within = ranges.range(range.start..range.end);
        let cut = before
            .into_iter()
            .chain(within)
            .map(|(&start, &end)| start.max(range.start)..end.min(range.end));
        cut.filter(|part| part.start < part.end).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plan::{Element, LaunchConfig, args};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn idle_devices_and_dead_stores_count_nothing() {
        let mut plan = Plan::new("plan");
        let u = plan.buffer("u", Element::F64, 100);
        let next = plan.scratch("next", Element::F64, 100);
        let idle = plan.scratch_on(1, "idle", Element::F64, 50);
        let late = plan.scratch_on(2, "late", Element::F64, 50);
        let part = plan.scratch_on(3, "part", Element::F64, 40);
        let one = LaunchConfig::new(1, 32);
        plan.launch("step", one, args![idle]).unwrap();
        plan.launch("step", one, args![u.slice(), part]).unwrap();
        plan.launch("step", one, args![u.slice(), next]).unwrap();
        // 40 of its elements are device 3's.
        plan.copy_range(part, 0, next, 60, 40).unwrap();
        plan.launch("step", one, args![next.slice(), late]).unwrap();
        plan.output("u", next);
        assert_eq!(stated_stores(&plan), [60, 0, 0, 40]);
    }

    #[test]
    fn each_iteration_counts() {
        let mut plan = Plan::new("plan");
        let a = plan.buffer("a", Element::F32, 8);
        let b = plan.scratch("b", Element::F32, 8);
        let one = LaunchConfig::new(1, 32);
        for [from, to] in [[a, b], [b, a], [a, b]] {
            plan.launch("step", one, args![from.slice(), to]).unwrap();
        }
        plan.output("a", b);
        assert_eq!(stated_stores(&plan), [24]);
        plan.fill(b, 0).unwrap();
        assert_eq!(stated_stores(&plan), [0]);
    }

    #[test]
    fn values_that_tell_are_new_and_there_once() {
        let inputs = vec![("u".to_owned(), vec![1.0f64, 2.0].into())];
        let outputs = vec![
            ("u".to_owned(), vec![1.0f64, 3.0, 5.0].into()),
            ("v".to_owned(), vec![3.0f64, 4.0].into()),
        ];
        let new = telling(&inputs, &outputs);
        let expected = [4.0f64, 5.0].map(|value| (value.to_bits(), 8));
        assert_eq!(new, HashSet::from(expected));
    }

    proptest! {
        #[test]
        fn ranges_are_sets_of_bytes(
            changes in proptest::collection::vec((any::<bool>(), 0..40u64, 0..12u64), 1..40),
        ) {
            let (mut counting, mut set) = (Counting::default(), BTreeSet::new());
            for (adds, start, len) in changes {
                let range = start..start + len;
                if adds {
                    counting.add(0, range.clone());
                    set.extend(range);
                } else {
                    counting.remove(0, &range);
                    set.retain(|byte| !range.contains(byte));
                }
            }
            for start in 0..52 {
                let found = counting.of(0, &(start..52));
                let bytes: Vec<u64> = found.into_iter().flatten().collect();
                prop_assert_eq!(bytes, set.range(start..).copied().collect::<Vec<_>>());
            }
        }
    }
}
