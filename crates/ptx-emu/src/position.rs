//! Where an instruction stands: in the PTX text, and in the source it was compiled from.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use ptx::{Program, SourceLoc, SourceLocId};

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
pub struct CodePosition {
    /// Line of the PTX text, from 1.
    pub ptx_line: u32,
    /// The source line it comes from. Of code that was inlined out of a library (`core`,
    /// `cuda_std`), the line of the caller's that it was inlined into.
    pub source: Option<SourcePosition>,
    /// The line of the kernel from which that code is called, if it was inlined out of another
    /// function.
    pub called_at: Option<SourcePosition>,
    /// If nothing of that is known: the last line before it that is, if control cannot come from
    /// elsewhere, else the next one that control must reach, else the last one in the function.
    pub near: Option<SourcePosition>,
    /// Whether control that reaches the instruction runs `near`, too.
    pub runs_near: bool,
}

impl CodePosition {
    /// The line that answers for the instruction: its own, or one that runs with it.
    pub fn line(&self) -> Option<&SourcePosition> {
        let near = self.near.as_ref().filter(|_| self.runs_near);
        self.source.as_ref().or(near)
    }

    /// Takes the source line that the program itself states, unless it is a library's.
    pub(crate) fn state(&mut self, file: String, line: u32) {
        let is_same = |source: &SourcePosition| source.line == line;
        if line == 0 || is_library(&file) || self.source.as_ref().is_some_and(is_same) {
            return;
        }
        let stated = SourcePosition {
            file: file.into(),
            line,
            column: 0,
        };
        self.source = Some(stated);
        (self.called_at, self.near, self.runs_near) = (None, None, false);
    }

    /// True for code that the user did not write, and for code without a source position.
    pub(crate) fn is_in_library(&self) -> bool {
        self.source
            .as_ref()
            .is_none_or(|source| is_library(&source.file))
    }
}

impl fmt::Display for CodePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.ptx_line;
        match (&self.source, &self.called_at) {
            (None, _) => {
                write!(f, "PTX line {line}")?;
                match &self.near {
                    Some(near) => write!(f, " (near {near})"),
                    None => Ok(()),
                }
            }
            (Some(source), None) => write!(f, "{source} (PTX line {line})"),
            (Some(source), Some(caller)) => {
                write!(f, "{source}, called at {caller} (PTX line {line})")
            }
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

/// Makes the positions of a program's instructions, each source position once.
pub(crate) struct Positions<'p> {
    program: &'p Program,
    known: HashMap<SourceLocId, [Option<SourcePosition>; 2]>,
    /// The last line of the running function, of the user's own code if there was any.
    last: Option<SourcePosition>,
    /// The last such line since the last place to which a branch leads.
    last_passed: Option<SourcePosition>,
}

impl<'p> Positions<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Self {
            program,
            known: HashMap::new(),
            last: None,
            last_passed: None,
        }
    }

    /// Begins the next function.
    pub(crate) fn enter_function(&mut self) {
        self.last = None;
        self.pass_target();
    }

    /// Passes a place to which a branch leads: control need not come from above.
    pub(crate) fn pass_target(&mut self) {
        self.last_passed = None;
    }

    /// The position of an instruction at a line of the PTX text, with the last `.loc` before it.
    pub(crate) fn of(&mut self, ptx_line: u32, loc: Option<SourceLocId>) -> CodePosition {
        let program = self.program;
        let known = loc.map(|id| self.known.entry(id).or_insert_with(|| source(program, id)));
        let [source, called_at] = known.cloned().unwrap_or_default();
        if let Some(source) = &source {
            for last in [&mut self.last, &mut self.last_passed] {
                if last.is_none() || !is_library(&source.file) {
                    *last = Some(source.clone());
                }
            }
        }
        let near = self
            .last_passed
            .as_ref()
            .or(self.last.as_ref())
            .filter(|_| source.is_none())
            .cloned();
        CodePosition {
            ptx_line,
            source,
            called_at,
            runs_near: near.is_some() && self.last_passed.is_some(),
            near,
        }
    }
}

/// Gives instructions that have no line before them the next one that control must reach. Each
/// position comes with whether control may go elsewhere from there, and come from elsewhere.
pub(crate) fn look_ahead<'i>(
    positions: impl DoubleEndedIterator<Item = (&'i mut CodePosition, bool, bool)>,
) {
    let mut next: Option<SourcePosition> = None;
    for (position, leaves, is_target) in positions.rev() {
        if leaves {
            next = None;
        }
        if let Some(source) = &position.source {
            next = Some(source.clone());
        } else if let (false, Some(next)) = (position.runs_near, &next) {
            (position.near, position.runs_near) = (Some(next.clone()), true);
        }
        if is_target {
            next = None;
        }
    }
}

/// The source line of a `.loc`, and the line of the kernel that calls that code.
fn source(program: &Program, id: SourceLocId) -> [Option<SourcePosition>; 2] {
    let mut source: Option<(&SourceLoc, &str)> = None;
    let mut outermost = None;
    let mut next = Some(id);
    while let Some(at) = next {
        let loc = program.loc(at);
        if let Some(path) = program.file(loc.file)
            && loc.line != 0
        {
            if source.is_none_or(|(_, known)| is_library(known)) {
                source = Some((loc, path));
            }
            outermost = Some((loc, path));
        }
        next = loc.inlined_at;
    }
    let position = |(loc, path): (&SourceLoc, &str)| SourcePosition {
        file: path.into(),
        line: loc.line,
        column: loc.column,
    };
    let source = source.map(position);
    let is_other = |at: &SourcePosition| {
        source
            .as_ref()
            .is_some_and(|source| (&source.file, source.line) != (&at.file, at.line))
    };
    let called_at = outermost.map(position).filter(is_other);
    [source, called_at]
}
