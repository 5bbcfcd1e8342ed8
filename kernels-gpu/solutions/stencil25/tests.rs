//! The solutions' launches and memory, and the difference of the one that sums in another order.

use plan::stencil25::Solution;
use plan::{Command, Interface as _, Plan, args};
use proptest::prelude::*;

use super::seven_launches::launch::Inner;
use super::smem_dsm::launch::Clusters;
use super::two_steps::launch::Shape as TwoSteps;
use crate::computed::computed;
use crate::stencil25::{LAB, Start, Stencil25};
use device::buffer::NamedBuffers;
use device::check;
use device::run::reset;
use device::validate::validate;
use device::{Device, EmulatedDevice, LaunchLimits};
use exit::ErrorKind;
use lab::run::run_case;
use lab::{Cpu, InterfaceCase, LabCase};
use terminal::progress::NoProgress;

fn random(shape: [u32; 3], steps: u32, shell: u32) -> Stencil25 {
    let problem = Stencil25::with_shell(shape, steps, shell).unwrap();
    problem.with_start(Start::Random { seed: 5.into() })
}

#[test]
fn a_timestep_is_seven_launches_or_one() {
    for variant in &LAB.variants {
        let commands = |steps| {
            let plan = variant.record(&random([9, 10, 11], steps, 2)).unwrap();
            plan.commands().len()
        };
        let is_one =
            ["fast", "two_steps"].contains(&&*variant.name) || variant.name.starts_with("smem_dsm");
        let expected = if is_one { [0, 1, 3] } else { [0, 7, 21] };
        assert_eq!([0, 1, 3].map(commands), expected, "{}", variant.name);
    }
}

fn recorded(problem: &Stencil25, solution: &dyn Solution) -> Plan {
    let description = problem.problem();
    plan::stencil25::Stencil25::record("plan", &description, solution).unwrap()
}

