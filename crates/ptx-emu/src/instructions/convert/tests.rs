use super::*;
use crate::registers::Bases;
use proptest::prelude::*;

fn conversion(dst_ty: ScalarType, src_ty: ScalarType) -> Conversion {
    Conversion {
        dst_ty,
        src_ty,
        rounding: None,
        integral: false,
        ftz: false,
        sat: false,
        relu: false,
    }
}

fn to_integer(dst_ty: ScalarType, src_ty: ScalarType, rounding: Rounding) -> Conversion {
    Conversion {
        rounding: Some(rounding),
        integral: true,
        ..conversion(dst_ty, src_ty)
    }
}

#[test]
fn nan_to_integer_depends_on_the_widths() {
    use ScalarType::*;
    let (nan32, nan64) = (0x7fc0_0000, f64::NAN.to_bits());
    let rz = Rounding::Zero;
    assert_eq!(to_integer(S32, F32, rz).convert(nan32), 0);
    assert_eq!(to_integer(U32, F32, rz).convert(nan32), 0);
    assert_eq!(to_integer(S64, F32, rz).convert(nan32), 1 << 63);
    assert_eq!(to_integer(U64, F32, rz).convert(nan32), 1 << 63);
    assert_eq!(to_integer(U32, F64, rz).convert(nan64), 1 << 31);
    assert_eq!(
        to_integer(S32, F64, rz).convert(nan64),
        i64::from(i32::MIN) as u64
    );
    assert_eq!(to_integer(S64, F64, rz).convert(nan64), 1 << 63);
}

#[test]
fn float_to_integer_clamps_and_rounds() {
    use ScalarType::*;
    let bits = |x: f32| u64::from(x.to_bits());
    assert_eq!(
        to_integer(U8, F32, Rounding::Zero).convert(bits(300.0)),
        255
    );
    assert_eq!(
        to_integer(S8, F32, Rounding::Zero).convert(bits(-300.0)),
        -128i64 as u64
    );
    assert_eq!(
        to_integer(S32, F32, Rounding::Nearest).convert(bits(2.5)),
        2
    );
    assert_eq!(to_integer(S32, F32, Rounding::Up).convert(bits(2.5)), 3);
    assert_eq!(
        to_integer(S32, F32, Rounding::Down).convert(bits(-2.5)),
        -3i64 as u64
    );
    assert_eq!(
        to_integer(U64, F32, Rounding::Zero).convert(bits(f32::INFINITY)),
        u64::MAX
    );
    assert_eq!(to_integer(U32, F32, Rounding::Zero).convert(bits(-1.0)), 0);
}

#[test]
fn integers_truncate_extend_and_clamp() {
    use ScalarType::*;
    assert_eq!(conversion(S8, U32).convert(0x1ff), u64::MAX);
    assert_eq!(conversion(U8, S32).convert(0xffff_ffff), 0xff);
    assert_eq!(conversion(S64, S8).convert(0x80), -128i64 as u64);
    let sat = |dst, src| Conversion {
        sat: true,
        ..conversion(dst, src)
    };
    assert_eq!(sat(U8, S32).convert(0xffff_ffff), 0);
    assert_eq!(sat(S8, U32).convert(300), 127);
    assert_eq!(sat(U32, S64).convert(1 << 40), 0xffff_ffff);
}

#[test]
fn halves() {
    use ScalarType::*;
    let one = u64::from(1f32.to_bits());
    let rn = |dst, src| Conversion {
        rounding: Some(Rounding::Nearest),
        ..conversion(dst, src)
    };
    assert_eq!(rn(F16, F32).convert(one), 0x3c00);
    assert_eq!(rn(Bf16, F32).convert(one), 0x3f80);
    assert_eq!(conversion(F32, F16).convert(0x3c00), one);
    assert_eq!(rn(F16, F32).convert(u64::from(65520f32.to_bits())), 0x7c00);
    assert_eq!(rn(F16, F32).convert(u64::from(65519f32.to_bits())), 0x7bff);
    assert_eq!(rn(F16, F32).convert(0x7fc1_2345), 0x7fff);
    assert_eq!(
        conversion(F32, F16).convert(1),
        u64::from((1.0 / 16_777_216f32).to_bits())
    );
}

