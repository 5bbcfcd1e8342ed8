//! What the solutions launch.

use super::resident;
use crate::check;
use crate::device::{Device, EmulatedDevice, LaunchLimits};
use crate::lab::{Case, Cpu, Declaration, Lab, NoProgress};
use crate::plan::Command;
use crate::run::{outputs, reset};
use kernels_gpu::wave2d::AnyScene;

use crate::validate::validate;
use crate::wave2d::{LAB, Start, Wave2d};

fn problem(n_x: u32, n_y: u32, steps: u32) -> Wave2d {
    Wave2d::new(n_x, n_y, steps, "point-source").unwrap()
}

#[test]
fn the_longest_domain_fits_a_grid() {
    for variant in LAB.variants() {
        let plan = Case::record(&problem(2, 500_000, 1), variant.name).unwrap();
        validate(LAB.module(), &plan, &LaunchLimits::COMMON).unwrap();
    }
}
#[test]
fn plans_have_the_launches_that_the_steps_need() {
    let launches = |variant, steps| {
        let plan = Case::record(&problem(300, 200, steps), variant).unwrap();
        plan.check().unwrap();
        plan.commands().len()
    };
    assert_eq!(launches("naive", 0), 0);
    assert_eq!(launches("naive", 17), 17);
    assert_eq!(launches("shmem", 20), 2);
    assert_eq!(launches("shmem", 21), 3);
}

#[test]
fn resident_takes_all_timesteps_in_one_launch() {
    let launches = |n_x, n_y| {
        let plan = Case::record(&problem(n_x, n_y, 2), "resident").unwrap();
        let kernels = plan.commands().filter_map(|command| match command {
            Command::Launch(launch) => Some((launch.kernel.to_owned(), launch.config.grid[0])),
            _ => None,
        });
        kernels.collect::<Vec<_>>()
    };
    assert_eq!(launches(201, 201), [("wave2d_resident_13".to_owned(), 8)]);
    assert_eq!(launches(600, 50), [("wave2d_resident_7".to_owned(), 8)]);
    assert_eq!(launches(1025, 9).len(), 2, "one launch a timestep");
}

#[test]
fn resident_is_right_in_every_shape_and_scene() {
    let device = EmulatedDevice::default();
    for (shape, scene) in resident::launch::Shape::SPACE
        .iter()
        .zip(AnyScene::NAMES.iter().cycle())
    {
        // Nothing inside, whole slabs, a row more.
        for (n_x, n_y, steps) in [(2, 2, 3), (9, 104, 3), (33, 105, 4), (70, 33, 1)] {
            let problem = Wave2d::new(n_x, n_y, steps, scene).unwrap();
            let problem = problem.with_start(Start::Random { seed: 3 });
            let expected = Case::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
            let of_plan = Declaration::problem(&problem);
            let plan = <plan::wave2d::Wave2d as plan::Lab>::record("shape", &of_plan, shape);
            let plan = plan.unwrap();
            let mut session = device.prepare(LAB.module(), &plan).unwrap();
            reset(session.as_mut(), &plan, &Case::inputs(&problem).unwrap()).unwrap();
            session.run().unwrap();
            let got = outputs(session.as_mut(), &plan).unwrap();
            check::exact(&expected, &got)
                .unwrap_or_else(|error| panic!("{}, {problem}: {error}", shape.label()));
        }
    }
}
