//! The references against each other, against analysis, and what they refuse.

use std::f64::consts::TAU;

use kernels_gpu::real::Fused;
use kernels_gpu::stencil25::Grid;
use proptest::prelude::*;

use super::Start;
use super::model::{Medium, Model};
use super::problem::{Fields, Stencil25, largest_timestep};
use super::reference::{advance, advance_by};
use crate::stencil25::LAB;
use lab::{CaseParams, Cpu, LabCase, Seed};
use terminal::progress::NoProgress;

fn problem(shape: [u32; 3], steps: u32, shell: u32) -> Stencil25 {
    Stencil25::with_shell(shape, steps, shell).unwrap()
}
fn random(shape: [u32; 3], steps: u32, shell: u32) -> Stencil25 {
    problem(shape, steps, shell).with_start(Start::Random { seed: 5.into() })
}
/// The fields after the problem's steps from these.
fn advanced<T: Fused + Send + Sync>(problem: &Stencil25, mut fields: Fields<T>) -> Fields<T> {
    let (vp, eta) = (problem.vp().unwrap(), problem.eta().unwrap());
    let medium = Medium { vp: &vp, eta: &eta };
    advance(problem, medium, &mut fields, Cpu::Parallel, &NoProgress);
    fields
}
fn run(problem: &Stencil25) -> Fields<f32> {
    advanced(problem, problem.initial().unwrap())
}
fn wide(fields: Fields<f32>) -> Fields<f64> {
    let wide = |values: Vec<f32>| values.into_iter().map(f64::from).collect();
    Fields {
        u: wide(fields.u),
        v: wide(fields.v),
        phi: wide(fields.phi),
    }
}
/// Every point, with its element.
fn points(grid: Grid) -> impl Iterator<Item = ([u32; 3], usize)> {
    let [n_x, n_y, n_z] = grid.shape();
    let all =
        (0..n_x).flat_map(move |x| (0..n_y).flat_map(move |y| (0..n_z).map(move |z| [x, y, z])));
    all.map(move |point| (point, grid.index(point[0], point[1], point[2]) as usize))
}

fn reduced(problem: &Stencil25) -> Stencil25 {
    let reduced = problem.reduced().unwrap();
    lab::downcast::<Stencil25>("any", reduced.as_ref()).clone()
}

#[test]
fn a_reduced_case_has_as_much_of_the_shell() {
    for (n, within) in [(1000, 0.01), (768, 0.03), (512, 0.03), (555, 0.03)] {
        let problem = problem([n; 3], 20, 16);
        let reduced = reduced(&problem);
        let share = reduced.shell_share();
        assert!((share - problem.shell_share()).abs() < within, "{reduced}");
        assert!(
            reduced.grid().points() < 3_000_000 && reduced.steps() == 1,
            "{reduced}"
        );
        assert_eq!(reduced.grid().n_z % 32, n % 32);
    }
    // A case that is already small loses only steps.
    let reduced = reduced(&problem([9, 10, 33], 7, 4));
    assert_eq!(reduced.to_string(), "9x10x33, 1 step, shell 4");
}

