//! Plans over several devices: where buffers live, what may overlap.

use plan::{Command, Element, LaunchConfig, Part, Plan, PlanError, Rect, args};
use proptest::prelude::*;

const ONE: LaunchConfig = LaunchConfig {
    grid: [1; 3],
    block: [1; 3],
    shared_mem_bytes: 0,
    cluster: [1; 3],
    non_portable_cluster: false,
};

/// A part of rows of 4 elements.
fn part(device: u32, holds: std::ops::Range<u64>, owns: std::ops::Range<u64>) -> Part {
    let rect = |rows| Rect {
        rows,
        columns: 0..4,
    };
    Part {
        device,
        holds: rect(holds),
        owns: rect(owns),
    }
}

#[test]
fn a_launch_runs_where_it_writes() {
    let mut plan = Plan::new("p");
    let here = plan.buffer("here", Element::F32, 8);
    let there = plan.scratch_on(3, "there", Element::F32, 8);
    plan.launch("k", ONE, args![here.slice(), there]).unwrap();
    plan.launch("k", ONE, args![here, there.slice()]).unwrap();
    plan.launch("k", ONE, args![there.slice(), here.slice()])
        .unwrap();
    plan.copy(there, here).unwrap();
    plan.fill(there, 0).unwrap();
    plan.launch("k", ONE, args![here, there.at(1)]).unwrap();
    let devices = plan
        .commands()
        .map(|command| command.device(plan.buffers()));
    assert_eq!(devices.collect::<Vec<_>>(), [3, 0, 3, 3, 3, 0]);
    assert_eq!(plan.devices(), 4);
    assert_eq!([0, 3].map(|device| plan.bytes_on(device)), [32, 32]);
}

#[test]
fn a_scattered_buffer_has_parts() {
    let mut plan = Plan::new("p");
    let whole = plan.buffer("u", Element::F64, 24);
    let parts = [part(0, 0..4, 0..3), part(1, 2..6, 3..6)];
    let ids = plan.scatter(whole, 4, &parts).unwrap();
    assert_eq!(plan.buffers()[ids[1].index()].name, "u.1");
    assert_eq!(plan.buffers()[ids[1].index()].len, 16);
    assert_eq!((plan.bytes_on(0), plan.bytes_on(1)), (128, 128));
    plan.output("u", whole);
    plan.copy_range(ids[0], 8, ids[1], 0, 4).unwrap();
    plan.check().unwrap();
    insta::assert_snapshot!(plan.fill(whole, 0).unwrap_err(), @"plan `p`, command 1 (fill): the destination is `u`, which is scattered over devices; use the part that the device has");
    let saved = serde_json::to_string(&plan).unwrap();
    let loaded: Plan = serde_json::from_str(&saved).unwrap();
    assert_eq!(loaded.buffers(), plan.buffers());
    assert_eq!(loaded.all_scattered()[0].parts[1].1, parts[1]);
    assert!(loaded.scattered(loaded.find_buffer("u").unwrap()).is_some());
    let kept = plan.map(|plan, command| plan.push(command)).unwrap();
    assert_eq!(kept.all_scattered(), plan.all_scattered());
    // A part is no other buffer, of any saved plan.
    let wrong = saved.replace(
        "u.1\",\"element\":\"f64\",\"len\":16",
        "u.1\",\"element\":\"f64\",\"len\":15",
    );
    assert_ne!(wrong, saved);
    insta::assert_snapshot!(serde_json::from_str::<Plan>(&wrong).unwrap_err(), @"plan `p`: buffer `u` cannot be scattered: `u.1` cannot be a part of it");
}

#[test]
fn pieces_of_a_part() {
    let slab = part(0, 2..6, 3..6);
    let pieces: Vec<_> = slab.pieces(&slab.owns, 4).collect();
    assert_eq!(pieces, [(12..24, 4)]);
    let block = Part {
        device: 0,
        holds: Rect {
            rows: 1..3,
            columns: 1..4,
        },
        owns: Rect {
            rows: 1..3,
            columns: 2..4,
        },
    };
    let held: Vec<_> = block.pieces(&block.holds, 4).collect();
    assert_eq!(held, [(5..8, 0), (9..12, 3)]);
    let owned: Vec<_> = block.pieces(&block.owns, 4).collect();
    assert_eq!(owned, [(6..8, 1), (10..12, 4)]);
}

