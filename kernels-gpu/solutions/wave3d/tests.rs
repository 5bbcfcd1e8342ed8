//! The solutions' launches and memory.

use kernels_gpu::cache_line;
use plan::{Arg, Command, Interface as _};

use super::{fast, resident};
use crate::computed::assert_computes;
use crate::seismic::Start;
use crate::wave3d::{LAB, Wave3d};
use device::LaunchLimits;
use device::validate::validate;
use lab::{Cpu, InterfaceCase, LabCase, Variant};
use terminal::progress::NoProgress;

fn problem(shape: [u32; 3], steps: u32) -> Wave3d {
    Wave3d::new(shape, steps).unwrap()
}

/// Whether a launch of this variant takes several timesteps.
fn takes_several(variant: &Variant) -> bool {
    ["resident", "resident_grid", "fast"].contains(&&*variant.name)
}

#[test]
fn plans_have_a_launch_for_each_part_that_has_sites() {
    let launches = |variant, shape| {
        let plan = LAB
            .find(variant)
            .unwrap()
            .record(&problem(shape, 5))
            .unwrap();
        plan.check().unwrap();
        plan.commands().len()
    };
    for (shape, split2, split3) in [
        ([20, 20, 5], 2, 3),
        ([10, 20, 5], 1, 1),
        ([20, 10, 5], 2, 2),
        ([3, 3, 3], 1, 1),
    ] {
        assert_eq!(launches("single", shape), 5, "{shape:?}");
        assert_eq!(launches("split2", shape), 5 * split2, "{shape:?}");
        assert_eq!(launches("split3", shape), 5 * split3, "{shape:?}");
    }
}

#[test]
fn rows_have_the_threads_that_they_need() {
    let line = cache_line::len::<f64>();
    for n_z in 3..200 {
        let starts = (0..line).map(|row| row * n_z % line);
        assert_eq!(
            cache_line::row_threads::<f64>(n_z),
            starts.max().unwrap() + n_z,
            "{n_z}"
        );
    }
}

#[test]
fn every_other_timestep_takes_launches_and_planes_in_the_opposite_order() {
    // The other variants take several timesteps per launch.
    for variant in LAB
        .variants
        .iter()
        .filter(|variant| !takes_several(variant))
    {
        let plan = variant.record(&problem([20, 20, 5], 3)).unwrap();
        let launches: Vec<_> = plan
            .commands()
            .map(|command| match command {
                Command::Launch(launch) => (launch.kernel.to_owned(), launch.args.last().cloned()),
                other => panic!("{other:?}"),
            })
            .collect();
        let timesteps: Vec<_> = launches.chunks(launches.len() / 3).collect();
        let opposite = timesteps[0].iter().rev();
        let opposite: Vec<_> = opposite
            .map(|(kernel, _)| (kernel.clone(), Some(Arg::U32(1))))
            .collect();
        assert_eq!(timesteps[1], opposite, "{}", variant.name);
        assert_eq!(timesteps[2], timesteps[0], "{}", variant.name);
    }
}

#[test]
fn the_longest_domains_fit_a_grid() {
    for shape in [[130_000, 3, 3], [3, 260_000, 3], [3, 3, 238_609_294]] {
        // Domains as long do not fit on the chip.
        let takes_any = |variant: &&Variant| variant.name != "resident_grid";
        for variant in LAB.variants.iter().filter(takes_any) {
            let plan = variant.record(&problem(shape, 1)).unwrap();
            validate(&LAB.module, &plan, &LaunchLimits::SM_90).unwrap();
        }
    }
}
#[test]
fn no_steps_need_no_launch() {
    for variant in &LAB.variants {
        let plan = variant.record(&problem([8, 9, 10], 0)).unwrap();
        assert_eq!(plan.commands().len(), 0);
    }
}

