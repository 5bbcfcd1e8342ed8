//! The lab files of a course's folder, which an instructor edits.

use std::path::Path;

use super::{LabSpec, LabSpecError, embedded};

/// The lab file of a lab in the course in `root`, where it is not the one inside the program.
///
/// # Errors
///
/// The file cannot be read, or its first mistake.
///
/// # Panics
///
/// If the program has no such lab.
pub fn edited(root: &Path, lab: &str) -> Result<Option<LabSpec>, LabSpecError> {
    let path = root.join("labs").join(lab).join("lab.toml");
    if !path.is_file() {
        return Ok(None);
    }
    let own = embedded(lab).expect("the lab was found");
    let lab_spec = LabSpec::read(&path)?;
    if lab_spec.name != lab {
        return Err(LabSpecError::Invalid {
            file: lab_spec.file,
            line: 1,
            message: format!("is of lab `{}`, in the folder of `{lab}`", lab_spec.name),
        });
    }
    Ok((lab_spec.text != own.text).then_some(lab_spec))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_course_counts_where_it_differs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert!(edited(root, "matadd").unwrap().is_none());
        let file = root.join("labs/matadd/lab.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let own = &embedded("matadd").unwrap().text;
        fs::write(&file, own).unwrap();
        assert!(edited(root, "matadd").unwrap().is_none());
        fs::write(&file, format!("{own}\n# Of this year.\n")).unwrap();
        let lab_spec = edited(root, "matadd").unwrap().unwrap();
        assert_eq!(lab_spec.file, file.display().to_string());
        fs::write(&file, &embedded("wave2d").unwrap().text).unwrap();
        let error = edited(root, "matadd").unwrap_err().to_string();
        assert!(
            error.ends_with("lab.toml:1: is of lab `wave2d`, in the folder of `matadd`"),
            "{error}"
        );
        fs::write(&file, "x").unwrap();
        assert!(edited(root, "matadd").is_err());
    }
}
