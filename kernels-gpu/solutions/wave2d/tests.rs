//! The solutions' launches, and their results at the edges of tiles.

use kernels_gpu::wave2d::padded::Layout;
use kernels_gpu::wave2d::{AnyScene, Domain, update};
use plan::Plan;
use plan::wave2d::Solution;
use proptest::prelude::*;

use super::fast::launch::Shape;
use super::{resident, single, wavefront};
use crate::computed::assert_computes;
use crate::wave2d::{LAB, Start, Wave2d};
use device::run::run_once;
use device::validate::validate;
use device::{Device, EmulatedDevice, LaunchLimits};
use lab::{Cpu, InterfaceCase, LabCase, Seed};
use plan::Command;
use terminal::progress::NoProgress;

fn problem(n_x: u32, n_y: u32, steps: u32) -> Wave2d {
    Wave2d::new(n_x, n_y, steps, "point-source").unwrap()
}

#[test]
fn the_longest_domain_fits_a_grid() {
    for variant in &LAB.variants {
        let plan = variant.record(&problem(2, 500_000, 1)).unwrap();
        validate(&LAB.module, &plan, &LaunchLimits::SM_90).unwrap();
    }
}

#[test]
fn plans_have_the_launches_that_the_steps_need() {
    let launches = |variant, steps| {
        let plan = LAB
            .find(variant)
            .unwrap()
            .record(&problem(300, 200, steps))
            .unwrap();
        plan.check().unwrap();
        plan.commands().len()
    };
    assert_eq!(launches("naive", 0), 0);
    assert_eq!(launches("naive", 17), 17);
    // The table of kinds comes first.
    assert_eq!(launches("single", 17), 1 + 17);
    assert_eq!(launches("shmem", 20), 2);
    assert_eq!(launches("shmem", 21), 3);
    // Three fills, the padding, three tables; the removal of the padding.
    assert_eq!(launches("fast", 0), 0);
    assert_eq!(launches("fast", 12_800), 8 + 800);
    assert_eq!(launches("fast", 39), 8 + 2 + 1 + 3);
    assert_eq!(launches("fast_exact", 39), 8 + 3 + 3);
    // A fill, the padding, three tables; the removal of the padding. A start and all passes.
    assert_eq!(launches("wavefront", 0), 0);
    assert_eq!(launches("wavefront", 12_800), 6 + 2);
    assert_eq!(launches("wavefront", 39), 6 + 2 + 2 + 2);
}

fn recorded(label: String, solution: &dyn Solution, problem: &Wave2d) -> Plan {
    let description = problem.problem();
    <plan::wave2d::Wave2d as plan::Interface>::record(label, &description, solution).unwrap()
}

fn check(shape: Shape, problem: &Wave2d) {
    check_arithmetic((shape.label(), shape.exact), &shape, problem);
}

/// Asserts that the plan computes the reference of the shape's arithmetic.
fn check_arithmetic((label, exact): (String, bool), shape: &dyn Solution, problem: &Wave2d) {
    let inputs = LabCase::inputs(problem).unwrap();
    let expected = if exact {
        LabCase::reference_from(problem, &inputs, Cpu::Serial, &NoProgress).unwrap()
    } else {
        problem.fused_reference(&inputs).unwrap().unwrap()
    };
    let plan = recorded(label, shape, problem);
    assert_computes(&LAB.module, problem, &plan, &expected);
}

fn check_wavefront(shape: wavefront::launch::Shape, problem: &Wave2d) {
    check_arithmetic((shape.label(), shape.exact), &shape, problem);
}

#[test]
fn single_is_right_in_every_shape_and_scene() {
    // Domains without an inside, rows that begin anywhere in a line, rows that all begin with a
    // line, blocks that are plain.
    let sizes = [(2, 2), (2, 9), (70, 2), (33, 34), (64, 19), (300, 140)];
    for (at, scene) in AnyScene::NAMES.iter().enumerate() {
        for (n_x, n_y) in sizes {
            let problem = Wave2d::new(n_x, n_y, 3, scene).unwrap();
            let problem = problem.with_start(Start::Random { seed: 6.into() });
            let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
            for shape in single::launch::Shape::SPACE.iter().skip(at % 2).step_by(2) {
                let plan = recorded(shape.label(), shape, &problem);
                assert_computes(&LAB.module, &problem, &plan, &expected);
            }
        }
    }
}

