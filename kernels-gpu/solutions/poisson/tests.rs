//! The solutions' launches, traffic and results, and the instructions of their kernels.

use approx::assert_abs_diff_eq;
use kernels_gpu::poisson::Grid;
use plan::Interface as _;

use super::computes_source::launch::Shape;
use super::fast::launch as fast;
use super::fast_single::launch as fast_single;
use super::stored_source::kernels::no_branches_block;
use crate::computed::assert_computes;
use crate::poisson::{LAB, Poisson, Start, to_tolerance, to_tolerance_on_cpu};
use device::validate::validate;
use device::{EmulatedDevice, LaunchLimits};
use lab::{Cpu, InterfaceCase, LabCase, Stop, Variant};
use plan::{Command, Target};
use terminal::progress::NoProgress;

fn random(n: u32, iterations: u32) -> Poisson {
    let problem = Poisson::new(n, iterations).unwrap();
    problem
        .with_start(Start::Random { seed: 5.into() })
        .unwrap()
}

#[test]
fn the_model_of_fast_knows_that_tiles_of_odd_cubes_write_a_column_less() {
    let columns = [256, 257].map(|n| {
        let target = Target {
            devices: 1,
            ..1.into()
        };
        let fast = format!("fast@{}", fast::Shape::DEFAULT.label());
        let fast = LAB.find(&fast).unwrap();
        let demand = fast.demand(&random(n, 9), target).unwrap();
        let list = fast::Shape::DEFAULT.blocks(n, 1..n - 1, target.multiprocessors);
        let chunk = list.mean_planes();
        // Tiles of 64 by 32 points are read. In 32 - 2 * 3 rows, and a chunk's own planes, points
        // are written.
        let written = demand.bytes / 8 - 64 * 32;
        let planes = f64::from(chunk) / f64::from(chunk + 2 * 3);
        (written as f64 / (26.0 * planes)).round()
    });
    assert_eq!(columns, [56.0, 55.0]);
}