#[test]
fn the_largest_cube_fits_and_the_next_does_not() {
    for variant in LAB
        .variants
        .iter()
        .filter(|variant| !takes_several(variant))
    {
        let largest = |bytes| LAB.largest_extent(Some(variant), bytes);
        // 80 GB would hold two fields of 1709^3, but indices have 32 bits.
        assert_eq!(largest(80_000_000_000), Some(1290));
        Wave3d::new([1290; 3], 1).unwrap();
        Wave3d::new([1291; 3], 1).unwrap_err();
        for bytes in [528, 1 << 20, 16_000_000_000] {
            let n = largest(bytes).unwrap();
            let needed = |n| {
                let plan = variant.record(&problem([n; 3], 1)).unwrap();
                plan.memory_bytes().unwrap()
            };
            assert!(needed(n) <= bytes && needed(n + 1) > bytes);
        }
        assert_eq!(largest(500), None);
    }
}

/// A problem from random fields, borders included.
fn random(shape: [u32; 3], steps: u32) -> Wave3d {
    problem(shape, steps).with_start(Start::Random { seed: 7.into() })
}

/// Asserts that a solution's plan computes the reference's fields.
fn is_right(problem: &Wave3d, solution: &dyn plan::wave3d::Solution, context: &str) {
    let description = problem.problem();
    let plan = <plan::wave3d::Wave3d as plan::Interface>::record(context, &description, solution);
    let expected = LabCase::reference(problem, Cpu::Serial, &NoProgress).unwrap();
    assert_computes(&LAB.module, problem, &plan.unwrap(), &expected);
}

#[test]
fn resident_is_right_in_every_shape() {
    for shape in resident::launch::Shape::SPACE {
        // One site inside, whole boxes, a plane and a row more, only damped layers.
        for (extents, steps) in [
            ([3, 3, 3], 4),
            ([8, 8, 5], 3),
            ([9, 9, 6], 7),
            ([25, 13, 9], 3),
            ([32, 12, 4], 1),
        ] {
            is_right(&random(extents, steps), shape, &shape.label());
        }
    }
}

#[test]
fn resident_takes_all_timesteps_in_one_launch() {
    let launches = |shape, steps| {
        let plan = LAB
            .find("resident")
            .unwrap()
            .record(&problem(shape, steps))
            .unwrap();
        let kernels = plan.commands().map(|command| match command {
            Command::Launch(launch) => launch.kernel.to_owned(),
            other => panic!("{other:?}"),
        });
        kernels.collect::<Vec<_>>()
    };
    assert_eq!(
        launches([32; 3], 300),
        [
            "wave3d_resident_values",
            "wave3d_resident_values",
            "wave3d_resident_4x2"
        ]
    );
    assert_eq!(launches([64, 20, 10], 1)[1], "wave3d_resident_4x2");
    // A domain that does not fit has one launch per timestep, even if a cluster of more than eight
    // blocks would hold it.
    assert_eq!(launches([40, 32, 32], 1), ["wave3d_resident_one_step"]);
    assert_eq!(
        launches([32, 64, 64], 2),
        ["wave3d_resident_one_step", "wave3d_resident_one_step"]
    );
    // More values than a launch stores, and a domain that does not fit.
    for (shape, steps) in [([4, 5, 3], 260), ([40, 33, 32], 3)] {
        let problem = random(shape, steps);
        is_right(&problem, &resident::launch::Submission, "resident");
    }
}

#[test]
fn fast_is_right_at_every_depth() {
    // Whole launches and a shorter one; chunks of one plane and more.
    for shape in fast::launch::Shape::SPACE {
        is_right(&random([6, 9, 7], shape.depth + 1), shape, &shape.label());
    }
    // One site inside; one more than a tile of 64 sites along k and 32 rows; a whole tile; tiles
    // without a border, whose columns and planes are not damped.
    for (extents, steps) in [
        ([3, 3, 3], 6),
        ([5, 33, 65], 5),
        ([17, 32, 64], 4),
        ([16, 62, 121], 7),
    ] {
        for shape in &fast::launch::Shape::SPACE[..2] {
            is_right(&random(extents, steps), shape, &shape.label());
        }
    }
    let quiet = random([8, 9, 9], 7)
        .with_damping(0.0)
        .unwrap()
        .with_source(None)
        .unwrap();
    is_right(&quiet, &fast::launch::Submission, "no damping, no source");
}

