//! Ctrl-C: a program that it ends leaves no half-written file or folder behind, and can save what is finished.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// The exit code of an interrupted program: 128 + SIGINT, as shells have it.
pub const EXIT_CODE: u8 = 130;

/// What to remove when the program is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// What to do before that.
static LAST_ACT: Mutex<Option<LastAct>> = Mutex::new(None);

type LastAct = Box<dyn FnOnce() + Send>;

/// Something to be done if the program is interrupted before this is dropped.
#[derive(Debug)]
pub struct OnInterrupt(());

impl OnInterrupt {
    /// Registers the act; there is only one. It runs in another thread, while the rest of the program runs on: what they share
    /// is under a lock.
    pub fn new(act: impl FnOnce() + Send + 'static) -> OnInterrupt {
        set_handler();
        *LAST_ACT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
        OnInterrupt(())
    }
}

impl Drop for OnInterrupt {
    fn drop(&mut self) {
        *LAST_ACT.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A file or folder that is not to outlive an interrupted program, until this is dropped.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Registers a path.
    pub fn new(path: &Path) -> Unfinished {
        set_handler();
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

fn set_handler() {
    static HANDLER: Once = Once::new();
    // A second handler cannot be set; without one, Ctrl-C still ends the program, only less tidily.
    HANDLER.call_once(|| drop(ctrlc::set_handler(end)));
}

fn end() {
    let act = LAST_ACT
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(act) = act {
        act();
    }
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
    std::process::exit(EXIT_CODE.into());
}
