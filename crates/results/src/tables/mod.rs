//! A measurement as text of at most 100 columns, as the terminal shows it.
//!
//! | module       | what it holds                                                              |
//! |--------------|----------------------------------------------------------------------------|
//! | `head`       | the CPU, the devices, and what they do at best                             |
//! | `by_variant` | a row for each variant                                                     |
//! | `by_size`    | a row for each size, with a column for each variant                        |
//! | `several`    | one lab on more and more GPUs                                              |
//! | `registers`  | what caps of registers do                                                  |
//! | `lab_results` | the cases of a lab, and what all tables say of a row                      |
//! | `kernels`    | what the device made of the kernels, and what they do                      |
//! | `notes`      | what the tables have no room for: in three lines, or all that is known     |

mod by_size;
mod by_variant;
mod head;
mod kernels;
mod lab_results;
mod notes;
pub(crate) mod registers;
pub(crate) mod several;
#[cfg(test)]
mod tests;

use terminal::look::Look;

use crate::document::{CaseResults, Reference, Results};
use lab_results::LabResults;

/// The machine of a measurement: the devices and what they do at best.
pub fn head(results: &Results, look: Look) -> String {
    match &results.scaling {
        None => head::render(results, look),
        Some(run) => several::head(results, run, look),
    }
}

/// The tables of the last lab. With notes, they say what each case's figures rest on.
pub fn last_lab(results: &Results, has_notes: bool, look: Look) -> String {
    if let Some(run) = &results.scaling {
        return several::body(results, run, look);
    }
    let mut labs = results.cases.chunk_by(|a, b| a.lab == b.lab);
    let cases = labs.next_back().unwrap_or_default();
    of_lab(cases, &results.references, has_notes, look)
}

/// The cases of one lab: one table, and at most three lines of notes; or, with all notes, what each
/// case's figures rest on.
fn of_lab(cases: &[CaseResults], references: &[Reference], has_notes: bool, look: Look) -> String {
    let lab = LabResults::new(cases, references);
    let by_size = (cases.len() > 1 && !lab.devices.is_empty())
        .then(|| by_size::table(&lab, look))
        .flatten();
    let mut parts = vec![lab.head(by_size.is_some(), look)];
    let vs_cpu = by_size.as_ref().and_then(|by_size| by_size.vs_cpu.clone());
    match (has_notes, by_size) {
        (_, Some(by_size)) => parts.push(by_size.table),
        (true, None) => {}
        (false, None) if !lab.devices.is_empty() => parts.push(by_variant::table(&lab, look)),
        (false, None) => {}
    }
    // Counts, where nothing was timed.
    if lab.devices.is_empty() {
        let mut counted = cases.iter().filter_map(|case| case.counted.as_ref());
        parts.extend(counted.next().map(|counted| kernels::totals(counted, look)));
    }
    parts.extend(registers::table(&lab, look));
    if has_notes {
        parts.extend(cases.iter().flat_map(|case| details(&lab, case, look)))
    } else {
        parts.extend(notes::brief(&lab, vs_cpu, look))
    }
    parts.join("\n\n") + "\n"
}

/// Everything about a case, peers too.
fn details<'c>(lab: &LabResults<'c>, case: &'c CaseResults, look: Look) -> Vec<String> {
    let title = || format!("{}  {}", look.title(&case.lab), case.case);
    let mut parts = Vec::from_iter((lab.cases.len() > 1).then(title));
    parts.push(by_variant::with_peers(lab, case, look));
    parts.extend(notes::all(lab, case, look));
    parts.extend(kernels::render(&case.rows, case.counted.as_ref(), look));
    parts
}