/// The plan's results on the emulated device.
fn run(problem: &Stencil25, plan: &Plan) -> NamedBuffers {
    computed(&LAB.module, problem, plan)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn every_variant_is_right_at_any_shape(
        shell in 1_u32..6,
        inside in (1_u32..12, 1_u32..20, 1_u32..40),
        steps in 1_u32..4,
    ) {
        let shape = [inside.0, inside.1, inside.2].map(|n| n + 2 * shell);
        let problem = random(shape, steps, shell);
        let inputs = LabCase::inputs(&problem).unwrap();
        let expected = problem.reference_from(&inputs, Cpu::Serial, &NoProgress).unwrap();
        for variant in LAB.variants.iter().filter(|variant| !variant.on_request) {
            let device = EmulatedDevice::default();
            let outcome = run_case(&device, &problem, variant).unwrap();
            let checked = variant.check(&problem, &inputs, &expected, &outcome.outputs);
            let checked = checked.unwrap();
            prop_assert!(checked.is_ok(), "{}, {problem}: {}", variant.name, checked.unwrap_err());
        }
    }

    #[test]
    fn clusters_of_any_shape_change_nothing(
        shell in 1_u32..6,
        inside in (1_u32..12, 1_u32..40, 1_u32..70),
        cluster in [1_u32..5, 1_u32..5, 1_u32..4].prop_filter("portable", |shape| shape.iter().product::<u32>() <= 8),
        inner in prop::sample::select(vec![Inner::GMEM, Inner::SMEM, Inner::ST_REG_FIXED, Inner::ST_SEMI]),
    ) {
        let shape = [inside.0, inside.1, inside.2].map(|n| n + 2 * shell);
        let problem = random(shape, 2, shell);
        let got = [
            run(&problem, &recorded(&problem, &inner.in_clusters(cluster))),
            run(&problem, &recorded(&problem, &Clusters(cluster))),
        ];
        let expected = [
            run(&problem, &recorded(&problem, &inner)),
            LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap(),
        ];
        for (expected, got) in expected.iter().zip(&got) {
            let checked = check::exact(expected, got);
            prop_assert!(checked.is_ok(), "{problem}: {}", checked.unwrap_err());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn two_steps_are_right_in_any_shape_with_the_source_anywhere(
        shape in prop::sample::select(TwoSteps::SPACE),
        shell in 1_u32..8,
        inside in (1_u32..30, 1_u32..50, 1_u32..90),
        steps in 1_u32..7,
        source in (0.0..1.0, 0.0..1.0, 0.0..1.0),
    ) {
        let extents = [inside.0, inside.1, inside.2].map(|n| n + 2 * shell);
        let [x, y, z] = [source.0, source.1, source.2];
        let at = |axis: usize, share: f64| (share * f64::from(extents[axis])) as u32;
        let problem = random(extents, steps, shell).with_first_step(60);
        let problem = problem.with_source_point([at(0, x), at(1, y), at(2, z)]).unwrap();
        let got = run(&problem, &recorded(&problem, &shape));
        let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
        let checked = check::exact(&expected, &got);
        prop_assert!(checked.is_ok(), "{}, {problem}: {}", shape.label(), checked.unwrap_err());
    }
}

#[test]
fn tiles_of_two_steps_may_be_cut_anywhere() {
    // A box of points deep inside, of six tiles, and seven around. None has more than eight
    // tiles.
    let problem = random([24, 34, 60], 4, 4)
        .with_source_point([9, 20, 9])
        .unwrap();
    let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
    let plan = recorded(&problem, &TwoSteps::DEFAULT);
    assert_eq!(plan.commands().len(), 2 * 8);
    // One plane per chunk, unequal chunks, more chunks than planes, and whole tiles.
    for chunks in [24, 5, 30, 1] {
        let plan = plan
            .map(|new, command| match command {
                Command::Launch(launch) => {
                    let mut config = launch.config;
                    config.grid[0] = 8 * chunks;
                    let mut args = launch.args.to_vec();
                    let cut = args.len() - 1;
                    args.truncate(cut);
                    args.extend(args![chunks]);
                    new.launch(launch.kernel, config, args)
                }
                other => new.push(other),
            })
            .unwrap();
        let got = run(&problem, &plan);
        check::exact(&expected, &got).unwrap_or_else(|error| panic!("{chunks} chunks: {error}"));
    }
}

#[test]
fn blocks_that_only_make_a_cluster_whole_read_nothing() {
    // The kernel reads the halo's last plane, and a place beyond its last row is beyond the array.
    let problem = random([3, 3, 3], 1, 1);
    let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
    for inner in [Inner::GMEM, Inner::SMEM, Inner::ST_REG_FIXED] {
        let got = run(&problem, &recorded(&problem, &inner.in_clusters([4, 2, 1])));
        check::exact(&expected, &got).unwrap_or_else(|error| panic!("{inner:?}: {error}"));
    }
}

#[test]
fn clusters_need_a_newer_device_and_a_grid_of_whole_ones() {
    let problem = random([20, 21, 40], 1, 2);
    for variant in &LAB.variants {
        let plan = variant.record(&problem).unwrap();
        let with = |compute_capability| {
            let limits = LaunchLimits {
                compute_capability,
                ..LaunchLimits::SM_90
            };
            validate(&LAB.module, &plan, &limits).map(|_| ())
        };
        with((9, 0)).unwrap();
        let has_clusters = variant.name.contains("cluster") || variant.name.starts_with("smem_dsm");
        match with((8, 6)) {
            Ok(()) => assert!(!has_clusters, "{}", variant.name),
            Err(error) => {
                assert!(has_clusters, "{}: {error}", variant.name);
                assert_eq!(error.kind(), ErrorKind::Needs);
            }
        }
    }
    // 17 rows inside, in blocks of 16, are two blocks; two more complete a cluster.
    let plan = recorded(&problem, &Inner::ST_REG_FIXED.in_clusters([1, 4, 1]));
    let cut = plan.map(|new, command| match command {
        Command::Launch(launch) if launch.config.cluster != [1; 3] => {
            let mut config = launch.config;
            config.grid[1] -= 1;
            new.launch(launch.kernel, config, launch.args.to_vec())
        }
        other => new.push(other),
    });
    let error = validate(&LAB.module, &cut.unwrap(), &LaunchLimits::SM_90).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Submission);
    insta::assert_snapshot!(error, @"plan `plan`, command 0 (launch of `stencil25_st_reg_fixed`): grid [2, 3, 1] is not a multiple of cluster [1, 4, 1]; round it up to a multiple of 4 blocks in y, and return early in the extra blocks");
}

#[test]
fn halos_within_a_cluster_come_from_shared_memory() {
    // Four blocks along x and y, and whole rows.
    let problem = random([16, 32, 28], 1, 1);
    let loads = |cluster| {
        let plan = recorded(&problem, &Clusters(cluster));
        let device = EmulatedDevice::default();
        let mut session = device.prepare(&LAB.module, &plan).unwrap();
        reset(session.as_mut(), &plan, &LabCase::inputs(&problem).unwrap()).unwrap();
        session.run().unwrap();
        let counts = &session.reports()[0].total.counts;
        let (global, distributed) = (counts.global_loads, counts.distributed_loads);
        [global.requests, distributed.requests, distributed.bytes]
    };
    let [of_blocks, none, _] = loads([1, 1, 1]);
    assert_eq!(none, 0);
    // Two blocks that meet along y fetch four rows of four planes from each other; along x, eight
    // rows of four.
    for (cluster, along_y, along_x) in [([1, 4, 1], 12, 0), ([1, 1, 4], 0, 12), ([1, 2, 2], 8, 8)] {
        let rows = 2 * (along_y * 4 * 4 + along_x * 4 * 8);
        let expected = [of_blocks - rows, rows, rows * 128];
        assert_eq!(loads(cluster), expected, "{cluster:?}");
    }
}

#[test]
fn streaming_blocks_may_take_any_number_of_planes() {
    let problem = random([27, 10, 12], 2, 4);
    let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
    let solution = Inner::ST_REG_FIXED;
    let plan = recorded(&problem, &solution);
    // 19 planes inside: one part, unequal parts, one plane per part, and more parts than planes.
    for parts in [1, 2, 4, 7, 19, 40] {
        let plan = plan
            .map(|new, command| match command {
                Command::Launch(launch) if launch.kernel == solution.kernel => {
                    let mut config = launch.config;
                    config.grid[2] = parts;
                    new.launch(launch.kernel, config, launch.args.to_vec())
                }
                other => new.push(other),
            })
            .unwrap();
        let got = run(&problem, &plan);
        check::exact(&expected, &got).unwrap_or_else(|error| panic!("{parts} parts: {error}"));
    }
}
#[test]
fn only_the_semi_stencil_rounds_differently_and_a_wrong_one_is_refused() {
    for variant in &LAB.variants {
        assert_eq!(variant.is_exact(), !variant.name.starts_with("st_semi"));
    }
    let problem = random([19, 18, 40], 3, 4);
    let inputs = LabCase::inputs(&problem).unwrap();
    let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
    let device = EmulatedDevice::default();
    let got = run_case(&device, &problem, LAB.find("st_semi").unwrap())
        .unwrap()
        .outputs;
    check::exact(&expected, &got).unwrap_err();
    let checked = |variant, got: &_| {
        let variant = LAB.find(variant).unwrap();
        variant.check(&problem, &inputs, &expected, got).unwrap()
    };
    checked("st_semi", &got).unwrap();
    checked("gmem", &got).unwrap_err();
    // The reference passes by either rule. With a hundred-thousandth more at one point it does not.
    checked("st_semi", &expected).unwrap();
    let mut wrong = got.clone();
    let at = problem.grid().index(9, 9, 9) as usize;
    let (_, u) = wrong.iter_mut().find(|(name, _)| name == "u").unwrap();
    u.as_mut_slice::<f32>().unwrap()[at] += 1e-5;
    let error = checked("st_semi", &wrong).unwrap_err().to_string();
    assert!(error.contains("`u` is wrong in 1 of"), "{error}");
}
#[test]
fn the_longest_grids_fit() {
    for shape in [[130_000, 3, 3], [3, 260_000, 3], [3, 3, 10_000_000]] {
        for variant in &LAB.variants {
            let plan = variant.record(&random(shape, 1, 1)).unwrap();
            validate(&LAB.module, &plan, &LaunchLimits::SM_90).unwrap();
        }
    }
}
#[test]
fn the_largest_cube_fits_and_the_next_does_not() {
    for variant in &LAB.variants {
        let largest = |bytes| LAB.largest_extent(Some(variant), bytes);
        // 1000^3 needs 21 GB: five arrays of 1008 x 1008 rows of 1024 values, or eight with those
        // between passes.
        let arrays = if variant.name == "two_steps" { 8 } else { 5 };
        let bytes = arrays * 4 * 1008 * 1008 * 1024;
        assert!(largest(bytes) >= Some(1000) && largest(bytes - 1) < Some(1000));
        // 80 GB would hold a larger cube, but elements are numbered with 32 bits.
        assert_eq!(largest(80_000_000_000), Some(1276));
        assert_eq!(largest(100), None);
    }
}
#[test]
fn no_kernel_has_arrays_in_local_memory() {
    let ptx = LAB.module.for_device((9, 0)).ptx();
    let problem = random([9, 10, 11], 1, 2);
    for variant in &LAB.variants {
        for kernel in variant.record(&problem).unwrap().kernels() {
            let entry = format!(".entry {kernel}(");
            let (_, rest) = ptx.split_once(&entry).unwrap();
            let body = &rest[..rest.find("\n}").unwrap()];
            assert!(!body.contains(".local"), "{kernel}");
        }
    }
}
