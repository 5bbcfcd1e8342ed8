//! The submissions, and their source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::expectation::ExpectedVerdict;
use crate::grade::Kind;

/// A folder laid out like `tests/submissions`.
#[derive(Debug, Clone)]
pub struct Corpus {
    root: PathBuf,
}

/// A submission's side of the corpus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Must earn nothing by its trick.
    #[default]
    Hostile,
    /// Must earn everything.
    Honest,
}

impl Side {
    /// The name of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Side::Hostile => "hostile",
            Side::Honest => "honest",
        }
    }
}

/// A submission with its expectation: a table of one of the corpus' TOML files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submission {
    /// The table's name, unique in the corpus.
    #[serde(skip)]
    pub name: String,
    /// The submission's side.
    #[serde(skip)]
    pub side: Side,
    /// The name of the file that its table is in, without `.toml`.
    #[serde(skip)]
    pub subject: String,
    /// The submission's trick or peculiarity.
    pub about: String,
    /// The lab.
    pub lab: String,
    /// The folder of `programs/` that the edits change. Default: the lab's name.
    base: Option<String>,
    /// The differences from the base, in order.
    #[serde(default)]
    edits: Vec<Edit>,
    /// Other files in its folder, by name.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// The file of `labs/`, without `.toml`, for its grade. Default: the lab's name.
    lab_file: Option<String>,
    /// The expected verdict.
    pub verdict: ExpectedVerdict,
    /// Another verdict that is allowed for its large cases on a GPU. The emulated device executes
    /// only some of their blocks, and a GPU shows the same fault in another way. For an undecided
    /// submission, this is the verdict on its cases on a GPU. `passes`: it may be right there.
    pub cuda: Option<ExpectedVerdict>,
    /// The cases that fail. Default: all.
    pub cases: Option<Vec<String>>,
    /// A part of the failure's message. A GPU's deadline has no reason: the part is not expected
    /// there.
    pub message: Option<String>,
}

/// A replacement in a source file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    file: SourceFile,
    /// The text to replace. It occurs exactly once in the file after the earlier edits.
    find: String,
    replace: String,
}

/// The source files of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum SourceFile {
    #[serde(rename = "kernels.rs")]
    Kernels,
    #[serde(rename = "launch.rs")]
    Launch,
}

impl SourceFile {
    const fn name(self) -> &'static str {
        match self {
            SourceFile::Kernels => "kernels.rs",
            SourceFile::Launch => "launch.rs",
        }
    }
}

impl Submission {
    /// Whether its threads race, or its results depend on their order.
    pub fn is_racy(&self) -> bool {
        self.side == Side::Hostile && (self.subject == "orders" || self.verdict.may_be(Kind::Race))
    }
}

impl Corpus {
    /// A corpus in this folder.
    pub fn at(root: impl Into<PathBuf>) -> Corpus {
        Corpus { root: root.into() }
    }

