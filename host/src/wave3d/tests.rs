//! The references against each other, against analysis, and what they refuse.

use std::f64::consts::PI;

use kernels_gpu::wave3d::update::laplacian;
use kernels_gpu::wave3d::{Domain, LAYER, update::Neighbours};
use proptest::prelude::*;

use super::problem::largest_timestep;
use super::{Coefficients, Fields, LAB, Model, Ricker, Start, Wave3d, advance};
use lab::{CaseParams, Cpu, LabCase, Seed};
use terminal::progress::NoProgress;

fn run(problem: &Wave3d, cpu: Cpu) -> Fields {
    let mut fields = problem.initial().unwrap();
    let coefficients = problem.coefficients();
    advance(problem, &coefficients, &mut fields, cpu, &NoProgress);
    fields
}
fn random(shape: [u32; 3], steps: u32) -> Wave3d {
    let start = Start::Random { seed: 5.into() };
    Wave3d::new(shape, steps).unwrap().with_start(start)
}
/// Every (i, j, k), in the order of a field.
fn sites([n_x, n_y, n_z]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..n_x).flat_map(move |i| (0..n_y).flat_map(move |j| (0..n_z).map(move |k| [i, j, k])))
}
#[test]
fn serial_and_parallel_give_the_same_bits() {
    for shape in [
        [3, 3, 3],
        [3, 50, 400],
        [40, 3, 500],
        [31, 32, 33],
        [64, 64, 3],
    ] {
        let problem = random(shape, 20);
        let serial = run(&problem, Cpu::Serial);
        let parallel = run(&problem, Cpu::Parallel);
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&serial.u_prev), bits(&parallel.u_prev), "{problem}");
        assert_eq!(bits(&serial.u), bits(&parallel.u), "{problem}");
    }
}
#[test]
fn one_step_is_the_formula() {
    // This is an independent statement of the scheme, site by site, with the source at its peak.
    let shape = [17, 19, 23];
    let [n_x, n_y, n_z] = shape;
    let problem = random(shape, 1).with_first_step(50);
    let initial = problem.initial().unwrap();
    let result = run(&problem, Cpu::Serial);
    assert_eq!(
        result.u_prev, initial.u,
        "the last field becomes the second-last"
    );
    let (dt, dx) = (0.002, 10.0);
    let tables = problem.coefficients();
    let at = |[i, j, k]: [u32; 3]| ((i * n_y + j) * n_z + k) as usize;
    for (site, &got) in sites(shape).zip(&result.u) {
        let [i, j, k] = site;
        let to_x = i.min(n_x - 1 - i);
        let to_y = j.min(n_y - 1 - j);
        let to_z = k.min(n_z - 1 - k);
        if to_x.min(to_y).min(to_z) == 0 {
            assert_eq!(got, 0.0, "the border at {site:?}");
            continue;
        }
        let u = |place| initial.u[at(place)];
        let sum = u([i - 1, j, k]) + u([i + 1, j, k]) + u([i, j - 1, k]) + u([i, j + 1, k]);
        let sum = sum + u([i, j, k - 1]) + u([i, j, k + 1]);
        let source = if site == [8, 9, 5] { 1.0 } else { 0.0 };
        // The tables have values that are up to an eighth less, at random.
        let lessened = |value: f64, exact: f64| {
            assert!(
                value <= exact && value >= 0.875 * exact,
                "{value}, of {exact}"
            );
            value
        };
        let c = [1500.0, 1800.0, 2100.0, 2400.0][(4 * k / n_z) as usize];
        let c2 = lessened(tables.c2[k as usize], c * c);
        let change = dt * dt / (dx * dx) * c2 * (sum - 6.0 * u(site) + source);
        // A quarter, two quarters ... of the layer's four sites, squared.
        let into = 5.0 - f64::from(to_x.min(to_y).min(5));
        let d = lessened(tables.d[(i * n_y + j) as usize], 150.0 * into * into / 16.0);
        let u_prev = initial.u_prev[at(site)];
        let expected = if d == 0.0 {
            2.0 * u(site) - u_prev + change
        } else {
            (2.0 * u(site) - (1.0 - d * dt) * u_prev + change) / (1.0 + d * dt)
        };
        assert!(
            (got - expected).abs() < 1e-14,
            "{site:?}: {got}, expected {expected}"
        );
    }
}
/// The mode sin(p pi i / (n_x - 1)) sin(q pi j / (n_y - 1)) sin(r pi k / (n_z - 1)), of amplitude
/// 1, and the ratio of its L to the mode. The ratio follows from the 7-point sum of the mode.
fn mode([n_x, n_y, n_z]: [u32; 3], [p, q, r]: [f64; 3]) -> (Vec<f64>, f64) {
    let theta = |half_waves: f64, n: u32| half_waves * PI / f64::from(n - 1);
    let (x, y, z) = (theta(p, n_x), theta(q, n_y), theta(r, n_z));
    let shape = sites([n_x, n_y, n_z]).map(|[i, j, k]| {
        (x * f64::from(i)).sin() * (y * f64::from(j)).sin() * (z * f64::from(k)).sin()
    });
    let eigenvalue = -4.0
        * [x, y, z]
            .map(|angle| (angle / 2.0).sin().powi(2))
            .iter()
            .sum::<f64>();
    (shape.collect(), eigenvalue)
}
/// A mode's amplitude a obeys (1 + d dt) a_next = (2 + K) a - (1 - d dt) a_prev, where K = ratio
/// c^2 eigenvalue. A solution is rho^n cos(n theta), where rho^2 = (1 - d dt) / (1 + d dt) and 2
/// rho cos(theta) = (2 + K) / (1 + d dt).
fn a_mode_rings(d: f64) {
    let shape = [21, 17, 25];
    let steps = 400;
    let problem = Wave3d::new(shape, steps)
        .unwrap()
        .with_source(None)
        .unwrap();
    let c2 = 2000.0 * 2000.0;
    let coefficients = Coefficients {
        c2: vec![c2; 25],
        d: vec![d; 21 * 17],
    };
    let (mode, eigenvalue) = mode(shape, [2.0, 1.0, 3.0]);
    let (d_dt, change) = (d * 0.002, 0.002_f64.powi(2) / 100.0 * c2 * eigenvalue);
    let rho = ((1.0 - d_dt) / (1.0 + d_dt)).sqrt();
    let theta = ((2.0 + change) / (1.0 + d_dt) / (2.0 * rho)).acos();
    let field = |n: i32| -> Vec<f64> {
        let amplitude = rho.powi(n) * (theta * f64::from(n)).cos();
        mode.iter().map(|value| amplitude * value).collect()
    };
    let mut fields = Fields {
        u_prev: field(0),
        u: field(1),
    };
    advance(
        &problem,
        &coefficients,
        &mut fields,
        Cpu::Serial,
        &NoProgress,
    );
    for (got, exact) in fields.u.iter().zip(field(steps as i32 + 1)) {
        approx::assert_abs_diff_eq!(*got, exact, epsilon = 1e-11);
    }
}
#[test]
fn a_standing_wave_keeps_its_shape_and_frequency() {
    a_mode_rings(0.0);
}
#[test]
fn a_damped_standing_wave_rings_down() {
    // d dt = 0.002: after 400 steps e^(-0.8) is left, far above the tolerance.
    a_mode_rings(1.0);
}

