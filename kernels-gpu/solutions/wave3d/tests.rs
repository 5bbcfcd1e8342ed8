//! What the solutions launch, and need.

use plan::{Arg, Command};

use super::kernels::{LINE, row_threads};
use crate::device::LaunchLimits;
use crate::lab::{Case, Lab, largest_extent};
use crate::validate::validate;
use crate::wave3d::{LAB, Wave3d};

fn problem(shape: [u32; 3], steps: u32) -> Wave3d {
    Wave3d::new(shape, steps).unwrap()
}

#[test]
fn plans_have_a_launch_for_each_part_that_has_sites() {
    let launches = |variant, shape| {
        let plan = Case::record(&problem(shape, 5), variant).unwrap();
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
    for n_z in 3..200 {
        let starts = (0..LINE).map(|row| row * n_z % LINE);
        assert_eq!(row_threads(n_z), starts.max().unwrap() + n_z, "{n_z}");
    }
}

#[test]
fn every_other_timestep_takes_launches_and_planes_in_the_opposite_order() {
    for variant in LAB.variants() {
        let plan = Case::record(&problem([20, 20, 5], 3), variant.name).unwrap();
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
        for variant in LAB.variants() {
            let plan = Case::record(&problem(shape, 1), variant.name).unwrap();
            validate(LAB.module(), &plan, &LaunchLimits::COMMON).unwrap();
        }
    }
}
#[test]
fn no_steps_need_no_launch() {
    for variant in LAB.variants() {
        let plan = problem([8, 9, 10], 0).record(variant.name).unwrap();
        assert_eq!(plan.commands().len(), 0);
    }
}

#[test]
fn the_largest_cube_fits_and_the_next_does_not() {
    for variant in LAB.variants() {
        let largest = |bytes| largest_extent::<Wave3d>(variant.name, bytes);
        // 80 GB: two fields of 1709^3 would, but indices have 32 bits.
        assert_eq!(largest(80_000_000_000), Some(1290));
        Wave3d::new([1290; 3], 1).unwrap();
        Wave3d::new([1291; 3], 1).unwrap_err();
        for bytes in [528, 1 << 20, 16_000_000_000] {
            let n = largest(bytes).unwrap();
            let needed = |n| {
                let plan = problem([n; 3], 1).record(variant.name).unwrap();
                plan.memory_bytes().unwrap()
            };
            assert!(needed(n) <= bytes && needed(n + 1) > bytes);
        }
        assert_eq!(largest(500), None);
    }
}
