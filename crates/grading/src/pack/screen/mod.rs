//! A submission's files: read with care, since they may be anything, and searched for what no
//! submission needs, in their tokens, before any compiler sees them.
//!
//! Tokens, not syntax: what stands inside a macro's definition or arguments is looked at like all
//! else, a name cannot be put together inside a macro, and nesting costs no stack. Compilers run in
//! a sandbox all the same; but a refusal here names line and reason, and what is refused never
//! runs. What tokens cannot show, a name or mark that a macro is given, is looked for in the text
//! after macro expansion (`expansion`).

mod absent;
mod expansion;
mod rules;
#[cfg(test)]
mod tests;
pub mod tokens;

use std::fs;
use std::io::Read;
use std::path::Path;

use tokens::{TokenError, TokenKind};

pub use absent::absent;
pub use expansion::{Machine, expanded};

use super::PackError;
use crate::outcome::{Kind, fail};

/// The file of device code.
const KERNELS: &str = "kernels.rs";
/// The file of host code.
const LAUNCH: &str = "launch.rs";

const FILES: &str =
    "a submission is a folder with kernels.rs (device code) and launch.rs (host code)";

/// The largest file: the longest built-in one has a tenth of it.
const MAX_BYTES: u64 = 256 << 10;

/// The text of both files.
#[derive(Debug, Clone)]
pub struct Sources {
    /// Of `kernels.rs`.
    pub kernels: String,
    /// Of `launch.rs`.
    pub launch: String,
}

impl Sources {
    /// Reads the submission in folder `dir`, and looks for what it may not use. Anything else in
    /// the folder is ignored.
    ///
    /// # Errors
    ///
    /// [`PackError::Failure`]: a missing file, one that is not plain text, or the first refused
    /// construct.
    pub fn read(dir: &Path) -> Result<Sources, PackError> {
        let sources = read(dir)?;
        screen(&sources)?;
        Ok(sources)
    }

    /// Finds out whether both files are there, as text, which takes no time and no compiler.
    ///
    /// # Errors
    ///
    /// [`PackError::Failure`]: a missing file, or one that is not plain text.
    pub fn are_there(dir: &Path) -> Result<(), PackError> {
        read(dir).map(drop)
    }

    /// Whether the kernels may need a newer device than most: they name a compute capability, as
    /// `#[kernel(capability = "9.0")]` does, or a target feature.
    pub fn names_capability(&self) -> bool {
        self.has_name("capability") || self.asks_for_device()
    }

    /// Whether code may differ by the device that it is compiled for: it names a target feature.
    pub fn asks_for_device(&self) -> bool {
        self.has_name("target_feature")
    }

    /// Whether the kernels' source has this name.
    fn has_name(&self, name: &str) -> bool {
        let is_it = |kind: &TokenKind| matches!(kind, TokenKind::Name(own) if own == name);
        let tokens = tokens::flatten(&self.kernels, tokens::MAX_DEPTH).unwrap_or_default();
        tokens.iter().any(|token| is_it(&token.kind))
    }
}

fn read(dir: &Path) -> Result<Sources, PackError> {
    if !dir.is_dir() {
        let what = if dir.exists() {
            "is not a folder"
        } else {
            "is not there"
        };
        let dir = dir.display();
        fail!(Kind::MissingFile, "{dir}: {what}; {FILES}");
    }
    Ok(Sources {
        kernels: text(dir, KERNELS)?,
        launch: text(dir, LAUNCH)?,
    })
}

fn text(dir: &Path, name: &str) -> Result<String, PackError> {
    let path = dir.join(name);
    let refused = |message: String| {
        PackError::failure(Kind::MissingFile, format!("{}: {message}", path.display()))
    };
    // Of the link itself, not of what it points to.
    let metadata = fs::symlink_metadata(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => refused(absent(dir, name)),
        _ => refused(format!("cannot be read: {error}")),
    })?;
    if !metadata.is_file() {
        let what = if metadata.is_symlink() {
            "is a symbolic link"
        } else {
            "is not a plain file"
        };
        return Err(refused(format!("{what}; submit the file itself")));
    }
    let mut bytes = Vec::new();
    open(&path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| refused(format!("cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(refused(format!(
            "is larger than {} KiB, which is more than any solution needs",
            MAX_BYTES >> 10
        )));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        refused(format!(
            "is not text: byte {} is not UTF-8; save it as UTF-8",
            error.utf8_error().valid_up_to()
        ))
    })?;
    // Editors write one, and those of Windows line ends of their own, which to Rust are the usual
    // ones. The compiler gets the text that is looked at.
    Ok(text.trim_start_matches('\u{feff}').replace("\r\n", "\n"))
}

/// The start of a file that the compiler drops unread, while the screen would read it as Rust: the
/// line of a script (`#!`, but not `#![`), and a manifest between dashes.
fn dropped(text: &str) -> Option<&'static str> {
    // The compiler's spaces are fewer than Unicode's: behind another one, it takes the line for a
    // script's.
    let after = text.strip_prefix("#!").map(str::trim_ascii_start);
    if after.is_some_and(|after| !after.starts_with('[')) {
        return Some("`#!`");
    }
    text.trim_start().starts_with("---").then_some("`---`")
}

/// Follows no link, and waits for no pipe, that was put there since.
fn open(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    output_files::native::follow_no_link(&mut options);
    options.open(path)
}

/// Fails for the first thing in either file that a submission may not use.
fn screen(sources: &Sources) -> Result<(), PackError> {
    for (name, text) in [(KERNELS, &sources.kernels), (LAUNCH, &sources.launch)] {
        if let Some(start) = dropped(text) {
            fail!(
                Kind::ForbiddenConstruct,
                "{name}:1:1: {start}: a submission is Rust from its first line on"
            );
        }
        let tokens = match tokens::flatten(text, tokens::MAX_DEPTH) {
            Ok(tokens) => tokens,
            Err(TokenError {
                line,
                column,
                too_deep: true,
            }) => fail!(
                Kind::ForbiddenConstruct,
                "{name}:{line}:{column}: brackets more than {} deep: the compiler could overflow its stack",
                tokens::MAX_DEPTH
            ),
            Err(TokenError { line, column, .. }) => fail!(
                Kind::CompileError,
                "{name}:{line}:{column}: {}",
                tokens::not_rust(text, line, column)
            ),
        };
        if let Some((token, construct, reason)) = rules::first_refused(&tokens, name == LAUNCH) {
            let (line, column) = (token.line, token.column);
            fail!(
                Kind::ForbiddenConstruct,
                "{name}:{line}:{column}: {construct}: {reason}"
            );
        }
    }
    Ok(())
}