#[test]
fn every_device_and_variant_stops_at_the_same_iteration_with_the_same_field() {
    let device = EmulatedDevice::default();
    // An odd `check_every`, an even one, a limit that is not a multiple of it, a tolerance that is
    // not reached.
    for (check_every, iterations, tolerance) in [(3, 100, 0.5), (4, 100, 0.7), (4, 10, 1e-9)] {
        let problem = random(7, iterations);
        let stop = Stop::new(tolerance, check_every).unwrap();
        let expected = to_tolerance_on_cpu(&problem, &stop, Cpu::Serial, &NoProgress).unwrap();
        assert_eq!(expected.reached, tolerance > 0.1);
        let parallel = to_tolerance_on_cpu(&problem, &stop, Cpu::Parallel, &NoProgress).unwrap();
        assert_eq!(parallel.u, expected.u);
        let plain = problem.clone().with_iterations(expected.iterations);
        let plain = plain.reference(Cpu::Serial, &NoProgress).unwrap();
        assert_eq!(plain[0].1, expected.u);
        for variant in &LAB.variants {
            let got = to_tolerance(&device, &problem, variant, &stop, &NoProgress).unwrap();
            let end = (got.iterations, got.change.to_bits(), got.reached);
            let expected_end = (
                expected.iterations,
                expected.change.to_bits(),
                expected.reached,
            );
            assert_eq!(end, expected_end, "{}", variant.name);
            assert_eq!(got.u, expected.u, "{}", variant.name);
        }
    }
}
#[test]
fn plans_have_the_launches_that_the_iterations_need() {
    let launches = |variant: &str| {
        let plan = LAB.find(variant).unwrap().record(&random(20, 7)).unwrap();
        plan.check().unwrap();
        let launches = plan
            .commands()
            .filter(|command| matches!(command, Command::Launch(_)));
        (launches.count(), plan.memory_bytes().unwrap())
    };
    let field = 8 * 20_u64.pow(3);
    assert_eq!(launches("reads_source"), (1 + 7, 3 * field));
    assert_eq!(launches("no_branches"), (1 + 7, 3 * field));
    assert_eq!(launches("layer_by_layer"), (1 + 7 * 18, 3 * field));
    assert_eq!(launches("shared_tile"), (1 + 7, 3 * field));
    assert_eq!(launches("computes_source"), (7, 2 * field));
    assert_eq!(launches("fast_single"), (7, 2 * field));
    assert_eq!(launches("fast"), (3, 2 * field));
    assert_eq!(launches("fast_at_once"), (1, 2 * field + 4 * (6 + 2)));
    for on_one_device in ["dual", "split_single"] {
        assert_eq!(launches(on_one_device), (7, 2 * field));
    }
}
#[test]
fn the_largest_grid_fits_every_launch() {
    for n in [640, Grid::MAX_N - 1, Grid::MAX_N] {
        // Larger cubes do not fit on the chip.
        let takes_any = |variant: &&Variant| variant.name != "resident_grid";
        for variant in LAB.variants.iter().filter(takes_any) {
            let plan = variant.record(&Poisson::new(n, 1).unwrap()).unwrap();
            validate(&LAB.module, &plan, &LaunchLimits::SM_90).unwrap();
        }
    }
}
#[test]
fn slabs_take_larger_cubes_in_launches_that_32_bits_number() {
    use super::computes_source::{dual, split};
    let solutions: [(&str, &dyn plan::Solution<plan::poisson::Poisson>); 2] = [
        ("dual", &dual::launch::Submission),
        ("split_single", &split::launch::Submission),
    ];
    for n in [Grid::MAX_N, Grid::MAX_N + 1, 4000, Grid::MAX_N_IN_LAYERS] {
        let problem = plan::poisson::Problem { n, iterations: 1 };
        for (name, solution) in solutions {
            for devices in [1, 2, 4, 6] {
                let plan =
                    plan::poisson::Poisson::record_for(devices, name, &problem, solution).unwrap();
                for command in plan.commands() {
                    if !matches!(command, Command::Launch(_)) {
                        continue;
                    }
                    // The kernel's largest element number is in the layer after those that it
                    // reads.
                    let bounds = command.bounds(plan.buffers());
                    let longest = bounds.map(|(_, range, _)| range.end - range.start).max();
                    let numbered = longest.unwrap() + u64::from(n * n);
                    assert!(numbered <= 1 << 32, "{name}, {n}: {numbered}");
                }
            }
        }
    }
    let refused = LAB
        .find("computes_source")
        .unwrap()
        .record(&Poisson::new(1626, 1).unwrap())
        .unwrap_err();
    insta::assert_snapshot!(refused, @"the solution refuses this problem: its kernels number points with 32 bits, and so at most 1625 along each axis; this cube has 1626");
}
/// Asserts that a solution computes the reference's field.
fn is_right(problem: &Poisson, name: &str, solution: &dyn plan::poisson::Solution) {
    let description = problem.problem();
    let plan = plan::poisson::Poisson::record(name, &description, solution).unwrap();
    let expected = problem.reference(Cpu::Serial, &NoProgress).unwrap();
    assert_computes(&LAB.module, problem, &plan, &expected);
}
#[test]
fn resident_takes_all_iterations_in_one_launch() {
    let kernels = |n| {
        let plan = LAB.find("resident").unwrap().record(&random(n, 2)).unwrap();
        let kernels = plan.commands().filter_map(|command| match command {
            Command::Launch(launch) => Some(launch.kernel.to_owned()),
            _ => None,
        });
        kernels.collect::<Vec<_>>()
    };
    assert_eq!(kernels(32), ["poisson_resident_4x2"]);
    assert_eq!(kernels(40), ["poisson_resident_one_iteration"; 2]);
    for shape in super::resident::launch::Shape::SPACE {
        // One point inside, whole slabs, a layer and a row more, a cube that does not fit.
        for (n, iterations) in [(3, 3), (8, 2), (9, 5), (17, 1), (40, 3)] {
            is_right(&random(n, iterations), &shape.label(), shape);
        }
    }
}
#[test]
fn any_shape_computes_the_same() {
    let problem = random(15, 2);
    for (block, layers) in [
        ([32, 4, 4], 1),
        ([16, 2, 2], 3),
        ([64, 1, 1], 4),
        ([8, 8, 1], 5),
        ([32, 2, 1], 13),
        ([5, 3, 2], 1000),
    ] {
        is_right(
            &problem,
            &format!("{block:?}, {layers} layers"),
            &Shape { block, layers },
        );
    }
}
#[test]
fn any_shape_of_fast_single_computes_the_same() {
    // Rows that begin in the middle of a line, numbers of layers that are not a multiple of a
    // column's.
    for (at, shape) in fast_single::Shape::SPACE.iter().enumerate() {
        let n = [15, 18, 20, 16][at % 4];
        is_right(&random(n, 3), &shape.label(), shape);
    }
}
#[test]
fn fast_computes_the_same_at_the_edges_of_tiles_chunks_and_launches() {
    // Every kernel.
    let shapes = fast::Shape::SPACE.iter();
    for (at, shape) in (0..).zip(shapes) {
        let rows = shape.rows * shape.warps;
        let t = shape.levels;
        // One point inside; one row more than a tile has; one column more, in odd rows, which are
        // not aligned. Tiles without a wall, without the source, and without both; chunks that have
        // only inner planes.
        for (n, iterations, chunks) in [
            (3, 2 * t + 2, 64),
            (13, t, 3),
            (rows + 1, t + 1, 1),
            (65, 2, 3),
            (122 + at % 2, t, 3),
        ] {
            let shape = fast::Shape { chunks, ..*shape };
            is_right(&random(n, iterations), &shape.label(), &shape);
        }
    }
    // A shorter launch, on odd rows.
    let shape = fast::Shape {
        chunks: 3,
        ..fast::Shape::DEFAULT
    };
    let iterations = shape.levels + 1;
    is_right(&random(123, iterations), &shape.label(), &shape);
}
#[test]
fn blocks_of_fast_cover_the_cube() {
    for shape in fast::Shape::SPACE {
        let cubes = (3..70).chain((70..Grid::MAX_N).step_by(101));
        for n in cubes.chain([Grid::MAX_N]) {
            let list = shape.blocks(n, 1..n - 1, 132);
            let mut seen = std::collections::HashMap::new();
            for block in 0..list.blocks() {
                let place = list.find(block);
                let of_tile = seen.entry(place.tile).or_insert(0);
                *of_tile += place.planes[1] - place.planes[0];
            }
            assert!(
                seen.values().all(|&planes| planes == n - 2),
                "{n}: {seen:?}"
            );
            let [x, y] = [0, 1].map(|axis| 1 + seen.keys().map(|tile| tile[axis]).max().unwrap());
            assert_eq!(seen.len() as u32, x * y, "{n}");
            let rows = shape.rows * shape.warps;
            // Odd rows lack a tile's last column.
            let (columns, width) = (56 - n % 2, 64 - n % 2);
            assert!(
                (x - 1) * columns + width >= n && (x == 1 || (x - 2) * columns + width < n),
                "{n}"
            );
            let right = rows - 2 * shape.levels;
            assert!(
                (y - 1) * right + rows >= n && (y == 1 || (y - 2) * right + rows < n),
                "{n}"
            );
        }
    }
    let list = fast::Shape::DEFAULT.blocks(512, 1..511, 132);
    insta::assert_snapshot!(format!("{} blocks, {} planes", list.blocks(), list.mean_planes()), @"900 blocks, 102 planes");
}
/// The lines of a kernel's body.
fn body(kernel: &str) -> Vec<&'static str> {
    let ptx = LAB.module.ptx();
    let (_, rest) = ptx.split_once(&format!(".entry {kernel}(")).unwrap();
    let end = rest.find("\n}").unwrap();
    rest[..end].lines().map(str::trim).collect()
}
#[test]
fn no_branches_has_no_branches() {
    let decides = |line: &&str| {
        ["bra", "setp", "selp", "@"]
            .iter()
            .any(|word| line.starts_with(word))
    };
    assert_eq!(body("poisson_no_branches").into_iter().find(decides), None);
    assert!(body("poisson_reads_source").iter().any(decides));
}
#[test]
fn memory_accesses_have_their_state_space_and_u_is_read_only() {
    for kernel in [
        "source",
        "reads_source",
        "no_branches",
        "layer_by_layer",
        "shared_tile",
        "computes_source",
        "dual",
        "max_change",
        "fast_single",
        "fast_single_ahead",
        "fast_t3_r4_w8_s3",
        "fast_t2_r4_w8_s6",
        "fast_t3_r4_w8_s6",
        "fast_t3_r3_w12_s6",
        "fast_t4_r3_w8_s6",
    ] {
        let body = body(&format!("poisson_{kernel}"));
        for line in &body {
            let access = ["ld.", "st.", "atom."]
                .iter()
                .any(|op| line.starts_with(op));
            let space = [".global", ".shared", ".param"]
                .iter()
                .any(|space| line.contains(space));
            assert!(!access || space, "{kernel}: {line}");
            let plain = line.starts_with("ld.global") && !line.starts_with("ld.global.nc");
            assert!(!plain, "{kernel}: {line}");
        }
    }
}
#[test]
fn bytes_are_counted() {
    // N = 4: 64 points, 8 of them inside; 24 points inside the walls' faces.
    let work = |variant, case: &Poisson| LAB.find(variant).unwrap().work(case);
    let bytes = |variant| work(variant, &Poisson::new(4, 10).unwrap()).bytes;
    let (points, inside, faces) = (64, 8, 24);
    assert_eq!(
        bytes("reads_source"),
        8 * (points + 10 * (inside + faces + inside + points))
    );
    assert_eq!(
        bytes("no_branches"),
        8 * (points + 2 * points + 10 * (inside + faces + inside + inside))
    );
    assert_eq!(bytes("layer_by_layer"), bytes("no_branches"));
    assert_eq!(bytes("shared_tile"), bytes("no_branches"));
    assert_eq!(
        bytes("computes_source"),
        8 * (2 * points + 10 * (inside + faces + 16))
    );
    assert_eq!(bytes("fast_single"), bytes("computes_source"));
    // Three launches of three iterations, and one of one.
    assert_eq!(bytes("fast"), 8 * (2 * points + 4 * (inside + faces + 16)));
    assert_eq!(Poisson::new(4, 10).unwrap().usual_bytes(), 24 * 10 * 64);
    // On a large grid, nearly 24 and 16 bytes per point and iteration.
    let large = Poisson::new(640, 1000).unwrap();
    let a_point = |variant| work(variant, &large).bytes as f64 / large.usual_bytes() as f64 * 24.0;
    assert_abs_diff_eq!(a_point("reads_source"), 24.0, epsilon = 0.1);
    assert_abs_diff_eq!(a_point("computes_source"), 16.0, epsilon = 0.1);
}
#[test]
fn the_largest_cube_that_fits_is_named() {
    let gib = 1_u64 << 30;
    let largest = |variant, bytes| LAB.largest_extent(LAB.find(variant).ok(), bytes);
    assert_eq!(largest("computes_source", 80 * gib), Some(1625));
    assert_eq!(largest("reads_source", 80 * gib), Some(1529));
    assert_eq!(largest("computes_source", 2 * 8 * 27), Some(3));
    assert_eq!(largest("computes_source", 2 * 8 * 27 - 1), None);
}

