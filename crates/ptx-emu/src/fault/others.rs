//! The other threads of a fault, in words.

use std::fmt;

use super::kind::FaultKind;
use super::quantity::{Index, Threads};

/// The other threads of a fault, a line each.
pub(super) struct Others<'a>(pub(super) &'a FaultKind);

impl fmt::Display for Others<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FaultKind::Race {
                earlier, skipped, ..
            } => {
                write!(f, "\n  earlier {earlier}")?;
                match skipped {
                    Some(waiting) => write!(f, "\n  {waiting}; this thread has gone past it"),
                    None => Ok(()),
                }
            }
            FaultKind::StaleReadOnlyLoad {
                store,
                is_later: false,
                ..
            } => write!(f, "\n  earlier {store}"),
            FaultKind::StaleReadOnlyLoad { store, .. } => write!(f, "\n  later {store}"),
            FaultKind::CopyUnderWay {
                overwritten: Some(store),
                ..
            } => write!(f, "\n  overwritten by {store}"),
            FaultKind::CopyUnderWay {
                copy: Some(copy), ..
            } => write!(f, "\n  copy started at {}, {}", copy.place, copy.thread),
            FaultKind::Uninitialized {
                used: Some((used, place)),
                ..
            } => write!(f, "\n  at {place}, {used} it"),
            FaultKind::UnsetValue {
                loaded: Some(loaded),
                ..
            } => write!(f, "\n  last read of unwritten local memory at {loaded}"),
            FaultKind::DivergentBarrier {
                other,
                other_thread,
                ..
            } => {
                write!(f, "\n  other barrier at {other}, {other_thread}")
            }
            FaultKind::InactiveLanes {
                elsewhere: Some(elsewhere),
                ..
            } => write!(f, "\n  {elsewhere}"),
            FaultKind::Deadlock {
                waiting,
                exited,
                blocks,
            } => {
                for group in waiting {
                    write!(f, "\n  {group}")?;
                    if *blocks > 1 {
                        write!(f, " in block {}", Index(group.first.block))?;
                    }
                }
                match exited {
                    0 => Ok(()),
                    _ => write!(f, "\n  {} exited", Threads(*exited)),
                }
            }
            _ => Ok(()),
        }
    }
}
