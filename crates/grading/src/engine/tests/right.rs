//! Right submissions.

use super::*;

#[test]
fn built_in_variants_earn_all_points_that_are_graded() {
    for (lab, file, text) in crate::lab_spec::embedded_files() {
        let text = with_small_cases(text);
        // One of each rule is enough: `host` tests that all variants are right.
        let of_rule = |exact: bool| {
            let mut variants = find_lab(lab).unwrap().variants.iter();
            variants.find(|variant| !variant.on_request && variant.is_exact() == exact)
        };
        for variant in [true, false].into_iter().filter_map(of_rule) {
            // The tolerance of a course that allows fused arithmetic.
            let rounds = "\nrule = \"rounding\"\nfactor = 8.0";
            let text = if variant.is_exact() {
                text.clone()
            } else {
                text.replace("\nrule = \"exact\"", rounds)
            };
            let lab_spec = LabSpec::parse(&text, file).unwrap();
            assert!(!lab_spec.draws());
            let report = emulated(&lab_spec, &built_in(&lab_spec, &variant.name));
            assert!(report.is_right(), "{lab} {}: {report:#?}", variant.name);
            let totals = report.totals;
            assert_eq!(totals.earned, totals.graded(), "{lab} {}", variant.name);
            assert!(totals.not_graded_here > 0.0);
        }
    }
}

/// The lab's file with the first two cases and what is large, without counts, which are about other
/// cases and stand last.
fn with_small_cases(text: &str) -> String {
    let text = text.split("\n[[count]]").next().unwrap();
    let mut parts = text.split("[[case]]");
    let head = parts.next().unwrap().to_owned();
    let kept = parts
        .enumerate()
        .filter(|(i, case)| *i < 2 || case.contains("\"large\""));
    kept.fold(head, |joined, (_, case)| joined + "[[case]]" + case)
}

/// Each count of the labs' own files is earned in full by a variant that they are meant for, and
/// not by the plain one.
#[test]
fn counts_are_earned_by_what_they_are_meant_for() {
    let mut counts = 0;
    for (lab, plain, meant) in [
        ("wave2d", "naive", "shmem"),
        ("stencil25-advanced", "gmem", "st_semi"),
    ] {
        let whole = crate::lab_spec::embedded(lab).unwrap();
        let is_counted = |case: &&str| {
            let mut counted = whole.counted.iter();
            counted.any(|count| case.contains(&format!("name = \"{}\"", count.case)))
        };
        let (cases, counted) = whole.text.split_once("\n[[count]]").unwrap();
        let mut parts = cases.split("[[case]]");
        let head = parts.next().unwrap();
        let kept: String = parts
            .filter(is_counted)
            .map(|case| format!("[[case]]{case}"))
            .collect();
        let text = format!("{head}{kept}\n[[count]]{counted}");
        let lab_spec = LabSpec::parse(&text, &whole.file).unwrap();
        counts += lab_spec.counted.len();
        for (variant, share) in [(plain, 0.0), (meant, 1.0)] {
            let report = emulated(&lab_spec, &built_in(&lab_spec, variant));
            assert!(report.is_right(), "{lab} {variant}: {report:#?}");
            for of in &report.counted {
                assert_eq!(of.earned, share * of.points, "{lab} {variant}: {of:#?}");
            }
        }
    }
    let files = crate::lab_spec::names().map(|lab| crate::lab_spec::embedded(lab).unwrap());
    assert_eq!(counts, files.map(|file| file.counted.len()).sum::<usize>());
}

#[test]
fn large_cases_wait_for_a_gpu() {
    let lab_spec = lab_spec(MATADD);
    let report = emulated(&lab_spec, &built_in(&lab_spec, "grid2d_block1d_64"));
    let Outcome::NotGradedHere { reason } = &report.cases[1].status else {
        panic!("{report:#?}")
    };
    assert_eq!(reason, "large cases are graded on a GPU");
    assert_eq!(report.totals.not_graded_here, 33.0);
    assert_eq!(report.totals.earned, 2.0);
    assert!(report.cases[0].counts["warp_instructions"] > 0);
    assert_eq!(report.cases[0].samples, 2);
    assert!(report.is_right() && !report.is_complete());
}

#[test]
fn fewer_sectors_earn_points_on_every_device() {
    let count = |full: u64, zero: u64| {
        let count = "[[count]]\ncase = \"small\"\ncount = \"global_sectors\"\npoints = 8";
        lab_spec(&format!("{MATADD}{count}\nfull = {full}\nzero = {zero}\n"))
    };
    let counted = |lab_spec: &LabSpec, device: &dyn Device| {
        let report = graded(lab_spec, &built_in(lab_spec, "grid2d_block1d_64"), device);
        let [counted] = &report.counted[..] else {
            panic!("{report:#?}")
        };
        (counted.clone(), report.totals)
    };
    let (first, _) = counted(&count(0, 1), &EmulatedDevice::default());
    let sectors = first.counted.unwrap();
    assert_eq!((first.earned, first.status), (0.0, Outcome::Measured));
    let (all, totals) = counted(&count(sectors, sectors + 1), &EmulatedDevice::default());
    assert_eq!((all.earned, totals.earned), (8.0, 10.0));
    let half = count(sectors - 10, sectors + 10);
    assert_eq!(counted(&half, &EmulatedDevice::default()).0.earned, 4.0);
    // A GPU counts nothing: the emulated device does, when it checks the case.
    let gpu = Clocked::new(|_, _| 100.0);
    assert_eq!(counted(&half, &gpu).0.earned, 4.0);
    // A wrong result earns nothing for being short.
    let wrong = bundle(&half, &elementwise("mov.f32 %f3, %f1;"), record_sum);
    let report = emulated(&half, &wrong);
    assert_eq!(
        (report.counted[0].earned, report.counted[0].counted),
        (0.0, None)
    );
    assert_eq!(report.totals.earned, 0.0);
}

#[test]
fn equal_seeds_give_equal_grades_and_secret_ones_are_told_after_a_failure() {
    let lab_spec = lab_spec(MATADD);
    let wrong = bundle(&lab_spec, &elementwise("mov.f32 %f3, %f1;"), record_sum);
    let mut reports = [(); 2].map(|()| emulated(&lab_spec, &wrong));
    for report in &mut reports {
        report.elapsed_s = 0.0;
        report.started_unix_s = None;
    }
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0].seed, Some(42));

    let device = EmulatedDevice::default();
    let secret = Options {
        seed: None,
        ..options()
    };
    let report = graded_with(&lab_spec, &wrong, &device, &Here(&device), &secret);
    assert_eq!(report.seed, None);
    let note = &report.notes[0];
    let seed = note.split(' ').nth(1).unwrap().parse().unwrap();
    let again = Options {
        seed: Some(seed),
        ..options()
    };
    let again = graded_with(&lab_spec, &wrong, &device, &Here(&device), &again);
    assert_eq!(again.cases, report.cases);
}
