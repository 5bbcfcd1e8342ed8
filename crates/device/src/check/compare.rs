//! The comparisons.

use approx::RelativeEq;
use rayon::prelude::*;

use super::{CheckError, Mismatch, Value};
use crate::buffer::{Element, HostBuffer, NamedBuffers, Scalar};
use plan::suggestion;

/// How far an element may be from what is expected: by `absolute`, or by `relative` times the
/// greater magnitude of the two. The larger of these counts. Integers must be equal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// In the unit of the element.
    pub absolute: f64,
    /// As a share of the value.
    pub relative: f64,
}

/// The outputs must be the expected ones, no more and no less, each equal to the last bit and
/// finite.
///
/// # Errors
///
/// The first output that is not so.
pub fn exact(expected: &NamedBuffers, got: &NamedBuffers) -> Result<(), CheckError> {
    within(expected, got, &|_| None)
}

/// As [`exact`], but the elements of each output may differ by the tolerance that `tolerance` has
/// for its name, if it has one.
///
/// # Errors
///
/// The first output that is not so.
pub fn within(
    expected: &NamedBuffers,
    got: &NamedBuffers,
    tolerance: &dyn Fn(&str) -> Option<Tolerance>,
) -> Result<(), CheckError> {
    if let Some((name, _)) = got.iter().find(|(name, _)| find(expected, name).is_none()) {
        return Err(CheckError::Unexpected {
            buffer: name.clone(),
            suggestion: suggestion(name, expected.iter().map(|(known, _)| known.as_str())),
        });
    }
    for (name, right) in expected {
        let got = find(got, name).ok_or_else(|| CheckError::Missing {
            buffer: name.clone(),
        })?;
        compare(name, right, got, tolerance(name))?;
    }
    Ok(())
}

/// The buffer of this name.
pub fn find<'b>(buffers: &'b NamedBuffers, name: &str) -> Option<&'b HostBuffer> {
    buffers
        .iter()
        .find(|(other, _)| other == name)
        .map(|(_, buffer)| buffer)
}

fn compare(
    name: &str,
    expected: &HostBuffer,
    got: &HostBuffer,
    tolerance: Option<Tolerance>,
) -> Result<(), CheckError> {
    if (expected.element(), expected.len()) != (got.element(), got.len()) {
        return Err(CheckError::Shape {
            buffer: name.to_owned(),
            element: expected.element(),
            len: expected.len(),
            got_element: got.element(),
            got_len: got.len(),
        });
    }
    // Large fields are almost always right: all cores look first.
    if is_right(expected, got, tolerance) {
        return Ok(());
    }
    let mut mismatch: Option<Mismatch> = None;
    for_each_wrong(expected, got, tolerance, |index| {
        let [expected, got_value] = [expected, got].map(|buffer| Value::at(buffer, index));
        let mismatch = mismatch.get_or_insert_with(|| Mismatch {
            buffer: name.to_owned(),
            index,
            expected: expected.to_string(),
            got: got_value.to_string(),
            count: 0,
            len: got.len(),
            max_ulp: None,
            non_finite: 0,
        });
        mismatch.count += 1;
        if expected.is_finite() && got_value.is_finite() {
            mismatch.max_ulp = mismatch.max_ulp.max(expected.ulp_distance(got_value));
        } else {
            mismatch.non_finite += 1;
        }
    });
    match mismatch {
        None => Ok(()),
        Some(mismatch) => Err(CheckError::Mismatch(Box::new(mismatch))),
    }
}

/// Whether every element is right.
fn is_right(expected: &HostBuffer, got: &HostBuffer, tolerance: Option<Tolerance>) -> bool {
    match expected.element() {
        Element::F32 => all_right::<f32>(expected, got, tolerance),
        Element::F64 => all_right::<f64>(expected, got, tolerance),
        // Integers are right if their bits are the same.
        _ => expected.is_same(got),
    }
}

