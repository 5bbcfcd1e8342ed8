//! Which results are right.

use rayon::prelude::*;

use super::{CheckError, Tolerance, Value, find, within};
use crate::buffer::{Element, HostBuffer, NamedBuffers};

/// How many times as far from the oracle as the reference a result may be that sums in another
/// order: what the labs' courses suggest for their rule "rounding".
pub const ROUNDING: f64 = 8.0;

/// The values that all outputs are compared with, and how near they must be.
#[derive(Debug, Clone)]
pub struct Expected {
    /// The expected outputs.
    pub outputs: NamedBuffers,
    /// For each output how far its values may be from what is expected; `None` if they must be
    /// equal to the last bit.
    bounds: Option<Vec<(String, f64)>>,
}

/// The greatest distance between reference and oracle, by output.
pub type Noise = Vec<(String, f64)>;

impl Expected {
    /// Results are right that equal these to the last bit.
    pub fn exact(outputs: NamedBuffers) -> Expected {
        Expected {
            outputs,
            bounds: None,
        }
    }

    /// Results are right if their distance from the oracle is at most `factor` times the
    /// reference's distance. Also gives that distance. The expected outputs are the oracle's, in
    /// the outputs' own precision.
    pub fn rounding(
        factor: f64,
        reference: &NamedBuffers,
        oracle: &NamedBuffers,
    ) -> (Expected, Noise) {
        let mut outputs = Vec::new();
        let mut noise = Vec::new();
        for (name, output) in reference {
            let exact = find(oracle, name)
                .expect("an oracle has the reference's outputs")
                .as_slice::<f64>()
                .expect("an oracle's outputs are f64");
            let exact_at = exact.par_iter().enumerate();
            let distances =
                exact_at.map(|(index, value)| (Value::at(output, index).to_f64() - value).abs());
            let distance = distances.reduce(|| 0.0, f64::max);
            let (rounded, distance): (HostBuffer, f64) = match output.element() {
                Element::F32 => {
                    let rounded: Vec<f32> = exact.par_iter().map(|&v| v as f32).collect();
                    (rounded.into(), distance)
                }
                Element::F64 => (exact.to_vec().into(), distance),
                // Integers do not round.
                _ => (output.clone(), 0.0),
            };
            outputs.push((name.clone(), rounded));
            noise.push((name.clone(), distance));
        }
        let bounds = scaled(&noise, factor);
        let expected = Expected {
            outputs,
            bounds: Some(bounds),
        };
        (expected, noise)
    }

    /// As [`Expected::rounding`] for other inputs of the same case, without their oracle: what is
    /// `factor` times the noise from an oracle that itself is at most the noise from the reference
    /// is at most `factor + 1` times it from the reference.
    pub fn around_reference(factor: f64, reference: NamedBuffers, noise: &Noise) -> Expected {
        Expected {
            outputs: reference,
            bounds: Some(scaled(noise, factor + 1.0)),
        }
    }

    /// How far a value of this output may be from what is expected; `None` if it must be equal to
    /// the last bit.
    pub fn tolerance(&self, output: &str) -> Option<Tolerance> {
        Some(tolerance(self.bounds.as_ref()?, output))
    }

    /// Compares every value.
    pub fn check(&self, got: &NamedBuffers) -> Result<(), CheckError> {
        within(&self.outputs, got, &|name| self.tolerance(name))
    }
}

/// How far the outputs of a variant that rounds differently may be from `expected`, a reference's,
/// if the noise of the reference of a smaller case is known: by output, [`ROUNDING`] + 1 times that
/// noise, relative to the largest values of both.
///
/// # Panics
///
/// If an output is missing somewhere.
pub fn bounds_by_sample(noise: &Noise, sample: &NamedBuffers, expected: &NamedBuffers) -> Noise {
    let largest = |outputs: &NamedBuffers, name: &str| {
        let values = find(outputs, name).expect("one case's outputs are another's");
        let magnitude = |index| Value::at(values, index).to_f64().abs();
        let all = (0..values.len()).into_par_iter().map(magnitude);
        all.reduce(|| 0.0, f64::max)
    };
    let bound = |(name, distance): &(String, f64)| {
        let share = distance / largest(sample, name).max(f64::MIN_POSITIVE);
        let bound = (ROUNDING + 1.0) * share * largest(expected, name);
        (name.clone(), bound)
    };
    noise.iter().map(bound).collect()
}

