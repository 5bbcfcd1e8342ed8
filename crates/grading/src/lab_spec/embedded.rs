//! The labs' own files, as they were when the program was built.

use std::sync::OnceLock;

use lab::CaseError;

use super::{Hints, LabSpec};

/// A lab's file: its name, its path in the source tree, its text, and what that says. The hints
/// beside it have the same.
struct File {
    lab: &'static str,
    path: &'static str,
    text: &'static str,
    lab_spec: OnceLock<LabSpec>,
    hints_path: &'static str,
    hints_text: &'static str,
    hints: OnceLock<Hints>,
}

macro_rules! file {
    ($lab:expr) => {
        File {
            lab: $lab,
            path: concat!("labs/", $lab, "/lab.toml"),
            text: include_str!(concat!("../../../../labs/", $lab, "/lab.toml")),
            lab_spec: OnceLock::new(),
            hints_path: concat!("labs/", $lab, "/hints.toml"),
            hints_text: include_str!(concat!("../../../../labs/", $lab, "/hints.toml")),
            hints: OnceLock::new(),
        }
    };
}

macro_rules! files {
    ($($lab:ident::$type:ident,)*) => {
        static FILES: [File; [$(stringify!($lab)),*].len()] = [$(file!(stringify!($lab))),*];
    };
}

plan::labs!(files);

macro_rules! files_of_sequels {
    ($($name:literal,)*) => {
        static OF_SEQUELS: [File; [$($name),*].len()] = [$(file!($name)),*];
    };
}

plan::sequels!(files_of_sequels);

fn files() -> impl Iterator<Item = &'static File> {
    FILES.iter().chain(&OF_SEQUELS)
}

/// The names of what students are graded in: all labs, and after them the sequels, which go on with
/// another lab's problem.
pub fn names() -> impl Iterator<Item = &'static str> {
    files().map(|file| file.lab)
}

/// Lab, path in the source tree, and text of every lab's file.
pub fn embedded_files() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FILES.iter().map(|file| (file.lab, file.path, file.text))
}

/// The lab file of the lab or sequel of this name.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
///
/// # Panics
///
/// If the file makes no sense, which the tests rule out.
pub fn embedded(lab: &str) -> Result<&'static LabSpec, CaseError> {
    let file = find(lab)?;
    let parse = || LabSpec::parse(file.text, file.path).unwrap_or_else(|error| panic!("{error}"));
    Ok(file.lab_spec.get_or_init(parse))
}

/// The hints of the lab or sequel of this name.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
///
/// # Panics
///
/// If the file makes no sense, which the tests rule out.
pub fn embedded_hints(lab: &str) -> Result<&'static Hints, CaseError> {
    let file = find(lab)?;
    let lab_spec = embedded(lab)?;
    let parse = || Hints::parse(file.hints_text, file.hints_path, lab_spec);
    let parse = || parse().unwrap_or_else(|error| panic!("{error}"));
    Ok(file.hints.get_or_init(parse))
}

fn find(lab: &str) -> Result<&'static File, CaseError> {
    let file = files().find(|file| file.lab == lab);
    file.ok_or_else(|| CaseError::unknown("lab", lab, names()))
}
