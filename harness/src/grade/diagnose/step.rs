//! The step at which a run first goes wrong.

use super::cells::Field;
use super::evidence::{Evidence, Pair};
use super::finding::FirstWrongStep;

/// The first step after which anything is wrong, and the outputs there; found by halving, so that of a run that goes
/// wrong, right and wrong again any such step may be found.
pub fn first_wrong(evidence: &Evidence<'_>) -> (Option<FirstWrongStep>, Option<Pair>) {
    let Some(steps) = evidence.steps else {
        return (None, None);
    };
    let unknown = |reason: String| (Some(FirstWrongStep::Unknown { reason }), None);
    let Some(rerun) = evidence.rerun else {
        return unknown("the submission was not run with fewer steps".to_owned());
    };
    // After `right` steps all is right, after `wrong` it is not.
    let (mut right, mut wrong) = (0, steps);
    let mut pair = None;
    while wrong - right > 1 {
        let middle = right + (wrong - right) / 2;
        match rerun(middle) {
            Err(reason) => return unknown(reason),
            Ok(there) if is_right(evidence, &there) => right = middle,
            Ok(there) => {
                wrong = middle;
                pair = Some(there);
            }
        }
    }
    (Some(FirstWrongStep::Step { step: wrong }), pair)
}

fn is_right(evidence: &Evidence<'_>, pair: &Pair) -> bool {
    pair.expected.iter().all(|(name, expected)| {
        host::check::find(&pair.got, name)
            .and_then(|got| Field::compare(name, Vec::new(), expected, got, evidence.allowed))
            .is_some_and(|field| field.wrong == 0)
    })
}
