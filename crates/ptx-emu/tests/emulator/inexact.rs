//! Approximations with errors, within what the PTX ISA states.

use crate::common::launch;
use ptx_emu::Schedule;

/// An approximation of one number, its value, and the largest error that the PTX ISA states for a
/// result `value` with its unit in the last place `ulp`.
struct Approximation {
    instruction: &'static str,
    value: fn(f64) -> f64,
    error: fn(value: f64, ulp: f64) -> f64,
}

const ALL: [Approximation; 10] = [
    Approximation {
        instruction: "rcp.approx.f32 %f2, %f1;",
        value: |x| 1.0 / x,
        error: |_, ulp| ulp,
    },
    Approximation {
        instruction: "div.approx.f32 %f2, 0f40400000, %f1;",
        value: |x| 3.0 / x,
        error: |_, ulp| 2.0 * ulp,
    },
    Approximation {
        instruction: "div.full.f32 %f2, 0f40400000, %f1;",
        value: |x| 3.0 / x,
        error: |_, ulp| 2.0 * ulp,
    },
    Approximation {
        instruction: "sqrt.approx.f32 %f2, %f1;",
        value: f64::sqrt,
        error: |value, _| value * 2f64.powi(-23),
    },
    Approximation {
        instruction: "rsqrt.approx.ftz.f32 %f2, %f1;",
        value: |x| 1.0 / x.sqrt(),
        error: |value, _| value * 2f64.powf(-22.9),
    },
    Approximation {
        instruction: "ex2.approx.f32 %f2, %f1;",
        value: f64::exp2,
        error: |_, ulp| 2.0 * ulp,
    },
    Approximation {
        instruction: "lg2.approx.f32 %f2, %f1;",
        value: f64::log2,
        error: |value, _| value.abs().max(1.0) * 2f64.powi(-22),
    },
    Approximation {
        instruction: "sin.approx.f32 %f2, %f1;",
        value: f64::sin,
        error: |_, _| 2f64.powf(-20.5),
    },
    Approximation {
        instruction: "cos.approx.f32 %f2, %f1;",
        value: f64::cos,
        error: |_, _| 2f64.powf(-20.5),
    },
    Approximation {
        instruction: "tanh.approx.f32 %f2, %f1;",
        value: f64::tanh,
        error: |value, _| value.abs() * 2f64.powi(-11),
    },
];

/// The results for these operands; with errors that follow from the seed, if there is one.
fn results(instruction: &str, operands: &[f32], seed: Option<u64>) -> Vec<f32> {
    let body = format!("ld.global.f32 %f1, [%rd4];\n{instruction}\nst.global.f32 [%rd3], %f2;");
    let mut launch = launch(&body).input(operands.iter().map(|x| x.to_bits()));
    if let Some(seed) = seed {
        launch.options.inexact = true;
        launch = launch.schedule(Schedule::Random { seed });
    }
    let out = launch.out();
    out[..32].iter().map(|bits| f32::from_bits(*bits)).collect()
}

#[test]
fn errors_are_within_what_the_isa_states_and_follow_from_the_seed() {
    let operands: Vec<f32> = (0..64).map(|i| 0.04 * i as f32 + 0.017).collect();
    for Approximation {
        instruction,
        value,
        error,
    } in ALL
    {
        let rounded = results(instruction, &operands, None);
        let mut differ = 0;
        for seed in 0..8 {
            let got = results(instruction, &operands, Some(seed));
            assert_eq!(got, results(instruction, &operands, Some(seed)));
            for ((x, value_got), nearest) in operands.iter().zip(&got).zip(&rounded) {
                let value = value(f64::from(*x));
                let magnitude = value_got.abs().max(nearest.abs());
                let ulp = f64::from(f32::from_bits(magnitude.to_bits() + 1)) - f64::from(magnitude);
                let off = (f64::from(*value_got) - value).abs();
                assert!(
                    off <= error(value, ulp),
                    "{instruction} {x}: {value_got}, of {value}"
                );
                differ += u32::from(value_got != nearest);
            }
        }
        // Of 256 results at least a quarter.
        assert!(differ > 64, "{instruction}: {differ}");
    }
}

#[test]
fn zero_infinity_and_nan_stay() {
    let operands: Vec<f32> = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40]
        .into_iter()
        .cycle()
        .take(64)
        .collect();
    for instruction in [
        "rcp.approx.ftz.f32 %f2, %f1;",
        "lg2.approx.ftz.f32 %f2, %f1;",
    ] {
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let rounded = bits(results(instruction, &operands, None));
        assert_eq!(rounded, bits(results(instruction, &operands, Some(3))));
    }
}