#[test]
fn fast_halves_equal_the_others() {
    use ScalarType::*;
    let rn = |dst| Conversion {
        rounding: Some(Rounding::Nearest),
        ..conversion(dst, F32)
    };
    let (to_f16, to_bf16) = (rn(F16), rn(Bf16));
    let check = |single: u32| {
        let raw = u64::from(single);
        assert_eq!(
            u64::from(narrow_to_f16(single)),
            to_f16.convert(raw),
            "{single:#x}"
        );
        assert_eq!(
            u64::from(narrow_to_bf16(single)),
            to_bf16.convert(raw),
            "{single:#x}"
        );
    };
    for half in 0..=u16::MAX {
        let wide = conversion(F32, F16).convert(half.into()) as u32;
        assert_eq!(widen_f16(half), wide, "{half:#x}");
        // Each f16, the middle between two, and their neighbours; then those of bf16.
        for single in [
            wide,
            wide + 0x1000,
            u32::from(half) << 16,
            u32::from(half) << 16 | 0x8000,
        ] {
            for near in [single.wrapping_sub(1), single, single.wrapping_add(1)] {
                check(near);
            }
        }
    }
    (0..u32::MAX).step_by(65_521).for_each(check);
}

#[test]
fn a_nan_keeps_its_payload_to_and_from_f64_and_from_bf16() {
    use ScalarType::*;
    assert_eq!(
        conversion(F64, F32).convert(0x7fff_ffff),
        0x7fff_ffff_e000_0000
    );
    assert_eq!(
        conversion(F64, F32).convert(0xff80_0001),
        0xfff8_0000_2000_0000
    );
    // An H100 gives these.
    let (quiet, signalling) = (0x7ff8_1234_5678_9abc, 0xfff0_1234_5678_9abc);
    assert_eq!(conversion(F32, F64).convert(quiet), 0x7fc0_91a2);
    assert_eq!(conversion(F32, F64).convert(signalling), 0xffc0_91a2);
    assert_eq!(conversion(F16, F64).convert(quiet), 0x7e04);
    assert_eq!(conversion(F16, F64).convert(signalling), 0xfe04);
    assert_eq!(conversion(Bf16, F64).convert(0x7ffb_b763_47fd_fd98), 0x7fdd);
    assert_eq!(conversion(F32, Bf16).convert(0x7f81), 0x7f81_0000);
    let flushing = Conversion {
        ftz: true,
        ..conversion(F64, F32)
    };
    assert_eq!(flushing.convert(0xff81_2345), 0x7fff_ffff_e000_0000);
}

#[test]
fn a_subnormal_f32_is_flushed_unless_an_f16_is_made_of_it() {
    use ScalarType::*;
    let up = |dst| Conversion {
        rounding: Some(Rounding::Up),
        ftz: true,
        ..conversion(dst, F32)
    };
    assert_eq!(up(F16).convert(1), 1);
    assert_eq!(up(Bf16).convert(1), 0);
}

/// The result of the fast version of a conversion, if it has one.
fn fast(conversion: &Conversion, raw: u64) -> Option<u64> {
    let class = |ty: ScalarType| match ty.bits() {
        64 => RegClass::B64,
        32 => RegClass::B32,
        _ => RegClass::B16,
    };
    let (dst, src) = (class(conversion.dst_ty), class(conversion.src_ty));
    let apply = conversion.fast(dst, src)?;
    let mut registers = Registers::default();
    let end = Bases {
        r32: 2,
        r64: 2,
        pred: 0,
    };
    registers.reserve(end);
    let slot = |kind, row| Slot { class: kind, row };
    registers.fill(slot(src, 0), u32::MAX, raw);
    let o = Operands {
        a: 0,
        d: 1,
        ..Operands::default()
    };
    // SAFETY: the pointer comes from `lane_loop!`, which chooses code that this host can run.
    unsafe { apply(&mut registers, &o, u32::MAX) };
    Some(registers.lane(slot(dst, 1), 7))
}

