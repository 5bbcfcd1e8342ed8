//! Files that appear together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::OutputFile;
use crate::error::{OutputError, not_written};
use crate::growing_folder::MadeFolder;
use crate::interrupt::hold_signals;

/// New and changed files. All get their names, or none, also if a signal ends the program: once the
/// first file has its name, the signal waits for the last. The files may be source.
#[derive(Debug, Default)]
pub struct OutputFiles {
    files: Vec<OutputFile>,
    // After the files: a folder goes when it is empty, the innermost first.
    folders: Vec<MadeFolder>,
}

impl OutputFiles {
    /// Prepares a file with this text, and the folders that it needs.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`], typically because the disk is full.
    pub fn add(&mut self, target: &Path, text: &str) -> Result<(), OutputError> {
        let failed = |error: io::Error| not_written(target, error);
        if target.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let folder = target.parent().unwrap_or(Path::new("."));
        let missing: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|folder| !folder.exists())
            .map(Path::to_owned)
            .collect();
        for above in missing.into_iter().rev() {
            let made = MadeFolder::make(&above).map_err(|error| not_written(&above, error))?;
            self.folders.insert(0, made);
        }
        let mut file = OutputFile::beside(folder, target).map_err(failed)?;
        file.put(text.as_bytes())?;
        self.files.push(file);
        Ok(())
    }

    /// Gives all files their names.
    ///
    /// # Errors
    ///
    /// [`OutputError::NotWritten`] if one cannot get it. The others' are taken back.
    pub fn finish(self) -> Result<(), OutputError> {
        let OutputFiles { files, folders } = self;
        let mut files = files.into_iter();
        let mut named: Vec<(PathBuf, Option<Vec<u8>>)> = Vec::new();
        let mut over = Vec::new();
        let held = hold_signals();
        let mut result = Ok(());
        for file in &mut files {
            let target = file.target().to_owned();
            let old = fs::read(&target).ok();
            let (ended, unfinished) = file.name();
            over.push(unfinished);
            if let Err(error) = ended {
                result = Err(error);
                break;
            }
            named.push((target, old));
        }
        if result.is_err() {
            for (target, old) in named {
                // If the disk is full, an old text may not find its way back.
                let _ = match old {
                    Some(old) => fs::write(&target, old),
                    None => fs::remove_file(&target),
                };
            }
        }
        // To drop one of the others takes what is held.
        drop(held);
        drop((over, files, folders));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::names;

    #[test]
    fn all_have_their_names_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("list"), "old").unwrap();
        let add = |files: &mut OutputFiles| {
            files.add(&at("a/b/new"), "text").unwrap();
            files.add(&at("list"), "new").unwrap();
            files.add(&at("a/third"), "text").unwrap();
            files.add(&at("a/last"), "text").unwrap();
        };
        let mut dropped = OutputFiles::default();
        add(&mut dropped);
        drop(dropped);
        assert_eq!(names(folder.path()), ["list"]);

        let mut failing = OutputFiles::default();
        add(&mut failing);
        // Nothing gets the name of a folder that holds something.
        fs::create_dir_all(at("a/third/x")).unwrap();
        let failure = failing.finish().unwrap_err().to_string();
        assert!(failure.contains("a/third: "), "{failure}");
        assert_eq!(fs::read_to_string(at("list")).unwrap(), "old");
        fs::remove_dir_all(at("a")).unwrap();
        assert_eq!(names(folder.path()), ["list"]);

        let mut files = OutputFiles::default();
        add(&mut files);
        files.finish().unwrap();
        assert_eq!(fs::read_to_string(at("list")).unwrap(), "new");
        assert_eq!(fs::read_to_string(at("a/b/new")).unwrap(), "text");
        assert_eq!(names(&at("a")), ["b", "last", "third"]);
    }

    #[test]
    fn a_file_that_cannot_be_made_takes_the_others_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = OutputFiles::default();
        files.add(&folder.path().join("a/new"), "text").unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        let failure = files.add(&folder.path().join("taken"), "").unwrap_err();
        assert!(failure.to_string().contains("is a directory"), "{failure}");
        drop(files);
        assert_eq!(names(folder.path()), ["taken"]);
    }
}
