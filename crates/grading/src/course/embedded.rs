//! The labs' own files, as they were when the program was built.

use std::sync::OnceLock;

use host::lab::CaseError;

use super::Course;

/// Name of the lab, path of its file in the source tree, text.
macro_rules! file {
    ($lab:literal) => {
        (
            $lab,
            concat!("labs/", $lab, "/lab.toml"),
            include_str!(concat!("../../../../labs/", $lab, "/lab.toml")),
        )
    };
}
/// Name, path and text of every lab's file. A new lab adds its line here.
static FILES: [(&str, &str, &str); 5] = [
    file!("wave2d"),
    file!("wave3d"),
    file!("poisson"),
    file!("matadd"),
    file!("membench"),
];

/// Lab, path in the source tree, and text of every lab's file.
pub fn embedded_files() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FILES.iter().copied()
}

/// What the lab of this name grades.
///
/// # Errors
///
/// [`CaseError::Unknown`], with the nearest name.
///
/// # Panics
///
/// If the file makes no sense, which the tests rule out.
pub fn embedded(lab: &str) -> Result<&'static Course, CaseError> {
    static COURSES: [OnceLock<Course>; FILES.len()] = [const { OnceLock::new() }; FILES.len()];
    let found = FILES.iter().position(|(name, ..)| *name == lab);
    let index = found
        .ok_or_else(|| CaseError::unknown("lab", lab, FILES.iter().map(|(name, ..)| *name)))?;
    Ok(COURSES[index].get_or_init(|| {
        let (_, file, text) = FILES[index];
        Course::parse(text, file).unwrap_or_else(|error| panic!("{error}"))
    }))
}