#[test]
fn parts_that_do_not_fit() {
    let tried = |pitch, parts: &[Part]| {
        let mut plan = Plan::new("p");
        let whole = plan.buffer("u", Element::F64, 24);
        plan.scatter(whole, pitch, parts).unwrap_err().to_string()
    };
    let all = [
        tried(5, &[part(0, 0..6, 0..6)]),
        tried(4, &[part(0, 0..4, 0..3)]),
        tried(4, &[part(0, 0..4, 0..4), part(1, 3..6, 3..6)]),
        tried(4, &[part(0, 0..4, 0..5), part(1, 5..6, 5..6)]),
        tried(4, &[part(0, 0..7, 0..6)]),
        tried(4, &[part(0, 0..6, 0..6), part(1, 3..6, 6..6)]),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
plan `p`: buffer `u` cannot be scattered: its 24 elements do not divide into rows of 5
plan `p`: buffer `u` cannot be scattered: its parts own 12 of its 24 elements
plan `p`: buffer `u` cannot be scattered: parts 0 and 1 own the same element
plan `p`: buffer `u` cannot be scattered: part 0 holds rows 0..4 columns 0..4 and owns rows 0..5 columns 0..4, of 6 rows of 4
plan `p`: buffer `u` cannot be scattered: part 0 holds rows 0..7 columns 0..4 and owns rows 0..6 columns 0..4, of 6 rows of 4
plan `p`: buffer `u` cannot be scattered: part 1 owns no element of it
"#);
    let mut plan = Plan::new("p");
    let whole = plan.buffer("u", Element::F64, 24);
    plan.fill(whole, 0).unwrap();
    let one = [part(0, 0..6, 0..6)];
    insta::assert_snapshot!(plan.scatter(whole, 4, &one).unwrap_err(), @"plan `p`: buffer `u` cannot be scattered: a command before names it");
    let far = plan.scratch_on(1 << 16, "far", Element::F64, 1);
    plan.output("far", far);
    assert!(matches!(plan.check(), Err(PlanError::DeviceNumber { .. })));
}

/// Two slabs: each step computes planes at the seam, exchanges them, and computes the rest.
#[test]
fn an_exchange_overlaps_with_the_rest() {
    let mut plan = Plan::new("p");
    let fields: Vec<_> = (0..4)
        .map(|i| plan.scratch_on(i % 2, format!("f{i}"), Element::F64, 10))
        .collect();
    for step in 0..2 {
        let (from, to) = if step == 0 {
            (&fields[..2], &fields[2..])
        } else {
            (&fields[2..], &fields[..2])
        };
        // The halo is element 9 of the first slab and element 0 of the second.
        plan.launch("seam", ONE, args![from[0].slice(), to[0].range(8, 1)])
            .unwrap();
        plan.launch("seam", ONE, args![from[1].slice(), to[1].range(1, 1)])
            .unwrap();
        plan.copy_range(to[0], 8, to[1], 0, 1).unwrap();
        plan.copy_range(to[1], 1, to[0], 9, 1).unwrap();
        plan.launch(
            "rest",
            ONE,
            args![from[0].slice_at(0, 9), to[0].range(0, 8)],
        )
        .unwrap();
        plan.launch(
            "rest",
            ONE,
            args![from[1].slice_at(1, 9), to[1].range(2, 8)],
        )
        .unwrap();
    }
    let waits = plan.dependencies();
    assert_eq!(
        waits[..6],
        [vec![], vec![], vec![0], vec![1], vec![], vec![]]
    );
    // The seam needs the whole of the last step on its device, and the halo.
    assert_eq!(waits[6], [0, 3, 4]);
    assert_eq!(waits[7], [1, 2, 5]);
    // The rest does not wait for the halo.
    assert_eq!(waits[10], [0, 4]);
    assert_eq!(waits[11], [1, 5]);
}

proptest! {
    /// Of two commands that access an element, one of them to write it, the later waits for the
    /// earlier.
    #[test]
    fn conflicts_wait(moves in prop::collection::vec((0_usize..3, 0_u64..8, 0_u64..8, 1_u64..4, 0_usize..4), 1..20)) {
        let mut plan = Plan::new("p");
        let ids: Vec<_> = (0..3).map(|i| plan.scratch_on(i, format!("b{i}"), Element::U32, 12)).collect();
        for (buffer, read, written, len, launches) in moves {
            if launches == 0 {
                plan.copy_range(ids[buffer], read, ids[(buffer + 1) % 3], written, len).unwrap();
            } else {
                // Several are independent, whatever they state.
                let launch = |part: &mut Plan| part.launch("k", ONE, args![ids[buffer].slice_at(read, len), ids[buffer].range(written, len)]);
                plan.independent(|plan| (0..launches).try_for_each(|_| launch(plan))).unwrap();
            }
        }
        let waits = plan.dependencies();
        let commands: Vec<Command<'_>> = plan.commands().collect();
        // Whether each command follows each other one.
        let mut follows: Vec<Vec<bool>> = Vec::new();
        for (late, early_ones) in waits.iter().enumerate() {
            let mut before = vec![false; commands.len()];
            for &early in early_ones {
                prop_assert!((early as usize) < late);
                before[early as usize] = true;
                for (mine, its) in before.iter_mut().zip(&follows[early as usize]) {
                    *mine |= its;
                }
            }
            follows.push(before);
        }
        let stages: Vec<_> = plan.stages().collect();
        let stage_of = |command: usize| stages.iter().position(|stage| stage.contains(&command));
        for late in 0..commands.len() {
            for early in (0..late).filter(|&early| stage_of(early) != stage_of(late)) {
                let conflict = commands[late].bounds(plan.buffers()).any(|(id, range, writes)| {
                    commands[early].bounds(plan.buffers()).any(|(other, others, other_writes)| {
                        id == other && (writes || other_writes) && range.start < others.end && others.start < range.end
                    })
                });
                prop_assert!(!conflict || follows[late][early], "{} does not wait for {}", late, early);
            }
        }
    }
}
