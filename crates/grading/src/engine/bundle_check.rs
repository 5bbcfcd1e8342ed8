//! Whether a bundle fits the lab file. Nothing in a bundle is trusted: its problems are
//! compared with those that follow from the lab file.

use device::Module;
use serde_json::Value;

use crate::bundle::{Bundle, MAX_PTX_BYTES};
use crate::lab_spec::{Group, LabSpec, ToleranceRule};
use crate::outcome::{Category, Failure, Kind, bounded, fail};

/// Whether the bundle's drawn cases are those that the grader drew, if it says which; if not, how
/// the submission fails.
pub fn check_draw(bundle: &Bundle, lab_spec: &LabSpec, drawn: Option<u64>) -> Result<(), Failure> {
    let message = match (lab_spec.draws(), bundle.draw, drawn) {
        (true, None, _) => "it was packed without drawn cases, which the lab has",
        (true, Some(found), Some(drawn)) if found != drawn => {
            "its drawn cases do not follow from the number that it is graded with (--draw)"
        }
        (false, Some(_), _) => "it was packed with drawn cases, and the lab has none",
        _ => return Ok(()),
    };
    Err(Failure::new(
        Kind::BundleMismatch,
        format!("{message}; pack the submission again"),
    ))
}

/// Whether results that have to be exact do not depend on the assembler: it may contract a product
/// and a sum without rounding modifiers, and rounds the two once then.
pub fn check_rounding(module: &Module, lab_spec: &LabSpec) -> Result<(), Failure> {
    if lab_spec.tolerance != ToleranceRule::Exact {
        return Ok(());
    }
    // PTX that cannot be read is told with the first plan.
    let contracts = module.executable().ok().and_then(|read| read.contracts());
    contracts.map_or(Ok(()), |function| {
        let message = format!(
            "function `{function}` of its PTX has products and sums without a rounding modifier, which an assembler may make one \
             operation of, rounded once; the lab's results have to be exact. Write `mul.rn` and `add.rn`, as `cuda_builder` does"
        );
        Err(Failure::new(Kind::PtxInvalid, message))
    })
}

/// Whether the bundle fits this lab file; if not, how the submission fails as a whole.
pub fn check(bundle: &Bundle, lab_spec: &LabSpec) -> Result<(), Failure> {
    let mismatch = |message: String| {
        let message = format!("{message}; pack the submission again");
        Err(Failure::new(Kind::BundleMismatch, message))
    };
    let (found, expected) = (&bundle.lab, lab_spec.lab.name);
    if found != expected {
        return mismatch(format!(
            "it is a submission for lab {found:.100}, not {expected}"
        ));
    }
    let bytes = bundle.ptx.len();
    if bytes > MAX_PTX_BYTES {
        fail!(
            Kind::PtxInvalid,
            "it has {bytes} bytes of PTX; the limit is {MAX_PTX_BYTES}"
        );
    }
    for spec in &lab_spec.cases {
        let name = &spec.name;
        let of_name: Vec<_> = bundle
            .cases
            .iter()
            .filter(|case| case.name == *name)
            .collect();
        let [case] = of_name[..] else {
            if spec.group == Group::Hidden && of_name.is_empty() {
                fail!(
                    Kind::BundleMismatch,
                    "it has no hidden case `{name}`: it was packed with a student's copy of the course; grade the folder \
                     that it was packed from, or grade by that copy's lab file (--lab-file labs/{}/lab.toml)",
                    lab_spec.name
                );
            }
            return mismatch(format!("it does not have case `{name}` exactly once"));
        };
        if let Err(fault) = &case.plan
            && fault.kind.category() != Category::Refused
        {
            let kind = fault.kind;
            return mismatch(format!(
                "case `{name}` is said to fail with {kind} before it ran"
            ));
        }
        let problem = match spec.with_seed(lab_spec.lab, 0) {
            Ok(known) => known.problem_json(),
            Err(error) => fail!(Kind::BundleMismatch, "{error}"),
        };
        if case.problem != problem {
            return mismatch(format!(
                "its plan for case `{name}` was recorded for another problem: {}",
                difference(&case.problem, &problem)
            ));
        }
    }
    let (cases, needed) = (bundle.cases.len(), lab_spec.cases.len());
    if cases != needed {
        return mismatch(format!("it has {cases} cases, and the lab has {needed}"));
    }
    Ok(())
}

/// The first field in which a problem is not the expected one; what a bundle has there is quoted in
/// part.
fn difference(found: &Value, expected: &Value) -> String {
    let quoted = |value: Option<&Value>| match value {
        Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => value.to_string(),
        Some(Value::String(text)) => bounded(format!("{text:.100}"), 400),
        Some(Value::Array(values)) => format!("a list of {}", values.len()),
        Some(Value::Object(fields)) => format!("{} fields", fields.len()),
        None => "nothing".to_owned(),
    };
    let fields = expected.as_object().into_iter().flatten();
    let differs = |(name, value): &(&String, &Value)| found.get(name) != Some(value);
    match fields.into_iter().find(differs) {
        Some((name, value)) => format!(
            "`{name}` is {} instead of {}",
            quoted(found.get(name)),
            quoted(Some(value))
        ),
        None => "it has fields that the lab's problem does not have".to_owned(),
    }
}
