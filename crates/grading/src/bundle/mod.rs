//! A packed submission: one file that a machine without Rust can grade.
//!
//! # The file
//!
//! One line of text, `harness-bundle VERSION SHA256 BYTES`, and after it BYTES bytes: the
//! [`Bundle`] as JSON, compressed with gzip. The checksum is of those bytes. It finds damage, not
//! forgery: an editor of a bundle can compute it again, so the grader trusts nothing in it.
//! Problems are compared with the lab's own, plans and PTX are checked as untrusted input.
//!
//! Two limits apply before a file is read: its size, and the size of its content.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use plan::Plan;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::outcome::{Failure, Kind, bounded};
use crate::report::Protection;
use output_files::digest;

/// The version of the format that this program writes and reads. It goes up whenever another
/// program would misread the file. In version 1, a plan's commands were lists of numbers; in
/// version 2, each case had a plan; in version 3, none was for `perf`.
pub const FORMAT_VERSION: u32 = 4;

/// The largest PTX, in bytes: all built-in variants of all labs together have a quarter of it.
pub const MAX_PTX_BYTES: usize = 8 << 20;

/// A submission, built: kernels as PTX, and for each case of its lab a plan, or why there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The lab's name.
    pub lab: String,
    /// The number that the parameters of drawn cases follow from, where the lab draws some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<u64>,
    /// The kernels.
    pub ptx: String,
    /// In the order of the lab's cases.
    pub cases: Vec<BundledCase>,
    /// The cases that `harness perf` times, by their labels. No grade looks at them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timed: Vec<BundledCase>,
    /// The compilers.
    pub built_with: BuiltWith,
    /// The sandbox's layers while it was built.
    pub protections: Vec<Protection>,
}

/// One case's part of a submission.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundledCase {
    /// The case's name, as in lab.toml.
    pub name: String,
    /// The problem that the submission was given.
    pub problem: serde_json::Value,
    /// The recorded plan; if there is none that can be run, how the case fails.
    pub plan: Result<Plan, NotRecorded>,
}

/// How a case fails whose plan could not be recorded, or does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotRecorded {
    /// Of category [`Category::Refused`](crate::Category).
    pub kind: Kind,
    /// The event, in words that may be the submission's.
    pub message: String,
}

impl From<Failure> for NotRecorded {
    fn from(failure: Failure) -> NotRecorded {
        NotRecorded {
            kind: failure.kind,
            message: failure.message,
        }
    }
}

impl From<NotRecorded> for Failure {
    fn from(fault: NotRecorded) -> Failure {
        Failure::new(fault.kind, fault.message)
    }
}

/// The programs that built a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltWith {
    /// This program's version.
    pub harness: String,
    /// The compiler of the kernels: the first line of `rustc --version`.
    pub kernels: String,
    /// The LLVM that wrote the PTX.
    pub llvm: u32,
    /// The compiler of the recorder: the first line of `rustc --version`.
    pub host: String,
}

impl Bundle {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&BundledCase> {
        self.cases.iter().find(|case| case.name == name)
    }
}

/// Why a file cannot be read as a bundle, in one line that names file and remedy.
#[derive(Debug, Error)]
#[error("{}: {kind}", .file.display())]
pub struct BundleError {
    /// The file.
    pub file: PathBuf,
    /// The fault.
    #[source]
    pub kind: BundleErrorKind,
}

/// A damaged or unreadable bundle file.
#[derive(Debug, Error)]
pub enum BundleErrorKind {
    /// It cannot be read at all.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] std::io::Error),
    /// It is a pipe, a device, a socket.
    #[error("is not a plain file; hand in the file that `harness pack` wrote")]
    NoPlainFile,
    /// It does not begin as a bundle does.
    #[error("is not a bundle; make one with `harness pack`")]
    NotABundle,
    /// It is of another version.
    #[error(
        "is a bundle of version {found}, and this program reads version {FORMAT_VERSION}; pack the submission again \
         with this program"
    )]
    Version {
        /// The file's.
        found: u32,
    },
    /// It ends early, or goes on.
    #[error(
        "has {found} bytes of content instead of {expected}; copy it again, or pack the submission again"
    )]
    Length {
        /// The size in its first line.
        expected: u64,
        /// The size found.
        found: u64,
    },
    /// Its content is not what was written.
    #[error(
        "does not match its checksum: it was damaged or edited; copy it again, or pack the submission again"
    )]
    Checksum,
    /// It is larger than a bundle may be.
    #[error("is larger than the {limit} that {what} may have; record fewer launches")]
    TooLarge {
        /// `a bundle`, `a bundle's content`.
        what: &'static str,
        /// With its unit.
        limit: String,
    },
    /// Its content is not a submission.
    #[error("holds no submission: {0}; pack the submission again")]
    Content(String),
}

