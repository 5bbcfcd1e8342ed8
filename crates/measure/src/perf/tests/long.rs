//! Runs that take long: timed in parts, checked at both ends.

use super::*;
use results::{CheckedSteps, Correctness};

const LONG: [&str; 4] = [
    "doubling",
    "--device=cuda",
    "--param=n=100",
    "--param=steps=600",
];

fn long(args: &[&str]) -> Run {
    timed(&[&LONG[..], args].concat(), &test_lab::machine())
}

/// The CPU takes 10 ms a step, and `--quick` gives it 0.3 s: after the first step it knows how many
/// more it can do.
const CHECKED: CheckedSteps = CheckedSteps {
    first: 26,
    last: 4,
    of: 600,
};

/// The result, and the steps at both ends that were compared with the CPU's.
fn judged(run: &Run, row: usize) -> (Correctness, Option<CheckedSteps>) {
    let figures = run.figures(row);
    (figures.judgement.result, figures.judgement.checked_steps)
}

#[test]
fn long_runs_are_timed_in_parts() {
    let args = ["doubling", "--device=cuda", "--param=steps=180"];
    let args = [&args[..], &["--variant=naive,twofold"]].concat();
    let run = timed(&args, &test_lab::machine());
    let [naive, twofold] = [0, 1].map(|row| run.figures(row));
    assert_eq!(naive.run.samples_s, [0.18; 20]);
    assert!(naive.is_result() && naive.on_device.batched.is_none());
    assert_eq!((naive.segments, twofold.segments), (Some(20), None));
    // Half as long: a short one, in whole runs; and longer than what has a batched time.
    assert!(twofold.is_result() && twofold.on_device.batched.is_none());
    assert_eq!(twofold.compared.vs_first.unwrap().estimate, 2.0);
}

#[test]
fn long_runs_of_the_cpu_are_timed_in_parts() {
    let cpu = |steps: &str| timed(&["doubling", "--device=cpu", steps], &test_lab::machine());
    let run = cpu("--param=steps=100");
    // On one core it ends once the parts are samples enough.
    for (row, parts) in [(0, 10), (1, 20)] {
        let figures = run.figures(row);
        assert_eq!(figures.run.samples_s, vec![1.0; parts]);
        assert_eq!(figures.segments, Some(20));
        assert!(figures.run.doubts.is_empty() && !figures.is_wrong());
    }
    // It has fewer steps than parts.
    let short = cpu("--param=steps=19");
    assert_eq!(short.figures(0).segments, None);
    assert_eq!(short.figures(0).run.median_s, 0.19);
}

#[test]
fn a_number_of_samples_is_one_of_whole_runs() {
    let run = long(&["--variant=naive", "--samples=7"]);
    let naive = run.figures(0);
    assert_eq!((naive.run.samples_s.len(), naive.segments), (7, None));
}

#[test]
fn both_ends_are_compared_with_the_cpu() {
    let run = long(&["--variant=naive,twofold"]);
    assert_eq!(run.ending, Ok(Ending::Fine));
    for row in [0, 1] {
        let figures = run.figures(row);
        assert_eq!(figures.judgement.result, Correctness::Equal);
        assert_eq!(figures.judgement.checked_steps, Some(CHECKED));
    }
    // A run that the CPU can do as a whole is checked as a whole.
    let whole = small("naive");
    assert_eq!(whole.figures(0).judgement.checked_steps, None);
    // So is one that takes twice the time that the CPU is given.
    for (steps, is_whole) in [("--param=steps=60", true), ("--param=steps=61", false)] {
        let by_time = timed(
            &["doubling", "--device=cuda", "--variant=naive", steps],
            &test_lab::machine(),
        );
        assert_eq!(
            by_time.figures(0).judgement.checked_steps.is_none(),
            is_whole,
            "{steps}"
        );
    }
    let full = long(&["--variant=naive", "--check=full"]);
    let figures = full.figures(0);
    let result = (figures.judgement.result, figures.judgement.checked_steps);
    assert_eq!(result, (Correctness::Equal, None));
}

