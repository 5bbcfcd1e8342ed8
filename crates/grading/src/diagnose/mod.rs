//! The diagnosis of wrong values: which cells, which pattern, and what that suggests.
//!
//! Every pattern that is named is true of the data; damage without order gets no name.
//!
//! | module         | what it holds                                             |
//! |----------------|-----------------------------------------------------------|
//! | `evidence`     | the evidence of a diagnosis                               |
//! | [`finding`]    | the result, as data                                       |
//! | `pattern`      | the patterns, each with its sentence                      |
//! | [`mod@text`]   | the result, as sentences                                  |
//! | [`truncation`] | a plan cut off after fewer steps                          |
//! | `field`        | an output, expected beside got                            |
//! | `location`     | where the wrong cells are: border, last tile, seams       |
//! | `whole_field`  | the field as a whole: a copy, another step, another field |
//! | `timestep`     | the step at which it first goes wrong                     |
//! | `heat_map`     | the picture                                               |
//! | `cell_map`     | the small map in characters                               |

mod cell_map;
mod evidence;
mod field;
pub mod finding;
mod heat_map;
mod location;
mod pattern;
#[cfg(test)]
mod tests;
pub mod text;
mod timestep;
pub mod truncation;
mod whole_field;

pub use cell_map::Stores;
pub use evidence::{AfterSteps, Again, Evidence};
pub use finding::{
    Axis, Cell, CellMap, Diagnosis, FieldDamage, FirstWrongStep, HeatMap, Writer, WrongCell,
};
pub use heat_map::LEGEND;
pub use pattern::Pattern;

use device::NamedBuffers;
use device::check::find;
use field::Field;

/// The patterns of the wrong values; `None` if nothing is wrong, or if outputs are missing or of
/// another type or size: [`device::CheckError`] says that.
pub fn diagnose(evidence: &Evidence<'_>) -> Option<Diagnosis> {
    let fields = compare(evidence, evidence.expected, evidence.got)?;
    let worst = worst(&fields)?;
    let first = worst.first_wrong()?;
    let mut patterns = whole_field::patterns(evidence, &fields, worst);
    let (mut first_wrong_step, mut places_after_step) = (None, None);
    let stores = evidence.stores.and_then(|stores| stores(worst.name));
    let stores = stores.as_deref();
    let mut heat_map = heat_map::draw(worst, None);
    let mut map = cell_map::draw(worst, stores, None);
    // For a field of another problem, step and place say nothing.
    if !patterns.iter().any(is_of_the_whole) {
        let (step, early) = timestep::first_wrong(evidence);
        let early = early.as_ref();
        let early_fields = early.and_then(|(right, given)| compare(evidence, right, given));
        let early_worst = early_fields.as_deref().and_then(self::worst);
        // Later the damage has spread: its shape there says nothing of where it began.
        match early_worst {
            Some(early_worst) => {
                patterns.extend(location::few_cells(early_worst));
                patterns.extend(location::patterns(early_worst));
                places_after_step = match step {
                    Some(
                        FirstWrongStep::Step { step: number }
                        | FirstWrongStep::Launch { step: number, .. },
                    ) => Some(number),
                    _ => None,
                };
            }
            None => patterns.extend(location::patterns(worst)),
        }
        let shown = early_worst.unwrap_or(worst);
        heat_map = heat_map::draw(shown, places_after_step);
        // A field's threads are those of another field only by chance.
        let of_it = stores.filter(|_| shown.name == worst.name);
        map = cell_map::draw(shown, of_it, places_after_step);
        first_wrong_step = step;
    }
    Some(Diagnosis {
        field: worst.name.to_owned(),
        axes: worst.axes.clone(),
        first,
        wrong: worst.wrong as u64,
        non_finite: worst.non_finite() as u64,
        cells: worst.len() as u64,
        max_error: worst.max_error(),
        fields: fields.iter().map(Field::damage).collect(),
        patterns,
        places_after_step,
        first_wrong_step,
        heat_map,
        map,
    })
}

/// The outputs in the order of what is expected; `None` if one cannot be compared.
fn compare<'b>(
    evidence: &'b Evidence<'_>,
    expected: &'b NamedBuffers,
    got: &'b NamedBuffers,
) -> Option<Vec<Field<'b>>> {
    let compare = |(name, buffer): &'b (String, _)| {
        let (axes, tolerance) = ((evidence.axes)(name), (evidence.tolerance)(name));
        let field = Field::compare(name, axes, buffer, find(got, name)?, tolerance)?;
        Some(field.with_before(find(evidence.before, name)))
    };
    expected.iter().map(compare).collect()
}

/// The field with the largest share of wrong cells, the first of several; `None` if nothing is
/// wrong.
fn worst<'f, 'b>(fields: &'f [Field<'b>]) -> Option<&'f Field<'b>> {
    let share = |field: &Field<'_>| field.wrong as f64 / field.len() as f64;
    let wrong = fields.iter().rev().filter(|field| field.wrong > 0);
    // Of several equal ones the last in reverse, which is the first.
    wrong.max_by(|a, b| share(a).total_cmp(&share(b)))
}

fn is_of_the_whole(pattern: &Pattern) -> bool {
    matches!(
        pattern,
        Pattern::AllZeros
            | Pattern::CopyOfInput { .. }
            | Pattern::SwappedFields { .. }
            | Pattern::OtherStep { .. }
            | Pattern::Transposed { .. }
            | Pattern::Shifted { .. }
            | Pattern::ReducedPrecision { .. }
            | Pattern::SignOfZero
            | Pattern::RoundingOnly { .. }
    )
}
