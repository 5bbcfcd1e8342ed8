//! The environment of the program: where it finds the libraries, and where its own libraries keep
//! what they have compiled.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A variable for each library of Python that keeps what it compiles, and the name of its folder.
///
/// What such a library keeps of a run on a GPU is machine code, which must not be taken here, and
/// the PTX of a run here must not be taken for it there. So these take the place of the user's own,
/// where the user has set one too.
const CACHES: [(&str, &str); 6] = [
    ("CUPY_CACHE_DIR", "cupy"),
    ("NUMBA_CACHE_DIR", "numba"),
    ("PYCUDA_CACHE_DIR", "pycuda"),
    ("TORCHINDUCTOR_CACHE_DIR", "torch"),
    ("TRITON_CACHE_DIR", "triton"),
    ("WARP_CACHE_PATH", "warp"),
];

/// The variables of a program that finds libraries in a folder, and the compilers' stand-in in it
/// under the name `preload`.
pub(super) fn variables(folder: &Path, preload: &str) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![
        (
            "LD_LIBRARY_PATH",
            list(Some(folder.into()), given("LD_LIBRARY_PATH")),
        ),
        // Behind those of the user: a sanitizer's must be the first.
        (
            "LD_PRELOAD",
            list(given("LD_PRELOAD"), Some(named(folder, preload))),
        ),
        // Where the sanitizer is linked with the program, it would refuse any before it.
        (
            "ASAN_OPTIONS",
            list(
                given("ASAN_OPTIONS"),
                Some("verify_asan_link_order=0".into()),
            ),
        ),
    ];
    let caches = kept(given).unwrap_or_else(|| folder.join("cache"));
    for (name, leaf) in CACHES {
        let cache = caches.join(leaf);
        // PyCUDA makes none. Where it cannot be made, the library that needs it says so.
        let _ = fs::create_dir_all(&cache);
        variables.push((name, cache.into()));
    }
    variables
}

/// Empties the folders that stay. A process that has lost `LD_PRELOAD` alone may have left machine
/// code there, which every later run would take.
pub(super) fn forget() {
    let Some(caches) = kept(given) else { return };
    for (_, leaf) in CACHES {
        let files = fs::read_dir(caches.join(leaf)).into_iter().flatten();
        for path in files.flatten().map(|file| file.path()) {
            // One that stays is told of again by the next run.
            let _ = if path.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
        }
    }
}

/// The value of a variable that is set and not empty.
fn given(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The items of two lists that have colons between them.
fn list(first: Option<OsString>, second: Option<OsString>) -> OsString {
    let both: Vec<OsString> = first.into_iter().chain(second).collect();
    both.join(OsStr::new(":"))
}

/// How `LD_PRELOAD` names a file of the folder. By its path, with which a process that has lost the
/// other variable finds it too; blanks would separate that.
fn named(folder: &Path, file: &str) -> OsString {
    let path = folder.join(file);
    if path.as_os_str().as_bytes().contains(&b' ') {
        return file.into();
    }
    path.into()
}

/// The user's folder for what is compiled here, which stays: a program of CuPy waits for its
/// kernels to be compiled for seconds, at each start without it. Another version of this program
/// may hand out other PTX, and has a folder of its own. `None` where none can be made.
fn kept(given: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let home = || given("HOME").map(|home| Path::new(&home).join(".cache"));
    let caches = given("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    let folder = caches.join("emulate").join(env!("CARGO_PKG_VERSION"));
    if !folder.is_absolute() {
        return None;
    }
    fs::create_dir_all(&folder).ok()?;
    // It may be there, and of another user or on a disk that is read alone.
    let access = rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK);
    access.is_ok().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_what_there_is() {
        let list = |first: Option<&str>, second: Option<&str>| {
            super::list(first.map(OsString::from), second.map(OsString::from))
        };
        assert_eq!(list(Some("a"), None), "a");
        assert_eq!(list(None, Some("b")), "b");
        assert_eq!(list(Some("a"), Some("b:c")), "a:b:c");
    }

    #[test]
    fn a_path_with_a_blank_is_left_to_the_other_variable() {
        let named = |folder: &str| super::named(Path::new(folder), "lib.so");
        assert_eq!(named("/tmp/a"), "/tmp/a/lib.so");
        assert_eq!(named("/tmp/a b"), "lib.so");
    }

    #[test]
    fn what_is_compiled_is_kept_where_the_user_keeps_such_files() {
        let folder = tempfile::tempdir().unwrap();
        let with = |name: &'static str, value: PathBuf| {
            kept(move |asked| (asked == name).then(|| value.clone().into_os_string()))
        };
        let version = env!("CARGO_PKG_VERSION");
        let of_home = folder.path().join(".cache/emulate").join(version);
        assert_eq!(with("HOME", folder.path().into()), Some(of_home));
        let own = folder.path().join("own");
        let of_own = own.join("emulate").join(version);
        assert_eq!(with("XDG_CACHE_HOME", own), Some(of_own));
        // None of a relative path, in a file, or without a home.
        assert_eq!(with("XDG_CACHE_HOME", "caches".into()), None);
        assert_eq!(with("HOME", "/proc/version".into()), None);
        assert_eq!(kept(|_| None), None);
    }
}
