//! Functions of `intrinsics` that are instructions: their roundings, against exact arithmetic.

use cuda_std_tests::{Launch, devices};
use device::{Element, HostBuffer};
use plan::{Arg, BufferId, LaunchConfig, args};
use std_kernels::raw::{
    FAST, INTEGERS, ROUNDED_F32, ROUNDED_F64, TO_FLOATS, TO_INTEGERS, integers,
};

const COUNT: u64 = 2000;

/// Random bits, by number.
fn bits(i: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

/// Of either sign, from 1 to 4.
fn float(i: u64) -> f64 {
    let sign = if bits(3 * i) & 1 == 0 { 1.0 } else { -1.0 };
    let exponent = (bits(3 * i + 1) % 2) as i32;
    sign * (1.0 + (bits(3 * i + 2) >> 12) as f64 / 2f64.powi(52)) * 2f64.powi(exponent)
}

/// The results of `kernel` on every device, with the device's name.
fn results(
    kernel: &str,
    inputs: &[HostBuffer],
    element: Element,
    per_thread: usize,
) -> Vec<(String, HostBuffer)> {
    let mut launch = Launch::new();
    let threads = inputs[0].len();
    let buffers: Vec<BufferId> = inputs
        .iter()
        .enumerate()
        .map(|(i, values)| launch.input(&format!("input{i}"), values.clone()))
        .collect();
    let out = launch.output("out", element, threads * per_thread);
    let mut arguments: Vec<Arg> = buffers.iter().flat_map(|b| args![b.slice()]).collect();
    arguments.extend(args![out]);
    let config = LaunchConfig::covering(threads as u32, 128).unwrap();
    launch.launch(kernel, config, arguments);
    let run = |device: Box<dyn device::Device>| {
        let outputs = launch.run(device.as_ref());
        (
            device.info().name.clone(),
            outputs.into_iter().next().expect("one output"),
        )
    };
    devices().into_iter().map(run).collect()
}

/// The number nearest to the exact one, and the exact one minus it: what is it rounded down, to
/// nearest, up and to zero?
macro_rules! roundings {
    ($nearest:expr, $error:expr) => {{
        let (nearest, error) = ($nearest, $error);
        let down = if error < 0.0 {
            nearest.next_down()
        } else {
            nearest
        };
        let up = if error > 0.0 {
            nearest.next_up()
        } else {
            nearest
        };
        [down, nearest, up, if nearest > 0.0 { down } else { up }]
    }};
}

#[test]
fn operations_on_f32_are_rounded_as_their_names_say() {
    let [xs, ys, zs] = [0, 1, 2].map(|k| (0..COUNT).map(|i| float(3 * i + k) as f32).collect());
    let (xs, ys, zs): (Vec<f32>, Vec<f32>, Vec<f32>) = (xs, ys, zs);
    let mut expected = Vec::new();
    for ((&x, &y), &z) in xs.iter().zip(&ys).zip(&zs) {
        // Sums and products of such numbers are exact in `f64`.
        let [a, b, c] = [x, y, z].map(f64::from);
        let error = |exact: f64, nearest: f32| exact - f64::from(nearest);
        expected.extend(roundings!(x + y, error(a + b, x + y)));
        expected.extend(roundings!(x - y, error(a - b, x - y)));
        expected.extend(roundings!(x * y, error(a * b, x * y)));
        expected.extend(roundings!(x / y, (a - f64::from(x / y) * b) / b));
        expected.extend(roundings!(1.0 / x, (1.0 - f64::from(1.0 / x) * a) / a));
        let root = x.abs().sqrt();
        expected.extend(roundings!(root, a.abs() - f64::from(root).powi(2)));
        let sum = x.mul_add(y, z);
        expected.extend(roundings!(sum, error(a * b + c, sum)));
    }
    let inputs = [xs.into(), ys.into(), zs.into()];
    for (device, out) in results("rounded_f32", &inputs, Element::F32, ROUNDED_F32) {
        let found: &[f32] = out.as_slice().expect("floats");
        for (at, (got, right)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(
                got,
                right,
                "{device}: result {} of thread {}",
                at % ROUNDED_F32,
                at / ROUNDED_F32
            );
        }
    }
}

/// The rounding error of `x + y`, exactly (Knuth's sum of two).
fn rest_of_sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let other = sum - x;
    (x - (sum - other)) + (y - other)
}

