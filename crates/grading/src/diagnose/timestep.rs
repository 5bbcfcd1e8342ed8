//! The step at which a run first goes wrong.

use device::NamedBuffers;

use super::evidence::{Again, Evidence, Rerun};
use super::field::wrong_share;
use super::finding::FirstWrongStep;
use units::count;

/// The right and the actual outputs after the same number of steps.
type Pair = (NamedBuffers, NamedBuffers);

/// The first step after which anything is wrong, and the outputs there; found by halving, so that
/// of a run that goes wrong, right and wrong again any such step may be found. Of launches that do
/// several steps each, the first launch.
pub fn first_wrong(evidence: &Evidence<'_>) -> (Option<FirstWrongStep>, Option<Pair>) {
    let Some(steps) = evidence.steps else {
        return (None, None);
    };
    match found(evidence, steps) {
        Ok((found, pair)) => (Some(found), pair),
        Err(reason) => (Some(FirstWrongStep::Unknown { reason }), None),
    }
}

fn found(evidence: &Evidence<'_>, steps: u64) -> Result<(FirstWrongStep, Option<Pair>), String> {
    let again = evidence
        .again
        .ok_or("the submission was not run with fewer steps")?;
    match again {
        Again::Steps(run) => {
            let (step, pair) = halve(evidence, steps, &|step| step, run)?;
            Ok((FirstWrongStep::Step { step }, pair))
        }
        Again::Launches { count, run } => {
            let each = steps_of_a_launch(evidence, steps, count, &run(1)?)?;
            let after = |launch: u64| steps.min(launch * each);
            let (launch, pair) = halve(evidence, count, &after, run)?;
            let found = FirstWrongStep::Launch {
                launch,
                right_after: after(launch - 1),
                step: after(launch),
            };
            Ok((found, pair))
        }
    }
}

/// The first of `parts` parts of a run after which anything is wrong; `steps_after` maps a number
/// of parts to a number of steps.
fn halve(
    evidence: &Evidence<'_>,
    parts: u64,
    steps_after: &dyn Fn(u64) -> u64,
    run: &Rerun<'_>,
) -> Result<(u64, Option<Pair>), String> {
    // After `right` parts all is right, after `wrong` it is not.
    let (mut right, mut wrong) = (0, parts);
    let mut pair = None;
    while wrong - right > 1 {
        let middle = right + (wrong - right) / 2;
        let got = run(middle)?;
        let expected = expected_after(evidence, steps_after(middle))?;
        if wrong_share(&expected, &got, evidence.tolerance) == Some(0.0) {
            right = middle;
        } else {
            wrong = middle;
            pair = Some((expected, got));
        }
    }
    Ok((wrong, pair))
}

/// The number of steps per launch: the reference needs that many to get to most of the values that
/// the first launch left.
fn steps_of_a_launch(
    evidence: &Evidence<'_>,
    steps: u64,
    launches: u64,
    after_first: &NamedBuffers,
) -> Result<u64, String> {
    /// More numbers of steps than these are not tried.
    const MAX_TRIED: u64 = 64;
    /// Nor, where launches are missing, more than these.
    const MAX_FEWER: u64 = 8;
    // All launches but the last do as many as this, and the last at least one.
    let least = steps.div_ceil(launches.max(1));
    let most = match launches {
        0 | 1 => steps,
        _ => (steps - 1) / (launches - 1),
    };
    // A first launch that is right after fewer steps is right: others are missing.
    for each in 1..least.min(MAX_FEWER + 1) {
        let expected = expected_after(evidence, each)?;
        if wrong_share(&expected, after_first, evidence.tolerance) == Some(0.0) {
            return Err(format!(
                "the plan has {launches} {} for {}, and the first does {}: launches are missing",
                if launches == 1 { "launch" } else { "launches" },
                count(steps as usize, "step"),
                count(each as usize, "step"),
            ));
        }
    }
    let mut nearest: Option<(f64, u64)> = None;
    for each in (least..=most).take(MAX_TRIED as usize) {
        let expected = expected_after(evidence, each)?;
        if let Some(wrong) = wrong_share(&expected, after_first, evidence.tolerance)
            && nearest.is_none_or(|(least_wrong, _)| wrong < least_wrong)
        {
            nearest = Some((wrong, each));
        }
    }
    match nearest {
        Some((wrong, each)) if wrong < 0.5 => Ok(each),
        _ => Err(format!(
            "the plan has {launches} launches for {steps} steps, and after the first most cells are as after no number of steps"
        )),
    }
}

fn expected_after(evidence: &Evidence<'_>, steps: u64) -> Result<NamedBuffers, String> {
    let after_steps = evidence.after_steps;
    after_steps
        .and_then(|after_steps| after_steps(steps))
        .ok_or_else(|| "the reference has no such number of steps".to_owned())
}
