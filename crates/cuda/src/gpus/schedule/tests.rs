use proptest::prelude::*;

use super::*;
use device::Element;
use device::share::Role;
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
    let placement = Placement::new(&slabs(50), &Share::whole(2));
    let slots = placement.slots[..6].iter().flatten();
    let streams: Vec<_> = slots
        .map(|slot| placement.streams[slot.stream])
        .map(|stream| (stream.device, stream.rank == 0))
        .collect();
    assert_eq!(
        streams,
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
    assert!(placement.streams.len() <= 8, "{:?}", placement.streams);
    assert!(placement.events.len() <= 24, "{:?}", placement.events);
    // Of a later step: a seam waits for the other's copy and for the rest, the rest for the seam
    // and no copy.
    let slot = |position: usize| placement.slots[position].as_ref().unwrap();
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

/// Runs a part of a plan as its streams would, and checks that they keep the plan's order wherever
/// it matters to this process. Gives the commands that each command follows.
fn check(
    plan: &Plan,
    share: &Share,
    range: Range<usize>,
) -> Result<Vec<Option<Vec<bool>>>, TestCaseError> {
    let schedule = Schedule::new(plan, share);
    let (side_streams, len) = (schedule.side_streams.len(), plan.commands().len());
    let nothing = vec![false; len];
    let also = |all: &mut Vec<bool>, more: &[bool]| {
        for (mine, its) in all.iter_mut().zip(more) {
            *mine |= its;
        }
    };
    // The commands that a stream follows, and its last ones. The main one follows all before the
    // part.
    let mut streams = vec![(nothing.clone(), Vec::new()); 1 + side_streams];
    streams[0].0[..range.start].fill(true);
    let mut events = vec![(nothing.clone(), Vec::new()); schedule.events.len()];
    let mut follows: Vec<Option<Vec<bool>>> = vec![None; len];
    let fork = schedule
        .forks_at_start
        .then_some(Action::Fork(side_streams));
    let join = schedule.forks_at_start.then_some(Action::Join);
    let mut forked = 0;
    let actions = fork
        .iter()
        .chain(schedule.actions(range.clone()))
        .chain(&join);
    for action in actions {
        match action {
            Action::Fork(number) => {
                prop_assert_eq!(forked, 0);
                forked = *number;
                let main = streams[0].0.clone();
                for (side, _) in &mut streams[1..=forked] {
                    also(side, &main);
                }
            }
            Action::Join => {
                for side in 1..=std::mem::take(&mut forked) {
                    let side = streams[side].0.clone();
                    also(&mut streams[0].0, &side);
                }
            }
            Action::Wait { command, .. } if *command < range.start => {}
            Action::Wait {
                stream,
                event,
                command,
            } => {
                prop_assert!(events[*event].1.contains(command), "the event is another's");
                let event = events[*event].0.clone();
                also(&mut streams[stream.0].0, &event);
            }
            Action::Commands { stream, commands } => {
                let commands = commands.start.max(range.start)..commands.end.min(range.end);
                let (follow, last) = &mut streams[stream.0];
                for command in commands {
                    prop_assert!(stream.0 <= forked, "the stream has not forked");
                    prop_assert!(follows[command].is_none(), "it is enqueued twice");
                    follows[command] = Some(follow.clone());
                    follow[command] = true;
                    *last = vec![command];
                }
            }
            Action::Transfers(wires) => {
                for (_, stream) in wires {
                    prop_assert!(stream.0 <= forked, "the stream has not forked");
                    streams[stream.0].1.clear();
                }
                for (command, stream) in wires {
                    prop_assert!(follows[*command].is_none(), "it is enqueued twice");
                    follows[*command] = Some(streams[stream.0].0.clone());
                    streams[stream.0].1.push(*command);
                }
                for (command, stream) in wires {
                    streams[stream.0].0[*command] = true;
                }
            }
            Action::Record { event, stream } => {
                let device = match stream.side_position() {
                    None => 0,
                    Some(side) => schedule.side_streams[side].device,
                };
                prop_assert_eq!(schedule.events[*event], device);
                events[*event] = streams[stream.0].clone();
            }
        }
    }
    prop_assert_eq!(forked, 0, "the main stream waits for all");
    for (late, (command, waits)) in plan.commands().zip(plan.dependencies()).enumerate() {
        let is_here = range.contains(&late) && share.role(plan, &command) != Role::Nothing;
        prop_assert_eq!(follows[late].is_some(), is_here);
        let Some(followed) = &follows[late] else {
            continue;
        };
        prop_assert!(streams[0].0[late], "the main stream waits for all");
        for early in waits {
            let early = early as usize;
            let matters = early < range.start || follows[early].is_some();
            prop_assert!(!matters || followed[early], "{} before {}", late, early);
        }
    }
    Ok(follows)
}

#[test]
fn independent_launches_of_several_devices_do_not_wait_for_each_other() {
    // Each launch states the whole buffer. Launches of the next group wait for all of them.
    let mut plan = Plan::new("p");
    let ids: Vec<_> = (0..3)
        .map(|i| plan.scratch_on(i, format!("b{i}"), Element::F32, 10))
        .collect();
    let launch = |to: &mut Plan, id| to.launch("k", LaunchConfig::new(1, 1), args![id]);
    for _ in 0..3 {
        for &id in &ids {
            let group = |to: &mut Plan| (0..7).try_for_each(|_| launch(to, id));
            plan.independent(group).unwrap();
        }
    }
    let follows = check(&plan, &Share::whole(3), 0..63).unwrap();
    for (number, stage) in plan.stages().enumerate() {
        for command in stage.clone() {
            let follow = follows[command].as_ref().unwrap();
            assert!(!follow[stage.clone()].contains(&true), "{command}");
            if let Some(before) = number.checked_sub(3) {
                assert!(!follow[7 * before..7 * before + 7].contains(&false));
            }
        }
    }
}

/// Launches one after another, and groups of `lens` independent ones after every second.
fn groups(lens: &[usize]) -> Plan {
    let mut plan = Plan::new("groups");
    let u = plan.buffer("u", Element::F32, 10);
    let launch = |to: &mut Plan| to.launch("k", LaunchConfig::new(1, 1), args![u]);
    for &len in lens {
        for _ in 0..2 {
            launch(&mut plan).unwrap();
        }
        let group = |to: &mut Plan| (0..len).try_for_each(|_| launch(to));
        plan.independent(group).unwrap();
    }
    launch(&mut plan).unwrap();
    plan
}

#[test]
fn one_device_has_one_stream_except_for_groups() {
    let plan = |lens: &[usize]| {
        let plan = groups(lens);
        let schedule = Schedule::new(&plan, &Share::whole(1));
        let actions: Vec<Action> = schedule
            .actions(0..plan.commands().len())
            .cloned()
            .collect();
        (schedule, actions)
    };
    let commands = |stream: usize, commands| Action::Commands {
        stream: StreamId(stream),
        commands,
    };
    let (schedule, actions) = plan(&[]);
    assert_eq!(actions, [commands(0, 0..1)]);
    assert_eq!(schedule.side_streams, []);
    let (of_two, two_groups) = plan(&[3, 2]);
    let expected = [
        commands(0, 0..2),
        Action::Fork(2),
        commands(1, 2..3),
        commands(2, 3..4),
        commands(0, 4..5),
        Action::Join,
        commands(0, 5..7),
        Action::Fork(1),
        commands(1, 7..8),
        commands(0, 8..9),
        Action::Join,
        commands(0, 9..10),
    ];
    assert_eq!(two_groups, expected);
    assert_eq!(
        (of_two.side_streams.len(), &of_two.events[..]),
        (2, &[][..])
    );
    assert!(!of_two.forks_at_start);
    // A part of the first commands, and one from a group on.
    assert_eq!(of_two.actions(1..2).collect::<Vec<_>>(), [&expected[0]]);
    assert!(of_two.actions(2..6).eq(&expected[1..7]));
    let (many, of_many) = plan(&[20]);
    assert_eq!(many.side_streams.len(), MAX_SIDE_STREAMS);
    assert_eq!(of_many[1 + MAX_SIDE_STREAMS + 2], commands(1, 10..11));
}

#[test]
fn launches_of_a_group_start_in_their_order() {
    let mut plan = Plan::new("p");
    let u = plan.buffer("u", Element::F32, 10);
    let launches = [
        ("deep", 9),
        ("top", 4),
        ("top", 4),
        ("top", 2),
        ("end", 2),
        ("end", 2),
    ];
    let group = |to: &mut Plan| {
        launches.iter().try_for_each(|&(kernel, blocks)| {
            to.launch(kernel, LaunchConfig::new(blocks, 32), args![u])
        })
    };
    plan.independent(group).unwrap();
    let schedule = Schedule::new(&plan, &Share::whole(1));
    let ranks: Vec<u32> = schedule
        .side_streams
        .iter()
        .map(|stream| stream.rank)
        .collect();
    // The last one is on the main stream, which comes after all others.
    assert_eq!(ranks, [0, 1, 1, 2, 3]);
}

#[test]
fn groups_follow_what_is_before_them_and_nothing_of_themselves() {
    let plan = groups(&[2, 5, 1, 9, 3]);
    let len = plan.commands().len();
    let share = Share::whole(1);
    let stages: Vec<Range<usize>> = plan.stages().collect();
    for range in [0..len, 2..len, 4..11, 1..6] {
        let follows = check(&plan, &share, range.clone()).unwrap();
        for stage in stages.iter().filter(|stage| range.contains(&stage.start)) {
            for command in stage.clone() {
                let follow = follows[command].as_ref().expect("it is in the part");
                assert!(follow[..stage.start].iter().all(|is_behind| *is_behind));
                let sooner = stage.start..command;
                let alone = |other: &usize| !(command - other).is_multiple_of(1 + MAX_SIDE_STREAMS);
                assert!(
                    sooner.filter(alone).all(|other| !follow[other]),
                    "{command}"
                );
            }
        }
    }
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
        let exchange = |to: &mut Plan| {
            to.copy_range(a, 1, b, 0, 1)?;
            to.copy_range(b, 1, a, 0, 1)
        };
        plan.independent(exchange).unwrap();
        plan.copy_range(a, 5, b, 5, 1).unwrap();
    }
    let share = Share { own: 1..2, all: 2 };
    let schedule = Schedule::new(&plan, &share);
    let all = 0..plan.commands().len();
    let transfers = |of_plan: &Schedule| -> Vec<Vec<usize>> {
        let of_action = |action: &Action| match action {
            Action::Transfers(wires) => Some(wires.iter().map(|(command, _)| *command).collect()),
            _ => None,
        };
        of_plan.actions(all.clone()).filter_map(of_action).collect()
    };
    let started: [&[usize]; 4] = [&[1, 2], &[3], &[5, 6], &[7]];
    assert_eq!(transfers(&schedule), started);
    let launches = |action: &Action| matches!(action, Action::Commands { .. });
    assert!(
        !schedule.actions(all.clone()).any(launches),
        "those are the other process's"
    );
    assert_eq!(schedule.side_streams.len(), 1, "they are all of one wire");
    let one_process = Schedule::new(&plan, &Share::whole(2));
    assert_eq!(transfers(&one_process), [[0; 0]; 0]);
}

#[test]
fn ranks_count_in_graphs_of_one_device() {
    let plan = slabs(2);
    let has_priorities = |devices| {
        let schedule = Schedule::new(&plan, &Share::whole(devices));
        schedule.has_priorities_in_graphs()
    };
    assert_eq!([1, 2].map(has_priorities), [true, false]);
}

#[test]
fn slabs_keep_their_order() {
    let plan = slabs(40);
    for share in shares() {
        for range in [0..240, 0..1, 6..12, 100..239] {
            check(&plan, &share, range).unwrap();
        }
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
        let len = plan.commands().len();
        for share in shares() {
            check(&plan, &share, 0..len)?;
            check(&plan, &share, len / 3..len)?;
        }
    }
}
