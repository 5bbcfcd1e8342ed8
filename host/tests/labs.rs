//! Every lab's small cases, each variant, on each device, against the CPU reference.

use host::device::EmulatedDevice;
use host::{Cpu, Device, NoProgress, labs, run_case};

#[cfg(target_os = "linux")]
mod gpu;

#[test]
fn every_variant_passes_on_the_emulated_device() {
    passes(&EmulatedDevice::default());
}

#[cfg(target_os = "linux")]
#[test]
fn every_variant_passes_on_cuda() {
    if let Some(device) = gpu::device() {
        passes(device);
    }
}

fn passes(device: &dyn Device) {
    for lab in labs() {
        for case in lab.small_cases() {
            let expected = case.reference(Cpu::Serial, &NoProgress).unwrap();
            for variant in lab.variants() {
                let context = format!("{}, {}, {}", lab.name(), variant.name, case.label());
                let outcome = run_case(device, lab.module(), case.as_ref(), variant.name)
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
                case.check(variant.name, &expected, &outcome.outputs)
                    .unwrap_or_else(|error| panic!("{context}: {error}"));
            }
        }
    }
}
