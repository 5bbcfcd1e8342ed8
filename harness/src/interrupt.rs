//! Ctrl-C leaves no half-written file or folder behind.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use crate::exit;

/// What to remove when the program is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file or folder that is not to outlive an interrupted program, until this is dropped.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Registers a path.
    pub fn new(path: &Path) -> Unfinished {
        static HANDLER: Once = Once::new();
        // A second handler cannot be set; without one, Ctrl-C still ends the program, only less tidily.
        HANDLER.call_once(|| drop(ctrlc::set_handler(end)));
        paths().push(path.to_owned());
        Unfinished {
            path: path.to_owned(),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        paths().retain(|path| *path != self.path);
    }
}

fn paths() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end() {
    for path in paths().iter() {
        // The other threads run on, and may add a file while their folder is removed. What cannot be removed in a few
        // tries stays.
        let removed = || {
            let result = if path.is_dir() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
            result.is_ok()
        };
        let _ = (0..10).any(|_| removed());
    }
    std::process::exit(exit::INTERRUPTED.into());
}
