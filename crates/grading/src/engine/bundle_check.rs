//! Whether a bundle is one for the course. Nothing in a bundle is trusted: its problems are compared with those that follow
//! from the lab file.

use host::Lab;

use crate::bundle::{Bundle, MOST_PTX_BYTES};
use crate::course::{CaseSpec, Course, Group};
use crate::outcome::{Failing, Kind};

/// Whether the bundle is one for this course.
///
/// # Errors
///
/// How the submission fails as a whole.
pub fn check(bundle: &Bundle, course: &Course, lab: &dyn Lab) -> Result<(), Failing> {
    let mismatch = |message: String| {
        let message = format!("{message}; pack the submission again");
        Err(Failing::new(Kind::BundleMismatch, message))
    };
    if bundle.lab != course.lab {
        return mismatch(format!(
            "it is a submission for lab {}, not {}",
            bundle.lab, course.lab
        ));
    }
    let bytes = bundle.ptx.len();
    if bytes > MOST_PTX_BYTES {
        let message = format!("it has {bytes} bytes of PTX; the limit is {MOST_PTX_BYTES}");
        return Err(Failing::new(Kind::PtxInvalid, message));
    }
    for spec in &course.cases {
        let name = &spec.name;
        let mut found = bundle.cases.iter().filter(|case| case.name == *name);
        let (Some(case), None) = (found.next(), found.next()) else {
            if spec.group == Group::Hidden && !bundle.cases.iter().any(|case| case.name == *name) {
                let message = format!(
                    "it has no hidden case `{name}`: it was packed with a student's copy of the course; grade the folder \
                     that it was packed from, or grade by that copy's lab file (--lab-file labs/{}/lab.toml)",
                    course.lab
                );
                return Err(Failing::new(Kind::BundleMismatch, message));
            }
            return mismatch(format!("it does not have case `{name}` exactly once"));
        };
        let expected = problem(spec, lab)?;
        if case.problem != expected {
            return mismatch(format!(
                "its plan for case `{name}` was recorded for another problem: {} in place of {expected}",
                case.problem
            ));
        }
    }
    if bundle.cases.len() != course.cases.len() {
        return mismatch(format!(
            "it has {} cases, and the lab has {}",
            bundle.cases.len(),
            course.cases.len()
        ));
    }
    Ok(())
}

fn problem(spec: &CaseSpec, lab: &dyn Lab) -> Result<serde_json::Value, Failing> {
    let case = spec.with_seed(lab, 0);
    let case = case.map_err(|error| Failing::new(Kind::BundleMismatch, error.to_string()))?;
    Ok(case.problem_json())
}