/// The energy between two timesteps, times a constant:
/// |u - u_prev|^2 / (ratio c^2) - <L u_prev, u>. Without damping the scheme keeps it exactly. With
/// damping each step takes d dt |u_next - u_prev|^2 / (ratio c^2). To see both, multiply the scheme
/// by u_next - u_prev.
fn energy(problem: &Wave3d, fields: &Fields) -> f64 {
    let Domain { n_x, n_y, n_z } = problem.domain();
    let c2 = problem.coefficients().c2;
    let ratio = problem.scheme().ratio;
    let at = |i, j, k| problem.domain().index(i, j, k) as usize;
    let mut energy = 0.0;
    for [i, j, k] in sites([n_x, n_y, n_z]) {
        if problem.domain().is_border(i, j, k) {
            continue;
        }
        let (u_prev, u) = (fields.u_prev[at(i, j, k)], fields.u[at(i, j, k)]);
        let prev = |x, y, z| fields.u_prev[at(x, y, z)];
        let around = Neighbours {
            along_x: [prev(i - 1, j, k), prev(i + 1, j, k)],
            along_y: [prev(i, j - 1, k), prev(i, j + 1, k)],
            along_z: [prev(i, j, k - 1), prev(i, j, k + 1)],
        };
        let difference = u - u_prev;
        energy +=
            difference * difference / (ratio * c2[k as usize]) - laplacian(u_prev, around) * u;
    }
    energy
}
#[test]
fn energy_is_kept_without_damping_and_lost_with_it() {
    let energies = |damping: f64| -> Vec<f64> {
        let problem = random([24, 22, 20], 1)
            .with_source(None)
            .unwrap()
            .with_damping(damping)
            .unwrap();
        let mut fields = problem.initial().unwrap();
        let coefficients = problem.coefficients();
        let mut step = || {
            advance(
                &problem,
                &coefficients,
                &mut fields,
                Cpu::Serial,
                &NoProgress,
            );
            energy(&problem, &fields)
        };
        // The borders of both fields are 0 from the second step on.
        step();
        (0..100).map(|_| step()).collect()
    };
    let kept = energies(0.0);
    for energy in &kept {
        approx::assert_relative_eq!(*energy, kept[0], max_relative = 1e-12);
    }
    let lost = energies(100.0);
    assert!(lost.windows(2).all(|pair| pair[1] < pair[0]));
    assert!(lost[99] < 0.5 * lost[0], "{} of {}", lost[99], lost[0]);
}
#[test]
fn the_layers_absorb_what_walls_reflect() {
    let left = |damping: f64| {
        let problem = Wave3d::new([48, 48, 64], 150)
            .unwrap()
            .with_start(Start::Pulse)
            .with_source(None)
            .unwrap()
            .with_damping(damping)
            .unwrap();
        energy(&problem, &run(&problem, Cpu::Parallel))
    };
    let (with, without) = (left(150.0), left(0.0));
    // The borders at the top and at the bottom reflect in both.
    assert!(
        with < 0.3 * without,
        "{with} is left, {without} without layers"
    );
}
#[test]
fn chunks_of_steps_are_the_same_as_all_at_once() {
    let problem = random([20, 21, 22], 90);
    let whole = run(&problem, Cpu::Serial);
    let mut fields = problem.initial().unwrap();
    for (first, steps) in [(0, 40), (40, 1), (41, 49)] {
        let chunk = problem.clone().with_first_step(first).with_steps(steps);
        let coefficients = chunk.coefficients();
        advance(
            &chunk,
            &coefficients,
            &mut fields,
            Cpu::Parallel,
            &NoProgress,
        );
    }
    assert_eq!(whole, fields);
}
#[test]
fn no_steps_change_nothing() {
    let problem = random([8, 9, 10], 0);
    assert_eq!(run(&problem, Cpu::Serial), problem.initial().unwrap());
}
#[test]
fn labels_are_unique() {
    for cases in [LAB.small_cases(), LAB.laptop_cases(), LAB.large_cases()] {
        let mut labels: Vec<String> = cases.iter().map(|case| case.label()).collect();
        labels.sort();
        let all = labels.len();
        labels.dedup();
        assert_eq!(labels.len(), all);
    }
}
#[test]
fn the_wavelet_starts_with_nothing_peaks_at_one_and_has_no_mean() {
    let ricker = Ricker { frequency_hz: 15.0 };
    assert_eq!(ricker.peak_s(), 0.1);
    assert_eq!(ricker.value(0.1), 1.0);
    assert!(ricker.value(0.0).abs() < 1e-7);
    // The troughs: -2 e^(-3/2) at sqrt(3/2) / (pi f) from the peak.
    let trough = ricker.value(0.1 + 1.5_f64.sqrt() / (PI * 15.0));
    approx::assert_relative_eq!(trough, -2.0 * (-1.5_f64).exp(), max_relative = 1e-12);
    let sum: f64 = (0..200)
        .map(|step| ricker.value(f64::from(step) * 0.001))
        .sum();
    assert!(sum.abs() < 1e-5, "{sum}");
    assert_eq!(ricker.value(1e60), 0.0);
}
#[test]
fn layers_of_the_ground_get_faster_and_damping_is_at_the_sides() {
    let domain = Domain {
        n_x: 14,
        n_y: 30,
        n_z: 9,
    };
    let Coefficients { c2, d } = Coefficients::new(domain, Model::Layers, 64.0);
    let speeds: Vec<f64> = c2.iter().map(|c2| c2.sqrt()).collect();
    let expected = [
        1500., 1500., 1500., 1800., 1800., 2100., 2100., 2400., 2400.,
    ];
    assert_eq!(speeds, expected);
    assert_eq!(Model::Layers.highest_speed(9), 2400.0);
    let row: Vec<f64> = (0..14).map(|i| d[domain.column(i, 15) as usize]).collect();
    assert_eq!(
        row,
        [
            64., 64., 36., 16., 4., 0., 0., 0., 0., 4., 16., 36., 64., 64.
        ]
    );
    let damped = d.iter().filter(|&&d| d > 0.0).count();
    assert_eq!(
        damped as u32,
        14 * 30 - (14 - 2 * LAYER - 2) * (30 - 2 * LAYER - 2)
    );
}
#[test]
fn elements_are_named_by_their_indices() {
    let problem = random([5, 6, 7], 1);
    let named = |buffer, index| LabCase::locate(&problem, buffer, index).unwrap();
    assert_eq!(named("u", (2 * 6 + 3) * 7 + 4), "i = 2, j = 3, k = 4");
    assert_eq!(named("d", 2 * 6 + 3), "i = 2, j = 3");
    assert_eq!(named("c2", 4), "k = 4");
}
fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}
#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n_x=0"]), @"parameter `n_x` = `0`: a domain has at least 3 sites along each axis: two borders and one between");
    insta::assert_snapshot!(refusal(&["n_z=2"]), @"parameter `n_z` = `2`: a domain has at least 3 sites along each axis: two borders and one between");
    insta::assert_snapshot!(refusal(&["n_x=130001"]), @"parameter `n_x` = `130001`: a domain has at most 130000 sites along this axis");
    insta::assert_snapshot!(refusal(&["n_x=1291", "n_y=1291", "n_z=1291"]), @"parameter `n_x * n_y * n_z` = `1291 * 1291 * 1291`: a domain has at most 2147483648 sites");
    insta::assert_snapshot!(refusal(&["n_y=4294967296"]), @"parameter `n_y` = `4294967296`: write a whole number from 0 to 4294967295: sites along y, at least 3");
    insta::assert_snapshot!(refusal(&["dt=0.0025"]), @"parameter `dt` = `0.0025`: unstable: the CFL condition is dt <= dx / (c sqrt(3)); with dx = 10 m and c up to 2400 m/s, dt is at most 0.00240562 s");
    insta::assert_snapshot!(refusal(&["dx=5"]), @"parameter `dt` = `0.002`: unstable: the CFL condition is dt <= dx / (c sqrt(3)); with dx = 5 m and c up to 2400 m/s, dt is at most 0.00120281 s");
    insta::assert_snapshot!(refusal(&["model=uniform", "dt=0.01"]), @"parameter `dt` = `0.01`: unstable: the CFL condition is dt <= dx / (c sqrt(3)); with dx = 10 m and c up to 2000 m/s, dt is at most 0.00288675 s");
    insta::assert_snapshot!(refusal(&["dt=0"]), @"parameter `dt` = `0`: a number of seconds from 1e-60 to 1e60");
    insta::assert_snapshot!(refusal(&["dt=nan"]), @"parameter `dt` = `NaN`: a number of seconds from 1e-60 to 1e60");
    insta::assert_snapshot!(refusal(&["dx=-10"]), @"parameter `dx` = `-10`: a number of metres from 1e-60 to 1e60");
    insta::assert_snapshot!(refusal(&["dx=inf"]), @"parameter `dx` = `inf`: a number of metres from 1e-60 to 1e60");
    insta::assert_snapshot!(refusal(&["damping=-1"]), @"parameter `damping` = `-1`: a rate in 1/s, 0 (no damping) to 1e60");
    insta::assert_snapshot!(refusal(&["frequency=0"]), @"parameter `frequency` = `0`: a frequency in Hz from 1e-60 to 1e60");
    insta::assert_snapshot!(refusal(&["source=riker"]), @"unknown source `riker`; did you mean `ricker`?");
    insta::assert_snapshot!(refusal(&["start=still"]), @"unknown start `still`; there are: random, pulse, rest");
    insta::assert_snapshot!(refusal(&["model=layer"]), @"unknown model `layer`; did you mean `layers`?");
    insta::assert_snapshot!(refusal(&["seed=x"]), @"parameter `seed` = `x`: write a whole number from 0 to 2^64 - 1: seed of random initial fields, 0 to 2^64 - 1");
    insta::assert_snapshot!(refusal(&["shape=3"]), @"unknown parameter `shape`; there are: n_x, n_y, n_z, steps, first_step, dx, dt, model, damping, source, frequency, start, seed, scale");
}
proptest! {
    #[test]
    fn the_largest_timestep_of_the_message_is_allowed(dx in 0.001_f64..1e5, n_z in 3_u32..50) {
        let problem = || Wave3d::new([3, 3, n_z], 1).unwrap();
        let largest = largest_timestep(dx, Model::Layers.highest_speed(n_z));
        prop_assert!(problem().with_medium(Model::Layers, dx, largest).is_ok());
        let refused = problem().with_medium(Model::Layers, dx, largest * 1.000_001).unwrap_err();
        let message = refused.to_string();
        let named: f64 = message.rsplit_once("at most ").unwrap().1.trim_end_matches(" s").parse().unwrap();
        prop_assert!(problem().with_medium(Model::Layers, dx, named).is_ok(), "{}", message);
        prop_assert!(named > largest * 0.999_98, "{}", message);
    }

    #[test]
    fn any_valid_problem_stays_bounded(
        shape in (3_u32..24, 3_u32..24, 3_u32..24),
        steps in 0_u32..60,
        courant in 0.01_f64..1.0,
        damping in 0.0_f64..1e6,
        seed in any::<u64>(),
    ) {
        let (n_x, n_y, n_z) = shape;
        let dt = courant * largest_timestep(10.0, Model::Layers.highest_speed(n_z));
        let problem = Wave3d::new([n_x, n_y, n_z], steps).unwrap()
            .with_medium(Model::Layers, 10.0, dt).unwrap()
            .with_damping(damping).unwrap()
            .with_start(Start::Random { seed: Seed::Number(seed) });
        let fields = run(&problem, Cpu::Serial);
        // The energy norm may let a single site grow, but not exponentially.
        let bound = 20.0 * (f64::from(steps) + 1.0);
        prop_assert!(fields.u.iter().all(|u| u.abs() <= bound));
    }
}
#[test]
fn the_reference_stays_near_the_oracle() {
    let problem = Wave3d::new([13, 14, 15], 40)
        .unwrap()
        .with_start(Start::Random { seed: 3.into() });
    let inputs = problem.inputs().unwrap();
    let reference = problem.reference(Cpu::Parallel, &NoProgress).unwrap();
    let oracle = problem.oracle_from(&inputs, &NoProgress).unwrap().unwrap();
    for ((name, rounded), (_, exact)) in reference.iter().zip(&oracle) {
        let pairs = rounded
            .as_slice::<f64>()
            .unwrap()
            .iter()
            .zip(exact.as_slice::<f64>().unwrap());
        let noise = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(noise > 0.0 && noise < 1e-12, "{name}: {noise}");
    }
}
