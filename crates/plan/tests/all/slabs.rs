//! Fields in slabs: who has which planes, and what overlaps.

use std::ops::Range;

use plan::slabs::{Slabs, chunks};
use plan::{Command, Element, LaunchConfig, Plan, View, args};
use proptest::prelude::*;

/// Elements of a plane.
const PITCH: u64 = 3;

fn slabs(devices: u32, walls: u64, computed: u64, halo: u64) -> Slabs {
    let all = computed + 2 * walls;
    Slabs::new(devices, all, walls..walls + computed, halo, "inside").unwrap()
}

/// A plan of some steps with two fields that swap names.
fn stepped(slabs: &Slabs, planes: u64, halo: u64, steps: usize) -> Plan {
    let devices = slabs.devices().end;
    let mut plan = Plan::new("p").with_available_devices(devices);
    let len = (planes * PITCH) as usize;
    let whole = plan.buffer("u", Element::F64, len);
    let mut u = slabs.scatter(&mut plan, whole).unwrap();
    let whole_next = plan.scratch("u_next", Element::F64, len);
    let mut u_next = slabs.scatter(&mut plan, whole_next).unwrap();
    for _ in 0..steps {
        slabs
            .step(&mut plan, &[&u_next], |own, device, some| {
                let around = some.start.saturating_sub(halo)..(some.end + halo).min(planes);
                let args = match device % 2 {
                    0 => args![u.read(device, around), u_next.write(device, some)],
                    _ => args![
                        u.within(device, View::Read, around),
                        u_next.within(device, View::Write, some)
                    ],
                };
                own.launch("step", LaunchConfig::new(1, 1), args)
            })
            .unwrap();
        (u, u_next) = (u_next, u);
    }
    plan.output("u", u.whole());
    plan.check().unwrap();
    plan
}

/// The next values of planes from those around them: anything that depends on all of them.
fn next(u: &[u64], plane: u64, halo: u64) -> u64 {
    let around = plane.saturating_sub(halo)..(plane + halo + 1).min(u.len() as u64);
    around.fold(1, |sum, other| {
        sum.wrapping_mul(31).wrapping_add(u[other as usize])
    })
}

/// Runs such a plan on values of whole planes, in order: what the parts of the output have.
fn run(plan: &Plan, slabs: &Slabs, start: &[u64], halo: u64) -> Vec<u64> {
    let mut memory: Vec<Vec<u64>> = plan
        .buffers()
        .iter()
        .map(|buffer| vec![u64::MAX; (buffer.len / PITCH) as usize])
        .collect();
    // Both fields hold the same in planes that are not computed.
    let is_split = slabs.devices().end > 1;
    let fields: Vec<Vec<usize>> = if is_split {
        plan.all_scattered()
            .iter()
            .map(|scattered| scattered.parts.iter().map(|(id, _)| id.index()).collect())
            .collect()
    } else {
        vec![vec![0], vec![1]]
    };
    for field in &fields {
        for (device, &part) in (0..).zip(field) {
            for (value, plane) in memory[part].iter_mut().zip(slabs.held(device)) {
                *value = start[plane as usize];
            }
        }
    }
    let first_plane = |buffer: usize| {
        let mut parts = fields.iter().flat_map(|field| (0..).zip(field));
        let (device, _) = parts.find(|&(_, &part)| part == buffer).unwrap();
        slabs.held(device).start
    };
    for command in plan.commands() {
        let bounds: Vec<_> = command.bounds(plan.buffers()).collect();
        let [read, written] = &bounds[..] else {
            panic!("a source and a destination")
        };
        let places = |range: &Range<u64>| range.start / PITCH..range.end / PITCH;
        let [from, to] = [read, written].map(|(id, _, _)| id.index());
        match command {
            Command::Copy(_) => {
                for (src, dst) in places(&read.1).zip(places(&written.1)) {
                    memory[to][dst as usize] = memory[from][src as usize];
                }
            }
            _ => {
                let values = memory[from].clone();
                let shift = first_plane(to);
                assert_eq!(shift, first_plane(from));
                let len = start.len() as u64;
                for place in places(&written.1) {
                    let plane = place + shift;
                    // The elements of the field that are read, and no others.
                    let mut u = vec![0; len as usize];
                    for place_read in places(&read.1) {
                        u[(place_read + shift) as usize] = values[place_read as usize];
                    }
                    memory[to][place as usize] = next(&u, plane, halo);
                }
            }
        }
    }
    let output = plan.find_output("u").unwrap();
    let field = match plan.scattered(output) {
        Some(scattered) => scattered.parts.iter().map(|(id, _)| id.index()).collect(),
        None => vec![output.index()],
    };
    let mut result = vec![0; start.len()];
    for (device, part) in (0..).zip(field) {
        for plane in slabs.owned(device) {
            let place = plane - slabs.held(device).start;
            result[plane as usize] = memory[part][place as usize];
        }
    }
    result
}