#[test]
fn all_references_give_the_same_bits() {
    for (shape, shell) in [([3, 3, 3], 1), ([3, 50, 400], 1), ([40, 13, 33], 6)] {
        let problem = random(shape, 7, shell);
        let (vp, eta) = (problem.vp().unwrap(), problem.eta().unwrap());
        let medium = Medium { vp: &vp, eta: &eta };
        let run = |has_fma, cpu| {
            let mut fields = problem.initial().unwrap();
            if has_fma {
                advance(&problem, medium, &mut fields, cpu, &NoProgress)
            } else {
                advance_by(false, &problem, medium, &mut fields, cpu, &NoProgress)
            }
            let Fields { u, v, phi } = fields;
            [u, v, phi].map(|values| {
                values
                    .iter()
                    .map(|value| value.to_bits())
                    .collect::<Vec<_>>()
            })
        };
        let serial = run(true, Cpu::Serial);
        assert!(serial == run(true, Cpu::Parallel), "{problem}: parallel");
        assert!(
            serial == run(false, Cpu::Serial),
            "{problem}: the C library's"
        );
    }
}
#[test]
fn one_step_is_the_formula() {
    // This is an independent statement of the scheme, point by point, with the source near its
    // peak.
    let spacing = [10.0, 12.5, 8.0];
    let problem = random([13, 11, 12], 1, 4)
        .with_medium(Model::LAYERS, spacing, None)
        .unwrap()
        .with_first_step(45);
    let grid = problem.grid();
    let initial = wide(problem.initial().unwrap());
    let (vp, eta) = (problem.vp().unwrap(), problem.eta().unwrap());
    let result = run(&problem);
    let strides = [grid.stride_x(), grid.stride_y(), 1].map(|stride| stride as usize);
    let weights = [8.0 / 5.0, -0.2, 8.0 / 315.0, -1.0 / 560.0];
    assert!(problem.source_value(0).abs() > 0.3);
    for (point, at) in points(grid) {
        let u = |index: usize| initial.u[index];
        let eta = |index: usize| f64::from(eta[index]);
        let (mut laplacian, mut product) = (0.0, 0.0);
        for (stride, d) in strides.into_iter().zip(spacing) {
            laplacian += -205.0 / 72.0 * u(at) / (d * d);
            for (r, weight) in (1..).zip(weights) {
                laplacian += weight * (u(at - r * stride) + u(at + r * stride)) / (d * d);
            }
            let slope = |f: &dyn Fn(usize) -> f64| (f(at + stride) - f(at - stride)) / (2.0 * d);
            product += slope(&eta) * slope(&u);
        }
        let (v, vp, phi, e) = (initial.v[at], f64::from(vp[at]), initial.phi[at], eta(at));
        let to_face = point
            .into_iter()
            .zip(grid.shape())
            .map(|(position, n)| position.min(n - 1 - position));
        let is_shell = to_face.min().unwrap() < 4;
        assert_eq!(e > 0.0, is_shell, "{point:?}");
        let (mut expected, expected_phi) = if is_shell {
            let a = 2.0 + 2.0 * e - e * e;
            let next = (a * u(at) - v + vp * (laplacian + phi)) / (1.0 + 2.0 * e);
            (next, (phi - product) / (1.0 + e))
        } else {
            (2.0 * u(at) - v + vp * laplacian, 0.0)
        };
        if point == [6, 5, 4] {
            expected += f64::from(problem.source_value(0));
        }
        let got = [f64::from(result.u[at]), f64::from(result.phi[at])];
        approx::assert_abs_diff_eq!(got[0], expected, epsilon = 2e-6);
        approx::assert_abs_diff_eq!(got[1], expected_phi, epsilon = 2e-8);
    }
    assert_eq!(
        result.v,
        problem.initial().unwrap().u,
        "the last field becomes the second-last"
    );
}
/// omega dt of a plane wave with this vector, in radians per point, by the dispersion relation of
/// the 8th-order scheme: 4 sin^2(omega dt/2) = c^2 dt^2 times the sum over the axes of the second
/// difference of exp(i k x), negated.
fn omega_dt(c_dt: f64, spacing: [f64; 3], k: [f64; 3]) -> f64 {
    let weights = [8.0 / 5.0, -0.2, 8.0 / 315.0, -1.0 / 560.0];
    let of_axis = |(d, k_axis): (f64, f64)| {
        let pairs = (1..)
            .zip(weights)
            .map(|(r, w)| 2.0 * w * (f64::from(r) * k_axis).cos());
        (205.0 / 72.0 - pairs.sum::<f64>()) / (d * d)
    };
    let sum: f64 = spacing.into_iter().zip(k).map(of_axis).sum();
    2.0 * (0.5 * c_dt * sum.sqrt()).asin()
}
#[test]
fn a_plane_wave_has_the_phase_velocity_of_the_eighth_order_scheme() {
    // The halo of zeros affects four more points from the faces at each step. It does not reach the
    // middle within these steps.
    const STEPS: u32 = 4;
    let shape = [8 * STEPS + 5; 3];
    let spacing = [10.0, 12.5, 8.0];
    let problem = problem(shape, 1, 1)
        .with_source(None)
        .unwrap()
        .with_medium(Model::UNIFORM, spacing, None)
        .unwrap();
    let grid = problem.grid();
    let c_dt = 2000.0 * problem.dt_s();
    // Waves along each axis, and askew, with 4, 6 and 10 points per wavelength.
    for direction in [
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.6, 0.64, 0.48],
    ] {
        for wavelength in [4.0, 6.0, 10.0] {
            let k: [f64; 3] = direction.map(|cosine| TAU / wavelength * cosine);
            let exact = omega_dt(c_dt, spacing, k);
            let wave = |[x, y, z]: [u32; 3], step: f64| {
                let place = [x, y, z]
                    .map(f64::from)
                    .into_iter()
                    .zip(k)
                    .map(|(x, k)| x * k);
                // The wave in the middle is far from a zero at all of these steps.
                (place.sum::<f64>() - middle_phase(shape, k) - exact * step + 1.0).cos() as f32
            };
            let mut fields = problem.initial().unwrap();
            for (point, at) in points(grid) {
                fields.v[at] = wave(point, -1.0);
                fields.u[at] = wave(point, 0.0);
            }
            let middle = shape.map(|n| n / 2);
            let at = grid.index(middle[0], middle[1], middle[2]) as usize;
            let mut measured = Vec::new();
            for _ in 0..STEPS {
                let (before, now) = (f64::from(fields.v[at]), f64::from(fields.u[at]));
                fields = advanced(&problem, fields);
                // u_next + u_before = 2 cos(omega dt) u, for any wave of this k.
                if now.abs() > 0.3 {
                    measured.push(((f64::from(fields.u[at]) + before) / (2.0 * now)).acos());
                }
            }
            assert!(measured.len() >= 2);
            for omega in measured {
                // At the same k, phase velocities have the ratio of the frequencies.
                approx::assert_relative_eq!(omega, exact, max_relative = 1e-4);
            }
        }
    }
    /// The phase of the wave in the middle of the grid.
    fn middle_phase(shape: [u32; 3], k: [f64; 3]) -> f64 {
        shape
            .into_iter()
            .zip(k)
            .map(|(n, k)| f64::from(n / 2) * k)
            .sum()
    }
}
#[test]
fn the_error_in_space_falls_with_the_eighth_power_of_the_spacing() {
    // omega / (c k) - 1, for the same wave on half the spacing. The timestep is too small to add an
    // error.
    let error = |points_a_wavelength: f64| {
        let k = TAU / points_a_wavelength;
        (omega_dt(1e-3, [1.0, 1e9, 1e9], [k, 0.0, 0.0]) / (1e-3 * k) - 1.0).abs()
    };
    let order = (error(6.0) / error(12.0)).log2();
    assert!((order - 8.0).abs() < 0.3, "{order}");
}