/// The bits of a result, which a register cuts.
fn cut(value: u64, ty: ScalarType) -> u64 {
    value & (u64::MAX >> (64 - ty.bits()))
}

proptest! {
    #[test]
    fn fast_versions_equal_the_others(
        x in prop_oneof![
            any::<u64>(),
            any::<f64>().prop_map(f64::to_bits),
            (-3e9..3e9f64).prop_map(f64::to_bits),
            any::<f32>().prop_map(|x| x.to_bits().into()),
            (-200f32..200f32).prop_map(|x| (2.0 * x).round().mul_add(0.5, 0.0).to_bits().into()),
        ],
        rounding in prop_oneof![
            Just(Rounding::Nearest), Just(Rounding::Zero), Just(Rounding::Down), Just(Rounding::Up),
        ],
    ) {
        use ScalarType::*;
        let integers = [U8, S8, U16, S16, U32, S32, U64, S64];
        let floats = [F32, F64];
        let mut count = 0;
        let types = integers.iter().chain(&floats);
        for (&dst, &src) in types.clone().flat_map(|dst| types.clone().map(move |src| (dst, src))) {
            let same = integers.contains(&dst) || dst == src;
            let both = Conversion {
                rounding: Some(rounding),
                integral: floats.contains(&src) && same,
                ..conversion(dst, src)
            };
            let raw = cut(x, src);
            let saturated = Conversion {
                rounding: None,
                integral: false,
                sat: true,
                ftz: rounding == Rounding::Zero,
                ..both
            };
            if (dst, src) == (F32, F32) {
                let result = fast(&saturated, raw);
                prop_assert_eq!(result, Some(cut(saturated.convert(raw), dst)));
            }
            if let Some(result) = fast(&both, raw) {
                count += 1;
                prop_assert_eq!(result, cut(both.convert(raw), dst), "{:?} of {:#x}", both, raw);
            }
        }
        prop_assert!(count >= 28, "{}", count);
    }

    #[test]
    fn integers_to_floats_equal_the_host(x in any::<u64>(), narrow in 0u32..64) {
        use ScalarType::*;
        let x = x >> narrow;
        let rn = |dst, src| Conversion { rounding: Some(Rounding::Nearest), ..conversion(dst, src) };
        prop_assert_eq!(rn(F32, U64).convert(x), u64::from((x as f32).to_bits()));
        prop_assert_eq!(rn(F32, S64).convert(x), u64::from((x as i64 as f32).to_bits()));
        prop_assert_eq!(rn(F64, U64).convert(x), (x as f64).to_bits());
        prop_assert_eq!(rn(F64, S64).convert(x), (x as i64 as f64).to_bits());
        prop_assert_eq!(rn(F32, S32).convert(x & 0xffff_ffff), u64::from((x as i32 as f32).to_bits()));
    }

    #[test]
    fn floats_to_integers_equal_the_host(x in any::<f64>(), y in any::<f32>()) {
        use ScalarType::*;
        let rz = Rounding::Zero;
        prop_assert_eq!(to_integer(S64, F64, rz).convert(x.to_bits()), x as i64 as u64);
        prop_assert_eq!(to_integer(U32, F64, rz).convert(x.to_bits()), u64::from(x as u32));
        let y = u64::from(y.to_bits());
        let host = f32::from_bits(y as u32);
        prop_assert_eq!(to_integer(S32, F32, rz).convert(y), i64::from(host as i32) as u64);
    }
}
