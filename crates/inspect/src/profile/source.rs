//! The text of source lines.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Reads the sources that kernels were compiled from, each once.
///
/// The compiler names files relative to the workspace, so they are looked for in the working
/// folder, then in the workspace that this program was built in. Where a source cannot be read, its
/// lines have no text.
#[derive(Debug)]
pub struct Sources {
    roots: Vec<PathBuf>,
    files: HashMap<String, Vec<String>>,
}

impl Default for Sources {
    fn default() -> Sources {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Sources::in_folders([PathBuf::from("."), workspace])
    }
}

impl Sources {
    /// Sources in the first of these folders that has them.
    pub fn in_folders(roots: impl IntoIterator<Item = PathBuf>) -> Sources {
        Sources {
            roots: roots.into_iter().collect(),
            files: HashMap::new(),
        }
    }

    /// The text of a line, counted from 1, without the blanks around it.
    pub fn line(&mut self, file: &str, line: u32) -> Option<String> {
        let roots = &self.roots;
        let lines = self.files.entry(file.to_owned()).or_insert_with(|| {
            let read = |root: &PathBuf| std::fs::read_to_string(root.join(file)).ok();
            let text = roots.iter().find_map(read).unwrap_or_default();
            text.lines().map(|one| one.trim().to_owned()).collect()
        });
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        lines.get(index).filter(|text| !text.is_empty()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_folder_that_has_the_file() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        std::fs::write(second.path().join("a.rs"), "one\n    two {\n\n").unwrap();
        let folders = [first.path().to_owned(), second.path().to_owned()];
        let mut sources = Sources::in_folders(folders);
        assert_eq!(sources.line("a.rs", 2).as_deref(), Some("two {"));
        for (file, line) in [("a.rs", 0), ("a.rs", 3), ("a.rs", 9), ("b.rs", 1)] {
            assert_eq!(sources.line(file, line), None);
        }
    }
}
