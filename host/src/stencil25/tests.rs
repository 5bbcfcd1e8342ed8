//! The references against each other, against analysis, and what they refuse.

use crate::device::EmulatedDevice;
use crate::lab::{Cpu, Lab, NoProgress};
use crate::run::run_case;
use crate::stencil25::LAB;

#[test]
fn every_variant_is_right() {
    for case in LAB.small_cases() {
        let expected = case.reference(Cpu::Serial, &NoProgress).unwrap();
        for variant in LAB.variants() {
            let context = format!("{}, {}", variant.name, case.label());
            let device = EmulatedDevice::default();
            let outcome = run_case(&device, LAB.module(), case.as_ref(), variant.name)
                .unwrap_or_else(|error| panic!("{context}: {error}"));
            case.check(variant.name, &expected, &outcome.outputs)
                .unwrap_or_else(|error| panic!("{context}: {error}"));
        }
    }
}
