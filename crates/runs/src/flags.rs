//! Flags that several labs have, and messages that name them.

use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

use lab::CaseError;

use exit::CommandError;

/// A number from 1 on.
pub fn at_least_1() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}

/// `N` numbers with commas between them: `256,256,64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents<const N: usize>(pub [u32; N]);

impl<const N: usize> FromStr for Extents<N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Extents<N>, String> {
        let extents = extents(text, N)?;
        Ok(Extents(
            extents.try_into().expect("as many as were asked for"),
        ))
    }
}

/// So many numbers with commas between them.
pub fn extents(text: &str, axes: usize) -> Result<Vec<u32>, String> {
    let extents: Option<Vec<u32>> = text
        .split(',')
        .map(|part| part.trim().parse().ok())
        .collect();
    extents
        .filter(|extents| extents.len() == axes)
        .ok_or_else(|| format!("write {axes} numbers: {}", vec!["64"; axes].join(",")))
}

/// One text for each of several parameters: with commas between them, or a single one for all.
pub fn for_each(text: &str, of: usize) -> Result<Vec<String>, String> {
    let parts: Vec<String> = text.split(',').map(|part| part.trim().to_owned()).collect();
    match parts.as_slice() {
        [all] => Ok(vec![all.clone(); of]),
        _ if parts.len() == of => Ok(parts),
        _ => Err(format!("write one value, or {of} with commas between them")),
    }
}

/// A name that lives as long as the program, as clap wants names. A command line is made once.
pub fn kept(name: String) -> &'static str {
    Box::leak(name.into_boxed_str())
}

/// A summary as texts of help begin.
pub fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next();
    first.map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// The error with the flag that gave the value: parameters have the names of their flags.
pub fn of_flag(error: CaseError) -> CommandError {
    match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } => {
            let flag = name.replace('_', "-");
            CommandError::Input(format!("--{flag} {value}: {reason}"))
        }
        other => other.into(),
    }
}

/// Creates the folder that `--out` named, and those above it, unless they are there.
///
/// # Errors
///
/// [`CommandError::Input`] if it cannot be created.
pub fn create_folder(folder: &Path) -> Result<(), CommandError> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                "a file is in its place".to_owned()
            }
            kind => kind.to_string(),
        };
        CommandError::Input(format!(
            "--out {}: cannot create the folder: {reason}; name a place that can be written",
            folder.display(),
        ))
    })
}
