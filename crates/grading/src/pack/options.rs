//! How to pack: folders, limits, protections.

use std::path::{MAIN_SEPARATOR, PathBuf};
use std::time::Duration;

use sandbox::{Finished, Layer, ResourceLimits};

use crate::outcome::{MAX_PRINTED_BYTES, bounded};

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// The course's root. Never a submission's folder: its crates would be built, and trusted.
    pub course_root: PathBuf,
    /// Where to keep what submissions are compiled against. By default cargo's target folder.
    pub cache: Option<PathBuf>,
    /// The limits of each compiler. For an honest text, rustc takes a second or two and half a
    /// gigabyte of address space.
    pub compile: ResourceLimits,
    /// The limits of recording, which takes milliseconds.
    pub record: ResourceLimits,
    /// Protections to do without, as on a machine that lacks them.
    pub without: Vec<Layer>,
    /// Whether to pack where nothing keeps submissions from files ([`Layer::Files`]): they can read
    /// the reference then. See [`Authors::need_no_isolation`].
    pub without_isolation: bool,
    /// Whether to record the cases that `harness perf` times, too.
    pub for_perf: bool,
    /// A folder of the caller's, where compilers and recorder work: who made it removes it,
    /// whatever becomes of this process. By default, folders where the system keeps temporary
    /// files.
    pub scratch: Option<PathBuf>,
}

/// Whose submissions are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authors {
    /// The user's, as far as anybody knows: one submission.
    Own,
    /// Those of others: a class.
    Others,
}

impl Authors {
    /// Whether these are packed where nothing keeps submissions from files: if `flag` says so. On a
    /// system that has no isolation at all, one's own work is tried without it, because there is
    /// nothing that the user could do, and no file that its author could not read anyway. The
    /// report says what was missing.
    pub fn need_no_isolation(self, flag: bool) -> bool {
        self.need_none_where(sandbox::HAS_ISOLATION, flag)
    }

    fn need_none_where(self, system_has_it: bool, flag: bool) -> bool {
        flag || self == Authors::Own && !system_has_it
    }
}

/// The file in [`Options::scratch`] that is there once hidden cases are recorded: from then on,
/// nothing may be told of a failure.
pub(super) const HIDDEN_BEGUN: &str = "hidden-cases-begun";

/// The file in [`Options::scratch`] that holds the text that the recorder has printed for known
/// cases.
pub(super) const PRINTED: &str = "printed.txt";

impl Options {
    /// Keeps what a recorder has printed, unless it knew hidden cases: inputs are printed too.
    pub(super) fn keep_printed(&self, finished: &Finished) {
        let Some(scratch) = &self.scratch else {
            return;
        };
        if scratch.join(HIDDEN_BEGUN).exists() {
            return;
        }
        let text = [&finished.stdout[..], &finished.stderr].concat();
        let text = self.within_course(&String::from_utf8_lossy(&text));
        // It is of use to its author alone.
        let _ = std::fs::write(scratch.join(PRINTED), bounded(text, MAX_PRINTED_BYTES));
    }

    /// The usual limits, for the course in this folder.
    pub fn new(course_root: PathBuf) -> Options {
        Options {
            course_root,
            cache: None,
            compile: ResourceLimits {
                wall: Duration::from_secs(120),
                cpu_s: 60,
                memory_bytes: 8 << 30,
                file_bytes: 256 << 20,
                open_files: 1024,
                output_bytes: 1 << 20,
            },
            record: ResourceLimits {
                wall: Duration::from_secs(20),
                cpu_s: 10,
                memory_bytes: 2 << 30,
                file_bytes: 256 << 20,
                open_files: 16,
                output_bytes: 64 << 10,
            },
            without: Vec::new(),
            without_isolation: false,
            for_perf: false,
            scratch: None,
        }
    }

    /// Where submissions' crates are compiled, and the built-in solutions' kernels in cargo's
    /// target folder.
    pub(super) fn cache_folder(&self) -> PathBuf {
        let cache = match &self.cache {
            Some(folder) => folder.clone(),
            None => std::env::var_os("CARGO_TARGET_DIR")
                .map_or_else(|| self.course_root.join("target"), PathBuf::from),
        };
        std::path::absolute(&cache).unwrap_or(cache)
    }

    /// A program's message, or PTX, with paths relative to the course: a submission's author has
    /// the course elsewhere.
    pub(super) fn within_course(&self, said: &str) -> String {
        let root = std::path::absolute(&self.course_root).unwrap_or_default();
        let mut said = said.to_owned();
        for path in [dunce::canonicalize(&root).ok(), Some(root)]
            .into_iter()
            .flatten()
        {
            said = said.replace(&format!("{}{MAIN_SEPARATOR}", path.display()), "");
        }
        said
    }

    /// The files that no submission may read: the course with its solutions, what was compiled of
    /// it, and this program, which holds both.
    pub(super) fn secrets(&self) -> Vec<PathBuf> {
        let mut secrets = vec![self.course_root.clone(), self.cache_folder()];
        secrets.extend(std::env::current_exe().ok());
        secrets
    }
}

#[cfg(test)]
mod tests {
    use super::Authors::{Others, Own};

    #[test]
    fn a_class_needs_the_flag_and_own_work_does_where_the_system_has_isolation() {
        let needs_none = |authors: super::Authors, system_has_it| {
            [false, true].map(|flag| authors.need_none_where(system_has_it, flag))
        };
        assert_eq!(needs_none(Own, true), [false, true]);
        assert_eq!(needs_none(Own, false), [true, true]);
        assert_eq!(needs_none(Others, true), [false, true]);
        assert_eq!(needs_none(Others, false), [false, true]);
    }
}
