//! Finds and opens the driver's library, once.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use libloading::Library;

/// Where the driver may be: wherever the system's loader looks, then places that some systems leave out of its list.
const CANDIDATES: [&str; 3] = [
    "libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/run/opengl-driver/lib/libcuda.so.1",
];

/// Why a function of the driver cannot be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// There is no driver.
    Library,
    /// The driver is too old to have it.
    Function,
}

/// The driver's library, never closed; or why there is none, in words for the user.
pub fn open() -> Result<&'static Library, &'static str> {
    static LIBRARY: OnceLock<Result<Library, String>> = OnceLock::new();
    match LIBRARY.get_or_init(|| open_first(&CANDIDATES)) {
        Ok(library) => Ok(library),
        Err(reason) => Err(reason),
    }
}

/// The address of a driver function. `name` ends in a NUL.
pub fn function(name: &'static str) -> Result<usize, Absent> {
    let library = open().map_err(|_| Absent::Library)?;
    // SAFETY: the symbol is only taken as an address here.
    let symbol = unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) };
    symbol
        .map(|function| *function as usize)
        .map_err(|_| Absent::Function)
}

fn open_first(candidates: &[&str]) -> Result<Library, String> {
    let mut reasons = Vec::new();
    for &candidate in candidates {
        match open_one(candidate) {
            Ok(library) => return Ok(library),
            Err(Some(reason)) => reasons.push(reason),
            Err(None) => {}
        }
    }
    if reasons.is_empty() {
        Err("libcuda.so.1 not found".to_owned())
    } else {
        Err(reasons.join("; "))
    }
}

/// Opens one candidate; `Err(None)` if there is no such file, `Err(Some(reason))` if it cannot be used.
fn open_one(candidate: &str) -> Result<Library, Option<String>> {
    // SAFETY: the driver's library may be opened at any time; its initialisers ask nothing of the caller.
    let library = unsafe { Library::new(candidate) }.map_err(|error| {
        let text = match error.source() {
            Some(cause) => cause.to_string(),
            None => error.to_string(),
        };
        let missing = text.starts_with(&format!("{candidate}: cannot open shared object file"));
        (!missing).then_some(text)
    })?;
    // A toolkit's stub has the driver's name and none of its code. It is told by its folder, before it is called.
    match mapped_stub() {
        Some(path) => Err(Some(format!("{path} is a toolkit's stub, not a driver"))),
        None => Ok(library),
    }
}

/// The path of a stub of libcuda among the files mapped into this process.
fn mapped_stub() -> Option<String> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.find('/').map(|start| &line[start..]))
        .find(|path| is_stub(path))
        .map(str::to_owned)
}

fn is_stub(path: &str) -> bool {
    let path = Path::new(path);
    let is_libcuda = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name == "libcuda.so" || name.starts_with("libcuda.so."));
    is_libcuda && path.components().any(|part| part.as_os_str() == "stubs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absence_is_an_ordinary_answer() {
        let reason = open_first(&["libno-such-driver.so.1", "/no/such/libcuda.so.1"]).unwrap_err();
        insta::assert_snapshot!(reason, @"libcuda.so.1 not found");
    }

    #[test]
    fn a_file_that_is_no_library_says_so() {
        let file = std::env::temp_dir().join(format!("no-library-{}.so", std::process::id()));
        fs::write(&file, "not ELF").unwrap();
        let path = file.to_str().unwrap();
        let reason = open_first(&[path]).unwrap_err().replace(path, "PATH");
        fs::remove_file(&file).unwrap();
        insta::assert_snapshot!(reason, @"PATH: file too short");
    }

    #[test]
    fn stubs_are_told_by_their_folder() {
        assert!(is_stub(
            "/usr/local/cuda-13.0/targets/x86_64-linux/lib/stubs/libcuda.so"
        ));
        assert!(is_stub("/opt/cuda/lib64/stubs/libcuda.so.1"));
        assert!(!is_stub("/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"));
        assert!(!is_stub("/usr/local/cuda/lib64/stubs/libcudart.so"));
    }
}