#[test]
fn strips_and_chunks_are_right_at_their_edges() {
    // Each shape has its kernel: blocks change no cell.
    for shape in [Shape::DEFAULT, Shape::EXACT] {
        let own = 128 - 2 * shape.steps;
        for (n_x, n_y, steps, warps) in [
            (own - 1, 9, shape.steps, 3),
            (own, 31, shape.steps + 1, 2),
            (own + 1, 32, 2 * shape.steps + 7, 7),
            (2 * own + 1, 33, shape.steps - 1, 5),
            (5, 150, shape.steps, 1),
            (128, 101, shape.steps + 4, 1056),
        ] {
            let problem = Wave2d::new(n_x, n_y, steps, "double-slit").unwrap();
            let problem = problem.with_start(Start::Random { seed: 3.into() });
            let warps = Some(warps);
            check(Shape { warps, ..shape }, &problem);
        }
    }
}

#[test]
fn passes_are_right_behind_one_another() {
    use wavefront::launch::Shape;
    for (at, shape) in Shape::SPACE.iter().enumerate() {
        // Less than a strip, whole strips, a column more; passes of all kernels, and more passes
        // than the rows have room for, which one shape suffices for.
        let long = (at == 0).then_some((300, 330, 5 * 16 + 1, "elliptic-room"));
        let problems = [
            (5, 150, 16, "double-slit"),
            (95, 9, 21, "empty-box"),
            (192, 64, 3 * 16 + 7, "point-source"),
            (193, 65, 16 + 15, "parabolic-mirror"),
        ];
        for (n_x, n_y, steps, scene) in problems.into_iter().chain(long) {
            let problem = Wave2d::new(n_x, n_y, steps, scene).unwrap();
            let problem = problem.with_start(Start::Random { seed: 3.into() });
            check_wavefront(*shape, &problem);
            // Several launches, with the reference's order of operations.
            check_wavefront(
                Shape {
                    passes: 2,
                    exact: true,
                    ..*shape
                },
                &problem,
            );
        }
    }
}

/// Every row of every strip belongs to exactly one chunk. Rows far inside walls belong to none
/// where a strip begins or ends with them.
#[test]
fn chunks_have_all_rows_with_something_to_do() {
    let (n_x, n_y) = (500, 400);
    let domain = Domain { n_x, n_y };
    for shape in Shape::SPACE.iter().filter(|shape| shape.block_warps == 8) {
        for (number, name) in (0..).zip(AnyScene::NAMES) {
            let problem = Wave2d::new(n_x, n_y, 2, name).unwrap();
            let shape = Shape {
                warps: Some(40),
                ..*shape
            };
            let plan = recorded(shape.label(), &shape, &problem);
            let device = EmulatedDevice::default();
            let mut session = device.prepare(&LAB.module, &plan).unwrap();
            let inputs = LabCase::inputs(&problem).unwrap();
            run_once(session.as_mut(), &plan, &inputs).unwrap();
            let chunks = session.read(plan.find_buffer("chunks").unwrap()).unwrap();

            let halo = shape.steps;
            let layout = Layout { n_x, n_y, halo };
            let mut of_strips = vec![vec![0; n_y as usize]; layout.strips() as usize];
            for chunk in chunks.as_slice::<u32>().unwrap().chunks_exact(4) {
                for y in chunk[1]..chunk[2] {
                    of_strips[chunk[0] as usize][y as usize] += 1;
                }
            }
            let scene = AnyScene::new(number, domain);
            // Either all or none of a block's chunks come near a row with a cell that is not plain.
            // Cells outside are not plain.
            let is_rough = |chunk: &[u32]| {
                let first_column = (chunk[0] * layout.own()).wrapping_sub(layout.before());
                let is_plain = |y: u32| {
                    (0..128).all(|column| {
                        let x = first_column.wrapping_add(column);
                        let plain = update::Kind::Free { damping: 0.0 };
                        x < n_x && y < n_y && update::kind(&scene, domain, x, y) == plain
                    })
                };
                let reach = halo + 2;
                (0..chunk[2] - chunk[1] + 2 * reach)
                    .any(|row| !is_plain((chunk[1] + row).wrapping_sub(reach)))
            };
            for block in chunks.as_slice::<u32>().unwrap().chunks(4 * 8) {
                let chunks = block.chunks_exact(4).filter(|chunk| chunk[1] < chunk[2]);
                let rough: Vec<bool> = chunks.map(is_rough).collect();
                assert!(
                    rough.iter().all(|&is| is == rough[0]),
                    "{name}: {block:?}, {rough:?}"
                );
            }
            let mut skipped = 0;
            for (strip, rows) in (0..).zip(&of_strips) {
                let columns = (strip * layout.own()).saturating_sub(layout.before())
                    ..(strip * layout.own() + 128 - layout.before()).min(n_x);
                let is_zero = |y| {
                    let mut cells = columns.clone();
                    cells.all(|x| update::kind(&scene, domain, x, y) == update::Kind::Zero)
                };
                let zeros: Vec<bool> = (0..n_y).map(is_zero).collect();
                for (y, &count) in rows.iter().enumerate() {
                    let reach = halo as usize + 2;
                    let around = y.saturating_sub(reach)..(y + reach + 1).min(n_y as usize);
                    let is_blank = zeros[around].iter().all(|&zero| zero);
                    assert!(count == 1 || count == 0 && is_blank, "{name}, {strip}, {y}");
                    skipped += u32::from(count == 0);
                }
            }
            assert_eq!(skipped > 0, name == "elliptic-room", "{name}: {skipped}");
        }
    }
}

