//! Submissions of the corpus, packed in one call: it asks the compilers once what they are.

use std::fs;
use std::path::Path;

use grading::lab_spec::LabSpec;
use grading::pack::job::PackProcesses;
use grading::pack::{Options, PackError};

use super::grading::DRAW;
use super::{Corpus, Submission};

/// Packs submissions of the corpus.
#[derive(Debug)]
pub struct Packing {
    processes: PackProcesses,
}

impl Packing {
    /// For the course in this folder.
    pub fn new(course_root: &Path) -> Packing {
        let mut options = Options::new(course_root.to_owned());
        // On a machine without Landlock, the other means must suffice.
        options.without_isolation = true;
        Packing {
            processes: PackProcesses::new(options),
        }
    }

    /// Packs a submission into a bundle. `Ok(Err(_))` says why it is refused.
    ///
    /// # Errors
    ///
    /// What the machine lacks; files that cannot be read or written.
    pub fn pack(
        &self,
        corpus: &Corpus,
        submission: &Submission,
        bundle: &Path,
    ) -> Result<Result<(), String>, String> {
        let lab_spec =
            LabSpec::read(&corpus.lab_file(submission)).map_err(|error| error.to_string())?;
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let folder = scratch.path().join("submission");
        corpus.write(submission, &folder)?;
        let file = scratch.path().join("packed.bundle");
        match self.processes.pack(&folder, &lab_spec, DRAW, &file, None) {
            Ok(_) => {}
            Err(PackError::Failure(failure)) => return Ok(Err(failure.message)),
            Err(error) => return Err(error.to_string()),
        }
        fs::copy(&file, bundle).map_err(|error| format!("{}: {error}", bundle.display()))?;
        Ok(Ok(()))
    }
}
