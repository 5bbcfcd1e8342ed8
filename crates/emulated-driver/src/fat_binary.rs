//! Fat binaries, as nvcc makes them.
//!
//! One is a header (magic, version, header's size, size of the rest) and entries. An entry is a
//! header (kind, version, header's size, sizes of the content, architecture, flags) and its
//! content, which may be compressed. The layout is that of NVIDIA's `fatbinary_section.h`, and of
//! the `dark_api` crate of ZLUDA.

use std::io::Read;

use crate::no_ptx::NoPtx;
use crate::settings::Settings;

/// The magic number of a fat binary.
pub(crate) const FAT_BINARY: u32 = 0xba55_ed50;
/// Kinds of entries.
pub(crate) const PTX: u16 = 1;
pub(crate) const ELF: u16 = 2;
/// Flags of an entry that is compressed.
pub(crate) const LZ4: u64 = 0x2000;
pub(crate) const ZSTD: u64 = 0x8000;
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
    kind: u16,
    architecture: u32,
    flags: u64,
    uncompressed: usize,
    /// As it lies there, perhaps with padding behind.
    content: &'a [u8],
    compressed: usize,
}

pub(crate) fn of_fat_binary(whole: &[u8]) -> Result<String, NoPtx> {
    let entries =
        entries(whole).ok_or_else(|| NoPtx::Unknown("a fat binary that is cut off".into()))?;
    let texts = entries.iter().filter(|entry| entry.kind == PTX);
    let (major, minor) = Settings::get().capability();
    // The newest that the device can compile; if all are too new, the oldest of these.
    let chosen = texts.max_by_key(|entry| match entry.architecture {
        known if known <= 10 * major + minor => i64::from(known),
        newer => -i64::from(newer),
    });
    let Some(entry) = chosen else {
        let machine = entries.iter().filter(|entry| entry.kind == ELF);
        return Err(NoPtx::MachineCode(
            machine.map(|entry| entry.architecture).collect(),
        ));
    };
    of_text(&content(entry)?)
}

/// The entries; `None` if they go beyond the end.
fn entries(whole: &[u8]) -> Option<Vec<Entry<'_>>> {
    let number = |bytes: &[u8], at: usize, size: usize| {
        let field = bytes.get(at..at + size)?;
        Some(
            field
                .iter()
                .rev()
                .fold(0u64, |number, byte| number << 8 | u64::from(*byte)),
        )
    };
    let mut rest = whole.get(number(whole, 6, 2)? as usize..)?;
    let mut entries = Vec::new();
    while rest.len() >= 48 {
        let header = number(rest, 4, 4)? as usize;
        let size = number(rest, 8, 4)? as usize;
        let compressed = number(rest, 16, 4)? as usize;
        let bytes = size.max(compressed);
        entries.push(Entry {
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