#[test]
fn operations_on_f64_are_rounded_as_their_names_say() {
    let [xs, ys, zs] =
        [0, 1, 2].map(|k| (0..COUNT).map(|i| float(3 * i + k)).collect::<Vec<f64>>());
    let mut expected = Vec::new();
    for ((&x, &y), &z) in xs.iter().zip(&ys).zip(&zs) {
        expected.extend(roundings!(x + y, rest_of_sum(x, y)));
        expected.extend(roundings!(x * y, x.mul_add(y, -(x * y))));
        expected.extend(roundings!(x / y, (-(x / y)).mul_add(y, x) / y));
        expected.extend(roundings!(1.0 / x, (-(1.0 / x)).mul_add(x, 1.0) / x));
        let root = x.abs().sqrt();
        expected.extend(roundings!(root, (-root).mul_add(root, x.abs())));
        let (sum, product) = (x.mul_add(y, z), x * y);
        let rest = rest_of_sum(product, z) + x.mul_add(y, -product);
        expected.extend(roundings!(sum, (product + z - sum) + rest));
    }
    let inputs = [xs.into(), ys.into(), zs.into()];
    for (device, out) in results("rounded_f64", &inputs, Element::F64, ROUNDED_F64) {
        let found: &[f64] = out.as_slice().expect("floats");
        for (at, (got, right)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(
                got,
                right,
                "{device}: result {} of thread {}",
                at % ROUNDED_F64,
                at / ROUNDED_F64
            );
        }
    }
}

#[test]
fn conversions_to_integers_are_rounded_as_their_names_say() {
    // Halves, other fractions, and numbers beyond 32 bits.
    let mut xs: Vec<f64> = (-20..20).map(|i| f64::from(i) / 2.0).collect();
    xs.extend((0..COUNT).map(|i| float(i) * 2f64.powi((i % 68) as i32 - 2)));
    let mut expected: Vec<i64> = Vec::new();
    for &x in &xs {
        for either in [x, f64::from(x as f32)] {
            let rounded = [
                either.floor(),
                either.round_ties_even(),
                either.ceil(),
                either.trunc(),
            ];
            expected.extend(rounded.map(|integer| i64::from(integer as i32)));
            expected.extend(rounded.map(|integer| i64::from(integer as u32 as i32)));
            expected.extend(rounded.map(|integer| integer as i64));
            expected.extend(rounded.map(|integer| integer as u64 as i64));
        }
    }
    for (device, out) in results(
        "to_integers",
        &[xs.clone().into()],
        Element::I64,
        TO_INTEGERS,
    ) {
        let found: &[i64] = out.as_slice().expect("integers");
        for (at, (got, right)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(
                got,
                right,
                "{device}: result {} of {:e}",
                at % TO_INTEGERS,
                xs[at / TO_INTEGERS]
            );
        }
    }
}

#[test]
fn conversions_to_floats_are_rounded_as_their_names_say() {
    let xs: Vec<f64> = (0..COUNT).map(float).collect();
    let ns: Vec<i64> = (0..COUNT).map(|i| bits(i) as i64 >> (i % 40)).collect();
    let mut expected: Vec<f64> = Vec::new();
    for (&x, &n) in xs.iter().zip(&ns) {
        let k = n as i32;
        let single = |exact: i128| {
            let nearest = exact as f32;
            roundings!(nearest, (exact - nearest as i128) as f64).map(f64::from)
        };
        let double = |exact: i128| {
            let nearest = exact as f64;
            roundings!(nearest, (exact - nearest as i128) as f64)
        };
        expected.extend(roundings!(x as f32, x - f64::from(x as f32)).map(f64::from));
        expected.extend(single(k.into()));
        expected.extend(single((k as u32).into()));
        expected.extend(single(n.into()));
        expected.extend(single((n as u64).into()));
        expected.extend(double(n.into()));
        expected.extend([f64::from(k), f64::from(k as u32)]);
        expected.extend(double((n as u64).into()));
    }
    let inputs = [xs.into(), ns.clone().into()];
    for (device, out) in results("to_floats", &inputs, Element::F64, TO_FLOATS) {
        let found: &[f64] = out.as_slice().expect("floats");
        for (at, (got, right)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(
                got,
                right,
                "{device}: result {} of {}",
                at % TO_FLOATS,
                ns[at / TO_FLOATS]
            );
        }
    }
}

