//! Solutions over several devices give what one device gives, to the last bit.

use device::EmulatedDevice;
use device::validate::validate;
use device::{Device, Error, LaunchLimits, Order, Preparation, run};
use host::find_lab;
use host::poisson::{Poisson, Start};
use host::stencil25::{self, Stencil25};
use host::wave2d::Wave2d;
use host::wave3d::Wave3d;
use lab::{Cpu, Lab, LabCase};
use plan::{Arg, Command, Plan, PlanError};
use proptest::prelude::*;
use terminal::progress::NoProgress;

use crate::ordered::conflicts;

pub fn poisson(n: u32, iterations: u32) -> Poisson {
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

/// The plan of a variant for some devices.
pub fn record(lab: &str, case: &dyn LabCase, variant: &str, devices: u32) -> Plan {
    let variant = find_lab(lab).unwrap().find(variant).unwrap();
    variant.record_for(case, devices).unwrap()
}

/// Runs the variant on `devices` emulated devices, compares its results with the CPU's, and returns
/// the plan.
fn compared(lab: &str, case: &dyn LabCase, variant: &str, devices: u32) -> Result<Plan, Error> {
    compared_in_order(0, lab, case, variant, devices)
}

/// Compares in one of the orders in which threads, and launches that are independent, may run.
fn compared_in_order(
    order: u32,
    lab: &str,
    case: &dyn LabCase,
    variant: &str,
    devices: u32,
) -> Result<Plan, Error> {
    let variant = find_lab(lab).unwrap().find(variant).unwrap();
    let plan = variant.record_for(case, devices)?;
    assert_eq!(
        conflicts(&plan, &plan.dependencies()),
        [],
        "{}",
        variant.name
    );
    let device = EmulatedDevice::default().with_devices(devices);
    let order = Order {
        number: order,
        seed: 7,
    };
    let how = Preparation::default().in_order(order);
    let mut session = device.prepare_as(&variant.module, &plan, &how)?;
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
    for lab in ["poisson", "wave3d", "stencil25"] {
        let fast = find_lab(lab).unwrap().usual_on_several().unwrap();
        assert!(!fast.shapes.is_empty(), "{lab}");
        for (at, shape) in fast.shapes.iter().enumerate() {
            // Slabs as thick as a pass has timesteps, thinner, and with an inside. The last pass is
            // shorter.
            let (planes, steps) = [(12, 7), (9, 6), (27, 5)][at % 3];
            let case: Box<dyn LabCase> = match lab {
                "poisson" => Box::new(poisson(planes, steps)),
                // One of the tiles deep inside is the source's.
                "stencil25" => {
                    let case = stencil25([planes + 12, [42, 25, 30][at % 3], 33], steps, 1);
                    Box::new(case.with_first_step(60))
                }
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
            let launches = plan
                .commands()
                .filter(|command| matches!(command, Command::Launch(_)));
            assert_eq!(launches.count(), count as usize);
        }
    }
    // Chunks of planes, and several tiles along x and y.
    for (n, iterations, count) in [(66, 5, 1), (35, 8, 2)] {
        compared("poisson", &poisson(n, iterations), "fast_at_once", count).unwrap();
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
    let changed = format!("{before}.entry poisson_fast_at_once({kernel}\n}}\n{after}");
    let module = device::Module::new("changed", changed);
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
    // shell alone; points deep inside in one slab, in all, and in one half of a slab. Timesteps
    // alone, passes of two, and both.
    for (shape, steps, shell) in [
        ([4, 5, 6], 3, 1),
        ([9, 8, 28], 4, 1),
        ([13, 18, 40], 5, 2),
        ([24, 13, 33], 6, 5),
        ([33, 33, 33], 2, 16),
        ([40, 9, 70], 4, 3),
        ([45, 19, 30], 7, 1),
    ] {
        for variant in ["fast", "two_steps"] {
            for count in 1..=4 {
                let case = stencil25(shape, steps, shell);
                let plan = compared("stencil25", &case, variant, count).unwrap();
                assert_eq!(devices(&plan), count as usize);
            }
        }
    }
}

#[test]
fn a_source_is_in_the_slabs_that_compute_its_plane() {
    // Beside the tile deep inside, and in it; in each slab, and in the halo of its neighbours.
    for (shape, y, steps) in [([12, 13, 17], 6, 2), ([30, 20, 29], 9, 5)] {
        for x in (0..shape[0]).step_by(if steps == 2 { 1 } else { 3 }) {
            let case = stencil25(shape, steps, 3)
                .with_source_point([x, y, 8])
                .unwrap()
                .with_first_step(60);
            for variant in if steps == 2 {
                &["fast", "two_steps"][..]
            } else {
                &["two_steps"]
            } {
                compared("stencil25", &case, variant, 3).unwrap();
            }
        }
    }
}

/// Passes of stencil25 in two slabs.
fn two_slabs() -> Plan {
    let variant = host::stencil25::LAB.find("two_steps").unwrap();
    variant
        .record_for(&stencil25([24, 17, 24], 8, 2), 2)
        .unwrap()
}

/// The error of such passes, in a run or in its results, if the plan is changed.
fn of_changed_plan(
    plan: &Plan,
    mut change: impl FnMut(&mut Plan, usize, Command<'_>) -> Result<(), PlanError>,
) -> Option<String> {
    let case = stencil25([24, 17, 24], 8, 2);
    let variant = host::stencil25::LAB.find("two_steps").unwrap();
    let mut positions = 0..;
    let plan = plan
        .map(|new, command| {
            let position = positions.next().expect("there is no end");
            change(new, position, command)
        })
        .unwrap();
    let device = EmulatedDevice::default().with_devices(2);
    let mut session = device.prepare(&variant.module, &plan).unwrap();
    let inputs = case.inputs().unwrap();
    match run::run_once(session.as_mut(), &plan, &inputs) {
        Err(error) => Some(error.to_string()),
        Ok(outcome) => {
            let expected = case
                .reference_from(&inputs, Cpu::Serial, &NoProgress)
                .unwrap();
            let checked = variant.check(&case, &inputs, &expected, &outcome.outputs);
            checked.unwrap().err().map(|error| error.to_string())
        }
    }
}

#[test]
fn a_halo_that_is_missing_or_stale_is_found() {
    let plan = two_slabs();
    let unchanged = of_changed_plan(&plan, |new, _, command| new.push(command));
    assert_eq!(unchanged, None);
    let commands: Vec<Command<'_>> = plan.commands().collect();
    let copies: Vec<usize> = (0..commands.len())
        .filter(|&at| matches!(commands[at], Command::Copy(_)))
        .collect();
    // Each of four passes sends three fields up and down. Nothing needs those of the last.
    assert_eq!(copies.len(), 4 * 2 * 3);
    for &missing in &copies[..12] {
        let error = of_changed_plan(&plan, |new, at, command| {
            if at == missing {
                Ok(())
            } else {
                new.push(command)
            }
        });
        assert!(error.is_some(), "nothing needs copy {missing}");
    }
    // A copy that comes before its planes are computed sends those of the start.
    for &early in &copies[6..12] {
        let error = of_changed_plan(&plan, |new, at, command| match at {
            0 => {
                new.push(commands[early])?;
                new.push(command)
            }
            _ if at == early => Ok(()),
            _ => new.push(command),
        })
        .unwrap_or_else(|| panic!("copy {early} may come before its planes"));
        assert!(error.contains(" is wrong in "), "{error}");
    }
}

#[test]
fn planes_that_a_launch_does_not_state_are_found() {
    let plan = two_slabs();
    // u, v, phi, and the two results: each argument lacks its last plane.
    let plane = u64::from((17 + 8) * 32_u32);
    for (argument, access) in [
        (0, "reads"),
        (1, "reads"),
        (4, "reads"),
        (5, "writes"),
        (6, "writes"),
    ] {
        let error = of_changed_plan(&plan, |new, _, command| match command {
            Command::Launch(launch) => {
                let mut args = launch.args.to_vec();
                if let Arg::Within { len, .. } = &mut args[argument] {
                    *len -= plane;
                }
                new.launch(launch.kernel, launch.config, args)
            }
            other => new.push(other),
        })
        .unwrap_or_else(|| panic!("argument {argument} lacks a plane"));
        assert!(error.contains(access), "{error}");
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
        ("stencil25", &["fast", "two_steps"]),
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
    insta::assert_snapshot!(refused(&host::poisson::LAB, &poisson(5, 1), "fast", 5), @"the solution refuses this problem: 5 devices need a plane each, and there are 3 planes between the walls: use at most 3 devices");
    insta::assert_snapshot!(refused(&host::poisson::LAB, &poisson(3, 1), "dual", 2), @"the solution refuses this problem: 2 devices need a plane each, and there is 1 plane between the walls: use at most 1 device");
    insta::assert_snapshot!(refused(&host::wave3d::LAB, &wave3d([3, 4, 5], 1), "fast", 4), @"the solution refuses this problem: 4 devices need a plane each, and there are 3 planes along x: use at most 3 devices");
    insta::assert_snapshot!(refused(&host::wave2d::LAB, &wave2d([9, 3], 1, "empty-box"), "fast", 4), @"the solution refuses this problem: 4 devices need a plane each, and there are 3 planes along y, each a row: use at most 3 devices");
    insta::assert_snapshot!(refused(&host::stencil25::LAB, &stencil25([3, 4, 5], 1, 1), "two_steps", 4), @"the solution refuses this problem: 4 devices need a plane each, and there are 3 planes along x: use at most 3 devices");
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

#[test]
fn slabs_of_the_largest_cube_may_be_launched() {
    let case = Stencil25::new([1000; 3], 5).unwrap();
    let variant = host::stencil25::LAB.usual_on_several().unwrap();
    for shape in &variant.shapes {
        let whole = shape.record(&case).unwrap().memory_bytes().unwrap();
        for count in [2, 4] {
            let plan = shape.record_for(&case, count).unwrap();
            validate(&shape.module, &plan, &LaunchLimits::SM_90).unwrap();
            let most = (0..count)
                .map(|device| plan.bytes_on(device))
                .max()
                .unwrap();
            let share = most as f64 / whole as f64 * f64::from(count);
            assert!(share < 1.1, "{}: {share}", shape.name);
        }
    }
}

/// Everything that a command waits for, at once or through others.
fn waits_for(plan: &Plan) -> Vec<Vec<bool>> {
    let waits = plan.dependencies();
    let mut all = vec![vec![false; waits.len()]; waits.len()];
    for (command, before) in waits.iter().enumerate() {
        for &earlier in before {
            let earlier = earlier as usize;
            let with_its = all[earlier].clone();
            for (follows, its) in all[command].iter_mut().zip(with_its) {
                *follows |= its;
            }
            all[command][earlier] = true;
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
        let variant = lab.find("fast").unwrap();
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

#[test]
fn the_rest_of_a_slab_in_many_launches_waits_for_no_exchange() {
    // Two passes, of launches for points deep inside and around.
    let case = stencil25([90, 20, 30], 4, 2);
    let variant = host::stencil25::LAB.usual_on_several().unwrap();
    let plan = variant.record_for(&case, 3).unwrap();
    let all = waits_for(&plan);
    let commands: Vec<Command<'_>> = plan.commands().collect();
    let is_copy = |at: usize| matches!(commands[at], Command::Copy(_));
    let copies: Vec<usize> = (0..commands.len()).filter(|&at| is_copy(at)).collect();
    let [first, second] = [&copies[..copies.len() / 2], &copies[copies.len() / 2..]];
    // After the last copy come the launches of the rest. Each pass has as many launches.
    let rest = second[second.len() - 1] + 1..commands.len();
    let seams = first[first.len() - 1] + 1 + rest.len()..second[0];
    assert!(seams.len() == first[0] && rest.len() > 3 * 5);
    for launch in rest.clone() {
        assert_eq!(copies.iter().find(|&&copy| all[launch][copy]), None);
    }
    for launch in seams {
        assert!(first.iter().any(|&copy| all[launch][copy]));
    }
    // All launches of a pass come before those of the next that write over what they read.
    for launch in rest {
        let before = first[first.len() - 1] + 1;
        let on = |at: usize| commands[at].device(plan.buffers());
        let of_last = before..before + (commands.len() - second[second.len() - 1] - 1);
        let same_device = of_last.filter(|&at| on(at) == on(launch));
        assert!(same_device.into_iter().all(|at| all[launch][at]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn passes_of_two_timesteps_are_equal_for_any_split(
        shape in 0_usize..8,
        count in 2_u32..5,
        shell in 1_u32..6,
        inside in (1_u32..40, 1_u32..40, 1_u32..50),
        steps in 1_u32..8,
        source in (0.0..1.0, 0.0..1.0, 0.0..1.0),
        order in 0_u32..9,
    ) {
        let extents = [inside.0 + 2, inside.1, inside.2].map(|n| n + 2 * shell);
        let at = |axis: usize, share: f64| (share * f64::from(extents[axis])) as u32;
        let source = [at(0, source.0), at(1, source.1), at(2, source.2)];
        let case = stencil25(extents, steps, shell).with_first_step(60).with_source_point(source).unwrap();
        let variant = host::stencil25::LAB.usual_on_several().unwrap();
        let shape = &variant.shapes[shape % variant.shapes.len()];
        compared_in_order(order, "stencil25", &case, &shape.name, count).unwrap();
    }

    #[test]
    fn any_split_is_equal(
        count in 2_u32..5,
        planes in 4_u32..24,
        others in (3_u32..12, 3_u32..40),
        steps in 1_u32..4,
    ) {
        let shape = [planes, others.0, others.1];
        compared("wave3d", &wave3d(shape, steps), "fast", count).unwrap();
        compared("stencil25", &stencil25(shape, steps, 1), "fast", count).unwrap();
        for variant in ["dual", "fast", "split_single"] {
            compared("poisson", &poisson(planes + 2, steps), variant, count).unwrap();
        }
    }
}
