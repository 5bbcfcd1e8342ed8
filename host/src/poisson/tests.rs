//! The references against each other and against analysis, convergence, and what is refused.

use std::f64::consts::PI;

use approx::assert_abs_diff_eq;
use kernels_gpu::poisson::Grid;
use proptest::prelude::*;

use super::{Box3, Field, Jacobi, LAB, Poisson, Source, Start, to_tolerance_on_cpu};
use lab::{CaseParams, Cpu, LabCase, Seed, Stop};
use terminal::progress::NoProgress;

fn random(n: u32, iterations: u32) -> Poisson {
    Poisson::new(n, iterations)
        .unwrap()
        .with_start(Start::Random { seed: 5.into() })
        .unwrap()
}
fn run(problem: &Poisson, cpu: Cpu) -> Vec<f64> {
    let outputs = problem.reference(cpu, &NoProgress).unwrap();
    outputs[0].1.as_slice::<f64>().unwrap().to_vec()
}
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}
/// A value at each point, from its coordinates in the cube.
fn field(grid: Grid, value: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
    let n = grid.n;
    let at = |i: u32| -1.0 + 2.0 * f64::from(i) / f64::from(n - 1);
    let mut values = Vec::new();
    for z in 0..n {
        for y in 0..n {
            values.extend((0..n).map(|x| value(at(x), at(y), at(z))));
        }
    }
    values
}
fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max)
}
#[test]
fn serial_and_parallel_give_the_same_bits() {
    for (n, iterations) in [(3, 5), (16, 9), (41, 6)] {
        let problem = random(n, iterations);
        assert_eq!(
            bits(&run(&problem, Cpu::Serial)),
            bits(&run(&problem, Cpu::Parallel)),
            "{problem}"
        );
    }
}
#[test]
fn one_iteration_is_the_formula() {
    // This is an independent statement of the problem: walls, source and iteration from
    // coordinates.
    for n in [3, 12, 25] {
        let problem = random(n, 1);
        let grid = problem.grid();
        let start = problem.initial().unwrap();
        let got = run(&problem, Cpu::Serial);
        let slack = 1e-12;
        let f = field(grid, |x, y, z| {
            let heated = x <= -3.0 / 8.0 + slack
                && y <= -0.5 + slack
                && (-2.0 / 3.0 - slack..=slack).contains(&z);
            if heated { 200.0 } else { 0.0 }
        });
        let walls = field(grid, |x, y, z| {
            if y == -1.0 {
                0.0
            } else if [x, y, z].iter().any(|c| c.abs() == 1.0) {
                20.0
            } else {
                f64::NAN
            }
        });
        let n = n as usize;
        let h = 2.0 / (n as f64 - 1.0);
        for i in 0..n * n * n {
            let expected = if walls[i].is_nan() {
                let sum: f64 = [i - 1, i + 1, i - n, i + n, i - n * n, i + n * n]
                    .iter()
                    .map(|&i| start[i])
                    .sum();
                (sum + h * h * f[i]) / 6.0
            } else {
                walls[i]
            };
            assert_abs_diff_eq!(got[i], expected, epsilon = 1e-13);
        }
    }
}
/// The mode sin(p pi x / (N - 1)) sin(q pi y / (N - 1)) sin(r pi z / (N - 1)) is an eigenvector of
/// the iteration with zero walls. Put it into the formula: the eigenvalue is (cos(p pi / (N - 1)) +
/// cos(q ...) + cos(r ...)) / 3.
#[test]
fn a_mode_decays_at_its_rate() {
    let grid = Grid { n: 14 };
    let (p, q, r) = (1.0, 2.0, 4.0);
    let mode = field(grid, |x, y, z| {
        let s = |k: f64, c: f64| (k * PI * (c + 1.0) / 2.0).sin();
        s(p, x) * s(q, y) * s(r, z)
    });
    let theta = PI / 13.0;
    let rate = ((p * theta).cos() + (q * theta).cos() + (r * theta).cos()) / 3.0;
    let nothing = Field {
        grid,
        values: vec![0.0; mode.len()],
    };
    let mut jacobi = Jacobi::new(grid, mode.clone(), &nothing, Cpu::Parallel).unwrap();
    for iteration in 1..=40 {
        jacobi.step();
        let exact: Vec<f64> = mode
            .iter()
            .map(|v| v * f64::powi(rate, iteration))
            .collect();
        assert!(largest_difference(jacobi.u(), &exact) < 1e-14);
    }
}
/// Iterates until rounding is all that changes.
fn solve(grid: Grid, u: Vec<f64>, source: &impl Source) -> Vec<f64> {
    let mut jacobi = Jacobi::new(grid, u, source, Cpu::Parallel).unwrap();
    for _ in 0..100_000 {
        for _ in 0..10 {
            jacobi.step();
        }
        if jacobi.change() < 1e-13 {
            return jacobi.into_u();
        }
    }
    panic!("does not converge");
}
#[test]
fn a_manufactured_solution_converges_at_second_order() {
    // No symmetry, and values on the walls: u = e^x sin(2 y) + cos(z + y / 2) + x y z, f = -Laplace
    // u.
    let exact =
        |x: f64, y: f64, z: f64| x.exp() * (2.0 * y).sin() + (z + y / 2.0).cos() + x * y * z;
    let f = |x: f64, y: f64, z: f64| 3.0 * x.exp() * (2.0 * y).sin() + 1.25 * (z + y / 2.0).cos();
    let error = |n| {
        let grid = Grid { n };
        let exact = field(grid, exact);
        let source = Field {
            grid,
            values: field(grid, f),
        };
        // The walls' values are the exact ones; the start is 0 inside.
        let mut start = exact.clone();
        for (i, value) in start.iter_mut().enumerate() {
            let i = i as u32;
            if !grid.is_wall(i % n, i / n % n, i / (n * n)) {
                *value = 0.0;
            }
        }
        largest_difference(&solve(grid, start, &source), &exact)
    };
    let errors = [9, 17, 33].map(error);
    assert!(errors[2] < 2e-3, "{errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((order - 2.0).abs() < 0.05, "order {order} of {errors:?}");
    }
}
#[test]
fn a_cubic_is_exact() {
    // Second differences of cubics have no error: the exact solution is the iteration's fixed
    // point.
    let grid = Grid { n: 12 };
    let exact = field(grid, |x, y, z| {
        x * x * x - 2.0 * y * y * z + x * y - 3.0 * z
    });
    let source = Field {
        grid,
        values: field(grid, |x, _, z| -6.0 * x + 4.0 * z),
    };
    assert!(largest_difference(&solve(grid, exact.clone(), &source), &exact) < 1e-11);
    let mut once = Jacobi::new(grid, exact.clone(), &source, Cpu::Serial).unwrap();
    assert_eq!(once.change(), 0.0);
    once.step();
    assert!(once.change() < 1e-14);
}
#[test]
fn the_box_has_the_grid_s_source() {
    for n in [3, 4, 24, 25] {
        let grid = Grid { n };
        let source = Box3::new(grid);
        for z in 0..n {
            for y in 0..n {
                let expected: Vec<f64> = (0..n).map(|x| grid.source(x, y, z)).collect();
                assert_eq!(source.row(y, z), expected, "n = {n}, y = {y}, z = {z}");
            }
        }
    }
}
#[test]
fn the_change_is_the_largest() {
    for cpu in [Cpu::Serial, Cpu::Parallel] {
        let problem = random(29, 1);
        let source = Box3::new(problem.grid());
        let start = problem.initial().unwrap();
        let mut jacobi = Jacobi::new(problem.grid(), start.clone(), &source, cpu).unwrap();
        jacobi.step();
        assert_eq!(jacobi.change(), largest_difference(jacobi.u(), &start));
    }
}
#[test]
fn looking_more_often_finds_the_end_sooner() {
    let problem = Poisson::new(9, 1000).unwrap();
    let end = |check_every| {
        let stop = Stop::new(0.05, check_every).unwrap();
        let end = to_tolerance_on_cpu(&problem, &stop, Cpu::Serial, &NoProgress).unwrap();
        assert!(end.reached && end.change <= 0.05);
        end.iterations
    };
    let first = end(1);
    assert!(first > 10, "{first}");
    assert_eq!(end(10), first.next_multiple_of(10));
    // The problem's iterations end first.
    let stop = Stop::new(0.05, 10).unwrap();
    let cut = problem.with_iterations(first - 1);
    let of_cut = to_tolerance_on_cpu(&cut, &stop, Cpu::Serial, &NoProgress).unwrap();
    assert_eq!((of_cut.iterations, of_cut.reached), (first - 1, false));
}
#[test]
fn nothing_to_do_is_done_at_once() {
    let problem = random(4, 0);
    assert_eq!(run(&problem, Cpu::Serial), problem.initial().unwrap());
    let stop = Stop::new(1.0, 1).unwrap();
    let end = to_tolerance_on_cpu(&problem, &stop, Cpu::Serial, &NoProgress).unwrap();
    assert_eq!((end.iterations, end.reached), (0, false));
}
#[test]
fn points_are_located() {
    let problem = Poisson::new(10, 1).unwrap();
    assert_eq!(problem.locate("u", 123).unwrap(), "x = 3, y = 2, z = 1");
}
fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}
#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n=2"]), @"parameter `n` = `2`: a cube has at least 3 points along each axis: two walls and one between them");
    insta::assert_snapshot!(refusal(&["n=32769"]), @"parameter `n` = `32769`: a cube has at most 32768 points along each axis: kernels number those of a few layers with 32 bits");
    insta::assert_snapshot!(refusal(&["n=-5"]), @"parameter `n` = `-5`: write a whole number from 0 to 4294967295: points along each axis, walls included: 3 to 32768; variants of one launch take 1625");
    insta::assert_snapshot!(refusal(&["t0=nan"]), @"parameter `t0` = `NaN`: a number of at most 1e9 in magnitude");
    insta::assert_snapshot!(refusal(&["t0=-inf"]), @"parameter `t0` = `-inf`: a number of at most 1e9 in magnitude");
    insta::assert_snapshot!(refusal(&["seed=x"]), @"parameter `seed` = `x`: a number from 0 to 2^64 - 1, or `none`");
    insta::assert_snapshot!(refusal(&["seed=1", "t0=3"]), @"parameter `seed` = `1`: start values are either random or t0: leave one of the two out");
    insta::assert_snapshot!(refusal(&["N=3"]), @"unknown parameter `N`; there are: n, iterations, t0, seed, scale");
}
proptest! {
    /// An average is between its values, and the source only adds.
    #[test]
    fn values_stay_between_walls_and_source(n in 3_u32..12, iterations in 0_u32..40, seed in any::<u64>()) {
        let problem = Poisson::new(n, iterations).unwrap().with_start(Start::Random { seed: Seed::Number(seed) }).unwrap();
        let heat = f64::from(iterations) * problem.grid().h2() * 200.0 / 6.0;
        for u in run(&problem, Cpu::Serial) {
            prop_assert!((-1e-12..=20.0 + heat + 1e-12).contains(&u), "{}", u);
        }
    }

    #[test]
    fn the_largest_change_never_grows(n in 3_u32..12, seed in any::<u64>()) {
        let problem = Poisson::new(n, 0).unwrap().with_start(Start::Random { seed: Seed::Number(seed) }).unwrap();
        let source = Box3::new(problem.grid());
        let mut jacobi = Jacobi::new(problem.grid(), problem.initial().unwrap(), &source, Cpu::Serial).unwrap();
        let mut last = f64::INFINITY;
        for _ in 0..30 {
            jacobi.step();
            prop_assert!(jacobi.change() <= last + 1e-13);
            last = jacobi.change();
        }
    }
}
#[test]
fn the_reference_stays_near_the_oracle() {
    let problem = Poisson::new(17, 40)
        .unwrap()
        .with_start(Start::Random { seed: 3.into() })
        .unwrap();
    let inputs = problem.inputs().unwrap();
    let reference = problem.reference(Cpu::Parallel, &NoProgress).unwrap();
    let oracle = problem.oracle_from(&inputs, &NoProgress).unwrap().unwrap();
    let values = |buffers: &device::NamedBuffers| buffers[0].1.as_slice::<f64>().unwrap().to_vec();
    let noise = values(&reference)
        .iter()
        .zip(values(&oracle))
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    // Values are up to 40. The noise is a few units in the last place, and above 0.
    assert!(noise > 0.0 && noise < 1e-13, "{noise}");
}
