//! The things that a page shows and that no recording has.

use std::fs;
use std::path::Path;

/// The things that a page shows and that no recording has.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The text of a file of source, by the path that the program has of it. It becomes part of the
    /// page: where the program's author may be another than the page's reader, no more than the
    /// files that are known to be the program's.
    pub text: &'a dyn Fn(&str) -> Option<String>,
    /// The axes of a buffer by its name, each with its extent, the fastest-varying first; none of a
    /// line.
    pub axes: &'a dyn Fn(&str) -> Vec<(String, u64)>,
}

impl Facts<'static> {
    /// Those of a program of this machine: its sources are where it says that they are, and its
    /// buffers are lines.
    pub const LOCAL: Facts<'static> = Facts {
        text: &|path| std::fs::read_to_string(path).ok(),
        axes: &|_| Vec::new(),
    };
}

/// The text of a file of source, in the first of these folders that has it: a compiler knows the
/// files of a submission, or of a course, by their names in its folder.
pub fn source(folders: &[&Path], name: &str) -> Option<String> {
    let mut folders = folders.iter();
    folders.find_map(|folder| fs::read_to_string(folder.join(name)).ok())
}

impl std::fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Facts").finish_non_exhaustive()
    }
}
