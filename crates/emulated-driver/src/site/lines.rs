//! Addresses of this process as functions, files and lines, by the debug information of its files.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use addr2line::Context;
use gimli::{EndianSlice, LittleEndian, SectionId};

use super::frame::{Frame, Line, Module};

type Bytes = EndianSlice<'static, LittleEndian>;

/// The file that an address lies in.
pub(super) fn module_of(address: usize) -> Option<Module> {
    struct Wanted {
        address: usize,
        found: Option<Module>,
    }
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        wanted: *mut c_void,
    ) -> c_int {
        // SAFETY: `module_of` gives its own, and the system a filled one.
        let (info, wanted) = unsafe { (&*info, &mut *wanted.cast::<Wanted>()) };
        for index in 0..usize::from(info.dlpi_phnum) {
            // SAFETY: there are as many headers.
            let header = unsafe { &*info.dlpi_phdr.add(index) };
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            let is_here = (start..start + header.p_memsz as usize).contains(&wanted.address);
            if header.p_type == libc::PT_LOAD && is_here {
                let name = if info.dlpi_name.is_null() {
                    &[]
                } else {
                    // SAFETY: it is a text.
                    unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
                };
                let path = if name.is_empty() {
                    PathBuf::from("/proc/self/exe")
                } else {
                    PathBuf::from(OsStr::from_bytes(name))
                };
                wanted.found = Some(Module {
                    path,
                    bias: info.dlpi_addr as usize,
                });
                return 1;
            }
        }
        0
    }
    let mut wanted = Wanted {
        address,
        found: None,
    };
    // SAFETY: the function takes what it is given here, during the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut wanted).cast()) };
    wanted.found
}

/// The functions at an address, from the innermost inlined one on; none without debug information.
pub(super) fn frames(module: &Module, address: usize) -> Vec<Frame> {
    type Known = HashMap<PathBuf, Option<Debug>>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let debug = { known.entry(module.path.clone()) }.or_insert_with(|| Debug::of(module));
    let Some(Debug(context)) = debug else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let frames = context.find_frames((address - module.bias) as u64);
    let Ok(mut frames) = frames.skip_all_loads() else {
        return found;
    };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref();
        let name = name.and_then(|function| Some(function.raw_name().ok()?.into_owned()));
        let line = frame.location.and_then(|location| {
            Some(Line {
                file: location.file?.to_owned(),
                line: location.line?,
                column: location.column.unwrap_or(0),
            })
        });
        found.push(Frame {
            function: name.unwrap_or_default(),
            line,
        });
    }
    // A frame with neither says less than the table of symbols.
    found.retain(|frame| !frame.function.is_empty() || frame.line.is_some());
    found
}

/// The debug information of a file.
struct Debug(Context<Bytes>);

impl Debug {
    fn of(module: &Module) -> Option<Debug> {
        let bytes = std::fs::read(&module.path).ok()?;
        let sections = sections(&bytes)?;
        sections.get(".debug_info")?;
        // One per file with debug information, kept for all further messages.
        let bytes: &'static [u8] = Vec::leak(bytes);
        let load = |id: SectionId| -> Result<Bytes, gimli::Error> {
            let range = sections.get(id.name()).cloned();
            let own = range.and_then(|range| bytes.get(range)).unwrap_or_default();
            Ok(EndianSlice::new(own, LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(load).ok()?;
        Context::from_dwarf(dwarf).ok().map(Debug)
    }
}

/// The sections of a file of 64 bits, by name; those that are compressed are left out.
fn sections(file: &[u8]) -> Option<HashMap<String, std::ops::Range<usize>>> {
    const COMPRESSED: u64 = 0x800;
    const NO_BITS: u64 = 8;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(file.get(at..at.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(value))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = number(0x28, 8)? as usize;
    let (size, count, names) = (number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: u64| table.checked_add((index * size) as usize);
    let names = number(header(names)? + 0x18, 8)? as usize;
    let mut sections = HashMap::new();
    for index in 0..count {
        let at = header(index)?;
        let name = names.checked_add(number(at, 4)? as usize)?;
        let name = file.get(name..)?.split(|byte| *byte == 0).next()?;
        let (kind, flags) = (number(at + 4, 4)?, number(at + 8, 8)?);
        if kind == NO_BITS || flags & COMPRESSED != 0 {
            continue;
        }
        let (start, bytes) = (
            number(at + 0x18, 8)? as usize,
            number(at + 0x20, 8)? as usize,
        );
        let name = String::from_utf8_lossy(name).into_owned();
        sections.insert(name, start..start.checked_add(bytes)?);
    }
    Some(sections)
}