    /// The project's own.
    pub fn of_the_project() -> Corpus {
        Corpus::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("submissions"))
    }

    /// The folder of its programs.
    pub fn programs(&self) -> PathBuf {
        self.root.join("programs")
    }

    /// The submissions, hostile ones first, each side by name.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, a malformed table, or a name that occurs twice.
    pub fn submissions(&self) -> Result<Vec<Submission>, String> {
        let mut all = BTreeMap::new();
        for side in [Side::Hostile, Side::Honest] {
            for file in self.toml_files(side.name())? {
                let text = fs::read_to_string(&file).map_err(|error| at(&file, error))?;
                let subject = file
                    .file_stem()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let tables: BTreeMap<String, Submission> =
                    toml::from_str(&text).map_err(|error| at(&file, error))?;
                for (name, mut submission) in tables {
                    submission.name.clone_from(&name);
                    submission.side = side;
                    submission.subject = subject.clone();
                    if let Some(other) = all.insert(name, submission) {
                        let error = format!("`{}` is another submission's name too", other.name);
                        return Err(at(&file, error));
                    }
                }
            }
        }
        let mut all: Vec<Submission> = all.into_values().collect();
        all.sort_by_key(|submission| submission.side);
        Ok(all)
    }

    /// The TOML files of one of its folders, by name.
    fn toml_files(&self, folder: &str) -> Result<Vec<PathBuf>, String> {
        let folder = self.root.join(folder);
        let entries = fs::read_dir(&folder).map_err(|error| at(&folder, error))?;
        let mut files = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| at(&folder, error))?;
        files.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        });
        files.sort();
        Ok(files)
    }

    /// The lab file for a submission's grade.
    pub fn lab_file(&self, submission: &Submission) -> PathBuf {
        let name = submission.lab_file.as_ref().unwrap_or(&submission.lab);
        self.root.join("labs").join(name).with_extension("toml")
    }

    /// The path of a submission's bundle in a packed corpus.
    pub fn bundle(&self, submission: &Submission) -> PathBuf {
        let name = format!("{}.bundle", submission.name);
        self.root.join("bundles").join(name)
    }

    /// The files of a submission's folder, by name: those of its base with its edits, and its other
    /// files.
    ///
    /// # Errors
    ///
    /// A file that cannot be read; an edit whose `find` does not occur exactly once.
    pub fn sources(&self, submission: &Submission) -> Result<BTreeMap<String, String>, String> {
        let base = submission.base.as_ref().unwrap_or(&submission.lab);
        let folder = self.programs().join(base);
        let mut files = submission.files.clone();
        for file in [SourceFile::Kernels, SourceFile::Launch] {
            let path = folder.join(file.name());
            let mut text = fs::read_to_string(&path).map_err(|error| at(&path, error))?;
            for edit in submission.edits.iter().filter(|edit| edit.file == file) {
                text = edit.apply(&text).map_err(|error| {
                    format!("{}/{}: {error}", submission.side.name(), submission.name)
                })?;
            }
            files.insert(file.name().to_owned(), text);
        }
        Ok(files)
    }

    /// Writes a submission's folder.
    ///
    /// # Errors
    ///
    /// As [`Corpus::sources`], and a file that cannot be written.
    pub fn write(&self, submission: &Submission, folder: &Path) -> Result<(), String> {
        fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        for (name, text) in self.sources(submission)? {
            let path = folder.join(name);
            fs::write(&path, text).map_err(|error| at(&path, error))?;
        }
        Ok(())
    }

    /// Copies everything except the programs, for a packed corpus.
    ///
    /// # Errors
    ///
    /// A file that cannot be copied.
    pub fn copy_expectations(&self, target: &Path) -> Result<(), String> {
        for folder in ["labs", Side::Hostile.name(), Side::Honest.name()] {
            let to = target.join(folder);
            fs::create_dir_all(&to).map_err(|error| at(&to, error))?;
            for file in self.toml_files(folder)? {
                let to = to.join(file.file_name().unwrap_or_default());
                fs::copy(&file, to).map_err(|error| at(&file, error))?;
            }
        }
        Ok(())
    }
}

impl Edit {
    fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(format!(
                "an edit of {} matches {count} times instead of once: find = {:?}",
                self.file.name(),
                self.find
            )),
        }
    }
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A corpus whose only program has these kernels, with these tables of honest submissions.
    fn corpus(kernels: &str, tables: &str) -> (tempfile::TempDir, Corpus) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("programs/matadd/kernels.rs", kernels),
            ("programs/matadd/launch.rs", "launch"),
            ("hostile/none.toml", ""),
            ("honest/some.toml", tables),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let corpus = Corpus::at(folder.path());
        (folder, corpus)
    }

    fn edited(kernels: &str, edits: &str) -> Result<String, String> {
        let table = format!(
            "[one]\nabout = \"\"\nlab = \"matadd\"\nverdict = \"passes\"\nedits = [{edits}]"
        );
        let (_folder, corpus) = corpus(kernels, &table);
        let submissions = corpus.submissions()?;
        Ok(corpus
            .sources(&submissions[0])?
            .remove("kernels.rs")
            .unwrap())
    }

    #[test]
    fn edits_are_made_in_order() {
        let edits = r#"{ file = "kernels.rs", find = "a", replace = "bc" },
                       { file = "kernels.rs", find = "c", replace = "d" }"#;
        assert_eq!(edited("1 a 2", edits).unwrap(), "1 bd 2");
    }

    #[test]
    fn an_edit_that_does_not_match_exactly_once_is_named() {
        let edit = r#"{ file = "kernels.rs", find = "a\nb", replace = "" }"#;
        insta::assert_snapshot!(edited("c", edit).unwrap_err(), @r#"honest/one: an edit of kernels.rs matches 0 times instead of once: find = "a\nb""#);
        insta::assert_snapshot!(edited("a\nb a\nb", edit).unwrap_err(), @r#"honest/one: an edit of kernels.rs matches 2 times instead of once: find = "a\nb""#);
        let misnamed = r#"{ file = "kernel.rs", find = "a", replace = "" }"#;
        let error = edited("a", misnamed).unwrap_err();
        assert!(
            error.contains("some.toml: TOML parse error at line 5"),
            "{error}"
        );
    }

    #[test]
    fn names_are_unique() {
        let table = "[one]\nabout = \"\"\nlab = \"matadd\"\nverdict = \"passes\"";
        let (folder, corpus) = corpus("", table);
        fs::write(folder.path().join("hostile/same.toml"), table).unwrap();
        let error = corpus.submissions().unwrap_err();
        assert!(error.ends_with("honest/some.toml: `one` is another submission's name too"));
    }
}
