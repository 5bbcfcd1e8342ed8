//! Progress of long work, for whoever shows it.

/// Told how far a long computation is. Called from any thread.
pub trait Progress: Sync {
    /// `done` of `total` steps are done.
    fn update(&self, done: u64, total: u64);
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _done: u64, _total: u64) {}
}
