//! Random programs, and an oracle that knows every edge and every byte.

use std::collections::BTreeSet;
use std::ops::Range;

use proptest::prelude::*;

use crate::{Chain, Commands, Manners, Moment, Stamp};

/// A step of a program, on one of a few chains.
#[derive(Clone, Debug)]
enum Step {
    Command(usize, Vec<(u8, Range<u64>)>),
    Record(usize, usize),
    Wait(usize, usize),
    WaitFor(usize, usize),
    HostWaitsForEvent(usize),
    HostWaitsFor(usize),
    HostWaitsForAll,
}

const CHAINS: usize = 4;
const EVENTS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    // Ranges that meet often, some of them across pages.
    let range = (4000u64..4200, 1u64..80).prop_map(|(start, count)| start..start + count);
    let access = (0u8..4, range);
    prop_oneof![
        6 => (0..CHAINS, proptest::collection::vec(access, 1..4)).prop_map(|(c, a)| Step::Command(c, a)),
        1 => (0..CHAINS, 0..EVENTS).prop_map(|(c, e)| Step::Record(c, e)),
        1 => (0..CHAINS, 0..EVENTS).prop_map(|(c, e)| Step::Wait(c, e)),
        1 => (0..CHAINS, 0..CHAINS).prop_map(|(c, d)| Step::WaitFor(c, d)),
        1 => (0..EVENTS).prop_map(Step::HostWaitsForEvent),
        1 => (0..CHAINS).prop_map(Step::HostWaitsFor),
        1 => Just(Step::HostWaitsForAll),
    ]
}

fn manner(number: u8) -> Manners {
    [
        Manners::READS,
        Manners::WRITES,
        Manners::READS_STRONGLY,
        Manners::WRITES_STRONGLY,
    ][usize::from(number)]
}

/// A command of the oracle: all commands that are done before it, and what it accesses.
struct Known {
    stamp: Stamp,
    before: BTreeSet<usize>,
    accesses: Vec<(u8, Range<u64>)>,
}

/// Whether two accesses need an order, by the definition.
fn need_order(one: u8, other: u8) -> bool {
    let writes = |manner: u8| manner % 2 == 1;
    let is_strong = |manner: u8| manner >= 2;
    (writes(one) || writes(other)) && !(is_strong(one) && is_strong(other))
}

