//! Parameters of a case, as `key=value`.

use std::collections::BTreeMap;
use std::str::FromStr;

use exit::CommandError;
use thiserror::Error;
use units::as_typed;

use plan::suggestion;

use crate::seed::Seed;

/// A parameter that a lab understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The key.
    pub name: &'static str,
    /// One line, with the unit and the range.
    pub summary: &'static str,
    /// The value if none is given.
    pub default: &'static str,
    /// Whether it is the number of timesteps.
    pub is_steps: bool,
    /// Whether it is [`Parameter::SCALE`].
    pub is_scale: bool,
}

/// The greatest magnitude of [`Parameter::SCALE`]: between 1e-18 and 1e18, so that products of
/// `f32` and sums of many steps stay in their range.
pub const MAX_SCALE: i32 = 60;

impl Parameter {
    /// The power of two that all random inputs are multiplied by, or a few. A lab has one at most.
    pub const SCALE: Parameter = Parameter {
        is_scale: true,
        ..Parameter::new(
            "scale",
            "below 0, random inputs are multiplied by 2^scale; above, a few are, and a few by 2^-scale",
            "0",
        )
    };

    /// A parameter with this name, one-line summary and default.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        default: &'static str,
    ) -> Parameter {
        Parameter {
            name,
            summary,
            default,
            is_steps: false,
            is_scale: false,
        }
    }

    /// That which is the number of timesteps. A lab has one at most.
    pub const fn steps(
        name: &'static str,
        summary: &'static str,
        default: &'static str,
    ) -> Parameter {
        Parameter {
            is_steps: true,
            ..Parameter::new(name, summary, default)
        }
    }
}

/// A lab, variant or case that does not exist or cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// No such lab, variant, parameter, scene, ...
    #[error("unknown {what} `{name}`; {suggestion}")]
    Unknown {
        /// `lab`, `variant`, ...
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The nearest name, or all of them.
        suggestion: String,
    },
    /// Not of the form `key=value`.
    #[error("`{text}` is not a parameter: write name=value")]
    NotAPair {
        /// As given.
        text: String,
    },
    /// One key, given twice.
    #[error("parameter `{name}` is given twice")]
    Twice {
        /// The key.
        name: String,
    },
    /// A value that is not a number, or that the lab does not allow.
    #[error("parameter `{name}` = `{value}`: {reason}")]
    Invalid {
        /// The key.
        name: String,
        /// As given.
        value: String,
        /// The values that are allowed.
        reason: String,
    },
}

impl From<CaseError> for device::error::Error {
    fn from(error: CaseError) -> device::error::Error {
        device::error::Error::Input(error.into())
    }
}

impl From<CaseError> for CommandError {
    fn from(error: CaseError) -> CommandError {
        CommandError::Input(error.to_string())
    }
}

impl CaseError {
    /// An unknown name, with the nearest of those that there are.
    pub fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> CaseError {
        CaseError::Unknown {
            what,
            name: name.to_owned(),
            suggestion: suggestion(name, known),
        }
    }

    /// A value that the lab does not allow.
    pub fn invalid(
        name: impl Into<String>,
        value: impl ToString,
        reason: impl Into<String>,
    ) -> CaseError {
        CaseError::Invalid {
            name: name.into(),
            value: short(value.to_string()),
            reason: reason.into(),
        }
    }
}

/// A number of hundreds of digits as people type it.
fn short(text: String) -> String {
    match text.parse() {
        Ok(value) if text.len() > 24 => as_typed(value),
        _ => text,
    }
}

/// Values by key; keys not given have the lab's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaseParams {
    values: BTreeMap<String, String>,
}

impl CaseParams {
    /// Reads `key=value` texts.
    ///
    /// # Errors
    ///
    /// [`CaseError::NotAPair`], [`CaseError::Twice`].
    pub fn parse<'a>(pairs: impl IntoIterator<Item = &'a str>) -> Result<CaseParams, CaseError> {
        let mut params = CaseParams::default();
        for text in pairs {
            match text.split_once('=') {
                Some((name, value)) if !name.trim().is_empty() => {
                    let name = name.trim();
                    if params.values.contains_key(name) {
                        return Err(CaseError::Twice {
                            name: name.to_owned(),
                        });
                    }
                    params.set(name, value.trim());
                }
                _ => {
                    return Err(CaseError::NotAPair {
                        text: text.to_owned(),
                    });
                }
            }
        }
        Ok(params)
    }

    /// Sets a value, over an earlier one.
    pub fn set(&mut self, name: impl Into<String>, value: impl ToString) -> &mut CaseParams {
        self.values.insert(name.into(), value.to_string());
        self
    }

    /// The value as given, if it is.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }
}

