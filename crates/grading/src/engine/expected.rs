//! How a submission fails whose results are not what is expected.

use device::check::CheckError;

use crate::outcome::{Failure, Kind};

/// How a submission fails whose outputs differ like this in sample `sample`.
pub fn failure(error: &CheckError, message: String, sample: u32) -> Failure {
    let kind = match error {
        CheckError::Mismatch(mismatch) if mismatch.non_finite > 0 => Kind::NonFinite,
        CheckError::Mismatch(_) => kind_of_wrong_values(sample),
        CheckError::Missing { .. } | CheckError::Unexpected { .. } | CheckError::Shape { .. } => {
            Kind::PlanInvalid
        }
    };
    Failure::new(kind, message).with_sample(sample)
}

/// The kind of finite values that are wrong, in sample `sample`.
pub fn kind_of_wrong_values(sample: u32) -> Kind {
    match sample {
        0 => Kind::WrongResult,
        _ => Kind::WrongLater,
    }
}

#[cfg(test)]
mod tests {
    use device::check::Expected;
    use device::{HostBuffer, NamedBuffers};

    use super::*;

    fn named<T>(values: Vec<T>) -> NamedBuffers
    where
        HostBuffer: From<Vec<T>>,
    {
        vec![("u".to_owned(), values.into())]
    }

    #[test]
    fn kinds_of_failures() {
        let expected = Expected::exact(named(vec![1.0f32]));
        let kind =
            |got, sample| failure(&expected.check(&got).unwrap_err(), String::new(), sample).kind;
        assert_eq!(kind(named(vec![2.0f32]), 0), Kind::WrongResult);
        assert_eq!(kind(named(vec![2.0f32]), 1), Kind::WrongLater);
        assert_eq!(kind(named(vec![f32::INFINITY]), 0), Kind::NonFinite);
        assert_eq!(kind(vec![], 0), Kind::PlanInvalid);
    }
}
