//! Solutions over several devices give what one device gives, to the last bit.

use device::EmulatedDevice;
use device::{Device, Error, run};
use host::find_lab;
use host::poisson::{Poisson, Start};
use host::stencil25::{self, Stencil25};
use host::wave2d::Wave2d;
use host::wave3d::Wave3d;
use lab::{Cpu, Lab, LabCase};
use plan::Command;
use plan::Plan;
use proptest::prelude::*;
use terminal::progress::NoProgress;

fn poisson(n: u32, iterations: u32) -> Poisson {
    let problem = Poisson::new(n, iterations).unwrap();
    problem
        .with_start(Start::Random { seed: 7.into() })
        .unwrap()
}

fn stencil25(shape: [u32; 3], steps: u32, shell: u32) -> Stencil25 {
    let problem = Stencil25::with_shell(shape, steps, shell).unwrap();
    problem.with_start(stencil25::Start::Random { seed: 7.into() })
}

fn wave3d(shape: [u32; 3], steps: u32) -> Wave3d {
    let problem = Wave3d::new(shape, steps).unwrap();
    problem.with_start(host::wave3d::Start::Random { seed: 7.into() })
}

fn wave2d([n_x, n_y]: [u32; 2], steps: u32, scene: &str) -> Wave2d {
    let problem = Wave2d::new(n_x, n_y, steps, scene).unwrap();
    problem.with_start(host::wave2d::Start::Random { seed: 7.into() })
}

/// Runs the variant on `devices` emulated devices, compares its results with the CPU's, and returns
/// the plan.
fn compared(lab: &str, case: &dyn LabCase, variant: &str, devices: u32) -> Result<Plan, Error> {
    let variant = find_lab(lab).unwrap().find(variant).unwrap();
    let plan = variant.record_for(case, devices)?;
    let device = EmulatedDevice::default().with_devices(devices);
    let mut session = device.prepare(&variant.module, &plan)?;
    let inputs = case.inputs()?;
    let got = run::run_once(session.as_mut(), &plan, &inputs)?.outputs;
    let expected = case.reference_from(&inputs, Cpu::Serial, &NoProgress)?;
    let checked = variant.check(case, &inputs, &expected, &got)?;
    checked
        .unwrap_or_else(|error| panic!("{} of {case} on {devices} devices: {error}", variant.name));
    Ok(plan)
}

