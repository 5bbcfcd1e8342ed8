//! `ptxas`, where it assembles for a program that runs: the file that it has written becomes the
//! PTX that it has read.
//!
//! It does its work first, so that it refuses what it refuses elsewhere, and its words about
//! registers are there. Builds of programs are left alone: only Triton's `ptxas` is meant, and that
//! of `nvcc --cubin`.

use std::env;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::text;

/// Set by `nvcc --cubin` for what it starts.
const OF_NVCC: &str = "EMULATED_COMPILERS_NVCC_CUBIN";

/// Called in each process before its `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: unsafe extern "C" fn(c_int, *const *const c_char) = at_start;

/// # Safety
///
/// The system calls it with the program's arguments.
unsafe extern "C" fn at_start(count: c_int, arguments: *const *const c_char) {
    if count < 1 || arguments.is_null() {
        return;
    }
    // SAFETY: the program's arguments are as many, and each ends in a NUL.
    let argument = |index: usize| unsafe {
        let argument = *arguments.add(index);
        (!argument.is_null()).then(|| CStr::from_ptr(argument).to_bytes())
    };
    let Some(path) = argument(0) else { return };
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let rest = || (1..count as usize).filter_map(argument);
    if name.starts_with(b"nvcc") {
        nvcc(rest());
    } else if name.starts_with(b"ptxas") && is_for_a_program_that_runs() {
        ptxas(&rest().collect::<Vec<_>>());
    }
}

/// Tells what this `nvcc` starts whether it makes machine code alone.
fn nvcc<'a>(mut arguments: impl Iterator<Item = &'a [u8]>) {
    let is_cubin = arguments.any(|argument| matches!(argument, b"--cubin" | b"-cubin"));
    // SAFETY: the program has not begun, and has one thread.
    unsafe {
        if is_cubin {
            env::set_var(OF_NVCC, "1");
        } else {
            env::remove_var(OF_NVCC);
        }
    }
}

/// Whether this `ptxas` was started by `nvcc --cubin`, or by a process that has Triton.
fn is_for_a_program_that_runs() -> bool {
    let parent = || {
        fs::read(format!(
            "/proc/{}/maps",
            std::os::unix::process::parent_id()
        ))
    };
    env::var_os(OF_NVCC).is_some()
        || parent().is_ok_and(|maps| {
            let triton = b"/libtriton";
            maps.windows(triton.len()).any(|bytes| bytes == triton)
        })
}

/// A text, and the file that takes it.
#[derive(Debug, PartialEq)]
struct Files {
    ptx: PathBuf,
    cubin: PathBuf,
}

/// Has the files exchanged when this `ptxas` has ended.
fn ptxas(arguments: &[&[u8]]) {
    unsafe extern "C" {
        /// Of the C library: what is called at the process's end with its exit code.
        fn on_exit(
            function: unsafe extern "C" fn(c_int, *mut c_void),
            argument: *mut c_void,
        ) -> c_int;
    }
    if let Some(files) = files(arguments) {
        let files = Box::into_raw(Box::new(files));
        // SAFETY: `at_end` takes the files, and is called once.
        unsafe { on_exit(at_end, files.cast()) };
    }
}

/// # Safety
///
/// `files` is of [`ptxas`].
unsafe extern "C" fn at_end(code: c_int, files: *mut c_void) {
    // SAFETY: the caller's promise.
    let files = unsafe { Box::from_raw(files.cast::<Files>()) };
    if code != 0 {
        return;
    }
    if let Err(error) = exchange(&files) {
        eprintln!(
            "emulate: {} keeps its machine code, which the emulated GPU refuses: {error}",
            files.cubin.display()
        );
    }
}

/// Puts the text into the file's place. (The file itself may still be written to.)
fn exchange(files: &Files) -> std::io::Result<()> {
    let ptx = fs::read(&files.ptx)?;
    if !text::is_ptx(&ptx) || !fs::metadata(&files.cubin)?.is_file() {
        return Ok(());
    }
    let mut beside = files.cubin.clone().into_os_string();
    beside.push(".ptx-instead");
    // Programs give what they have read to the driver as a text, which ends in a NUL.
    fs::write(&beside, text::ended(&ptx))?;
    fs::rename(&beside, &files.cubin)
}

/// The one file that `ptxas` reads, and the one that it writes.
fn files(arguments: &[&[u8]]) -> Option<Files> {
    let (mut inputs, mut output) = (Vec::new(), None);
    let mut arguments = arguments.iter().copied();
    while let Some(argument) = arguments.next() {
        let value = |name: &[u8]| argument.strip_prefix(name);
        if matches!(argument, b"-o" | b"--output-file") {
            output = arguments.next();
        } else if let Some(path) = value(b"-o=").or_else(|| value(b"--output-file=")) {
            output = Some(path);
        } else if !argument.starts_with(b"-") && Path::new(OsStr::from_bytes(argument)).is_file() {
            // A word that names no file belongs to the option before it.
            inputs.push(argument);
        }
    }
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    match inputs[..] {
        [ptx] => Some(Files {
            ptx: path(ptx),
            cubin: path(output?),
        }),
        _ => None,
    }
}