fn all_right<T: Compare + Sync>(
    expected: &HostBuffer,
    got: &HostBuffer,
    tolerance: Option<Tolerance>,
) -> bool {
    const TASK: usize = 1 << 16;
    let expected = expected.as_slice::<T>().expect("it has this type");
    let got = got.as_slice::<T>().expect("buffers of one type");
    let chunks = expected.par_chunks(TASK).zip(got.par_chunks(TASK));
    let is_right = |(right, value): (&T, &T)| right.accepts(*value, tolerance);
    chunks
        .into_par_iter()
        .all(|(right, values)| right.iter().zip(values).all(is_right))
}

/// Calls `visit` with the position of every element of `got` that is wrong: farther from the
/// expected one than `tolerance` allows or, without a tolerance, not equal to it to the last bit.
/// NaN and infinity are wrong on either side.
///
/// # Panics
///
/// If the two buffers differ in type or length.
pub fn for_each_wrong(
    expected: &HostBuffer,
    got: &HostBuffer,
    tolerance: Option<Tolerance>,
    visit: impl FnMut(usize),
) {
    assert_eq!(expected.len(), got.len(), "buffers of one length");
    match expected.element() {
        Element::F32 => elements::<f32>(expected, got, tolerance, visit),
        Element::F64 => elements::<f64>(expected, got, tolerance, visit),
        Element::U32 => elements::<u32>(expected, got, tolerance, visit),
        Element::I32 => elements::<i32>(expected, got, tolerance, visit),
        Element::U64 => elements::<u64>(expected, got, tolerance, visit),
        Element::I64 => elements::<i64>(expected, got, tolerance, visit),
        Element::U8 => elements::<u8>(expected, got, tolerance, visit),
    }
}

/// One loop for each type: large fields are compared after every timed run.
fn elements<T: Compare>(
    expected: &HostBuffer,
    got: &HostBuffer,
    tolerance: Option<Tolerance>,
    mut visit: impl FnMut(usize),
) {
    let expected = expected.as_slice::<T>().expect("it has this type");
    let got = got.as_slice::<T>().expect("buffers of one type");
    for (index, (right, value)) in expected.iter().zip(got).enumerate() {
        if !right.accepts(*value, tolerance) {
            visit(index);
        }
    }
}

/// An element, as a comparison sees it.
trait Compare: Scalar {
    /// Whether `got` is right where `self` is expected.
    fn accepts(self, got: Self, tolerance: Option<Tolerance>) -> bool;
}

macro_rules! compare_integer {
    ($($type:ty)*) => {
        $(impl Compare for $type {
            fn accepts(self, got: $type, _tolerance: Option<Tolerance>) -> bool {
                self == got
            }
        })*
    };
}

compare_integer!(u8 u32 i32 u64 i64);

macro_rules! compare_float {
    ($($type:ident)*) => {
        $(impl Compare for $type {
            fn accepts(self, got: $type, tolerance: Option<Tolerance>) -> bool {
                let is_near = match tolerance {
                    None => self.to_bits() == got.to_bits(),
                    Some(Tolerance { absolute, relative }) => {
                        f64::from(self).relative_eq(&f64::from(got), absolute, relative)
                    }
                };
                is_near && self.is_finite() && got.is_finite()
            }
        })*
    };
}

