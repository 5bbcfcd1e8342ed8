//! Which results are right.

use host::check::{CheckError, Tolerance, within_each};
use host::{Element, HostBuffer, NamedBuffers, check};

use crate::grade::kind::Kind;
use crate::grade::verdict::Failing;

/// What every value of every output is compared with, and how near it must be.
#[derive(Debug, Clone)]
pub struct Judge {
    expected: NamedBuffers,
    /// For each output how far its values may be from what is expected; `None` if they must be equal to the last bit.
    bounds: Option<Vec<(String, f64)>>,
}

/// The greatest distance between reference and oracle, by output.
pub type Noise = Vec<(String, f64)>;

impl Judge {
    /// Results are right that equal these to the last bit.
    pub fn exact(expected: NamedBuffers) -> Judge {
        Judge {
            expected,
            bounds: None,
        }
    }

    /// Results are right that are no farther from the oracle than `factor` times the reference is. Also gives how far
    /// that is. What is expected is the oracle in the outputs' own precision.
    pub fn rounding(
        factor: f64,
        reference: &NamedBuffers,
        oracle: &NamedBuffers,
    ) -> (Judge, Noise) {
        let mut expected = Vec::new();
        let mut noise = Vec::new();
        for (name, reference) in reference {
            let exact = check::find(oracle, name).expect("an oracle has the reference's outputs");
            let exact = exact
                .as_slice::<f64>()
                .expect("an oracle's outputs are f64");
            let (rounded, distance) = match reference.element() {
                Element::F32 => {
                    let values = reference.as_slice::<f32>().expect("just asked");
                    let distance = distance(values.iter().map(|&v| f64::from(v)), exact);
                    let narrow: Vec<f32> = exact.iter().map(|&v| v as f32).collect();
                    (HostBuffer::from(narrow), distance)
                }
                Element::F64 => {
                    let values = reference.as_slice::<f64>().expect("just asked");
                    let distance = distance(values.iter().copied(), exact);
                    (HostBuffer::from(exact.to_vec()), distance)
                }
                // Integers do not round.
                _ => (reference.clone(), 0.0),
            };
            expected.push((name.clone(), rounded));
            noise.push((name.clone(), distance));
        }
        let bounds = scaled(&noise, factor);
        let judge = Judge {
            expected,
            bounds: Some(bounds),
        };
        (judge, noise)
    }

    /// As [`Judge::rounding`] for other inputs of the same case, without their oracle: what is `factor` times the noise
    /// from an oracle that itself is at most the noise from the reference is at most `factor + 1` times it from the
    /// reference.
    pub fn around_reference(factor: f64, reference: NamedBuffers, noise: &Noise) -> Judge {
        Judge {
            expected: reference,
            bounds: Some(scaled(noise, factor + 1.0)),
        }
    }

    /// What is expected.
    pub fn expected(&self) -> &NamedBuffers {
        &self.expected
    }

    /// How far a value of this output may be from what is expected; `None` if it must be equal.
    pub fn bound(&self, output: &str) -> Option<f64> {
        let bounds = self.bounds.as_ref()?;
        Some(
            bounds
                .iter()
                .find(|(name, _)| name == output)
                .map_or(0.0, |(_, bound)| *bound),
        )
    }

    /// Compares every value.
    ///
    /// # Errors
    ///
    /// What differs.
    pub fn check(&self, got: &NamedBuffers) -> Result<(), CheckError> {
        if self.bounds.is_none() {
            return check::exact(&self.expected, got);
        }
        within_each(&self.expected, got, &|name| Tolerance {
            absolute: self.bound(name).unwrap_or(0.0),
            relative: 0.0,
        })
    }
}

fn distance(values: impl Iterator<Item = f64>, exact: &[f64]) -> f64 {
    values
        .zip(exact)
        .map(|(value, exact)| (value - exact).abs())
        .fold(0.0, f64::max)
}

fn scaled(noise: &Noise, factor: f64) -> Noise {
    let scale = |(name, noise): &(String, f64)| (name.clone(), noise * factor);
    noise.iter().map(scale).collect()
}

/// How a submission fails whose outputs differ like this in sample `sample`.
pub fn failing(error: &CheckError, message: String, sample: u32) -> Failing {
    let kind = match error {
        CheckError::Mismatch(mismatch) if mismatch.non_finite > 0 => Kind::NonFinite,
        CheckError::Mismatch(_) if sample > 0 => Kind::WrongLater,
        CheckError::Mismatch(_) => Kind::WrongResult,
        CheckError::Missing { .. } | CheckError::Unexpected { .. } | CheckError::Shape { .. } => {
            Kind::PlanInvalid
        }
    };
    Failing::new(kind, message).with_sample(sample)
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
        let (judge, noise) = Judge::rounding(4.0, &reference, &oracle);
        assert!((noise[0].1 - 1e-6).abs() < 1e-7, "{noise:?}");
        judge.check(&reference).unwrap();
        judge
            .check(&named(vec![1.0f32 + 3e-6, 2.0, 3.0 - 3e-6]))
            .unwrap();
        judge
            .check(&named(vec![1.0f32 + 6e-6, 2.0, 3.0]))
            .unwrap_err();
        let nan = judge
            .check(&named(vec![1.0f32, f32::NAN, 3.0]))
            .unwrap_err();
        assert_eq!(failing(&nan, String::new(), 1).kind, Kind::NonFinite);
    }

    #[test]
    fn what_is_right_beside_the_oracle_is_right_beside_the_reference() {
        let oracle = named(vec![1.0f64, 2.0]);
        let reference = named(vec![1.0f64 + 1e-15, 2.0]);
        let (judge, noise) = Judge::rounding(2.0, &reference, &oracle);
        let far = named(vec![1.0f64 - 1.9e-15, 2.0]);
        judge.check(&far).unwrap();
        let judge = Judge::around_reference(2.0, reference, &noise);
        judge.check(&far).unwrap();
        judge.check(&named(vec![1.0f64, 2.0 + 5e-15])).unwrap_err();
    }

    #[test]
    fn a_reference_without_noise_allows_none() {
        let reference = named(vec![1.0f32, 2.0]);
        let (judge, _) = Judge::rounding(100.0, &reference, &named(vec![1.0f64, 2.0]));
        judge
            .check(&named(vec![1.0f32, 2.0f32.next_up()]))
            .unwrap_err();
    }

    #[test]
    fn kinds_of_failures() {
        let judge = Judge::exact(named(vec![1.0f32]));
        let kind =
            |got, sample| failing(&judge.check(&got).unwrap_err(), String::new(), sample).kind;
        assert_eq!(kind(named(vec![2.0f32]), 0), Kind::WrongResult);
        assert_eq!(kind(named(vec![2.0f32]), 1), Kind::WrongLater);
        assert_eq!(kind(named(vec![f32::INFINITY]), 0), Kind::NonFinite);
        assert_eq!(kind(vec![], 0), Kind::PlanInvalid);
    }
}
