//! The wrong field as a whole: empty, a copy, another step, another field, moved, rounded.

use device::check::Value;
use device::{HostBuffer, NamedBuffers};

use super::evidence::Evidence;
use super::field::{Field, wrong_share};
use super::pattern::Pattern;

/// How many steps too few are looked for.
const MAX_BEHIND: u64 = 8;
/// How many too many.
const MAX_AHEAD: u64 = 2;
/// How many in all are looked for where most are missing.
const FIRST: u64 = 4;
/// Along an axis, in cells.
const FARTHEST_SHIFT: usize = 2;
/// Differences below this many times the precision, relative to the field's greatest value, are
/// called rounding.
const ROUNDING: f64 = 64.0;

/// The patterns of all fields together; `worst` is the one that the diagnosis is about.
pub fn patterns(evidence: &Evidence<'_>, fields: &[Field<'_>], worst: &Field<'_>) -> Vec<Pattern> {
    let mut found = Vec::new();
    if fields.iter().all(is_sign_of_zero) {
        found.push(Pattern::SignOfZero);
    } else {
        found.extend(empty_or_copy(evidence, fields, worst));
    }
    found.extend(swapped(fields));
    found.extend(other_step(evidence));
    if found.is_empty() {
        found.extend(transposed(worst).or_else(|| shifted(worst)));
        found.extend(reduced_precision(worst).or_else(|| rounding(worst)));
    }
    if fields.len() > 1 && fields.iter().filter(|field| field.wrong > 0).count() == 1 {
        found.push(Pattern::OneFieldOnly {
            field: worst.name.to_owned(),
        });
    }
    found
}

/// Whether every wrong cell is a zero of the other sign.
fn is_sign_of_zero(field: &Field<'_>) -> bool {
    let is_zero = |value: Value| value.to_f64() == 0.0;
    field
        .wrong_cells()
        .all(|index| is_zero(field.got_at(index)) && is_zero(field.expected_at(index)))
}

fn empty_or_copy(
    evidence: &Evidence<'_>,
    fields: &[Field<'_>],
    field: &Field<'_>,
) -> Option<Pattern> {
    let is_zero = |index| field.got_at(index).to_f64() == 0.0;
    if (0..field.len()).all(is_zero) {
        return Some(Pattern::AllZeros);
    }
    let copied = |candidate: &Field<'_>| {
        let mut inputs = evidence.inputs.iter();
        inputs.find(|(_, input)| is_same(input, candidate.got))
    };
    if let Some((name, _)) = copied(field) {
        let is_computed = |candidate: &Field<'_>| {
            let untouched = (0..candidate.len()).all(|index| candidate.is_unwritten(index));
            copied(candidate).is_none() && !untouched
        };
        return Some(Pattern::CopyOfInput {
            input: name.clone(),
            others_computed: fields.iter().any(is_computed),
        });
    }
    let wrong_cells = field.wrong_cells();
    let unwritten = wrong_cells
        .filter(|index| field.is_unwritten(*index))
        .count();
    (2 * unwritten > field.wrong).then_some(Pattern::Unwritten {
        cells: unwritten as u64,
    })
}

/// Whether two buffers hold the same bits.
fn is_same(a: &HostBuffer, b: &HostBuffer) -> bool {
    a.element() == b.element() && a.bytes() == b.bytes()
}