#[test]
fn what_is_wrong_from_the_first_step_on_is_wrong() {
    let run = long(&["--variant=naive,off-by-one"]);
    assert_eq!(run.ending, Ok(Ending::Wrong));
    let [naive, wrong] = [0, 1].map(|row| run.figures(row));
    assert_eq!(
        (wrong.judgement.result, wrong.judgement.checked_steps),
        (Correctness::Wrong, None)
    );
    insta::assert_snapshot!(wrong.judgement.mismatch.as_ref().unwrap(), @"after the first 26 steps: `x` is wrong in 1 of 100 elements, first at [99] (number 99): expected 2415919103 (0x8fffffff), got 2483027966 (0x93fffffe)");
    let result = (naive.judgement.result, naive.judgement.checked_steps);
    assert_eq!(result, (Correctness::Equal, Some(CHECKED)));
}

#[test]
fn what_is_wrong_in_the_middle_is_found_by_the_other_variants() {
    // The CPU computes the whole where two are right at both ends, and differ.
    let run = long(&["--variant=naive,late"]);
    assert_eq!(run.ending, Ok(Ending::Wrong));
    let results = [0, 1].map(|row| {
        let figures = run.figures(row);
        (figures.judgement.result, figures.judgement.checked_steps)
    });
    let expected = [Correctness::Equal, Correctness::Wrong].map(|result| (result, None));
    assert_eq!(results, expected);
}

#[test]
fn what_has_no_plans_of_parts_is_compared_as_a_whole() {
    // With what another variant confirms.
    let run = long(&["--variant=naive,whole,late-whole"]);
    assert_eq!(run.ending, Ok(Ending::Wrong));
    let results = [0, 1, 2].map(|row| judged(&run, row));
    let expected = [
        (Correctness::Equal, Some(CHECKED)),
        (Correctness::Equal, Some(CHECKED)),
        (Correctness::Wrong, Some(CHECKED)),
    ];
    assert_eq!(results, expected);
    // Where there is none, with the CPU's.
    for (variant, verdict) in [
        ("whole", Correctness::Equal),
        ("late-whole", Correctness::Wrong),
    ] {
        let alone = long(&[&format!("--variant={variant}")]);
        assert_eq!(judged(&alone, 0), (verdict, None), "{variant}");
    }
}

#[test]
fn what_rounds_differently_is_compared_at_both_ends_from_its_own_state() {
    let run = long(&["--variant=naive,close"]);
    assert_eq!(run.ending, Ok(Ending::Fine));
    let results = [0, 1].map(|row| {
        let figures = run.figures(row);
        (figures.judgement.result, figures.judgement.checked_steps)
    });
    let expected = [Correctness::Equal, Correctness::Close].map(|result| (result, Some(CHECKED)));
    assert_eq!(results, expected);
    // It needs no other.
    let alone = long(&["--variant=close"]);
    assert_eq!(alone.figures(0).judgement.result, Correctness::Close);
    // A run that the CPU can do as a whole is compared as a whole.
    let whole = small("naive,close,not-close");
    let of_whole = [0, 1, 2].map(|row| whole.figures(row).judgement.result);
    assert_eq!(
        of_whole,
        [Correctness::Equal, Correctness::Close, Correctness::Wrong]
    );
    let wrong = long(&["--variant=close,not-close"]);
    assert_eq!(wrong.ending, Ok(Ending::Wrong));
    assert_eq!(wrong.figures(1).judgement.result, Correctness::Wrong);
    let mismatch = wrong.figures(1).judgement.mismatch.as_ref().unwrap();
    assert!(
        mismatch.starts_with("after the first 26 steps: `x` is wrong in 100 of 100"),
        "{mismatch}"
    );
}

#[test]
fn fused_variants_equal_the_fused_reference_bit_for_bit() {
    let run = small("naive,fused");
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert_eq!(judged(&run, 1), (Correctness::Equal, None));
    let at_ends = long(&["--variant=naive,fused"]);
    assert_eq!(at_ends.ending, Ok(Ending::Fine));
    for row in [0, 1] {
        assert_eq!(judged(&at_ends, row), (Correctness::Equal, Some(CHECKED)));
    }
    // The CPU computes the whole where two are right at both ends, and differ.
    let late = long(&["--variant=naive,fused,late-fused"]);
    assert_eq!(late.ending, Ok(Ending::Wrong));
    let expected = [Correctness::Equal, Correctness::Equal, Correctness::Wrong];
    assert_eq!(
        [0, 1, 2].map(|row| judged(&late, row)),
        expected.map(|result| (result, None))
    );
}
