//! What no submission needs, found in its tokens before any compiler sees them.
//!
//! Tokens, not syntax: what stands inside a macro's definition or arguments is looked at like all else, a name cannot be put
//! together inside a macro, and nesting costs no stack. Compilers run in a sandbox all the same; but a refusal here names
//! line and reason, and what is refused never runs.

mod files;
mod rules;
mod tokens;

use std::fmt;

pub use files::{Sources, read};

use super::PackError;
use crate::grade::kind::Kind;

/// The two files of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum File {
    /// Device code.
    Kernels,
    /// Host code.
    Launch,
}

impl File {
    /// Its name in the submission's folder.
    pub const fn name(self) -> &'static str {
        match self {
            File::Kernels => "kernels.rs",
            File::Launch => "launch.rs",
        }
    }
}

/// Something that a submission may not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Where.
    pub file: File,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What stands there.
    pub construct: String,
    /// Why it is refused.
    pub reason: &'static str,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line, column) = (self.file.name(), self.line, self.column);
        write!(
            f,
            "{file}:{line}:{column}: {}: {}",
            self.construct, self.reason
        )
    }
}

/// Looks at both files.
///
/// # Errors
///
/// The first thing that a submission may not use.
pub fn screen(sources: &Sources) -> Result<(), PackError> {
    for (file, text) in [
        (File::Kernels, &sources.kernels),
        (File::Launch, &sources.launch),
    ] {
        let refusal = match tokens::flatten(text) {
            Ok(tokens) => rules::first(file, &tokens),
            Err(tokens::Fault {
                line,
                column,
                too_deep,
            }) => {
                if !too_deep {
                    // rustc says what is wrong with it, better.
                    let message = format!(
                        "{}:{line}:{column}: this is not Rust: a bracket, quote or comment has no partner",
                        file.name()
                    );
                    return Err(PackError::refused(Kind::CompileError, message));
                }
                Some(Refusal {
                    file,
                    line,
                    column,
                    construct: format!("brackets more than {} deep", tokens::MAX_DEPTH),
                    reason: "the compiler could overflow its stack",
                })
            }
        };
        if let Some(refusal) = refusal {
            let message = refusal.to_string();
            return Err(PackError::refused(Kind::ForbiddenConstruct, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
