//! Bounds for the error of an approximation.

/// An error bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A bound in units of the last place of a single-precision result at the true value.
    Ulps(f64),
    /// A bound in parts of the true value.
    Relative(f64),
    /// An absolute bound.
    Absolute(f64),
}

/// The expected result of an approximation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Any NaN.
    Nan,
    /// These bits.
    Exactly(u64),
    /// Near a value, which may lie beyond the range of the type. If `flushed`, a subnormal result
    /// is a zero.
    Near {
        /// The true value.
        value: f64,
        /// The error bound.
        bound: Bound,
        /// `.ftz`.
        flushed: bool,
    },
    /// The PTX ISA does not state the result.
    Unspecified,
}

/// Whether a result of 32 or 64 bits is as expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nearness {
    pub holds: bool,
    /// Its error as a part of the bound, if there is a bound.
    pub error: Option<f64>,
}

impl Target {
    /// Checks a single- or double-precision result.
    pub(super) fn check(&self, bits: u64, is_double: bool) -> Nearness {
        let got = if is_double {
            f64::from_bits(bits)
        } else {
            f64::from(f32::from_bits(bits as u32))
        };
        let plain = |holds| Nearness { holds, error: None };
        match *self {
            Target::Unspecified => plain(true),
            Target::Nan => plain(got.is_nan()),
            Target::Exactly(expected) => plain(bits == expected),
            Target::Near { .. } if got.is_nan() => plain(false),
            Target::Near {
                value,
                bound,
                flushed,
            } => near(value, got, bound, flushed, is_double),
        }
    }
}

fn near(value: f64, got: f64, bound: Bound, flushed: bool, is_double: bool) -> Nearness {
    let (smallest, largest) = if is_double {
        (f64::MIN_POSITIVE, f64::MAX)
    } else {
        // Infinity counts as the next power of two.
        (f64::from(f32::MIN_POSITIVE), 2f64.powi(128))
    };
    let (value, got) = (value.clamp(-largest, largest), got.clamp(-largest, largest));
    if flushed && value.abs() < smallest && got == 0.0 {
        return Nearness {
            holds: true,
            error: None,
        };
    }
    let error = (got - value).abs();
    let allowed = match bound {
        Bound::Absolute(bound) => bound,
        Bound::Ulps(bound) => bound * ulp(value),
        // A result cannot be nearer than half the distance of subnormals.
        Bound::Relative(bound) => (bound * value.abs()).max(0.5 * ulp(0.0)),
    };
    let ratio = match error {
        0.0 => 0.0,
        _ => error / allowed,
    };
    Nearness {
        holds: error <= allowed,
        error: Some(ratio),
    }
}

/// The distance of single-precision numbers at `x`.
fn ulp(x: f64) -> f64 {
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent.clamp(-126, 127) - 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near_one(got: f32, ulps: f64) -> bool {
        let target = Target::Near {
            value: 1.0,
            bound: Bound::Ulps(ulps),
            flushed: false,
        };
        target.check(got.to_bits().into(), false).holds
    }

    #[test]
    fn bounds_hold_up_to_the_stated_error_and_no_further() {
        assert!(near_one(1.0 + f32::EPSILON, 1.0));
        assert!(!near_one(1.0 + 2.0 * f32::EPSILON, 1.0));
        assert!(!near_one(f32::NAN, 1.0));
    }

    #[test]
    fn a_flushed_result_is_zero_only_below_the_normal_numbers() {
        let check = |value, flushed| {
            let bound = Bound::Ulps(1.0);
            let target = Target::Near {
                value,
                bound,
                flushed,
            };
            target.check(0, false).holds
        };
        assert!(check(1e-39, true));
        assert!(!check(1e-39, false));
        assert!(!check(1e-37, true));
    }
}
