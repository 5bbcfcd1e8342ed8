//! Flags that several labs have, and messages that name them.

use std::io::ErrorKind;
use std::path::Path;

use host::lab::CaseError;

use crate::failure::Failure;

/// A number from 1 on.
pub fn at_least_1() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// The error with the flag that gave the value: parameters are called as their flags are.
pub fn of_flag(error: CaseError) -> Failure {
    match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } => Failure::Input(format!("--{name} {value}: {reason}")),
        other => other.into(),
    }
}

/// Makes the folder that `flag` named, and those above it, unless they are there.
///
/// # Errors
///
/// [`Failure::Input`] if it cannot be made.
pub fn create_folder(flag: &str, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                "a file is in its place".to_owned()
            }
            kind => kind.to_string(),
        };
        Failure::Input(format!(
            "{flag} {}: the folder cannot be made: {reason}; name a place that can be written",
            folder.display(),
        ))
    })
}