/// The energy between two timesteps, times a constant: |u - v|^2 / vp - <lap v, u>. Without
/// absorption the scheme conserves it, because the Laplacian, with zeros beyond the points, is
/// symmetric: multiply the scheme by u_next - v to see it.
fn energy(problem: &Stencil25, vp: &[f32], fields: &Fields<f64>) -> f64 {
    let grid = problem.grid();
    let c = problem.coefficients();
    let strides = [grid.stride_x(), grid.stride_y(), 1].map(|stride| stride as usize);
    let mut energy = 0.0;
    for (_, at) in points(grid) {
        let mut laplacian = f64::from(c.centre) * fields.v[at];
        for (stride, weights) in strides.into_iter().zip([c.x, c.y, c.z]) {
            for (r, weight) in (1..).zip(weights) {
                let pair = fields.v[at - r * stride] + fields.v[at + r * stride];
                laplacian += f64::from(weight) * pair;
            }
        }
        let difference = fields.u[at] - fields.v[at];
        energy += difference * difference / f64::from(vp[at]) - laplacian * fields.u[at];
    }
    energy
}
#[test]
fn energy_is_kept_without_absorption_and_lost_with_it() {
    let problem = random([24, 22, 20], 10, 6).with_source(None).unwrap();
    let vp = problem.vp().unwrap();
    let energies = |eta: &[f32]| {
        let mut fields = wide(problem.initial().unwrap());
        fields.phi.fill(0.0);
        let mut energies = vec![energy(&problem, &vp, &fields)];
        for _ in 0..10 {
            let medium = Medium { vp: &vp, eta };
            advance(&problem, medium, &mut fields, Cpu::Parallel, &NoProgress);
            energies.push(energy(&problem, &vp, &fields));
        }
        energies
    };
    let kept = energies(&vec![0.0; vp.len()]);
    for energy in &kept {
        approx::assert_relative_eq!(*energy, kept[0], max_relative = 1e-11);
    }
    let lost = energies(&problem.eta().unwrap());
    assert!(lost.windows(2).all(|pair| pair[1] < pair[0]), "{lost:?}");
    assert!(lost[10] < 0.1 * lost[0], "{lost:?}");
}
#[test]
fn the_shell_absorbs_what_a_wall_reflects() {
    let problem = problem([44; 3], 180, 12)
        .with_start(Start::Pulse)
        .with_source(None)
        .unwrap()
        .with_medium(Model::UNIFORM, [10.0; 3], None)
        .unwrap();
    let vp = problem.vp().unwrap();
    let left = |eta: &[f32]| {
        let mut fields = wide(problem.initial().unwrap());
        let medium = Medium { vp: &vp, eta };
        let before = energy(&problem, &vp, &fields);
        advance(&problem, medium, &mut fields, Cpu::Parallel, &NoProgress);
        energy(&problem, &vp, &fields) / before
    };
    let (with, without) = (left(&problem.eta().unwrap()), left(&vec![0.0; vp.len()]));
    approx::assert_relative_eq!(without, 1.0, max_relative = 1e-9);
    assert!(with < 1e-3, "{with} is left");
}
#[test]
fn it_is_stable_at_the_largest_timestep_with_any_shell() {
    for shell in [1, 2, 3, 5, 8, 12] {
        let shape = [2 * shell + 7, 2 * shell + 1, 2 * shell + 4];
        let largest = largest_timestep([10.0; 3], 2400.0);
        let problem = random(shape, 100, shell)
            .with_source(None)
            .unwrap()
            .with_medium(Model::LAYERS, [10.0; 3], Some(largest))
            .unwrap();
        let size = |fields: &Fields<f32>| {
            let all = fields.u.iter().chain(&fields.v);
            all.fold(0.0_f32, |most, u| most.max(u.abs()))
        };
        let mut fields = problem.initial().unwrap();
        let mut sizes = vec![size(&fields)];
        for _ in 0..10 {
            fields = advanced(&problem, fields);
            sizes.push(size(&fields));
        }
        // At the limit, waves of alternating signs grow linearly at first.
        let falls = sizes[6..].windows(2).all(|pair| pair[1] < pair[0]);
        assert!(falls, "shell {shell}: {sizes:?}");
    }
}
#[test]
fn what_is_symmetric_stays_so_to_the_last_bit() {
    let problem = problem([21, 19, 23], 40, 5)
        .with_start(Start::Pulse)
        .with_medium(Model::UNIFORM, [10.0, 11.0, 9.0], None)
        .unwrap()
        .with_source_point([10, 9, 11])
        .unwrap();
    let grid = problem.grid();
    let fields = run(&problem);
    let [n_x, n_y, n_z] = grid.shape();
    for ([x, y, z], at) in points(grid) {
        for [mirror_x, mirror_y, mirror_z] in [
            [n_x - 1 - x, y, z],
            [x, n_y - 1 - y, z],
            [x, y, n_z - 1 - z],
        ] {
            let mirrored = grid.index(mirror_x, mirror_y, mirror_z) as usize;
            assert_eq!(
                fields.u[at].to_bits(),
                fields.u[mirrored].to_bits(),
                "u, {mirror_x} {mirror_y} {mirror_z}"
            );
            // Zeros may have the other sign.
            assert_eq!(
                fields.phi[at], fields.phi[mirrored],
                "phi, {mirror_x} {mirror_y} {mirror_z}"
            );
        }
    }
}
#[test]
fn chunks_of_steps_are_the_same_as_all_at_once() {
    let problem = random([12, 13, 14], 90, 3);
    let whole = run(&problem);
    let mut fields = problem.initial().unwrap();
    for (first, steps) in [(0, 40), (40, 1), (41, 49)] {
        let chunk = problem.clone().with_first_step(first).with_steps(steps);
        fields = advanced(&chunk, fields);
    }
    assert_eq!(whole, fields);
}
#[test]
fn no_steps_change_nothing() {
    let problem = random([8, 9, 10], 0, 2);
    assert_eq!(run(&problem), problem.initial().unwrap());
}
#[test]
fn absorption_grows_from_the_inner_face_to_the_halo() {
    let problem = problem([9, 12, 10], 1, 4);
    let absorption = problem.absorption();
    // 3 c dt ln(1000) / (2 * 4 points of 10 m), for c = 2400 m/s, and at most 1.
    let most = 3.0 * 2400.0 * problem.dt_s() * 1000_f64.ln() / 80.0;
    assert!(most > 1.0);
    let along: Vec<f32> = (-2..=5).map(|x| absorption.at(x, 6, 5)).collect();
    let share = |depth: f32| depth * depth / 16.0;
    let expected = [
        1.0,
        1.0,
        1.0,
        share(3.0),
        share(2.0),
        share(1.0),
        0.0,
        share(1.0),
    ];
    assert_eq!(along, expected);
    assert_eq!(absorption.at(4, 1, 5), share(3.0));
    assert_eq!(
        absorption.at(3, 1, 2),
        share(3.0),
        "the largest of the depths"
    );
    let wide = Stencil25::new([33; 3], 1).unwrap();
    let of_wide = 3.0 * 2400.0 * wide.dt_s() * 1000_f64.ln() / 320.0;
    approx::assert_relative_eq!(
        f64::from(wide.absorption().at(0, 16, 16)),
        of_wide,
        max_relative = 1e-6
    );
}
#[test]
fn random_starts_follow_the_seed_and_leave_what_is_fixed() {
    let shape = [9, 10, 11];
    let of = |seed| {
        let problem = problem(shape, 1, 2).with_start(Start::Random {
            seed: Seed::Number(seed),
        });
        (
            problem.initial().unwrap(),
            problem.vp().unwrap(),
            problem.eta().unwrap(),
        )
    };
    let (fields, vp, eta) = of(1);
    assert!((&fields, &vp) == (&of(1).0, &of(1).1));
    for seed in [2, 1 << 32, u64::MAX] {
        let (other, other_vp, other_eta) = of(seed);
        let same = |a: &[f32], b: &[f32]| a.iter().zip(b).filter(|(a, b)| a == b).count();
        let grid = Grid::new(shape);
        let halo = (grid.len() - grid.points()) as usize;
        assert!(same(&fields.u, &other.u) < halo + 5);
        assert!(same(&fields.v, &other.v) < halo + 5);
        assert!(same(&vp, &other_vp) < halo + 5);
        assert_ne!(fields.phi, other.phi);
        assert_ne!(eta, other_eta);
    }
    let model = problem(shape, 1, 2).vp().unwrap();
    let absorption = problem(shape, 1, 2).eta().unwrap();
    for (drawn, most) in eta.iter().zip(&absorption) {
        assert!(
            drawn <= most && *drawn >= 0.875 * most,
            "{drawn}, of {most}"
        );
    }
    for (point, at) in points(Grid::new(shape)) {
        assert!(vp[at] <= model[at] && vp[at] >= 0.875 * model[at]);
        let is_shell = !Grid::new(shape)
            .inner(2)
            .contains(point[0], point[1], point[2]);
        assert_eq!(fields.phi[at] != 0.0, is_shell, "{point:?}");
    }
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
fn elements_are_named_by_their_positions() {
    let problem = random([5, 6, 7], 1, 1);
    let at = problem.grid().index(2, 3, 4) as usize;
    let named = LabCase::locate(&problem, "phi", at).unwrap();
    assert_eq!(named, "x + 4 = 6, y + 4 = 7, z = 4");
}
fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}
#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n_x=32"]), @"parameter `n_x` = `32`: with an absorbing shell of 16 points at both ends and one between, at least 33; or a smaller shell");
    insta::assert_snapshot!(refusal(&["n_y=2", "shell=1"]), @"parameter `n_y` = `2`: with an absorbing shell of 1 point at both ends and one between, at least 3; or a smaller shell");
    insta::assert_snapshot!(refusal(&["shell=0"]), @"parameter `shell` = `0`: the absorbing shell has at least 1 point");
    insta::assert_snapshot!(refusal(&["shell=4294967295"]), @"parameter `n_x` = `96`: with an absorbing shell of 4294967295 points at both ends and one between, at least 8589934591; or a smaller shell");
    insta::assert_snapshot!(refusal(&["n_x=130001"]), @"parameter `n_x` = `130001`: at most 130000 points along this axis");
    insta::assert_snapshot!(refusal(&["n_x=1280", "n_y=1280", "n_z=1300"]), @"parameter `n_x * n_y * n_z` = `1280 * 1280 * 1300`: with the halo, an array would have 2176534528 values, and kernels number at most 2147483648");
    insta::assert_snapshot!(refusal(&["n_y=4294967296"]), @"parameter `n_y` = `4294967296`: write a whole number from 0 to 4294967295: points along y, at least 2 shell + 1");
    insta::assert_snapshot!(refusal(&["dt=0.002"]), @"parameter `dt` = `0.002`: unstable: with spacings of 10, 10 and 10 m and speeds up to 2400 m/s, the CFL condition is dt <= 0.00188689 s");
    insta::assert_snapshot!(refusal(&["dx=5", "dt=0.0017"]), @"parameter `dt` = `0.0017`: unstable: with spacings of 5, 10 and 10 m and speeds up to 2400 m/s, the CFL condition is dt <= 0.00133423 s");
    insta::assert_snapshot!(refusal(&["model=uniform", "dt=0.01"]), @"parameter `dt` = `0.01`: unstable: with spacings of 10, 10 and 10 m and speeds up to 2000 m/s, the CFL condition is dt <= 0.00226427 s");
    insta::assert_snapshot!(refusal(&["dt=0"]), @"parameter `dt` = `0`: a number of seconds from 1e-30 to 1e30");
    insta::assert_snapshot!(refusal(&["dt=soon"]), @"parameter `dt` = `soon`: write a number: timestep in seconds, or `auto`: 0.9 of the largest that is stable");
    insta::assert_snapshot!(refusal(&["dz=-10"]), @"parameter `dz` = `-10`: a number of metres from 1e-12 to 1e12");
    insta::assert_snapshot!(refusal(&["dx=inf"]), @"parameter `dx` = `inf`: a number of metres from 1e-12 to 1e12");
    insta::assert_snapshot!(refusal(&["frequency=0"]), @"parameter `frequency` = `0`: a frequency in Hz from 1e-60 to 1e60");
    insta::assert_snapshot!(refusal(&["source=riker"]), @"unknown source `riker`; did you mean `ricker`?");
    insta::assert_snapshot!(refusal(&["start=still"]), @"unknown start `still`; there are: random, pulse, rest");
    insta::assert_snapshot!(refusal(&["model=layer"]), @"unknown model `layer`; did you mean `layers`?");
    insta::assert_snapshot!(refusal(&["seed=x"]), @"parameter `seed` = `x`: write a whole number from 0 to 2^64 - 1: seed of a random start, 0 to 2^64 - 1");
    insta::assert_snapshot!(refusal(&["shape=3"]), @"unknown parameter `shape`; there are: n_x, n_y, n_z, steps, first_step, dx, dy, dz, dt, shell, model, source, frequency, start, seed, scale");
}
#[test]
fn a_given_model_has_a_speed_for_each_point() {
    let with = |speeds: Vec<f32>, dt_s| {
        let model = Model::Given(speeds.into());
        problem([3, 4, 5], 1, 1).with_medium(model, [10.0; 3], dt_s)
    };
    let refused = |speeds, dt_s| with(speeds, dt_s).unwrap_err().to_string();
    insta::assert_snapshot!(refused(vec![2000.0; 59], None), @"parameter `model` = `given`: its file has 59 speeds, and the grid 60 points");
    let mut speeds = vec![2000.0; 60];
    speeds[7] = f32::NAN;
    insta::assert_snapshot!(refused(speeds.clone(), None), @"parameter `model` = `given`: the speed at point 7 is NaN; a number of m/s from 1e-6 to 1e6");
    speeds[7] = 5000.0;
    insta::assert_snapshot!(refused(speeds.clone(), Some(0.001)), @"parameter `dt` = `0.001`: unstable: with spacings of 10, 10 and 10 m and speeds up to 5000 m/s, the CFL condition is dt <= 0.00090571 s");
    let problem = with(speeds, None).unwrap();
    let (vp, grid) = (problem.vp().unwrap(), problem.grid());
    let c_dt = 5000.0 * problem.dt_s();
    assert_eq!(vp[grid.index(0, 1, 2) as usize], (c_dt * c_dt) as f32);
}
proptest! {
    #[test]
    fn the_largest_timestep_of_the_message_is_allowed(
        spacing in [0.001_f64..1e5, 0.001_f64..1e5, 0.001_f64..1e5],
        n_z in 3_u32..50,
    ) {
        let with = |dt_s| problem([3, 3, n_z], 1, 1).with_medium(Model::LAYERS, spacing, Some(dt_s));
        let largest = largest_timestep(spacing, Model::LAYERS.highest_speed(n_z));
        prop_assert!(with(largest).is_ok());
        let refused = with(largest * 1.000_01).unwrap_err().to_string();
        let (_, named) = refused.rsplit_once("dt <= ").unwrap();
        let named: f64 = named.trim_end_matches(" s").parse().unwrap();
        prop_assert!(with(named).is_ok(), "{}", refused);
        prop_assert!(named > 0.9999 * largest);
    }
}

