//! Why a launch fails.
//!
//! Three kinds are kept apart: [`Fault::Program`], the kernel does something wrong;
//! [`Fault::Unsupported`], the kernel does something that is not modelled; [`Fault::Launch`], the
//! launch is not possible.
//!
//! - `kind`: what can be wrong with a program, and the message of each; `others`: the other threads
//!   of a fault;
//! - `access`: accesses; `stray`: where those go that are out of bounds; `threads`: threads, and
//!   how they stand to each other;
//! - `notes`: for what is allowed; `places`: the lines of a fault;
//! - `quantity`: numbers in words;
//! - `launch`: why a launch is not possible;
//! - `known`: faults that are known and left out.

mod access;
mod image;
mod kind;
mod known;
mod launch;
mod notes;
mod others;
mod places;
mod quantity;
mod stray;
mod threads;

pub use access::{Access, AccessKind, Lifetime, Location, UnsetUse};
pub use image::{ImageAccess, ImageProblem};
pub use kind::{FaultKind, ProductProblem};
pub use known::KnownFaults;
pub use launch::LaunchError;
pub(crate) use notes::FirstOf;
pub use notes::{EarlyExit, WidenedLoad};
pub use places::FaultPlace;
pub use stray::Stray;
pub use threads::{RaceAccess, RaceBetween, ThreadId, Waiting};

use crate::names::short_name;
use crate::position::CodePosition;
use others::Others;

/// Why a launch fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The program is wrong.
    #[error(transparent)]
    Program(Box<ProgramFault>),
    /// The program needs something that is not modelled.
    #[error(transparent)]
    Unsupported(Box<UnsupportedFault>),
    /// The launch is not possible.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// A fault, boxed to keep results small.
pub(crate) type Stop = Box<Fault>;

impl Fault {
    /// True for a data race, also with an asynchronous copy.
    pub(crate) fn is_race(&self) -> bool {
        let is_race = |kind: &FaultKind| {
            matches!(
                kind,
                FaultKind::Race { .. } | FaultKind::CopyUnderWay { .. }
            )
        };
        matches!(self, Self::Program(fault) if is_race(&fault.kind))
    }
}

/// A fault of a program, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {kind}\n  in kernel `{}` at {place}, {thread}{}", kind.name(), short_name(kernel), Others(kind))]
pub struct ProgramFault {
    /// The kernel launched.
    pub kernel: String,
    /// The thread, the first of those that did it together.
    pub thread: ThreadId,
    /// The instruction.
    pub place: CodePosition,
    /// The kind of the fault.
    pub kind: FaultKind,
}

/// An instruction that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not supported by the emulated device: {reason}\n  in kernel `{}` at {place}, {thread}",
    short_name(kernel)
)]
pub struct UnsupportedFault {
    /// The kernel launched.
    pub kernel: String,
    /// The first thread that reached it.
    pub thread: ThreadId,
    /// The instruction.
    pub place: CodePosition,
    /// The part that is not supported.
    pub reason: String,
}
