//! Every lab's small cases, each variant, on each device, against the CPU reference.

use device::validate::{LaunchFault, ValidationError, validate};
use device::{Device, DeviceKind, Error};
use device::{EmulatedDevice, LaunchLimits};
use exit::ErrorKind;
use host::labs;
use lab::run::run_case;
use lab::{CaseParams, Cpu, Lab};
use rayon::prelude::*;
use terminal::progress::NoProgress;

#[test]
fn every_variant_passes_on_the_emulated_device() {
    cases().into_par_iter().for_each(|(lab, number)| {
        pass(&EmulatedDevice::default(), lab, number);
    });
}

#[test]
fn every_variant_passes_on_cuda() {
    if let Some(device) = crate::gpu::device() {
        for (lab, number) in cases() {
            pass(device, lab, number);
        }
    }
}

/// Each lab with the number of each of its small cases.
fn cases() -> Vec<(&'static Lab, usize)> {
    let numbers = |lab: &Lab| 0..lab.small_cases().len();
    let labs = labs().iter().copied();
    labs.flat_map(|lab| numbers(lab).map(move |number| (lab, number)))
        .collect()
}

/// Runs the variants that this small case takes.
fn pass(device: &dyn Device, lab: &Lab, number: usize) {
    let mut cases = lab.small_cases();
    let count = cases.len();
    let case = cases.swap_remove(number);
    let inputs = case.inputs().unwrap();
    let expected = case
        .reference_from(&inputs, Cpu::Serial, &NoProgress)
        .unwrap();
    // Of long series each case takes every fourth, so that all have several; a shape has one case.
    let shapes = lab.variants.iter().flat_map(|variant| &variant.shapes);
    let variants = lab
        .variants
        .iter()
        .chain(shapes)
        .enumerate()
        .filter(|(at, variant)| match variant.label() {
            Some(_) => at % count == number,
            None => !variant.on_request || (at + number).is_multiple_of(4),
        });
    for (_, variant) in variants {
        // A shape may be for larger GPUs, a variant for newer ones; the emulated device has room
        // for all.
        let plan = variant.record(case.as_ref()).unwrap();
        if device.info().kind == DeviceKind::Cuda
            && let Err(error) = validate(&lab.module, &plan, &device.info().limits)
            && (error.kind() == ErrorKind::Needs
                || variant.label().is_some() && is_too_large(&error))
        {
            println!("skipped: {error}");
            continue;
        }
        let context = format!("{}, {}, {}", lab.name, variant.name, case.label());
        let case = case.as_ref();
        let outcome =
            run_case(device, case, variant).unwrap_or_else(|error| panic!("{context}: {error}"));
        let checked = variant.check(case, &inputs, &expected, &outcome.outputs);
        checked
            .unwrap()
            .unwrap_or_else(|error| panic!("{context}: {error}"));
    }
}

/// Whether a block would need more shared memory than the device has.
fn is_too_large(error: &Error) -> bool {
    let Error::Validation(ValidationError::Launch { fault, .. }) = error else {
        return false;
    };
    matches!(
        fault,
        LaunchFault::Shape(ptx::ShapeError::SharedMemory { .. })
    )
}

#[test]
fn every_variant_fits_a_small_gpu_or_says_that_it_needs_a_newer_one() {
    // A GeForce of compute capability 8.6, 8.9 or 12.0.
    let limits = LaunchLimits {
        shared_mem_per_block_bytes: 99 * 1024,
        compute_capability: (8, 6),
        ..LaunchLimits::SM_90
    };
    for lab in labs() {
        for case in lab.small_cases() {
            for variant in &lab.variants {
                let plan = variant.record(case.as_ref()).unwrap();
                // Those on request may be for GPUs with large shared memory alone.
                match validate(&lab.module, &plan, &limits) {
                    Err(error) if variant.on_request && is_too_large(&error) => {}
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Needs, "{error}"),
                    Ok(_) => {}
                }
            }
        }
    }
}

#[test]
fn the_largest_case_that_fits_is_the_largest() {
    const BYTES: u64 = 10_000_000;
    for lab in labs() {
        for variant in &lab.variants {
            let context = format!("{}, {}", lab.name, variant.name);
            let fits = lab.largest_within(Some(variant), BYTES);
            let fits = fits.unwrap_or_else(|| panic!("{context}: nothing fits"));
            // `n_x = n_y = 3`
            let (names, size) = fits.rsplit_once(" = ").unwrap();
            let size: u32 = size.parse().unwrap();
            let needed = |extent: u32| {
                let params: Vec<String> = names
                    .split(" = ")
                    .map(|name| format!("{name}={extent}"))
                    .collect();
                let params = CaseParams::parse(params.iter().map(String::as_str)).unwrap();
                let case = lab.case(&params).unwrap();
                variant
                    .record(case.as_ref())
                    .unwrap()
                    .memory_bytes()
                    .unwrap()
            };
            let needed = [needed(size), needed(size + 1)];
            assert!(
                needed[0] <= BYTES && BYTES < needed[1],
                "{context}: {needed:?}"
            );
        }
    }
}