fn meet(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn conflicts_are_those_of_the_oracle(steps in proptest::collection::vec(step(), 1..60)) {
        let mut commands: Commands<usize> = Commands::default();
        let chains: Vec<Chain> = (0..CHAINS).map(|_| commands.chain()).collect();
        let mut events: Vec<(Moment, BTreeSet<usize>)> =
            vec![(commands.host(), BTreeSet::new()); EVENTS];
        let mut known: Vec<Known> = Vec::new();
        let mut host: BTreeSet<usize> = BTreeSet::new();
        let mut done: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); CHAINS];
        for step in steps {
            match step {
                Step::Command(chain, accesses) => {
                    let number = known.len();
                    done[chain].extend(&host);
                    let before = done[chain].clone();
                    let stamp = commands.begin(chains[chain], &commands.host(), number);
                    for (kind, range) in &accesses {
                        commands.access(stamp, manner(*kind), range.clone());
                    }
                    let conflicts = commands.end().conflicts;
                    for conflict in &conflicts {
                        let earlier = commands.label(conflict.earlier).copied().unwrap();
                        prop_assert_eq!(known[earlier].stamp, conflict.earlier);
                        prop_assert!(!before.contains(&earlier), "{number} is behind {earlier}");
                        let is_true = known[earlier].accesses.iter().any(|(one, range)| {
                            accesses.iter().any(|(other, bytes)| {
                                need_order(*one, *other)
                                    && meet(range, bytes)
                                    && meet(range, &conflict.extent)
                                    && meet(bytes, &conflict.extent)
                            })
                        });
                        prop_assert!(is_true, "{number} and {earlier}: {conflict:?}");
                    }
                    let has_any = known.iter().enumerate().any(|(earlier, other)| {
                        !before.contains(&earlier)
                            && other.accesses.iter().any(|(one, range)| {
                                accesses
                                    .iter()
                                    .any(|(two, bytes)| need_order(*one, *two) && meet(range, bytes))
                            })
                    });
                    prop_assert_eq!(has_any, !conflicts.is_empty(), "command {}", number);
                    done[chain].insert(number);
                    known.push(Known { stamp, before, accesses });
                }
                Step::Record(chain, event) => {
                    events[event] = (commands.moment(chains[chain]), done[chain].clone());
                }
                Step::Wait(chain, event) => {
                    commands.wait(chains[chain], &events[event].0);
                    done[chain].extend(&events[event].1);
                }
                Step::WaitFor(chain, other) => {
                    commands.wait_for(chains[chain], chains[other]);
                    let all = done[other].clone();
                    done[chain].extend(all);
                }
                Step::HostWaitsForEvent(event) => {
                    commands.host_waits(&events[event].0);
                    host.extend(&events[event].1);
                    commands.settle();
                }
                Step::HostWaitsFor(chain) => {
                    commands.host_waits_for(chains[chain]);
                    host.extend(&done[chain]);
                    commands.settle();
                }
                Step::HostWaitsForAll => {
                    for chain in &chains {
                        commands.host_waits_for(*chain);
                    }
                    host.extend(0..known.len());
                    commands.settle();
                    let first = Stamp { chain: chains[0], tick: 1 };
                    prop_assert_eq!(commands.label(first), None);
                }
            }
        }
        // The oracle is closed: a command is behind all that its predecessors are behind.
        for command in &known {
            for earlier in &command.before {
                prop_assert!(known[*earlier].before.is_subset(&command.before));
            }
        }
    }

    /// The chains of a graph are paths: each node of one waits for the one before.
    #[test]
    fn chains_of_a_graph_are_paths(
        behind in proptest::collection::vec(proptest::collection::vec(0usize..40, 0..4), 1..40)
    ) {
        let behind: Vec<Vec<usize>> = { behind.into_iter().enumerate() }
            .map(|(node, waits)| waits.into_iter().filter(|before| *before < node).collect())
            .collect();
        let chains = crate::paths(&behind);
        for chain in 0..behind.len() {
            let nodes: Vec<usize> = (0..behind.len()).filter(|node| chains[*node] == chain).collect();
            for pair in nodes.windows(2) {
                prop_assert!(behind[pair[1]].contains(&pair[0]));
            }
        }
    }
}

/// Strided accesses that do not meet do not conflict, and cost a piece each.
#[test]
fn bytes_that_interleave_do_not_meet() {
    let mut commands: Commands<()> = Commands::default();
    let [one, other] = [commands.chain(), commands.chain()];
    let even = [0x0f0f_0f0f_0f0f_0f0f; 64];
    let odd = even.map(|word: u64| !word);
    for _ in 0..3 {
        for (chain, bits) in [(one, &even), (other, &odd)] {
            let stamp = commands.begin(chain, &commands.host(), ());
            commands.access_bits(stamp, Manners::WRITES, 0x4000, bits);
            assert_eq!(commands.end().conflicts, []);
        }
    }
    let stamp = commands.begin(other, &commands.host(), ());
    commands.access(stamp, Manners::READS, 0x4000..0x4008);
    let conflicts = commands.end().conflicts;
    assert_eq!(conflicts.len(), 1);
    assert_eq!(
        (conflicts[0].extent.clone(), conflicts[0].bytes),
        (0x4000..0x4004, 4)
    );
}

