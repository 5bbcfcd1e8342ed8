//! Where an instruction stands: in the PTX text, and in the source it was compiled from.

use std::fmt;
use std::sync::Arc;

use ptx::{Inst, Program, SourceLoc};

/// A position in the Rust (or CUDA) source, from `.loc`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePosition {
    /// Path as the compiler wrote it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 where the compiler knows none.
    pub column: u32,
}

impl fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The position of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// The source line it comes from. Of code that was inlined out of a library (`core`, `cuda_std`), the line of the
    /// caller's that it was inlined into.
    pub source: Option<SourcePosition>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source} (PTX line {})", self.ptx_line),
            None => write!(f, "PTX line {}", self.ptx_line),
        }
    }
}

/// Paths that a user of the course did not write.
const LIBRARIES: [&str; 4] = [
    "/rustlib/src/",
    "/library/core/",
    "/rustc/",
    "cuda_std/src/",
];

fn is_library(path: &str) -> bool {
    LIBRARIES.iter().any(|library| path.contains(library))
}

/// The position of an instruction of a program.
pub(crate) fn place(program: &Program, inst: &Inst) -> Place {
    let mut best: Option<(&SourceLoc, &str)> = None;
    let mut next = inst.loc;
    while let Some(id) = next {
        let loc = program.loc(id);
        if let Some(path) = program.file(loc.file)
            && loc.line != 0
        {
            best = Some((loc, path));
            if !is_library(path) {
                break;
            }
        }
        next = loc.inlined_at;
    }
    let source = best.map(|(loc, path)| SourcePosition {
        file: path.into(),
        line: loc.line,
        column: loc.column,
    });
    Place {
        ptx_line: inst.pos.line,
        source,
    }
}