proptest! {
    #[test]
    fn each_plane_is_owned_once_and_halos_reach_as_far_as_the_stencil(
        (devices, walls, more, halo, are_long) in (1_u32..9, 0_u64..5, 0_u64..40, 1_u64..5, any::<bool>())
    ) {
        let computed = u64::from(devices) + more;
        let all = computed + 2 * walls;
        let slabs = slabs(devices, walls, computed, halo);
        let slabs = if are_long { slabs.with_long_seams() } else { slabs };
        let owned: Vec<u64> = slabs.devices().flat_map(|device| slabs.owned(device)).collect();
        prop_assert_eq!(owned, (0..all).collect::<Vec<_>>());
        for device in slabs.devices() {
            let share = slabs.share(device);
            let len = share.end - share.start;
            prop_assert!(len.abs_diff(computed / u64::from(devices)) <= 1);
            let held = slabs.held(device);
            for plane in share.clone() {
                prop_assert!(held.start <= plane.saturating_sub(halo));
                prop_assert!((plane + halo).min(all - 1) < held.end);
            }
            // Seams and interior are the share, each plane once.
            let mut parts: Vec<u64> = slabs.seams(device).into_iter().flatten().chain(slabs.interior(device)).collect();
            parts.sort_unstable();
            prop_assert_eq!(parts, share.clone().collect::<Vec<_>>());
            // Others have no plane of the interior.
            for other in slabs.devices().filter(|&other| other != device) {
                let theirs = slabs.held(other);
                prop_assert!(slabs.interior(device).all(|plane| !theirs.contains(&plane)));
            }
        }
    }

    #[test]
    fn slabs_compute_what_one_does((devices, more, halo, steps, seed) in (1_u32..7, 0_u64..12, 1_u64..5, 0_usize..4, any::<u64>())) {
        let computed = u64::from(devices) + more;
        let planes = computed + 2;
        let start: Vec<u64> = (0..planes).map(|plane| seed.rotate_left(plane as u32 * 7)).collect();
        let one = slabs(1, 1, computed, halo);
        let expected = run(&stepped(&one, planes, halo, steps), &one, &start, halo);
        let several = slabs(devices, 1, computed, halo);
        prop_assert_eq!(run(&stepped(&several, planes, halo, steps), &several, &start, halo), expected.clone());
        let long = several.clone().with_long_seams();
        prop_assert_eq!(run(&stepped(&long, planes, halo, steps), &long, &start, halo), expected.clone());
        let with_margin = several.with_margin(2);
        prop_assert_eq!(run(&stepped(&with_margin, planes, halo, steps), &with_margin, &start, halo), expected);
    }

    #[test]
    fn chunks_are_the_whole(start in 0_u64..9, len in 0_u64..100, most in 1_u64..40) {
        let chunks: Vec<_> = chunks(start..start + len, most).collect();
        prop_assert_eq!(chunks.len() as u64, len.div_ceil(most));
        prop_assert!(chunks.iter().all(|chunk| chunk.end - chunk.start <= most));
        prop_assert_eq!(chunks.into_iter().flatten().collect::<Vec<_>>(), (start..start + len).collect::<Vec<_>>());
    }
}

#[test]
fn more_devices_than_planes_are_refused() {
    let refused = |devices, planes: u64| {
        let slabs = Slabs::new(devices, planes + 2, 1..planes + 1, 1, "between the walls");
        slabs.unwrap_err().to_string()
    };
    insta::assert_snapshot!(refused(5, 3), @"the solution refuses this problem: 5 devices need a plane each, and there are 3 planes between the walls: use at most 3 devices");
    insta::assert_snapshot!(refused(2, 1), @"the solution refuses this problem: 2 devices need a plane each, and there is 1 plane between the walls: use at most 1 device");
}

/// The commands that a command follows, at once or through others.
fn follows(waits: &[Vec<u32>], command: u32) -> Vec<u32> {
    let mut all = waits[command as usize].clone();
    let mut at = 0;
    while at < all.len() {
        for &before in &waits[all[at] as usize] {
            if !all.contains(&before) {
                all.push(before);
            }
        }
        at += 1;
    }
    all
}