#[test]
fn a_large_case_judges_other_orders_by_a_smaller_one() {
    let large = random([200, 170, 140], 2, 16);
    let [semi, gmem] = ["st_semi", "gmem"].map(|name| LAB.find(name).unwrap());
    assert!(!semi.checks_from_inputs(&large));
    assert!(semi.checks_from_inputs(&random([40, 41, 42], 2, 16)));
    let case: &dyn LabCase = &large;
    let inputs = case.inputs().unwrap();
    let expected = case
        .reference_from(&inputs, Cpu::Parallel, &NoProgress)
        .unwrap();
    // The oracle's own values, rounded, are the nearest possible.
    let mut near = case.oracle_from(&inputs, &NoProgress).unwrap().unwrap();
    for (_, values) in &mut near {
        let rounded: Vec<f32> = values
            .as_slice::<f64>()
            .unwrap()
            .iter()
            .map(|&v| v as f32)
            .collect();
        *values = rounded.into();
    }
    let check =
        |got: &device::buffer::NamedBuffers| semi.check(case, &Vec::new(), &expected, got).unwrap();
    check(&near).unwrap();
    assert!(
        gmem.check(case, &inputs, &expected, &near)
            .unwrap()
            .is_err()
    );
    // A hundred thousandth of the largest value is more than rounding.
    let index = large.grid().index(100, 80, 70) as usize;
    let values = near[0].1.as_mut_slice::<f32>().unwrap();
    values[index] += 2e-5;
    check(&near).unwrap_err();
}
