//! The references against each other, against analysis, and what they refuse.

use kernels_gpu::wave2d::{AnyScene, Scene};
use proptest::prelude::*;

use super::{Fields, LAB, Start, Wave2d, advance, advance_fused, oracle};
use lab::{CaseParams, Cpu, Seed};
use terminal::progress::NoProgress;

fn run(problem: &Wave2d, cpu: Cpu) -> Fields<f32> {
    let mut fields = problem.initial().unwrap();
    advance(problem, &mut fields, cpu, &NoProgress);
    fields
}
fn random(n_x: u32, n_y: u32, steps: u32, scene: &str) -> Wave2d {
    Wave2d::new(n_x, n_y, steps, scene)
        .unwrap()
        .with_start(Start::Random { seed: 5.into() })
}
#[test]
fn serial_and_parallel_give_the_same_bits() {
    for scene in AnyScene::NAMES {
        for (n_x, n_y) in [(2, 2), (3, 700), (700, 3), (201, 200)] {
            let problem = random(n_x, n_y, 30, scene);
            let serial = run(&problem, Cpu::Serial);
            let parallel = run(&problem, Cpu::Parallel);
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&serial.u0), bits(&parallel.u0), "{problem}");
            assert_eq!(bits(&serial.u1), bits(&parallel.u1), "{problem}");
        }
    }
}
#[test]
fn one_step_is_the_formula() {
    // This is an independent statement of the scheme, cell by cell, in f64.
    let problem = random(40, 30, 1, "point-source").with_k(0.3).unwrap();
    let initial = problem.initial().unwrap();
    let result = run(&problem, Cpu::Serial);
    assert_eq!(
        result.u0, initial.u1,
        "the last field becomes the second-last"
    );
    let (k, n_x) = (f64::from(0.3_f32), 40);
    for y in 0..30_usize {
        for x in 0..40_usize {
            let u1 = |at_x: usize, at_y: usize| f64::from(initial.u1[at_y * n_x + at_x]);
            let u0 = f64::from(initial.u0[y * n_x + x]);
            let got = f64::from(result.u1[y * n_x + x]);
            let border = x == 0 || y == 0 || x == 39 || y == 29;
            // The source starts as sin(0).
            let expected = if border || (x, y) == (20, 15) {
                0.0
            } else {
                let d = f64::from(problem.scene().damping(x as u32, y as u32));
                (2.0 - d - 4.0 * k) * u1(x, y) - (1.0 - d) * u0
                    + k * (u1(x - 1, y) + u1(x + 1, y) + u1(x, y - 1) + u1(x, y + 1))
            };
            assert!(
                (got - expected).abs() < 2e-6,
                "({x}, {y}): {got}, expected {expected}"
            );
        }
    }
}
/// The mode sin(p pi x / (n_x - 1)) sin(q pi y / (n_y - 1)) is an eigenmode of the discrete
/// Laplacian in a closed box. It oscillates as cos(omega n). Put the mode into the scheme:
/// sin^2(omega / 2) = k (sin^2(theta_x / 2) + sin^2(theta_y / 2)), where theta = p pi / (n - 1).
#[test]
fn a_standing_wave_keeps_its_shape_and_frequency() {
    use std::f64::consts::PI;
    let (n_x, n_y, p, q, k, steps) = (65_u32, 49_u32, 3.0, 2.0, 0.4_f32, 1000);
    let problem = Wave2d::new(n_x, n_y, steps, "empty-box")
        .unwrap()
        .with_k(k)
        .unwrap();
    let (theta_x, theta_y) = (p * PI / f64::from(n_x - 1), q * PI / f64::from(n_y - 1));
    let half =
        (f64::from(k) * ((theta_x / 2.0).sin().powi(2) + (theta_y / 2.0).sin().powi(2))).sqrt();
    let omega = 2.0 * half.asin();
    let mode = |n: f64| -> Vec<f64> {
        let cell = |x: u32, y: u32| {
            (theta_x * f64::from(x)).sin() * (theta_y * f64::from(y)).sin() * (omega * n).cos()
        };
        (0..n_y)
            .flat_map(|y| (0..n_x).map(move |x| cell(x, y)))
            .collect()
    };
    let mut fields = Fields {
        u0: mode(0.0),
        u1: mode(1.0),
    };
    advance(&problem, &mut fields, Cpu::Serial, &NoProgress);
    let exact = mode(f64::from(steps) + 1.0);
    for (got, right) in fields.u1.iter().zip(&exact) {
        approx::assert_abs_diff_eq!(got, right, epsilon = 1e-10);
    }
    let narrow = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
    let mut single = Fields {
        u0: narrow(mode(0.0)),
        u1: narrow(mode(1.0)),
    };
    advance(&problem, &mut single, Cpu::Serial, &NoProgress);
    for (got, right) in single.u1.iter().zip(&exact) {
        approx::assert_abs_diff_eq!(f64::from(*got), right, epsilon = 2e-4);
    }
}
#[test]
fn the_reference_rounds_but_does_not_drift_from_the_oracle() {
    for scene in AnyScene::NAMES {
        let problem = random(120, 90, 200, scene);
        let reference = run(&problem, Cpu::Parallel);
        let exact = oracle(&problem, Cpu::Parallel, &NoProgress).unwrap();
        for (got, right) in reference.u1.iter().zip(&exact.u1) {
            approx::assert_abs_diff_eq!(f64::from(*got), right, epsilon = 1e-3);
        }
    }
}
#[test]
fn the_fused_reference_rounds_differently_and_does_not_drift_either() {
    for scene in AnyScene::NAMES {
        let problem = random(120, 90, 200, scene);
        let mut fused = problem.initial().unwrap();
        advance_fused(&problem, &mut fused);
        assert_ne!(fused, run(&problem, Cpu::Parallel), "{scene}");
        let exact = oracle(&problem, Cpu::Parallel, &NoProgress).unwrap();
        for (got, right) in fused.u1.iter().zip(&exact.u1) {
            approx::assert_abs_diff_eq!(f64::from(*got), right, epsilon = 1e-3);
        }
    }
}
#[test]
fn the_damping_layer_absorbs_a_pulse() {
    // The scheme is linear: a run with a pulse less one without it is the pulse alone, with any
    // source.
    let after = |steps, pulse: f32| {
        // Large enough for a layer of the full 32 cells.
        let problem = Wave2d::new(256, 256, steps, "point-source").unwrap();
        let mut fields = problem.initial().unwrap();
        for (i, (u0, u1)) in fields.u0.iter_mut().zip(&mut fields.u1).enumerate() {
            let (x, y) = ((i % 256) as f32 - 100.0, (i / 256) as f32 - 140.0);
            let height = pulse * (-(x * x + y * y) / 50.0).exp();
            (*u0, *u1) = (height, height);
        }
        advance(&problem, &mut fields, Cpu::Serial, &NoProgress);
        fields.u1
    };
    let energy = |steps| -> f64 {
        let (with, without) = (after(steps, 1.0), after(steps, 0.0));
        let pulse = with.iter().zip(&without).map(|(a, b)| f64::from(a - b));
        pulse.map(|u| u * u).sum()
    };
    let (early, late) = (energy(10), energy(800));
    assert!(late < 0.01 * early, "{late} is left of {early}");
}
#[test]
fn chunks_of_steps_are_the_same_as_all_at_once() {
    let whole = run(&random(64, 70, 50, "double-slit"), Cpu::Serial);
    let problem = random(64, 70, 50, "double-slit");
    let mut fields = problem.initial().unwrap();
    for (first, steps) in [(0, 20), (20, 1), (21, 29)] {
        let chunk = problem.clone().with_first_step(first).with_steps(steps);
        advance(&chunk, &mut fields, Cpu::Parallel, &NoProgress);
    }
    assert_eq!(whole, fields);
}
#[test]
fn no_steps_change_nothing() {
    let problem = random(20, 20, 0, "point-source");
    assert_eq!(run(&problem, Cpu::Serial), problem.initial().unwrap());
}
fn refusal(pairs: &[&str]) -> String {
    let params = CaseParams::parse(pairs.iter().copied()).unwrap();
    LAB.case(&params).err().expect("refused").to_string()
}
#[test]
fn wrong_parameters_are_named() {
    insta::assert_snapshot!(refusal(&["n_x=0"]), @"parameter `n_x` = `0`: a domain has at least 2 cells along each axis, its two borders");
    insta::assert_snapshot!(refusal(&["n_y=1"]), @"parameter `n_y` = `1`: a domain has at least 2 cells along each axis, its two borders");
    insta::assert_snapshot!(refusal(&["n_x=65536", "n_y=65536"]), @"parameter `n_x * n_y` = `65536 * 65536`: a domain has at most 2147483648 cells");
    insta::assert_snapshot!(refusal(&["n_y=500001"]), @"parameter `n_y` = `500001`: a domain has at most 500000 cells along an axis");
    insta::assert_snapshot!(refusal(&["n_x=4294967296"]), @"parameter `n_x` = `4294967296`: write a whole number from 0 to 4294967295: cells along x, at least 2");
    insta::assert_snapshot!(refusal(&["k=0.6"]), @"parameter `k` = `0.6`: unstable: the CFL condition is k = (c dt/dx)^2 <= 0.5");
    insta::assert_snapshot!(refusal(&["k=nan"]), @"parameter `k` = `NaN`: unstable: the CFL condition is k = (c dt/dx)^2 <= 0.5");
    insta::assert_snapshot!(refusal(&["k=0"]), @"parameter `k` = `0`: k = (c dt/dx)^2 is above 0");
    insta::assert_snapshot!(refusal(&["scene=double-split"]), @"unknown scene `double-split`; did you mean `double-slit`?");
    insta::assert_snapshot!(refusal(&["seed=x"]), @"parameter `seed` = `x`: a number from 0 to 2^64 - 1, or `rest`");
    insta::assert_snapshot!(refusal(&["nx=3"]), @"unknown parameter `nx`; did you mean `n_x`?");
}
proptest! {
    #[test]
    fn any_valid_problem_stays_bounded(
        (n_x, n_y) in (2_u32..60, 2_u32..60),
        steps in 0_u32..60,
        scene in 0..AnyScene::NAMES.len(),
        k in 0.01_f32..0.5,
        seed in any::<u64>(),
    ) {
        let problem = Wave2d::new(n_x, n_y, steps, AnyScene::NAMES[scene]).unwrap()
            .with_k(k).unwrap()
            .with_start(Start::Random { seed: Seed::Number(seed) });
        let fields = run(&problem, Cpu::Serial);
        // At k = 1/2 a random start may grow linearly, not exponentially.
        let bound = 4.0 * (steps as f32 + 1.0);
        prop_assert!(fields.u1.iter().all(|u| u.abs() <= bound));
    }
}