#[test]
fn fast_functions_are_near() {
    let xs: Vec<f32> = (0..COUNT).map(|i| float(i) as f32 * 0.75).collect();
    let ys: Vec<f32> = (0..COUNT)
        .map(|i| float(i + COUNT).abs() as f32 * 0.3)
        .collect();
    let inputs = [xs.clone().into(), ys.clone().into()];
    for (device, out) in results("fast", &inputs, Element::F32, FAST) {
        let found: &[f32] = out.as_slice().expect("floats");
        for ((of_thread, &x), &y) in found.chunks(FAST).zip(&xs).zip(&ys) {
            let [a, b] = [x, y].map(f64::from);
            let (sine, cosine) = a.sin_cos();
            let expected = [
                sine,
                cosine,
                sine / cosine,
                a.exp(),
                10f64.powf(a),
                b.log2(),
                b.ln(),
                b.log10(),
                b.powf(a),
                a / b,
                sine.clamp(0.0, 1.0),
                cosine.clamp(0.0, 1.0),
            ];
            for (k, (&got, right)) in of_thread.iter().zip(expected).enumerate() {
                // A quotient has the relative errors of both, and a tangent of a great one the
                // cosine's.
                let allowed = match k {
                    2 => 2f64.powi(-19) * (1.0 + 1.0 / cosine.powi(2)),
                    _ => 2f64.powi(-19) * (1.0 + right.abs()),
                };
                let error = (f64::from(got) - right).abs();
                assert!(
                    error <= allowed,
                    "{device}: result {k} of {x:e}, {y:e}: {got:e}, not {right:e}"
                );
            }
        }
    }
}

/// Four of eight bytes, each chosen by three bits, or its sign.
fn permuted(x: u32, y: u32, selection: u32) -> u32 {
    let bytes = (u64::from(y) << 32 | u64::from(x)).to_le_bytes();
    u32::from_le_bytes([0, 4, 8, 12].map(|shift| {
        let selected = selection >> shift;
        let byte = bytes[selected as usize % 8];
        if selected & 8 == 0 {
            byte
        } else {
            (byte as i8 >> 7) as u8
        }
    }))
}

#[test]
fn functions_of_integers_are_the_same_everywhere() {
    let xs: Vec<i64> = (0..COUNT)
        .map(|i| bits(2 * i) as i64)
        .chain([0, -1, i64::MIN])
        .collect();
    let ys: Vec<i64> = (0..COUNT)
        .map(|i| bits(2 * i + 1) as i64)
        .chain([0, 1, -1])
        .collect();
    let inputs = [xs.clone().into(), ys.clone().into()];
    for (device, out) in results("integer_functions", &inputs, Element::I64, INTEGERS + 1) {
        let found: &[i64] = out.as_slice().expect("integers");
        for ((of_thread, &x), &y) in found.chunks(INTEGERS + 1).zip(&xs).zip(&ys) {
            assert_eq!(
                of_thread[..INTEGERS],
                integers(x, y),
                "{device}: {x:#x}, {y:#x}"
            );
            let bytes = permuted(x as u32, y as u32, (x >> 32) as u32);
            assert_eq!(
                of_thread[INTEGERS],
                i64::from(bytes as i32),
                "{device}: {x:#x}, {y:#x}"
            );
        }
    }
}

/// The manual of libdevice says so in words.
#[test]
fn functions_of_integers_are_libdevice_s() {
    use std_kernels::raw::library as raw;
    // SAFETY: no function has an obligation.
    unsafe {
        assert_eq!(
            (raw::ffs(0), raw::ffs(8), raw::ffsll(0), raw::ffsll(1 << 40)),
            (0, 4, 0, 41)
        );
        assert_eq!((raw::clz(0), raw::clzll(1)), (32, 63));
        assert_eq!((raw::mulhi(i32::MIN, 2), raw::umulhi(i32::MIN, 2)), (-1, 1));
        assert_eq!(
            (raw::mul64hi(i64::MIN, 2), raw::umul64hi(i64::MIN, 2)),
            (-1, 1)
        );
        assert_eq!(
            (raw::mul24(0xff_ffff, 5), raw::umul24(0xff_ffff, 5)),
            (-5, 83_886_075)
        );
        assert_eq!((raw::hadd(-3, 0), raw::rhadd(-3, 0)), (-2, -1));
        assert_eq!((raw::uhadd(-1, -1), raw::urhadd(-1, -2)), (-1, -1));
        assert_eq!((raw::sad(-3, 4, 10), raw::usad(-1, 0, 1)), (17, 0));
        assert_eq!((raw::umax(-1, 1), raw::ullmin(-1, 1)), (-1, 1));
    }
}
