//! Fields in blocks of planes and rows: who has what, and what is sent.

use std::ops::Range;

use plan::slabs::{Blocks, Work};
use plan::{Arg, Command, Element, LaunchConfig, Plan, Rect, args};
use proptest::prelude::*;

const ONE: LaunchConfig = LaunchConfig {
    grid: [1; 3],
    block: [1; 3],
    shared_mem_bytes: 0,
    cluster: [1; 3],
    non_portable_cluster: false,
};

/// A plan of some steps in blocks of a field of these planes and rows, the outermost of which are walls; rows have one element. Launches end
/// with planes and rows.
fn stepped(devices: u32, all: [u64; 2], steps: usize) -> Plan {
    let mut plan = Plan::new("p").with_available_devices(devices);
    let computed = all.map(|len| 1..len - 1);
    let blocks = Blocks::new(devices, all, computed.each_ref(), 1, "inside").unwrap();
    let len = (all[0] * all[1]) as usize;
    let whole = plan.buffer("u", Element::F64, len);
    let mut u = blocks.scatter(&mut plan, whole).unwrap();
    let whole = plan.scratch("u_next", Element::F64, len);
    let mut u_next = blocks.scatter(&mut plan, whole).unwrap();
    let halos = blocks.row_halos(&mut plan, &u).unwrap();
    for device in blocks.devices() {
        plan.copy(u.part(device), u_next.part(device)).unwrap();
    }
    for _ in 0..steps {
        let step = blocks.step(&mut plan, &u_next, &halos, |plan, work| {
            let (kernel, buffers, [planes, rows]) = match work {
                Work::Compute {
                    device,
                    planes,
                    rows,
                } => {
                    let around = [&planes, &rows].map(|all| all.start - 1..all.end + 1);
                    let place = [planes, rows];
                    let written = u_next.write(device, place.clone());
                    ("compute", [u.read(device, around), written], place)
                }
                Work::Pack(halo) => {
                    let place = halo.place.clone();
                    let rows = u_next.read(halo.from, place.clone());
                    ("pack", [rows, halo.sent.into()], place)
                }
                Work::Unpack(halo) => {
                    let place = halo.place.clone();
                    let rows = u_next.write(halo.to, place.clone());
                    ("unpack", [halo.received.slice(), rows], place)
                }
            };
            let numbers = args![planes.start, planes.end, rows.start, rows.end];
            plan.launch(kernel, ONE, buffers.into_iter().chain(numbers))
        });
        step.unwrap();
        (u, u_next) = (u_next, u);
    }
    plan.output("u", u.whole());
    plan.check().unwrap();
    plan
}

/// Each buffer's rectangle of the field, if it is of one.
fn rects(plan: &Plan, all: [u64; 2]) -> Vec<Option<Rect>> {
    let mut rects = vec![None; plan.buffers().len()];
    for id in plan.buffer_ids() {
        if plan.scattered(id).is_none()
            && ["u", "u_next"].contains(&&*plan.buffers()[id.index()].name)
        {
            rects[id.index()] = Some(Rect {
                rows: 0..all[0],
                columns: 0..all[1],
            });
        }
    }
    for (id, part) in plan.all_scattered().iter().flat_map(|one| &one.parts) {
        rects[id.index()] = Some(part.holds.clone());
    }
    rects
}

/// The next value of a point from the five around it: anything that depends on all of them.
fn next(around: [u64; 5]) -> u64 {
    let add = |sum: u64, value| sum.wrapping_mul(31).wrapping_add(value);
    around.into_iter().fold(7, add)
}