impl BundleError {
    /// The kind of failure that it is in a grade.
    pub fn failure_kind(&self) -> Kind {
        match self.kind {
            BundleErrorKind::Unreadable(_) | BundleErrorKind::NoPlainFile => Kind::MissingFile,
            BundleErrorKind::Version { .. } => Kind::BundleVersion,
            BundleErrorKind::TooLarge { .. } => Kind::PlanTooLarge,
            BundleErrorKind::NotABundle
            | BundleErrorKind::Length { .. }
            | BundleErrorKind::Checksum
            | BundleErrorKind::Content(_) => Kind::BundleDamaged,
        }
    }
}

const MAGIC: &str = "harness-bundle";

/// The longest first line: the magic word, a version, a checksum, a size.
const HEADER_BYTES: u64 = 128;

/// The largest compressed content that is read or written, in bytes.
const MAX_PACKED: u64 = 64 << 20;
/// The largest file that may be a bundle, in bytes.
pub const MAX_FILE_BYTES: u64 = MAX_PACKED + HEADER_BYTES;
/// The largest content that is read or written, in bytes.
const MAX_UNPACKED: u64 = 512 << 20;

/// A bundle's file, as bytes.
#[derive(Debug)]
pub struct Packed {
    /// The SHA-256 of the content, in hexadecimal. The same submission, cases and compilers give
    /// the same.
    pub sha256: String,
    /// The whole file.
    pub bytes: Vec<u8>,
}

impl Bundle {
    /// The bundle's file.
    ///
    /// # Errors
    ///
    /// [`BundleErrorKind::TooLarge`].
    pub fn packed(&self) -> Result<Packed, BundleErrorKind> {
        self.packed_within(MAX_PACKED, MAX_UNPACKED)
    }

    fn packed_within(&self, packed: u64, unpacked: u64) -> Result<Packed, BundleErrorKind> {
        let content = compressed(self, packed, unpacked)?;
        let sha256 = digest::sha256(&content);
        let header = format!("{MAGIC} {FORMAT_VERSION} {sha256} {}\n", content.len());
        let bytes = [header.as_bytes(), &content].concat();
        Ok(Packed { sha256, bytes })
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Why it is not a bundle.
    pub fn read(path: &Path) -> Result<Bundle, BundleError> {
        Bundle::read_with_sha256(path).map(|(bundle, _)| bundle)
    }

    /// Reads a file; with the SHA-256 of its content, as [`Packed::sha256`].
    ///
    /// # Errors
    ///
    /// Why it is not a bundle.
    pub fn read_with_sha256(path: &Path) -> Result<(Bundle, String), BundleError> {
        read(path, MAX_PACKED, MAX_UNPACKED).map_err(|kind| BundleError {
            file: path.to_owned(),
            kind,
        })
    }
}

/// The room that cases have in a bundle: half of it, in either form. The others, and the kernels,
/// have the rest.
#[derive(Debug)]
pub struct Room {
    packed: u64,
    unpacked: u64,
}

impl Room {
    /// Half of a bundle.
    pub fn half() -> Room {
        Room {
            packed: MAX_PACKED / 2,
            unpacked: MAX_UNPACKED / 2,
        }
    }

