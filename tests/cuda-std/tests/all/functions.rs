//! The functions on floats have the same bits on the host, the emulated device and a GPU.

use cuda_std_tests::{Launch, devices};
use device::Element;
use plan::{LaunchConfig, args};
use std_kernels::functions::{NAMES, f32_of, f64_of};

/// Numbers of a fixed seed (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators").
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Any number: a third of all bits, the rest of moderate size.
    fn f64(&mut self) -> f64 {
        let bits = self.bits();
        let part = (bits >> 11) as f64 / (1u64 << 53) as f64;
        match bits % 3 {
            0 => f64::from_bits(self.bits()),
            1 => 20.0 * part - 10.0,
            _ => 4.0 * part - 2.0,
        }
    }

    fn f32(&mut self) -> f32 {
        match self.bits() % 3 {
            0 => f32::from_bits(self.bits() as u32),
            _ => self.f64() as f32,
        }
    }
}

const SPECIAL: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    1e-310,
    -1e-40,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::MAX,
    f64::MIN_POSITIVE,
    1e22,
    -3.5,
];

/// Arguments: special numbers in all pairs, then random ones.
fn pairs<T>(random: impl Fn(&mut Random) -> T, of: impl Fn(f64) -> T) -> (Vec<T>, Vec<T>) {
    // A GPU takes more.
    let count = if devices().len() > 1 { 100_000 } else { 500 };
    let mut source = Random(7);
    let special = SPECIAL
        .iter()
        .flat_map(|&x| SPECIAL.iter().map(move |&y| (x, y)))
        .map(|(x, y)| (of(x), of(y)));
    let mut pairs: Vec<(T, T)> = special.collect();
    pairs.extend((0..count).map(|_| (random(&mut source), random(&mut source))));
    pairs.into_iter().unzip()
}

/// Whether two results are the same: the same bits, or both NaN.
macro_rules! compare {
    ($kernel:literal, $ty:ident, $element:ident, $random:ident, $of:ident, $as:expr) => {{
        let (x, y) = pairs(|random| random.$random(), $as);
        let mut wrong = Vec::new();
        for device in devices() {
            for (number, name) in NAMES.iter().enumerate() {
                let mut launch = Launch::new();
                let [xs, ys] = [("x", &x), ("y", &y)]
                    .map(|(name, values)| launch.input(name, values.clone()));
                let out = launch.output("out", Element::$element, x.len());
                let config = LaunchConfig::covering(x.len() as u32, 128).unwrap();
                launch.launch($kernel, config, args![number as u32, xs.slice(), ys.slice(), out]);
                let outputs = launch.run(device.as_ref());
                let values: &[$ty] = outputs[0].as_slice().expect("floats");
                for ((&x, &y), &value) in x.iter().zip(&y).zip(values) {
                    let expected = $of(number as u32, x, y);
                    if value.to_bits() != expected.to_bits() && !(value.is_nan() && expected.is_nan()) {
                        let device = &device.info().name;
                        wrong.push(format!("{name}({x:e}, {y:e}) is {value:e} on {device} and {expected:e} on the host"));
                        break;
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }};
}

#[test]
fn functions_of_f32_have_the_same_bits() {
    compare!("function_f32", f32, F32, f32, f32_of, |x| x as f32);
}

#[test]
fn functions_of_f64_have_the_same_bits() {
    compare!("function_f64", f64, F64, f64, f64_of, |x| x);
}