/// Runs such a plan in order: the output.
fn run(plan: &Plan, all: [u64; 2], start: &[u64]) -> Vec<u64> {
    let rects = rects(plan, all);
    let mut memory: Vec<Vec<u64>> = { plan.buffers().iter() }
        .map(|buffer| vec![u64::MAX; buffer.len as usize])
        .collect();
    let input = plan.find_buffer("u").unwrap();
    let parts = |id| match plan.scattered(id) {
        Some(scattered) => scattered.parts.iter().map(|(id, _)| id.index()).collect(),
        None => vec![id.index()],
    };
    for part in parts(input) {
        let rect = rects[part].clone().unwrap();
        let held = rect
            .rows
            .clone()
            .flat_map(|plane| rect.columns.clone().map(move |row| (plane, row)));
        for (value, (plane, row)) in memory[part].iter_mut().zip(held) {
            *value = start[(plane * all[1] + row) as usize];
        }
    }
    let place = |buffer: usize, plane: u64, row: u64| {
        let Rect { rows, columns } = rects[buffer].clone().unwrap();
        assert!(rows.contains(&plane) && columns.contains(&row));
        ((plane - rows.start) * (columns.end - columns.start) + row - columns.start) as usize
    };
    for command in plan.commands() {
        match command {
            Command::Copy(copy) => {
                let from = copy.src_start as usize..(copy.src_start + copy.len) as usize;
                let values = memory[copy.src.index()][from].to_vec();
                memory[copy.dst.index()][copy.dst_start as usize..][..values.len()]
                    .copy_from_slice(&values);
            }
            Command::Launch(launch) => {
                let bounds: Vec<Range<u64>> = command
                    .bounds(plan.buffers())
                    .map(|(_, range, _)| range)
                    .collect();
                let [from, to] = [0, 1].map(|arg| launch.args[arg].buffer().unwrap().index());
                let numbers: Vec<u64> = launch.args[2..]
                    .iter()
                    .map(|arg| match arg {
                        Arg::U64(number) => *number,
                        other => panic!("{other:?}"),
                    })
                    .collect();
                let points = (numbers[0]..numbers[1])
                    .flat_map(|plane| (numbers[2]..numbers[3]).map(move |row| (plane, row)));
                for (number, (plane, row)) in points.enumerate() {
                    let get = |buffer: usize, plane, row| {
                        let place = place(buffer, plane, row);
                        assert!(bounds[0].contains(&(place as u64)));
                        memory[buffer][place]
                    };
                    let (at, value) = match launch.kernel {
                        "pack" => (number, get(from, plane, row)),
                        "unpack" => (place(to, plane, row), memory[from][number]),
                        _ => {
                            let around = [
                                get(from, plane - 1, row),
                                get(from, plane, row - 1),
                                get(from, plane, row),
                                get(from, plane, row + 1),
                                get(from, plane + 1, row),
                            ];
                            (place(to, plane, row), next(around))
                        }
                    };
                    assert!(bounds[1].contains(&(at as u64)));
                    memory[to][at] = value;
                }
            }
            Command::Fill(_) => panic!("nothing is filled"),
        }
    }
    let output = plan.find_output("u").unwrap();
    let owned = match plan.scattered(output) {
        Some(scattered) => scattered
            .parts
            .iter()
            .map(|(id, part)| (id.index(), part.owns.clone()))
            .collect(),
        None => vec![(output.index(), rects[output.index()].clone().unwrap())],
    };
    let mut result = vec![0; start.len()];
    for (part, rect) in owned {
        for plane in rect.rows {
            for row in rect.columns.clone() {
                result[(plane * all[1] + row) as usize] = memory[part][place(part, plane, row)];
            }
        }
    }
    result
}

proptest! {
    #[test]
    fn blocks_compute_what_one_does((devices, planes, rows, steps, seed) in (1_u32..10, 9_u64..16, 3_u64..12, 0_usize..4, any::<u64>())) {
        let all = [planes + 2, rows + 2];
        let start: Vec<u64> = (0..all[0] * all[1]).map(|i| seed.rotate_left(i as u32 * 7)).collect();
        let expected = run(&stepped(1, all, steps), all, &start);
        prop_assert_eq!(run(&stepped(devices, all, steps), all, &start), expected);
    }
}

#[test]
fn four_devices_are_two_by_two() {
    let plan = stepped(4, [10, 8], 1);
    let parts = &plan.all_scattered()[0].parts;
    let owned: Vec<String> = parts
        .iter()
        .map(|(_, part)| part.owns.to_string())
        .collect();
    assert_eq!(
        owned,
        [
            "rows 0..5 columns 0..4",
            "rows 0..5 columns 4..8",
            "rows 5..10 columns 0..4",
            "rows 5..10 columns 4..8",
        ]
    );
    assert_eq!(parts[3].1.holds.to_string(), "rows 4..10 columns 3..8");
    // A copy for each pair of neighbours, in both directions, all in one group.
    assert_eq!(
        plan.groups().iter().map(Range::len).collect::<Vec<_>>(),
        [8]
    );
}

#[test]
fn the_interior_waits_for_no_copy_of_its_step() {
    let plan = stepped(4, [10, 8], 2);
    let group = plan.groups()[1].clone();
    let waits = plan.dependencies();
    let interiors = group.end..group.end + 4;
    for interior in interiors {
        let mut before = waits[interior].clone();
        let mut at = 0;
        while at < before.len() {
            before.extend(waits[before[at] as usize].clone());
            at += 1;
        }
        assert!(
            before
                .iter()
                .all(|&command| !group.contains(&(command as usize)))
        );
    }
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let error = Blocks::new(4, [10, 3], [&(1..9), &(1..2)], 1, "between the walls").unwrap_err();
    insta::assert_snapshot!(error, @"the solution refuses this problem: 4 devices make 2 x 2 blocks, of 8 planes and 1 rows between the walls: use fewer");
}
