//! Every lab's small cases, each variant, on each device, against the CPU reference.

use device::validate::validate;
use device::{Device, DeviceKind};
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
        // A variant or a shape may be for newer or larger GPUs; the emulated device has room for
        // all.
        let plan = variant.record(case.as_ref()).unwrap();
        if device.info().kind == DeviceKind::Cuda
            && let Err(error) = validate(&lab.module, &plan, &device.info().limits)
            && error.kind() == ErrorKind::Needs
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

/// Compute capabilities of GPUs that run the kernels, from the oldest to the newest.
const GENERATIONS: [(u32, u32); 8] = [
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 9),
    (9, 0),
    (10, 0),
    (12, 0),
    (12, 1),
];

#[test]
fn every_variant_fits_each_generation_or_says_what_it_needs() {
    for capability in GENERATIONS {
        let limits = LaunchLimits::of(capability);
        for lab in labs() {
            for case in lab.small_cases() {
                for variant in &lab.variants {
                    let plan = variant.record(case.as_ref()).unwrap();
                    if let Err(error) = validate(&lab.module, &plan, &limits) {
                        assert_eq!(error.kind(), ErrorKind::Needs, "{error}");
                        assert!(capability != (9, 0), "{}: {error}", variant.name);
                    }
                }
            }
        }
    }
}

#[test]
fn the_usual_variant_of_each_lab_is_right_on_every_generation() {
    cases().into_par_iter().for_each(|(lab, number)| {
        let variant = lab.usual().unwrap();
        let case = lab.small_cases().swap_remove(number);
        let case = case.as_ref();
        let inputs = case.inputs().unwrap();
        let expected = case
            .reference_from(&inputs, Cpu::Serial, &NoProgress)
            .unwrap();
        // Those of one text differ in what they have room for, which one case shows.
        let of_texts = [(7, 5), (8, 0)];
        let generations = GENERATIONS.into_iter();
        for capability in generations.filter(|one| number == 0 || of_texts.contains(one)) {
            let device = EmulatedDevice::default().with_capability(capability);
            let context = format!("{}, {}, {capability:?}", variant.name, case.label());
            let outcome = run_case(&device, case, variant)
                .unwrap_or_else(|error| panic!("{context}: {error}"));
            let checked = variant.check(case, &inputs, &expected, &outcome.outputs);
            checked
                .unwrap()
                .unwrap_or_else(|error| panic!("{context}: {error}"));
        }
    });
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