#[test]
fn memory_is_used_between_its_beginning_and_its_end() {
    let mut commands: Commands<&str> = Commands::default();
    let [one, other] = [commands.chain(), commands.chain()];
    let sent = commands.host();
    let make = commands.begin(one, &sent, "make");
    commands.make(make, 0x1000..0x1_0000);
    assert_eq!(commands.end().conflicts, []);
    let early = commands.begin(other, &sent, "early");
    commands.access(early, Manners::READS, 0x2000..0x2004);
    let [conflict] = &commands.end().conflicts[..] else {
        panic!("one conflict")
    };
    assert_eq!(
        (conflict.earlier, conflict.manners),
        (make, Manners::default())
    );
    let end = commands.begin(one, &sent, "end");
    commands.unmake(end, 0x1000..0x1_0000);
    let [late] = &commands.end().conflicts[..] else {
        panic!("one conflict")
    };
    assert_eq!((late.earlier, late.manners), (early, Manners::READS));
    // The address is other memory from then on.
    let again = commands.begin(other, &sent, "again");
    commands.access(again, Manners::WRITES, 0x2000..0x2004);
    assert_eq!(commands.end().conflicts, []);
}

/// Two kernels that tell each other by atomics have no conflict there, but may be ordered.
#[test]
fn strong_accesses_may_see_each_other() {
    let mut commands: Commands<()> = Commands::default();
    let [one, other] = [commands.chain(), commands.chain()];
    let atomic = Manners::READS_STRONGLY | Manners::WRITES_STRONGLY;
    let mut add = |chain| {
        let stamp = commands.begin(chain, &commands.host(), ());
        commands.access(stamp, atomic, 0x1000..0x1004);
        (stamp, commands.end())
    };
    let (first, found) = add(one);
    assert_eq!(found, crate::Found::default());
    let (second, met) = add(other);
    assert_eq!((met.conflicts, met.seen), (vec![], vec![first]));
    let (_, again) = add(one);
    assert_eq!((again.conflicts, again.seen), (vec![], vec![second]));
}

/// A wait for a value in memory is one for its writers, and for all that is before them.
#[test]
fn a_wait_for_a_value_waits_for_its_writer() {
    let mut commands: Commands<()> = Commands::default();
    let [one, other] = [commands.chain(), commands.chain()];
    let sent = commands.host();
    let data = commands.begin(one, &sent, ());
    commands.access(data, Manners::WRITES, 0x1000..0x1100);
    let flag = commands.begin(one, &sent, ());
    commands.access(flag, Manners::WRITES_STRONGLY, 0x5000..0x5004);
    commands.wait_for_writers(other, 0x5000..0x5004);
    let reads = commands.begin(other, &sent, ());
    commands.access(reads, Manners::READS, 0x1000..0x1100);
    assert_eq!(commands.end().conflicts, []);
}

#[test]
fn the_host_conflicts_with_what_it_does_not_know_to_be_done() {
    let mut commands = Commands::default();
    let [one, other] = [commands.chain(), commands.chain()];
    let sent = commands.host();
    let writes = commands.begin(one, &sent, "writes");
    commands.access(writes, Manners::WRITES, 0x1000..0x1800);
    commands.end();
    let reads = commands.begin(other, &sent, "reads");
    commands.access(reads, Manners::READS, 0x3000..0x3800);
    commands.end();
    let found = |known: &Commands<_>, manners, at| {
        let conflicts = known.conflicts_of_host(manners, at..at + 4);
        conflicts
            .into_iter()
            .map(|found| found.earlier)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&commands, Manners::READS, 0x17fe), [writes]);
    assert_eq!(found(&commands, Manners::WRITES, 0x3000), [reads]);
    assert_eq!(found(&commands, Manners::READS, 0x3000), []);
    assert_eq!(found(&commands, Manners::WRITES, 0x1800), []);
    commands.host_waits_for(one);
    assert_eq!(found(&commands, Manners::WRITES, 0x1000), []);
    assert!(commands.is_known(writes) && !commands.is_known(reads));
}