    /// Takes the room of a case.
    ///
    /// # Errors
    ///
    /// [`BundleErrorKind::TooLarge`] if too little is left. It stays for cases that take less.
    pub fn take(&mut self, case: &BundledCase) -> Result<(), BundleErrorKind> {
        let too_large = |_| too_large("a bundle", MAX_PACKED / 2);
        let (content, unpacked) =
            compressed_and_length(case, self.packed, self.unpacked).map_err(too_large)?;
        self.packed -= content.len() as u64;
        self.unpacked -= unpacked;
        Ok(())
    }
}

/// The content of a bundle. Neither form is ever in memory beyond its limit.
fn compressed(
    content: &(impl Serialize + ?Sized),
    packed: u64,
    unpacked: u64,
) -> Result<Vec<u8>, BundleErrorKind> {
    compressed_and_length(content, packed, unpacked).map(|(content, _)| content)
}

/// The compressed form, and the length of the other, in bytes.
fn compressed_and_length(
    content: &(impl Serialize + ?Sized),
    packed: u64,
    unpacked: u64,
) -> Result<(Vec<u8>, u64), BundleErrorKind> {
    let encoder = GzEncoder::new(Limited::new(Vec::new(), packed), Compression::fast());
    // serde_json writes a few bytes at a time.
    let mut json = Limited::new(BufWriter::with_capacity(64 << 10, encoder), unpacked);
    if serde_json::to_writer(&mut json, content).is_err() {
        return Err(if json.is_full {
            too_large("a bundle's content", unpacked)
        } else {
            too_large("a bundle", packed)
        });
    }
    let length = unpacked - json.left;
    let written = json.inner.into_inner().map_err(|error| error.into_error());
    let bytes = written
        .and_then(GzEncoder::finish)
        .map_err(|_| too_large("a bundle", packed))?
        .inner;
    Ok((bytes, length))
}

fn read(path: &Path, packed: u64, unpacked: u64) -> Result<(Bundle, String), BundleErrorKind> {
    let metadata = std::fs::metadata(path).map_err(BundleErrorKind::Unreadable)?;
    if metadata.is_dir() {
        let error = std::io::ErrorKind::IsADirectory.into();
        return Err(BundleErrorKind::Unreadable(error));
    }
    // Opening a pipe would wait for who writes into it.
    if !metadata.is_file() {
        return Err(BundleErrorKind::NoPlainFile);
    }
    let file = File::open(path).map_err(BundleErrorKind::Unreadable)?;
    let mut file = BufReader::new(file);
    let mut header = Vec::new();
    (&mut file)
        .take(HEADER_BYTES)
        .read_until(b'\n', &mut header)
        .map_err(BundleErrorKind::Unreadable)?;
    let (sha256, length) = parse_header(&header)?;
    if length > packed {
        return Err(too_large("a bundle", packed));
    }
    let mut content = Vec::new();
    // One more byte than there should be tells whether more follows.
    let found = file
        .take(length + 1)
        .read_to_end(&mut content)
        .map_err(BundleErrorKind::Unreadable)? as u64;
    if found != length {
        return Err(BundleErrorKind::Length {
            expected: length,
            found,
        });
    }
    if digest::sha256(&content) != sha256 {
        return Err(BundleErrorKind::Checksum);
    }
    let mut json = Vec::new();
    GzDecoder::new(content.as_slice())
        .take(unpacked + 1)
        .read_to_end(&mut json)
        .map_err(|error| BundleErrorKind::Content(error.to_string()))?;
    if json.len() as u64 > unpacked {
        return Err(too_large("a bundle's content", unpacked));
    }
    drop(content);
    let bundle = serde_json::from_slice(&json)
        .map_err(|error| BundleErrorKind::Content(bounded(error.to_string(), 300)))?;
    Ok((bundle, sha256))
}

/// Checksum and length.
fn parse_header(line: &[u8]) -> Result<(String, u64), BundleErrorKind> {
    let text = std::str::from_utf8(line).map_err(|_| BundleErrorKind::NotABundle)?;
    let mut words = text
        .strip_prefix(MAGIC)
        .and_then(|rest| rest.strip_prefix(' '))
        .ok_or(BundleErrorKind::NotABundle)?
        .split_ascii_whitespace();
    let version: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or(BundleErrorKind::NotABundle)?;
    // Each version has its own form of the rest.
    if version != FORMAT_VERSION {
        return Err(BundleErrorKind::Version { found: version });
    }
    let (Some(sha256), Some(length), None) = (words.next(), words.next(), words.next()) else {
        return Err(BundleErrorKind::NotABundle);
    };
    let length = length.parse().map_err(|_| BundleErrorKind::NotABundle)?;
    if !text.ends_with('\n') {
        return Err(BundleErrorKind::Length {
            expected: length,
            found: 0,
        });
    }
    Ok((sha256.to_owned(), length))
}

fn too_large(what: &'static str, bytes: u64) -> BundleErrorKind {
    let limit = format!("{} MiB", bytes >> 20);
    BundleErrorKind::TooLarge { what, limit }
}

/// A writer that takes a limited number of bytes.
struct Limited<W> {
    inner: W,
    left: u64,
    is_full: bool,
}

impl<W> Limited<W> {
    fn new(inner: W, left: u64) -> Limited<W> {
        Limited {
            inner,
            left,
            is_full: false,
        }
    }
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        if buffer.len() as u64 > self.left {
            self.is_full = true;
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        let written = self.inner.write(buffer)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests;
