//! Which case is profiled.

use host::{Case, Lab};

use crate::catalogue::first_variant;
use crate::failure::Failure;

/// The small case with most work for the lab's first variant: the large and the odd parts of a grid are all in it.
///
/// # Errors
///
/// [`Failure::Bug`] for a lab without small cases.
pub fn most_work(lab: &dyn Lab) -> Result<Box<dyn Case>, Failure> {
    let variant = first_variant(lab);
    lab.small_cases()
        .into_iter()
        .max_by_key(|case| case.work(variant).updates)
        .ok_or_else(|| Failure::Bug(format!("lab `{}` has no small case", lab.name())))
}

/// The case with this label, or the only one with this part in its label.
///
/// # Errors
///
/// [`Failure::Input`] where there is none, or several.
pub fn labelled(lab: &dyn Lab, text: &str) -> Result<Box<dyn Case>, Failure> {
    let cases = [lab.small_cases(), lab.laptop_cases(), lab.large_cases()];
    let mut matching: Vec<_> = cases
        .into_iter()
        .flatten()
        .filter(|case| case.label().contains(text))
        .collect();
    if let Some(exact) = matching.iter().position(|case| case.label() == text) {
        return Ok(matching.swap_remove(exact));
    }
    match matching.len() {
        1 => Ok(matching.remove(0)),
        0 => Err(Failure::Input(format!(
            "--case {text}: no case of {0} is called so; `harness list {0}` has them all",
            lab.name()
        ))),
        several => Err(Failure::Input(format!(
            "--case {text}: {several} cases of {} are called so, `{}` and `{}`{}; write more of the label",
            lab.name(),
            matching[0].label(),
            matching[1].label(),
            if several > 2 { " among them" } else { "" },
        ))),
    }
}
