//! The places that `harness new-lab` leaves to be filled.

use std::fs;
use std::path::{Path, PathBuf};

use exit::CommandError;
use output_files::input::text;
use units::count;

/// Marks such a place.
pub const TODO: &str = "TODO(lab)";

/// Fails with file and line of each place that is left in a lab's files.
///
/// # Errors
///
/// [`CommandError::Wrong`].
pub fn none_left(root: &Path, lab: &str) -> Result<String, CommandError> {
    let modules = ["crates/plan/src", "kernels-gpu/src", "host/src"];
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in modules.map(|folder| root.join(folder)) {
        paths.extend([folder.join(format!("{lab}.rs")), folder.join(lab)]);
    }
    paths.extend(["kernels-gpu/solutions", "labs"].map(|folder| root.join(folder).join(lab)));
    let (mut files, mut left) = (0, Vec::new());
    while let Some(path) = paths.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            paths.extend(entries.flatten().map(|entry| entry.path()));
            continue;
        }
        let Ok(text) = text(&path) else {
            continue;
        };
        files += 1;
        let shown = path.strip_prefix(root).unwrap_or(&path).display();
        let lines = text.lines().enumerate();
        left.extend(lines.filter_map(|(line, content)| {
            let (_, what) = content.split_once(TODO)?;
            let what = what.trim_start_matches(':').trim_end_matches("-->").trim();
            Some((format!("{shown}"), line + 1, what.to_owned()))
        }));
    }
    if left.is_empty() {
        return Ok(format!("none in {}", count(files, "file")));
    }
    left.sort();
    let lines = left
        .iter()
        .map(|(file, line, what)| format!("\n{file}:{line}: {what}"));
    let places = count(left.len(), "place");
    let lines: String = lines.collect();
    Err(CommandError::Wrong(format!("{places} left to fill{lines}")))
}
