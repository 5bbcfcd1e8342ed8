//! Fat binaries, as nvcc makes them.
//!
//! One is a header (magic, version, header's size, size of the rest) and entries. An entry is a
//! header (kind, version, header's size, sizes of the content, architecture, flags) and its
//! content, which may be compressed. The layout is that of NVIDIA's `fatbinary_section.h`, and of
//! the `dark_api` crate of ZLUDA.

use std::io::Read;

use crate::machine_code::Origin;
use crate::no_ptx::NoPtx;
use crate::settings::Settings;

/// The magic number of a fat binary.
pub(crate) const MAGIC: u32 = 0xba55_ed50;
/// Kinds of entries.
pub(crate) const PTX: u16 = 1;
pub(crate) const ELF: u16 = 2;
/// Intermediate code that is compiled when it is linked.
const INTERMEDIATE: u16 = 8;
/// Flags of an entry that is compressed.
pub(crate) const LZ4: u64 = 0x2000;
pub(crate) const ZSTD: u64 = 0x8000;
/// A variable of CUDA's device runtime, which no other code has.
const DEVICE_RUNTIME: &[u8] = b"__CNPRT_VERSION_NUMBER__";
/// The most that is decompressed, in bytes.
const MAX_BYTES: usize = 1 << 30;

pub(crate) fn of_text(bytes: &[u8]) -> Result<String, NoPtx> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches('\0');
    if text.contains(".version") && text.contains(".target") {
        return Ok(text.to_owned());
    }
    let start: String = text.chars().take(20).collect();
    Err(NoPtx::Unknown(format!("it begins with {start:?}")))
}

/// An entry of a fat binary.
struct Entry<'a> {
    /// The source file; empty if it is not stated.
    name: &'a str,
    kind: u16,
    architecture: u32,
    flags: u64,
    uncompressed: usize,
    /// As it lies there, perhaps with padding behind.
    content: &'a [u8],
    compressed: usize,
}

/// A fat binary that has been read, except the content of its entries.
pub(crate) struct FatBinary<'a> {
    entries: Vec<Entry<'a>>,
}

impl<'a> FatBinary<'a> {
    pub(crate) fn read(whole: &'a [u8]) -> Result<FatBinary<'a>, NoPtx> {
        let entries =
            entries(whole).ok_or_else(|| NoPtx::Unknown("a fat binary that is cut off".into()))?;
        Ok(FatBinary { entries })
    }

    /// Its PTX for the device.
    pub(crate) fn ptx(&self) -> Result<String, NoPtx> {
        let texts = self.of_kind(PTX);
        let (major, minor) = Settings::get().capability();
        // The newest that the device can compile; if all are too new, the oldest of these.
        let chosen = texts.max_by_key(|entry| match entry.architecture {
            known if known <= 10 * major + minor => i64::from(known),
            newer => -i64::from(newer),
        });
        if let Some(entry) = chosen {
            return of_text(&content(entry)?);
        }
        let machine: Vec<u32> = self.of_kind(ELF).map(|entry| entry.architecture).collect();
        if machine.is_empty() && self.of_kind(INTERMEDIATE).next().is_some() {
            return Err(NoPtx::Intermediate);
        }
        let place = self.entries.first().map(|entry| entry.content.as_ptr());
        let origin = place.map_or_else(Origin::default, |place| Origin::of(place.cast()));
        Err(NoPtx::MachineCode(machine, origin))
    }

    fn of_kind(&self, kind: u16) -> impl Iterator<Item = &Entry<'a>> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    /// The source file that it was made of, if that is stated.
    pub(crate) fn name(&self) -> Option<&'a str> {
        self.entries
            .iter()
            .map(|entry| entry.name)
            .find(|name| !name.is_empty())
    }

    /// Whether it is that of `libcudadevrt`: its PTX may be for newer devices alone.
    pub(crate) fn is_device_runtime(&self) -> bool {
        let entry = self
            .of_kind(PTX)
            .next()
            .or_else(|| self.of_kind(ELF).next());
        let content = entry
            .and_then(|entry| content(entry).ok())
            .unwrap_or_default();
        content
            .windows(DEVICE_RUNTIME.len())
            .any(|found| found == DEVICE_RUNTIME)
    }
}