#[test]
fn blocks_of_fast_have_each_plane_of_each_tile_once() {
    let shape = fast::launch::Shape::SPACE[1];
    for (tiles, planes) in [
        ([7, 16], 0..384),
        ([9, 3], 3..500),
        ([1, 1], 0..3),
        ([2, 1], 1..2),
    ] {
        let list = shape.blocks(tiles, 4, planes.clone(), 132);
        let mut seen = std::collections::HashMap::new();
        for block in 0..list.blocks() {
            let place = list.find(block);
            let of_tile = seen.entry(place.tile).or_insert(0);
            *of_tile += place.planes[1] - place.planes[0];
        }
        let of_each = planes.end - planes.start;
        assert_eq!(seen.len() as u32, tiles[0] * tiles[1], "{tiles:?}");
        assert!(
            seen.values().all(|&planes| planes == of_each),
            "{tiles:?}: {seen:?}"
        );
    }
}

#[test]
fn blocks_of_fast_are_shorter_where_a_plane_takes_longer() {
    let list = fast::launch::Shape::SPACE[1].blocks([5, 11], 4, 0..256, 132);
    let len = |tile| {
        let places = (0..list.blocks()).map(|block| list.find(block));
        let of_tile = places.filter(|place| place.tile == tile);
        of_tile.map(|place| place.planes[1] - place.planes[0]).max()
    };
    assert!(len([0, 0]) < len([1, 1]) && len([1, 0]) < len([1, 1]));
}

#[test]
fn resident_grid_is_right_with_every_kernel() {
    use super::resident_grid::{kernels::INSTANCES, launch::Submission};
    let mut kernels = Vec::new();
    // One site inside, only damped layers, boxes that are cut off, all sites of a lane. The fewer
    // multiprocessors, the larger a box.
    for (extents, steps, multiprocessors) in [
        ([3, 3, 3], 3, 132),
        ([9, 13, 8], 1, 132),
        ([15, 17, 33], 4, 132),
        ([26, 31, 64], 3, 132),
        ([26, 31, 20], 2, 20),
        ([18, 14, 65], 4, 132),
        ([30, 35, 70], 1, 132),
        ([40, 31, 66], 3, 12),
    ] {
        let problem = random(extents, steps);
        let target = plan::Target {
            multiprocessors,
            ..1.into()
        };
        let description = problem.problem();
        let plan =
            plan::wave3d::Wave3d::record_for(target, "resident_grid", &description, &Submission);
        let plan = plan.unwrap();
        let Some(Command::Launch(launch)) = plan.commands().last() else {
            panic!("{extents:?} has a launch");
        };
        kernels.push(launch.kernel.to_owned());
        let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
        assert_computes(&LAB.module, &problem, &plan, &expected);
    }
    let missing = INSTANCES
        .iter()
        .find(|instance| !kernels.contains(&instance.0.to_owned()));
    assert_eq!(missing, None, "{kernels:?}");
}

#[test]
fn resident_grid_wins_where_all_multiprocessors_have_as_much_of_the_domain() {
    use super::resident_grid::launch;
    let wins = |extents| launch::wins(extents, plan::Target::MULTIPROCESSORS);
    assert_eq!([48, 64, 80, 96, 128].map(|n| wins([n; 3])), [true; 5]);
    assert_eq!([112, 129, 384].map(|n| wins([n; 3])), [false; 3]);
    let refused = LAB
        .find("resident_grid")
        .unwrap()
        .record(&problem([64, 64, 129], 1));
    insta::assert_snapshot!(refused.unwrap_err(), @"the solution refuses this problem: it keeps the fields in registers and shared memory, and 64 x 64 x 129 sites do not fit in those of 132 multiprocessors; variant fast takes any size");
}
