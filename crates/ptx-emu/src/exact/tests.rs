use super::*;
use proptest::prelude::*;

const MODES: [Rounding; 4] = [
    Rounding::Nearest,
    Rounding::Zero,
    Rounding::Down,
    Rounding::Up,
];

fn same_f32(ours: u64, host: f32) -> bool {
    if host.is_nan() {
        ours == F32.default_nan
    } else {
        ours == u64::from(host.to_bits())
    }
}

fn same_f64(ours: u64, host: f64) -> bool {
    if host.is_nan() {
        f64::from_bits(ours).is_nan()
    } else {
        ours == host.to_bits()
    }
}

/// Bit patterns that favour the edges of a format: tiny and huge exponents, few fraction bits.
fn edgy(format: Format) -> impl Strategy<Value = u64> {
    let all = format.sign_bit() | (format.sign_bit() - 1);
    let fraction_bits = format.precision - 1;
    prop_oneof![
        any::<u64>().prop_map(move |x| x & all),
        (
            any::<bool>(),
            0..=format.exponent_mask(),
            0u64..4,
            any::<bool>()
        )
            .prop_map(move |(sign, exponent, low, high)| {
                let top = if high { format.fraction_mask() & !3 } else { 0 };
                format.zero(sign) | exponent << fraction_bits | top | low
            }),
        (any::<bool>(), 0u64..4, any::<u64>()).prop_map(move |(sign, exponent, fraction)| {
            format.zero(sign) | exponent << fraction_bits | (fraction & format.fraction_mask())
        }),
    ]
}

/// Near another number: where sums cancel and products overflow by a little.
fn related(format: Format) -> impl Strategy<Value = (u64, u64, u64)> {
    (
        edgy(format),
        edgy(format),
        edgy(format),
        any::<bool>(),
        0u64..3,
    )
        .prop_map(move |(a, b, c, near, step)| {
            let b = if near {
                (a ^ format.sign_bit()) ^ step
            } else {
                b
            };
            (a, b, c)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn nearest_equals_the_host_f32((a, b, c) in related(F32)) {
        let [x, y, z] = [a, b, c].map(|bits| f32::from_bits(bits as u32));
        let rn = Rounding::Nearest;
        prop_assert!(same_f32(add(a, b, &F32, rn), x + y));
        prop_assert!(same_f32(sub(a, b, &F32, rn), x - y));
        prop_assert!(same_f32(mul(a, b, &F32, rn), x * y));
        prop_assert!(same_f32(div(a, b, &F32, rn), x / y));
        prop_assert!(same_f32(sqrt(a, &F32, rn), x.sqrt()));
        prop_assert!(same_f32(fma(a, b, c, &F32, rn), x.mul_add(y, z)));
    }

    #[test]
    fn nearest_equals_the_host_f64((a, b, c) in related(F64)) {
        let [x, y, z] = [a, b, c].map(f64::from_bits);
        let rn = Rounding::Nearest;
        prop_assert!(same_f64(add(a, b, &F64, rn), x + y));
        prop_assert!(same_f64(sub(a, b, &F64, rn), x - y));
        prop_assert!(same_f64(mul(a, b, &F64, rn), x * y));
        prop_assert!(same_f64(div(a, b, &F64, rn), x / y));
        prop_assert!(same_f64(sqrt(a, &F64, rn), x.sqrt()));
        prop_assert!(same_f64(fma(a, b, c, &F64, rn), x.mul_add(y, z)));
        prop_assert!(same_f32(convert(a, &F64, &F32, rn), x as f32));
    }

    /// The directed results enclose the nearest one and are neighbours unless exact.
    #[test]
    fn directed_results_enclose((a, b, c) in related(F32)) {
        type Operation<'a> = &'a dyn Fn(Rounding) -> u64;
        let operations: [Operation; 5] = [
            &|mode| add(a, b, &F32, mode),
            &|mode| mul(a, b, &F32, mode),
            &|mode| div(a, b, &F32, mode),
            &|mode| sqrt(a, &F32, mode),
            &|mode| fma(a, b, c, &F32, mode),
        ];
        for operation in operations {
            let [nearest, zero, down, up] =
                MODES.map(|mode| f32::from_bits(operation(mode) as u32));
            if nearest.is_nan() {
                prop_assert!(zero.is_nan() && down.is_nan() && up.is_nan());
                continue;
            }
            prop_assert!(down <= nearest && nearest <= up);
            prop_assert!(down == up || down.next_up() == up);
            let inward = if nearest.is_sign_negative() { up } else { down };
            prop_assert!(zero == inward, "{zero} {down} {up}");
        }
    }

    /// Products and quotients of f32 are exact, or correctly ordered, in f64.
    #[test]
    fn directed_f32_products_and_quotients((a, b, _) in related(F32)) {
        let [x, y] = [a, b].map(|bits| f64::from(f32::from_bits(bits as u32)));
        for (wide, operation) in [(x * y, mul as fn(u64, u64, &Format, Rounding) -> u64), (x / y, div)] {
            if wide.is_nan() {
                continue;
            }
            let down = f64::from(f32::from_bits(operation(a, b, &F32, Rounding::Down) as u32));
            let up = f64::from(f32::from_bits(operation(a, b, &F32, Rounding::Up) as u32));
            prop_assert!(down <= wide && wide <= up, "{down} {wide} {up}");
        }
    }
}

#[test]
fn overflow_follows_the_direction() {
    let max = u64::from(f32::MAX.to_bits());
    let infinity = u64::from(f32::INFINITY.to_bits());
    let sign = F32.sign_bit();
    for (mode, positive, negative) in [
        (Rounding::Nearest, infinity, infinity | sign),
        (Rounding::Zero, max, max | sign),
        (Rounding::Down, max, infinity | sign),
        (Rounding::Up, infinity, max | sign),
    ] {
        assert_eq!(add(max, max, &F32, mode), positive, "{mode:?}");
        assert_eq!(
            add(max | sign, max | sign, &F32, mode),
            negative,
            "{mode:?}"
        );
    }
}

#[test]
fn a_cancelled_sum_is_a_zero_of_the_rounding_sign() {
    let one = u64::from(1f32.to_bits());
    assert_eq!(sub(one, one, &F32, Rounding::Nearest), 0);
    assert_eq!(sub(one, one, &F32, Rounding::Up), 0);
    assert_eq!(sub(one, one, &F32, Rounding::Down), F32.sign_bit());
}

#[test]
fn the_smallest_step_below_one() {
    let one = 1f64.to_bits();
    let tiny = f64::from_bits(1).to_bits();
    assert_eq!(sub(one, tiny, &F64, Rounding::Nearest), one);
    assert_eq!(
        sub(one, tiny, &F64, Rounding::Zero),
        1f64.next_down().to_bits()
    );
    assert_eq!(add(one, tiny, &F64, Rounding::Up), 1f64.next_up().to_bits());
}