/// The fat binaries in an object or a library, wherever they are.
pub(crate) fn found_in(content: &[u8]) -> Vec<FatBinary<'_>> {
    // The magic number, the version and the header's size.
    let begin = [MAGIC.to_le_bytes(), [1, 0, HEADER_BYTES as u8, 0]].concat();
    let mut found = Vec::new();
    let mut rest = content;
    while let Some(at) = rest.windows(begin.len()).position(|bytes| bytes == begin) {
        rest = &rest[at..];
        let bytes = number(rest, 8, 8).unwrap_or(0) as usize;
        let end = HEADER_BYTES.saturating_add(bytes);
        match rest.get(..end).map(FatBinary::read) {
            Some(Ok(binary)) => {
                found.push(binary);
                rest = &rest[end..];
            }
            _ => rest = &rest[begin.len()..],
        }
    }
    found
}

/// Bytes of the header of a fat binary.
const HEADER_BYTES: usize = 16;

/// A number of `size` bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    let digits = field.iter().rev();
    Some(digits.fold(0u64, |number, byte| number << 8 | u64::from(*byte)))
}

/// The entries; `None` if they go beyond the end.
fn entries(whole: &[u8]) -> Option<Vec<Entry<'_>>> {
    let mut rest = whole.get(number(whole, 6, 2)? as usize..)?;
    let mut entries = Vec::new();
    while rest.len() >= 48 {
        let header = number(rest, 4, 4)? as usize;
        let size = number(rest, 8, 4)? as usize;
        let compressed = number(rest, 16, 4)? as usize;
        let bytes = size.max(compressed);
        let name =
            number(rest, 32, 4)? as usize..(number(rest, 32, 4)? + number(rest, 36, 4)?) as usize;
        let name = if name.start == 0 {
            None
        } else {
            rest.get(name)
        };
        entries.push(Entry {
            name: name
                .and_then(|name| std::str::from_utf8(name).ok())
                .unwrap_or_default(),
            kind: number(rest, 0, 2)? as u16,
            architecture: number(rest, 28, 4)? as u32,
            flags: number(rest, 40, 8)?,
            uncompressed: number(rest, 56, 8).unwrap_or(0) as usize,
            content: rest.get(header..header + bytes)?,
            compressed,
        });
        rest = &rest[header + bytes..];
    }
    Some(entries)
}

/// The content of an entry, decompressed.
fn content(entry: &Entry<'_>) -> Result<Vec<u8>, NoPtx> {
    let corrupt = |error: &dyn std::fmt::Display| NoPtx::Corrupt(error.to_string());
    let packed = match entry.compressed {
        0 => entry.content,
        bytes => &entry.content[..bytes],
    };
    if entry.flags & (LZ4 | ZSTD) == 0 {
        return Ok(entry.content.to_vec());
    }
    if entry.uncompressed > MAX_BYTES {
        return Err(corrupt(&format!(
            "it says that it has {} bytes",
            entry.uncompressed
        )));
    }
    if entry.flags & LZ4 != 0 {
        return lz4_flex::block::decompress(packed, entry.uncompressed.max(1024))
            .map_err(|error| corrupt(&error));
    }
    let mut bytes = Vec::new();
    let decoder =
        ruzstd::decoding::StreamingDecoder::new(packed).map_err(|error| corrupt(&error))?;
    decoder
        .take(MAX_BYTES as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| corrupt(&error))?;
    Ok(bytes)
}

/// A fat binary with entries of these kinds, architectures, flags and contents.
#[cfg(test)]
pub(crate) fn fat_binary(entries: &[(u16, u32, u64, &[u8], usize)]) -> Vec<u8> {
    let mut rest = Vec::new();
    for (kind, architecture, flags, content, uncompressed) in entries {
        let is_packed = *flags != 0;
        let mut header = [0u8; 64];
        header[..2].copy_from_slice(&kind.to_le_bytes());
        header[2..4].copy_from_slice(&0x101u16.to_le_bytes());
        header[4..8].copy_from_slice(&64u32.to_le_bytes());
        let padded = content.len().next_multiple_of(8);
        header[8..12].copy_from_slice(&(padded as u32).to_le_bytes());
        if is_packed {
            header[16..20].copy_from_slice(&(content.len() as u32).to_le_bytes());
        }
        header[28..32].copy_from_slice(&architecture.to_le_bytes());
        header[40..48].copy_from_slice(&flags.to_le_bytes());
        header[56..].copy_from_slice(&(*uncompressed as u64).to_le_bytes());
        rest.extend_from_slice(&header);
        rest.extend_from_slice(content);
        rest.resize(rest.len() + padded - content.len(), 0);
    }
    let mut whole = MAGIC.to_le_bytes().to_vec();
    whole.extend_from_slice(&[1, 0, 16, 0]);
    whole.extend_from_slice(&(rest.len() as u64).to_le_bytes());
    whole.extend_from_slice(&rest);
    whole
}