/// The parameters of a case of a lab: those given, and the defaults of the others.
#[derive(Debug, Clone, Copy)]
pub struct Values<'p> {
    given: &'p CaseParams,
    known: &'static [Parameter],
}

impl<'p> Values<'p> {
    /// The parameters given, of a lab that knows these.
    ///
    /// # Errors
    ///
    /// [`CaseError::Unknown`] for one that the lab does not have, with the nearest name.
    pub fn new(
        given: &'p CaseParams,
        known: &'static [Parameter],
    ) -> Result<Values<'p>, CaseError> {
        let names = || known.iter().map(|parameter| parameter.name);
        let mut keys = given.values.keys();
        match keys.find(|key| !names().any(|name| name == *key)) {
            Some(key) => Err(CaseError::unknown("parameter", key, names())),
            None => Ok(Values { given, known }),
        }
    }

    /// The value as given, if it is.
    pub fn given(&self, name: &str) -> Option<&'p str> {
        self.given.get(name)
    }

    /// The value, or else the default.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] if it is no `T`.
    ///
    /// # Panics
    ///
    /// If the lab has no parameter of that name, or a default that is no `T`: both are bugs of the
    /// lab.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, CaseError> {
        let mut known = self.known.iter();
        let parameter = known
            .find(|parameter| parameter.name == name)
            .unwrap_or_else(|| panic!("the lab has no parameter `{name}`"));
        let value = self.given(name).unwrap_or(parameter.default);
        value.parse().map_err(|_| {
            assert!(self.given(name).is_some(), "default of `{name}`: {value}");
            let wanted = match value_range::<T>() {
                Some(range) => format!("write {range}: {}", parameter.summary),
                None => parameter.summary.to_owned(),
            };
            CaseError::invalid(name, value, wanted)
        })
    }

    /// The value of [`Parameter::SCALE`].
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for a magnitude above [`MAX_SCALE`].
    pub fn scale(&self) -> Result<i32, CaseError> {
        let Parameter { name, .. } = Parameter::SCALE;
        let scale: i32 = self.get(name)?;
        if scale.unsigned_abs() <= MAX_SCALE.unsigned_abs() {
            return Ok(scale);
        }
        let reason = format!("write a whole number from -{MAX_SCALE} to {MAX_SCALE}");
        Err(CaseError::invalid(name, scale, reason))
    }

    /// A seed. One that is a number is read as an `N`.
    ///
    /// # Errors
    ///
    /// As [`Values::get`].
    pub fn seed<N: FromStr + Into<u64>>(&self, name: &str) -> Result<Seed, CaseError> {
        if let Some(key) = self.given(name).and_then(Seed::key) {
            return Ok(key);
        }
        let number: N = self.get(name)?;
        Ok(Seed::Number(number.into()))
    }

    /// A seed, or `None` for the word `none`.
    ///
    /// # Errors
    ///
    /// [`CaseError::Invalid`] for what is neither.
    pub fn seed_or(&self, name: &str, none: &str) -> Result<Option<Seed>, CaseError> {
        let value: String = self.get(name)?;
        if value == none {
            return Ok(None);
        }
        if let Some(key) = Seed::key(&value) {
            return Ok(Some(key));
        }
        value
            .parse()
            .map(|number| Some(Seed::Number(number)))
            .map_err(|_| {
                let reason = format!("a number from 0 to 2^64 - 1, or `{none}`");
                CaseError::invalid(name, value, reason)
            })
    }
}

/// The texts that a type of numbers is read from.
fn value_range<T>() -> Option<&'static str> {
    Some(match std::any::type_name::<T>() {
        "u32" => "a whole number from 0 to 4294967295",
        "i32" => "a whole number",
        "u64" | "usize" => "a whole number from 0 to 2^64 - 1",
        "f32" | "f64" => "a number",
        _ => return None,
    })
}
