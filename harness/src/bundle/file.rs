//! A bundle to bytes and back.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use super::error::Fault;
use super::{Bundle, BundleError, FORMAT_VERSION};
use crate::digest;
use crate::failure::Failure;
use crate::output::OutputFile;

const MAGIC: &str = "harness-bundle";

/// The longest first line: the magic word, a version, a checksum, a size.
const HEADER_BYTES: u64 = 128;

/// What reading a bundle may cost.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The compressed content.
    packed: u64,
    /// The content.
    unpacked: u64,
}

const LIMITS: Limits = Limits {
    packed: 64 << 20,
    unpacked: 512 << 20,
};

/// The bundle, with its checksum.
#[derive(Debug)]
pub struct Packed {
    header: String,
    content: Vec<u8>,
    sha256: String,
}

impl Bundle {
    fn packed(&self, limits: Limits) -> Result<Packed, Fault> {
        let mut encoder = GzEncoder::new(Capped::new(limits.packed), Compression::fast());
        let counted = Counted {
            inner: &mut encoder,
            left: limits.unpacked,
        };
        let too_large = |what, bytes: u64| Fault::TooLarge {
            what,
            limit: mebibytes(bytes),
        };
        serde_json::to_writer(counted, self)
            .map_err(|_| too_large("a bundle's content", limits.unpacked))?;
        let content = encoder
            .finish()
            .map_err(|_| too_large("a bundle", limits.packed))?
            .bytes;
        let sha256 = digest::sha256(&content);
        Ok(Packed {
            header: format!("{MAGIC} {FORMAT_VERSION} {sha256} {}\n", content.len()),
            content,
            sha256,
        })
    }

    /// The SHA-256 of the content that this bundle's file has, in hexadecimal. The same submission, cases and compilers
    /// give the same.
    ///
    /// # Errors
    ///
    /// If the bundle is larger than one may be.
    pub fn sha256(&self) -> Result<String, BundleError> {
        self.packed(LIMITS)
            .map(|packed| packed.sha256)
            .map_err(|fault| BundleError {
                file: PathBuf::from(&self.lab),
                fault,
            })
    }

    /// Writes the file, which appears complete or not at all, and returns the checksum.
    ///
    /// # Errors
    ///
    /// [`Failure::Wrong`] if the bundle is larger than one may be; [`Failure::Environment`] if it cannot be written.
    pub fn write(&self, mut file: OutputFile) -> Result<String, Failure> {
        let packed = self.packed(LIMITS).map_err(|fault| {
            Failure::Wrong(
                BundleError {
                    file: file.target().to_owned(),
                    fault,
                }
                .to_string(),
            )
        })?;
        let target = file.target().to_owned();
        file.writer()
            .write_all(packed.header.as_bytes())
            .map_err(|error| crate::output::not_written(&target, &error))?;
        file.write_all(&packed.content)?;
        Ok(packed.sha256)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Why it is no bundle.
    pub fn read(path: &Path) -> Result<Bundle, BundleError> {
        read(path, LIMITS).map_err(|fault| BundleError {
            file: path.to_owned(),
            fault,
        })
    }
}

fn read(path: &Path, limits: Limits) -> Result<Bundle, Fault> {
    let file = File::open(path).map_err(Fault::Unreadable)?;
    if file.metadata().map_err(Fault::Unreadable)?.is_dir() {
        return Err(Fault::Unreadable(std::io::ErrorKind::IsADirectory.into()));
    }
    let mut file = BufReader::new(file);
    let mut header = Vec::new();
    (&mut file)
        .take(HEADER_BYTES)
        .read_until(b'\n', &mut header)
        .map_err(Fault::Unreadable)?;
    let (sha256, length) = parse_header(&header)?;
    if length > limits.packed {
        return Err(Fault::TooLarge {
            what: "a bundle",
            limit: mebibytes(limits.packed),
        });
    }
    let mut content = Vec::new();
    // One more byte than there should be tells whether more follows.
    let found = file
        .take(length + 1)
        .read_to_end(&mut content)
        .map_err(Fault::Unreadable)? as u64;
    if found != length {
        return Err(Fault::Length {
            expected: length,
            found,
        });
    }
    if digest::sha256(&content) != sha256 {
        return Err(Fault::Checksum);
    }
    let mut json = Vec::new();
    GzDecoder::new(content.as_slice())
        .take(limits.unpacked + 1)
        .read_to_end(&mut json)
        .map_err(|error| Fault::Content(error.to_string()))?;
    if json.len() as u64 > limits.unpacked {
        return Err(Fault::TooLarge {
            what: "a bundle's content",
            limit: mebibytes(limits.unpacked),
        });
    }
    serde_json::from_slice(&json).map_err(|error| Fault::Content(error.to_string()))
}

/// Checksum and length.
fn parse_header(line: &[u8]) -> Result<(String, u64), Fault> {
    let text = std::str::from_utf8(line).map_err(|_| Fault::NotABundle)?;
    let mut words = text
        .strip_prefix(MAGIC)
        .and_then(|rest| rest.strip_prefix(' '))
        .ok_or(Fault::NotABundle)?
        .split_ascii_whitespace();
    let version: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or(Fault::NotABundle)?;
    // What follows the version is the version's own matter.
    if version != FORMAT_VERSION {
        return Err(Fault::Version {
            found: version,
            expected: FORMAT_VERSION,
        });
    }
    let (Some(sha256), Some(length), None) = (words.next(), words.next(), words.next()) else {
        return Err(Fault::NotABundle);
    };
    let length = length.parse().map_err(|_| Fault::NotABundle)?;
    if !text.ends_with('\n') {
        return Err(Fault::Length {
            expected: length,
            found: 0,
        });
    }
    Ok((sha256.to_owned(), length))
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Memory that takes no more than so many bytes.
#[derive(Debug)]
struct Capped {
    bytes: Vec<u8>,
    limit: u64,
}

impl Capped {
    fn new(limit: u64) -> Capped {
        Capped {
            bytes: Vec::new(),
            limit,
        }
    }
}

impl Write for Capped {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        if (self.bytes.len() + buffer.len()) as u64 > self.limit {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(buffer);
        Ok(buffer.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A writer that takes no more than so many bytes.
struct Counted<W> {
    inner: W,
    left: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        if buffer.len() as u64 > self.left {
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