#[test]
fn the_interior_waits_for_no_exchange_around_it() {
    for slabs in [slabs(3, 1, 30, 1), slabs(3, 1, 30, 1).with_long_seams()] {
        interior_waits_for_no_exchange(&slabs);
    }
}

fn interior_waits_for_no_exchange(slabs: &Slabs) {
    let plan = stepped(slabs, 32, 1, 2);
    // A step: seams (1 + 2 + 1), copies (4), interiors (3).
    let kinds: Vec<_> = plan
        .commands()
        .map(|command| matches!(command, Command::Copy(_)))
        .collect();
    let step = [[false; 4].as_slice(), &[true; 4], &[false; 3]].concat();
    assert_eq!(kinds, [step.clone(), step].concat());
    assert_eq!(plan.groups(), [4..8, 15..19]);
    let waits = plan.dependencies();
    for interior in 19..22 {
        // It does not wait for its own step's exchange (15..19) or the last one's (4..8).
        let before = follows(&waits, interior);
        assert!(
            before.iter().all(|command| !(4..8).contains(command)),
            "{before:?}"
        );
        assert!(
            before.iter().all(|command| !(15..19).contains(command)),
            "{before:?}"
        );
    }
    // A seam waits for the halo that it reads.
    assert!(waits[11].iter().any(|command| (4..8).contains(command)));
}

#[test]
fn a_margin_is_held_and_not_sent_and_a_field_may_reach_less_far() {
    let slabs = slabs(2, 0, 20, 3).with_margin(2);
    assert_eq!([slabs.held(0), slabs.held(1)], [0..15, 5..20]);
    let seams: Vec<_> = slabs
        .devices()
        .flat_map(|device| slabs.seams(device))
        .collect();
    assert_eq!(seams, [7..10, 10..13]);
    let mut plan = Plan::new("p").with_available_devices(2);
    let mut field = |name| {
        let whole = plan.scratch(name, Element::F64, 20 * PITCH as usize);
        slabs.scatter(&mut plan, whole).unwrap()
    };
    let (far, near) = (field("far"), field("near").reaching(1));
    slabs.exchange(&mut plan, &[&far, &near]).unwrap();
    let copies = plan.commands().map(|command| match command {
        Command::Copy(copy) => [copy.src_start, copy.dst_start, copy.len].map(|at| at / PITCH),
        other => panic!("{other:?}"),
    });
    // Planes 10..13 of the second slab to the first, and 7..10 of the first to the second; then one
    // plane each.
    let expected = [[5, 10, 3], [7, 2, 3], [5, 10, 1], [9, 4, 1]];
    assert_eq!(copies.collect::<Vec<_>>(), expected);
}

#[test]
fn long_seams_are_a_fifth_of_a_slab_and_at_least_the_halo() {
    let parts = |slabs: &Slabs| (slabs.seams(1), slabs.interior(1));
    let long = slabs(3, 1, 30, 1).with_long_seams();
    assert_eq!(parts(&long), (vec![11..13, 19..21], 13..19));
    let first = long.seams(0);
    assert_eq!((first.len(), first[0].clone()), (1, 9..11));
    assert_eq!(long.interior(0), 1..9);
    let wide = slabs(3, 1, 30, 3).with_long_seams();
    assert_eq!(parts(&wide), (vec![11..14, 18..21], 14..18));
    // Others hold the halo all the same.
    assert_eq!([long.held(0), long.held(1)], [0..12, 10..22]);
    let one = slabs(1, 1, 30, 1).with_long_seams();
    assert_eq!((one.seams(0).len(), one.interior(0)), (0, 1..31));
}

#[test]
fn thin_slabs_have_no_interior() {
    let slabs = slabs(4, 1, 6, 4);
    let plan = stepped(&slabs, 8, 4, 1);
    let launches = plan
        .commands()
        .filter(|command| matches!(command, Command::Launch(_)));
    assert_eq!(launches.count(), 4);
    let seams = slabs.seams(1);
    assert_eq!((seams.len(), seams[0].clone()), (1, 3..5));
    assert!(slabs.interior(1).is_empty());
}

#[test]
fn one_slab_is_the_buffer_itself() {
    let slabs = slabs(1, 1, 6, 1);
    let plan = stepped(&slabs, 8, 1, 3);
    assert!(plan.all_scattered().is_empty());
    assert_eq!(plan.commands().len(), 3);
    assert_eq!(plan.buffers().len(), 2);
}