/// Compares every value of every output: it may be as far from the expected one as `bounds` says
/// for its output.
///
/// # Errors
///
/// The first output that is not so.
pub fn near(expected: &NamedBuffers, got: &NamedBuffers, bounds: &Noise) -> Result<(), CheckError> {
    within(expected, got, &|name| Some(tolerance(bounds, name)))
}

fn tolerance(bounds: &Noise, output: &str) -> Tolerance {
    let bound = bounds.iter().find(|(name, _)| name == output);
    Tolerance {
        absolute: bound.map_or(0.0, |(_, bound)| *bound),
        relative: 0.0,
    }
}

fn scaled(noise: &Noise, factor: f64) -> Noise {
    let scale = |(name, distance): &(String, f64)| (name.clone(), distance * factor);
    noise.iter().map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<T>(values: Vec<T>) -> NamedBuffers
    where
        HostBuffer: From<Vec<T>>,
    {
        vec![("u".to_owned(), values.into())]
    }

    #[test]
    fn noise_is_the_reference_s_own() {
        let oracle = named(vec![1.0f64, 2.0, 3.0]);
        let reference = named(vec![1.0f32, 2.0 + 1e-6, 3.0]);
        let (expected, noise) = Expected::rounding(4.0, &reference, &oracle);
        assert!((noise[0].1 - 1e-6).abs() < 1e-7, "{noise:?}");
        expected.check(&reference).unwrap();
        expected
            .check(&named(vec![1.0f32 + 3e-6, 2.0, 3.0 - 3e-6]))
            .unwrap();
        expected
            .check(&named(vec![1.0f32 + 6e-6, 2.0, 3.0]))
            .unwrap_err();
        expected
            .check(&named(vec![1.0f32, f32::NAN, 3.0]))
            .unwrap_err();
    }

    #[test]
    fn what_is_right_beside_the_oracle_is_right_beside_the_reference() {
        let oracle = named(vec![1.0f64, 2.0]);
        let reference = named(vec![1.0f64 + 1e-15, 2.0]);
        let (expected, noise) = Expected::rounding(2.0, &reference, &oracle);
        let far = named(vec![1.0f64 - 1.9e-15, 2.0]);
        expected.check(&far).unwrap();
        let around = Expected::around_reference(2.0, reference, &noise);
        around.check(&far).unwrap();
        around.check(&named(vec![1.0f64, 2.0 + 5e-15])).unwrap_err();
    }

    #[test]
    fn the_noise_of_a_smaller_case_counts_relative_to_the_largest_value() {
        let noise = vec![("u".to_owned(), 1e-7)];
        let expected = named(vec![4.0f32, -8.0, 0.0]);
        let bounds = bounds_by_sample(&noise, &named(vec![-2.0f32, 1.0]), &expected);
        let bound = tolerance(&bounds, "u").absolute;
        assert!((bound / (9.0 * 4.0 * 1e-7) - 1.0).abs() < 1e-12, "{bound}");
        assert_eq!(tolerance(&bounds, "v").absolute, 0.0);
    }

    #[test]
    fn a_reference_without_noise_allows_none() {
        let reference = named(vec![1.0f32, 2.0]);
        let (expected, _) = Expected::rounding(100.0, &reference, &named(vec![1.0f64, 2.0]));
        expected
            .check(&named(vec![1.0f32, 2.0f32.next_up()]))
            .unwrap_err();
    }
}