#[test]
fn a_plain_middle_is_right_beside_rough_edges() {
    // The domain is large enough for steps at which the pipeline holds only plain cells, and for
    // sources after some of these. The room also has rows far inside walls.
    for scene in ["point-source", "elliptic-room", "empty-box"] {
        let problem = Wave2d::new(300, 330, 33, scene).unwrap();
        let problem = problem.with_start(Start::Random { seed: 4.into() });
        for shape in [Shape::DEFAULT, Shape::EXACT] {
            check(
                Shape {
                    warps: Some(11),
                    ..shape
                },
                &problem,
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn any_problem_is_right(
        (n_x, n_y) in (2_u32..240, 2_u32..200),
        steps in 0_u32..40,
        scene in 0..5_usize,
        k in 0.01_f32..0.5,
        (first_step, seed) in any::<(u32, u64)>(),
        warps in 1_u32..40,
        shape in prop::sample::select(vec![Shape::DEFAULT, Shape::SPACE[4], Shape::EXACT]),
    ) {
        let scene = AnyScene::NAMES[scene];
        let problem = Wave2d::new(n_x, n_y, steps, scene).unwrap()
            .with_k(k).unwrap()
            .with_first_step(first_step)
            .with_start(Start::Random { seed: Seed::Number(seed) });
        let warps = Some(warps);
            check(Shape { warps, ..shape }, &problem);
        check_wavefront(wavefront::launch::Shape::SPACE[seed as usize % 2], &problem);
    }

    #[test]
    fn launches_have_all_steps(steps in 0_u32..2000, shape in prop::sample::select(Shape::SPACE)) {
        let launches: Vec<u32> = shape.launches(steps).collect();
        prop_assert_eq!(launches.iter().sum::<u32>(), steps);
        prop_assert!(launches.len() as u32 <= steps / shape.steps + 6);
    }
}

#[test]
fn resident_takes_all_timesteps_in_one_launch() {
    let launches = |n_x, n_y| {
        let plan = LAB
            .find("resident")
            .unwrap()
            .record(&problem(n_x, n_y, 2))
            .unwrap();
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
    let is_right = |shape: &resident::launch::Shape, scene: &str, (n_x, n_y, steps)| {
        let problem = Wave2d::new(n_x, n_y, steps, scene).unwrap();
        let problem = problem.with_start(Start::Random { seed: 3.into() });
        let expected = LabCase::reference(&problem, Cpu::Serial, &NoProgress).unwrap();
        let plan = recorded(shape.label(), shape, &problem);
        assert_computes(&LAB.module, &problem, &plan, &expected);
    };
    for (shape, scene) in resident::launch::Shape::SPACE
        .iter()
        .zip(AnyScene::NAMES.iter().cycle())
    {
        // Domains without an inside, whole slabs, a row more.
        for size in [(2, 2, 3), (9, 104, 3), (33, 105, 4), (70, 33, 1)] {
            is_right(shape, scene, size);
        }
    }
    for scene in AnyScene::NAMES {
        // This domain does not fit a cluster.
        is_right(&resident::launch::Shape::DEFAULT, scene, (1025, 9, 3));
    }
}