#[test]
fn no_iterations_need_no_launch() {
    let problem = random(4, 0);
    for variant in &LAB.variants {
        let plan = variant.record(&problem).unwrap();
        assert_eq!(plan.commands().len(), 0);
        assert_eq!(variant.work(&problem).bytes, 0);
    }
}

#[test]
fn blocks_without_branches_fit_exactly() {
    for n in 3..=Grid::MAX_N {
        let [x, y, z] = no_branches_block(n);
        assert_eq!(((n - 2) % x, (n - 2) % y, z), (0, 0, 1), "n = {n}");
        assert!(x * y <= 1024, "n = {n}");
    }
    assert_eq!(no_branches_block(3), [1, 1, 1]);
    assert_eq!(no_branches_block(128), [126, 3, 1]);
    assert_eq!(no_branches_block(512), [510, 1, 1]);
    assert_eq!(no_branches_block(640), [638, 1, 1]);
}

#[test]
fn resident_grid_computes_the_same_with_every_kernel() {
    use super::resident_grid::{kernels::INSTANCES, launch::Submission};
    let mut kernels = Vec::new();
    // One point inside, boxes that are cut off, odd rows, all points of a lane. The fewer
    // multiprocessors, the larger a box.
    for (n, iterations, multiprocessors) in [
        (3, 3, 132),
        (9, 1, 132),
        (33, 4, 132),
        (64, 3, 132),
        (31, 2, 25),
        (65, 4, 132),
        (70, 1, 132),
        (66, 3, 46),
    ] {
        let problem = random(n, iterations);
        let target = Target {
            multiprocessors,
            ..1.into()
        };
        let description = problem.problem();
        let plan =
            plan::poisson::Poisson::record_for(target, "resident_grid", &description, &Submission);
        let plan = plan.unwrap();
        let Some(Command::Launch(launch)) = plan.commands().last() else {
            panic!("{n}^3 has a launch");
        };
        kernels.push(launch.kernel.to_owned());
        let expected = problem.reference(Cpu::Serial, &NoProgress).unwrap();
        assert_computes(&LAB.module, &problem, &plan, &expected);
    }
    let missing = INSTANCES
        .iter()
        .find(|instance| !kernels.contains(&instance.0.to_owned()));
    assert_eq!(missing, None, "{kernels:?}");
}
#[test]
fn resident_grid_wins_where_all_multiprocessors_have_as_much_of_the_cube() {
    use super::resident_grid::launch;
    let wins = |n| launch::wins(n, Target::MULTIPROCESSORS);
    assert_eq!([32, 48, 64, 96, 128].map(wins), [true; 5]);
    // 98 boxes of 128 rows; cubes that do not fit.
    assert_eq!([112, 129, 512].map(wins), [false; 3]);
    let refused = LAB.find("resident_grid").unwrap().record(&random(150, 1));
    insta::assert_snapshot!(refused.unwrap_err(), @"the solution refuses this problem: it keeps the field in registers and shared memory, and 150^3 points do not fit in those of 132 multiprocessors; variant fast takes any size");
}