/// Two wrong fields that hold each other's right values.
fn swapped(fields: &[Field<'_>]) -> Option<Pattern> {
    let mut pairs = fields
        .iter()
        .enumerate()
        .flat_map(|(index, a)| fields[index + 1..].iter().map(move |b| (a, b)));
    let (a, b) = pairs.find(|(a, b)| {
        a.wrong > 0 && b.wrong > 0 && is_same(a.got, b.expected) && is_same(b.got, a.expected)
    })?;
    Some(Pattern::SwappedFields {
        a: a.name.to_owned(),
        b: b.name.to_owned(),
    })
}

/// All fields as they should be after another number of steps.
fn other_step(evidence: &Evidence<'_>) -> Option<Pattern> {
    let (steps, after_steps) = (evidence.steps?, evidence.after_steps?);
    let fewer = (1..=MAX_BEHIND.min(steps)).map(|by| (by as i64, steps - by));
    let more = (1..=MAX_AHEAD).map(|by| (-(by as i64), steps + by));
    // Of most labs, a plan of one step is the first that a student records.
    let first = (1..=FIRST)
        .filter(|step| step + MAX_BEHIND < steps)
        .map(|step| ((steps - step) as i64, step));
    let is_that = |expected: &NamedBuffers| {
        wrong_share(expected, evidence.got, evidence.tolerance) == Some(0.0)
    };
    // The nearest first: a small field may come back to where it was.
    let mut others: Vec<(i64, u64)> = fewer.chain(more).chain(first).collect();
    others.sort_by_key(|(behind, _)| behind.unsigned_abs());
    others
        .into_iter()
        .find(|(_, count)| after_steps(*count).is_some_and(|expected| is_that(&expected)))
        .map(|(behind, _)| Pattern::OtherStep { behind })
}

/// Whether almost every cell that `place` leads somewhere holds what belongs there, and its own
/// value would not do.
fn is_moved(field: &Field<'_>, place: impl Fn([usize; 3]) -> Option<[usize; 3]>) -> bool {
    let [n_x, n_y, _] = field.extents();
    let index_of = |[x, y, z]: [usize; 3]| x + n_x * (y + n_y * z);
    let holds = |stride: usize| {
        let (mut compared, mut moved, mut own) = (0usize, 0usize, 0usize);
        for index in (0..field.len()).step_by(stride) {
            let Some(from) = place(field.place(index)).map(index_of) else {
                continue;
            };
            compared += 1;
            let got = field.got_at(index);
            moved += usize::from(got == field.expected_at(from));
            own += usize::from(got == field.expected_at(index));
        }
        compared > 0 && 100 * moved >= 99 * compared && 2 * own < compared
    };
    // A few cells tell almost always that it is not so.
    holds(field.len() / 1009 + 1) && holds(1)
}

fn transposed(field: &Field<'_>) -> Option<Pattern> {
    let extents = field.extents();
    let pairs = [(0, 1), (0, 2), (1, 2)].into_iter();
    let is_square = |(a, b): &(usize, usize)| extents[*a] == extents[*b] && extents[*a] > 1;
    let is_exchanged = |(a, b): &(usize, usize)| {
        is_moved(field, |mut at| {
            at.swap(*a, *b);
            Some(at)
        })
    };
    let (a, b) = pairs.filter(is_square).find(is_exchanged)?;
    Some(Pattern::Transposed {
        axes: [a, b].map(|axis| field.axes[axis].name.clone()),
    })
}

fn shifted(field: &Field<'_>) -> Option<Pattern> {
    let extents = field.extents();
    let shifts = (0..field.axes.len()).flat_map(|axis| {
        (1..=FARTHEST_SHIFT as isize).flat_map(move |by| [(axis, by), (axis, -by)])
    });
    let (axis, by) = shifts.into_iter().find(|&(axis, by)| {
        extents[axis] > 2 * FARTHEST_SHIFT
            && is_moved(field, |mut at| {
                at[axis] = at[axis].checked_add_signed(by)?;
                (at[axis] < extents[axis]).then_some(at)
            })
    })?;
    Some(Pattern::Shifted {
        axis: field.axes[axis].name.clone(),
        by: by as i64,
    })
}

/// All wrong values end in zero bits that the right ones do not have.
fn reduced_precision(field: &Field<'_>) -> Option<Pattern> {
    const FEWEST: usize = 16;
    const BITS_LOST: u32 = 8;
    let mantissa_bits = field.mantissa_bits()?;
    let scale = field.scale();
    let (mut seen, mut got_zeros, mut expected_zeros) = (0usize, u32::MAX, 0usize);
    for index in field.wrong_cells() {
        let got = field.got_at(index);
        // A shorter type rounds; it does not lose a value altogether.
        if !got.is_finite() || field.error(index) > 0.1 * scale {
            return None;
        }
        if got.to_f64() != 0.0 {
            let zeros = field.expected_at(index).bits().trailing_zeros();
            seen += 1;
            got_zeros = got_zeros.min(got.bits().trailing_zeros());
            expected_zeros += usize::from(zeros >= BITS_LOST);
        }
    }
    let is_reduced = seen >= FEWEST && got_zeros >= BITS_LOST && 4 * expected_zeros < seen;
    is_reduced.then(|| Pattern::ReducedPrecision {
        mantissa_bits: 1 + (mantissa_bits - 1).saturating_sub(got_zeros),
    })
}

fn rounding(field: &Field<'_>) -> Option<Pattern> {
    let precision = 0.5f64.powi(field.mantissa_bits()? as i32);
    let is_small =
        field.non_finite() == 0 && field.max_error()? <= ROUNDING * precision * field.scale();
    is_small.then_some(Pattern::RoundingOnly {
        max_ulp: field.max_ulp()?,
    })
}
