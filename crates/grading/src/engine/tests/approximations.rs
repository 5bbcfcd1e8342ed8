//! Approximations that the emulated device rounds once decide nothing.

use super::*;
use crate::engine::Extent;
use crate::engine::emulated::FUEL;

/// The sum, and then something that leaves it as it is, if approximations are rounded once.
const EXACT_IF_ROUNDED: [&str; 3] = [
    "mov.f32 %f4, 0f3F800000; rcp.approx.ftz.f32 %f4, %f4; mul.rn.f32 %f3, %f3, %f4;",
    "mov.f32 %f4, 0f00000000; ex2.approx.ftz.f32 %f4, %f4; mul.rn.f32 %f3, %f3, %f4;",
    "div.full.f32 %f3, %f3, 0f3F800000;",
];

/// The sum; what the approximation is for does not depend on its last bits.
const RIGHT: [&str; 2] = [
    // i / 37 by way of a reciprocal, with room for its error.
    "cvt.rn.f32.u32 %f4, %r1; add.rn.f32 %f4, %f4, 0f3F000000; mov.f32 %f0, 0f42140000; rcp.approx.ftz.f32 %f0, %f0; \
     mul.rn.f32 %f4, %f4, %f0; cvt.rzi.u32.f32 %r4, %f4; div.u32 %r5, %r1, 37; setp.eq.u32 %p2, %r4, %r5; @%p2 bra OK; \
     mov.f32 %f3, 0f00000000; OK:",
    "sqrt.approx.ftz.f32 %f4, %f1; setp.gt.f32 %p2, %f4, 0f7F000000; @%p2 mov.f32 %f3, 0f00000000;",
];

fn kernels(after: &str) -> String {
    elementwise(&format!("{SUM} {after}"))
}

#[test]
fn what_needs_approximations_to_be_rounded_once_is_wrong_where_the_emulated_device_decides() {
    let lab_spec = lab_spec(MATADD);
    for after in EXACT_IF_ROUNDED {
        let bundle = bundle(&lab_spec, &kernels(after), record_sum);
        assert!(emulated(&lab_spec, &bundle).is_right(), "{after}");
        for seed in 0..8 {
            let device = Extent::Whole.device(FUEL, true);
            let options = Options {
                seed: Some(seed),
                ..options()
            };
            let report = graded_with(&lab_spec, &bundle, &device, &Here(&device), &options);
            let kind = report.cases[0].status.kind();
            assert_eq!(kind, Some(Kind::WrongResult), "{after} {seed}");
        }
        // A GPU that has it right is right.
        let device = Clocked::new(|_, _| 10.0);
        assert!(graded(&lab_spec, &bundle, &device).is_right(), "{after}");
    }
}

#[test]
fn who_leaves_room_for_their_errors_is_right() {
    let lab_spec = lab_spec(MATADD);
    for after in RIGHT {
        let bundle = bundle(&lab_spec, &kernels(after), record_sum);
        let device = Extent::Whole.device(FUEL, true);
        let report = graded(&lab_spec, &bundle, &device);
        assert!(report.is_right(), "{after}: {report:#?}");
    }
}