compare_float!(f32 f64);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named<T>(values: Vec<T>) -> NamedBuffers
    where
        HostBuffer: From<Vec<T>>,
    {
        vec![("u".to_owned(), values.into())]
    }

    #[test]
    fn equal_fields_pass() {
        exact(&named(vec![1.0f32, -0.0]), &named(vec![1.0f32, -0.0])).unwrap();
        exact(&named(vec![1u8, 255]), &named(vec![1u8, 255])).unwrap();
        exact(&vec![], &vec![]).unwrap();
    }

    #[test]
    fn the_last_bit_of_the_last_element_counts() {
        let error = exact(
            &named(vec![0.5f32, 0.1]),
            &named(vec![0.5f32, 0.1f32.next_up()]),
        );
        insta::assert_snapshot!(error.unwrap_err(), @"`u` is wrong in 1 of 2 elements, first at [1]: expected 0.1 (0x3dcccccd), got 0.10000001 (0x3dccccce); at most 1 ulp apart");
    }

    #[test]
    fn signs_of_zero_differ() {
        let error = exact(&named(vec![0.0f64]), &named(vec![-0.0f64])).unwrap_err();
        insta::assert_snapshot!(error, @"`u` is wrong in 1 of 1 elements, first at [0]: expected 0.0 (0x0), got -0.0 (0x8000000000000000); at most 1 ulp apart");
    }

    #[test]
    fn what_is_not_finite_fails_even_if_expected() {
        let nan = named(vec![1.0f32, f32::NAN, f32::INFINITY, 2.0]);
        insta::assert_snapshot!(exact(&nan, &nan).unwrap_err(), @"`u` is wrong in 2 of 4 elements, first at [1]: expected NaN (0x7fc00000), got NaN (0x7fc00000); NaN or infinite: 2");
        let any = Tolerance {
            absolute: f64::INFINITY,
            relative: 1.0,
        };
        insta::assert_snapshot!(within(&nan, &nan, &|_| Some(any)).unwrap_err(), @"`u` is wrong in 2 of 4 elements, first at [1]: expected NaN (0x7fc00000), got NaN (0x7fc00000); NaN or infinite: 2");
    }

    #[test]
    fn integers_have_no_ulp() {
        let error = exact(&named(vec![7i32, 8]), &named(vec![7i32, -8])).unwrap_err();
        insta::assert_snapshot!(error, @"`u` is wrong in 1 of 2 elements, first at [1]: expected 8 (0x8), got -8 (0xfffffff8)");
    }

    #[test]
    fn names_types_and_sizes_count() {
        let one = named(vec![1.0f32]);
        insta::assert_snapshot!(exact(&one, &vec![]).unwrap_err(), @"output `u` is missing; declare it with `plan.output`");
        insta::assert_snapshot!(exact(&one, &named(vec![1.0f64])).unwrap_err(), @"output `u` should have 1 f32 elements, and has 1 of f64");
        insta::assert_snapshot!(exact(&one, &named(vec![1.0f32, 2.0])).unwrap_err(), @"output `u` should have 1 f32 elements, and has 2 of f32");
        let two = vec![one[0].clone(), ("v".to_owned(), vec![1.0f32].into())];
        insta::assert_snapshot!(exact(&one, &two).unwrap_err(), @"output `v` is not one that the lab asks for; there are: u");
    }

    #[test]
    fn tolerances_bound_the_difference() {
        let tolerance = &|_: &str| {
            Some(Tolerance {
                absolute: 1e-6,
                relative: 1e-3,
            })
        };
        let expected = named(vec![0.0f32, 1000.0]);
        within(&expected, &named(vec![9e-7f32, 1000.9]), tolerance).unwrap();
        insta::assert_snapshot!(within(&expected, &named(vec![2e-6f32, 1000.9]), tolerance).unwrap_err(), @"`u` is wrong in 1 of 2 elements, first at [0]: expected 0.0 (0x0), got 2e-6 (0x360637bd); at most 906377149 ulp apart");
        within(&expected, &named(vec![0.0f32, 1002.0]), tolerance).unwrap_err();
    }

    proptest! {
        #[test]
        fn ulp_distance_counts_steps(start in -1e30f32..1e30, steps in 0u64..50) {
            let end = (0..steps).fold(start, |value, _| value.next_up());
            // Between -0 and +0 there is a step that `next_up` does not take.
            let through_zero = u64::from(start.is_sign_negative() && end.is_sign_positive());
            let [start, end] = [start, end].map(|value| Value::at(&vec![value].into(), 0));
            prop_assert_eq!(start.ulp_distance(end), Some(steps + through_zero));
            prop_assert_eq!(end.ulp_distance(start), Some(steps + through_zero));
        }

        #[test]
        fn one_flipped_bit_anywhere_is_found(
            values in prop::collection::vec(-1e3f64..1e3, 1..40),
            index in any::<prop::sample::Index>(),
            bit in 0u32..64,
        ) {
            let at = index.index(values.len());
            let mut wrong = values.clone();
            wrong[at] = f64::from_bits(wrong[at].to_bits() ^ (1 << bit));
            let error = exact(&named(values.clone()), &named(wrong)).unwrap_err();
            let CheckError::Mismatch(mismatch) = error else { panic!("{error}") };
            prop_assert_eq!((mismatch.index, mismatch.count, mismatch.len), (at, 1, values.len()));
        }
    }
}