/// How many devices a plan's launches run on.
fn devices(plan: &Plan) -> usize {
    let launches = plan.commands().filter_map(|command| match command {
        Command::Launch(_) => Some(command.device(plan.buffers())),
        Command::Copy(_) | Command::Fill(_) => None,
    });
    launches.collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn poisson_is_equal_on_any_number_of_devices() {
    // Splits that are even and not; a plane each.
    for (n, iterations) in [(6, 3), (9, 4), (14, 5), (35, 2)] {
        for count in 1..=4 {
            let case = poisson(n, iterations);
            for (variant, used) in [
                ("dual", count.min(2)),
                ("fast", count),
                ("split_single", count),
            ] {
                let plan = compared("poisson", &case, variant, count).unwrap();
                assert_eq!(devices(&plan), used as usize, "{variant}");
            }
        }
    }
}

#[test]
fn several_timesteps_per_pass_are_equal_on_any_number_of_devices() {
    for lab in ["poisson", "wave3d"] {
        let fast = find_lab(lab).unwrap().for_several().unwrap();
        assert!(!fast.shapes.is_empty(), "{lab}");
        for (at, shape) in fast.shapes.iter().enumerate() {
            // Slabs as thick as a pass has timesteps, thinner, and with an inside. The last pass is
            // shorter.
            let (planes, steps) = [(12, 7), (9, 6), (27, 5)][at % 3];
            let case: Box<dyn LabCase> = match lab {
                "poisson" => Box::new(poisson(planes, steps)),
                _ => Box::new(wave3d([planes, 9, 34], steps)),
            };
            for count in [2, 3] {
                let plan = compared(lab, case.as_ref(), &shape.name, count).unwrap();
                assert_eq!(devices(&plan), count as usize, "{}", shape.name);
            }
        }
    }
}

#[test]
fn devices_that_wait_for_each_other_are_equal_to_one() {
    // Slabs of three planes, which are halo as a whole; of different lengths, with an inside; walls
    // at odd places; a source in one slab and in two.
    for (n, iterations) in [(14, 8), (21, 9)] {
        for count in 1..=4 {
            let case = poisson(n, iterations);
            let plan = compared("poisson", &case, "fast_at_once", count).unwrap();
            assert_eq!(devices(&plan), count as usize);
            let launches = plan.commands();
            let launches = launches.filter(|command| matches!(command, Command::Launch(_)));
            assert_eq!(launches.count(), count as usize);
        }
    }
    // Slabs thinner than a launch reaches, in several launches.
    compared("poisson", &poisson(6, 3), "fast_at_once", 4).unwrap();
}

/// The error of a run on two devices of `fast_at_once` whose kernel is changed.
fn changed(from: &str, to: &str) -> String {
    let case = poisson(14, 8);
    let variant = host::poisson::LAB.find("fast_at_once").unwrap();
    let plan = variant.record_for(&case, 2).unwrap();
    let ptx = variant.module.for_device((9, 0)).ptx();
    let (before, rest) = ptx.split_once(".entry poisson_fast_at_once(").unwrap();
    let (kernel, after) = rest.split_once("\n}\n").unwrap();
    assert!(kernel.contains(from), "no {from} in {kernel}");
    let kernel = kernel.replace(from, to);
    let ptx = format!("{before}.entry poisson_fast_at_once({kernel}\n}}\n{after}");
    let module = device::Module::new("changed", ptx);
    let device = EmulatedDevice::default().with_devices(2);
    let mut session = device.prepare(&module, &plan).unwrap();
    let inputs = case.inputs().unwrap();
    let ended = run::run_once(session.as_mut(), &plan, &inputs);
    ended.map(drop).unwrap_err().to_string()
}

#[test]
fn devices_that_do_not_wait_for_each_other_are_found() {
    // A neighbour is told nothing, or at the scope of the device that tells it; a device reads a
    // stale halo, since it has not acquired what it waited for.
    for (from, to, found) in [
        (
            "st.release.sys",
            "// st.release.sys",
            "wait for something that none of them does",
        ),
        (
            "st.release.sys",
            "st.release.gpu",
            "`.gpu` for those of one device",
        ),
        ("ld.acquire.sys", "ld.relaxed.sys", "race in global memory"),
    ] {
        let error = changed(from, to);
        assert!(error.contains(found), "{to}: {error}");
    }
}

#[test]
fn wave3d_is_equal_on_any_number_of_devices() {
    // The source is in one slab or at a seam; slabs of one plane.
    for (shape, steps) in [
        ([4, 5, 6], 3),
        ([11, 10, 31], 4),
        ([13, 7, 33], 5),
        ([21, 17, 40], 6),
    ] {
        for count in 1..=4 {
            let case = wave3d(shape, steps);
            let plan = compared("wave3d", &case, "fast", count).unwrap();
            assert_eq!(devices(&plan), count as usize);
        }
    }
}

#[test]
fn wave2d_is_equal_on_any_number_of_devices() {
    // A row each, slabs thinner than a pass reaches, slabs with an inside; one strip and more; the
    // source and walls at seams, rows far inside walls; passes of every kernel.
    for (shape, steps, scene) in [
        ([9, 4], 3, "empty-box"),
        ([100, 37], 21, "point-source"),
        ([130, 75], 17, "double-slit"),
        ([40, 150], 37, "parabolic-mirror"),
        ([200, 230], 20, "elliptic-room"),
    ] {
        for variant in ["fast", "fast_exact"] {
            for count in 1..=4 {
                let case = wave2d(shape, steps, scene);
                let plan = compared("wave2d", &case, variant, count).unwrap();
                assert_eq!(devices(&plan), count as usize);
            }
        }
    }
}

#[test]
fn stencil25_is_equal_on_any_number_of_devices() {
    // Slabs of one plane, thinner than the stencil reaches, with and without an inside; in the
    // shell alone.
    for (shape, steps, shell) in [
        ([4, 5, 6], 3, 1),
        ([9, 8, 28], 2, 1),
        ([13, 18, 40], 4, 2),
        ([24, 13, 33], 3, 5),
        ([33, 33, 33], 2, 16),
        ([40, 9, 70], 2, 3),
    ] {
        for count in 1..=4 {
            let case = stencil25(shape, steps, shell);
            let plan = compared("stencil25", &case, "split", count).unwrap();
            assert_eq!(devices(&plan), count as usize);
        }
    }
}

#[test]
fn a_source_is_in_the_slab_that_has_its_point() {
    for x in 0..12 {
        let case = stencil25([12, 13, 17], 2, 3);
        let case = case.with_source_point([x, 6, 8]).unwrap();
        compared("stencil25", &case.with_first_step(60), "split", 3).unwrap();
    }
}

#[test]
fn the_labs_cases_are_equal_on_three_devices() {
    for (lab, variants) in [
        (
            "poisson",
            &["dual", "fast", "fast_at_once", "split_single"][..],
        ),
        ("wave2d", &["fast"]),
        ("wave3d", &["fast"]),
        ("stencil25", &["split"]),
    ] {
        let mut cases = find_lab(lab).unwrap().small_cases();
        // The emulated device takes its time.
        cases.retain(|case| case.work().updates < 20_000);
        for case in cases {
            for variant in variants {
                match compared(lab, case.as_ref(), variant, 3) {
                    Ok(_) => {}
                    // Three devices for fewer planes.
                    Err(error) => assert!(error.to_string().contains("use "), "{error}"),
                }
            }
        }
    }
}

#[test]
fn more_devices_than_planes_are_refused() {
    let refused = |lab: &Lab, case: &dyn LabCase, variant, devices| {
        let refused = lab
            .find(variant)
            .unwrap()
            .record_for(case, devices)
            .unwrap_err();
        refused.to_string()
    };
    insta::assert_snapshot!(refused(&host::poisson::LAB, &poisson(5, 1), "fast", 5), @"the solution refuses this problem: 5 devices for 3 planes between the walls: use at most 3");
    insta::assert_snapshot!(refused(&host::poisson::LAB, &poisson(3, 1), "dual", 2), @"the solution refuses this problem: 2 devices for 1 plane between the walls: use at most 1");
    insta::assert_snapshot!(refused(&host::wave3d::LAB, &wave3d([3, 4, 5], 1), "fast", 4), @"the solution refuses this problem: 4 devices for 3 planes along x: use at most 3");
    insta::assert_snapshot!(refused(&host::wave2d::LAB, &wave2d([9, 3], 1, "empty-box"), "fast", 4), @"the solution refuses this problem: 4 devices for 3 planes of one row: use at most 3");
    insta::assert_snapshot!(refused(&host::stencil25::LAB, &stencil25([3, 4, 5], 1, 1), "split", 4), @"the solution refuses this problem: 4 devices for 3 planes along x: use at most 3");
}

#[test]
fn no_device_has_the_whole() {
    let case = poisson(200, 1);
    let fast = host::poisson::LAB.find("fast").unwrap();
    let whole = fast.record(&case).unwrap().memory_bytes().unwrap();
    let plan = fast.record_for(&case, 4).unwrap();
    for device in 0..4 {
        let bytes = plan.bytes_on(device);
        assert!((bytes as f64) < 0.3 * whole as f64, "{bytes} of {whole}");
    }
}

/// Everything that a command waits for, at once or through others.
fn waits_for(plan: &Plan) -> Vec<Vec<bool>> {
    let waits = plan.dependencies();
    let mut all = vec![vec![false; waits.len()]; waits.len()];
    for (command, before) in waits.iter().enumerate() {
        for &before in before {
            let before = before as usize;
            let with_its = all[before].clone();
            for (follows, its) in all[command].iter_mut().zip(with_its) {
                *follows |= its;
            }
            all[command][before] = true;
        }
    }
    all
}

#[test]
fn the_rest_of_a_slab_waits_for_no_exchange() {
    // Two passes each.
    let cases: [(&Lab, &dyn LabCase); 3] = [
        (&host::poisson::LAB, &poisson(40, 2)),
        (&host::wave3d::LAB, &wave3d([40, 9, 10], 4)),
        (&host::stencil25::LAB, &stencil25([60, 9, 10], 2, 2)),
    ];
    for (lab, case) in cases {
        let variant = lab.for_several().unwrap();
        let plan = variant.record_for(case, 4).unwrap();
        let all = waits_for(&plan);
        let exchanges = plan.groups()[plan.groups().len() - 2..].to_vec();
        // The last launches are those of the interiors.
        for interior in &all[plan.commands().len() - 4..] {
            let mut copies = exchanges.iter().cloned().flatten();
            let copy = copies.find(|&copy| interior[copy]);
            assert_eq!(copy, None, "{}", case.label());
        }
        // Planes at a seam wait for those that they read.
        let seam = exchanges[1].start - 1;
        assert!(exchanges[0].clone().any(|copy| all[seam][copy]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_split_is_equal(
        count in 2_u32..5,
        planes in 4_u32..24,
        others in (3_u32..12, 3_u32..40),
        steps in 1_u32..4,
    ) {
        let shape = [planes, others.0, others.1];
        compared("wave3d", &wave3d(shape, steps), "fast", count).unwrap();
        compared("stencil25", &stencil25(shape, steps, 1), "split", count).unwrap();
        for variant in ["dual", "fast", "split_single"] {
            compared("poisson", &poisson(planes + 2, steps), variant, count).unwrap();
        }
    }
}
