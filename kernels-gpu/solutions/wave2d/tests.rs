//! What the solutions launch.

use crate::device::LaunchLimits;
use crate::lab::{Case, Lab};
use crate::validate::validate;
use crate::wave2d::{LAB, Wave2d};

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
