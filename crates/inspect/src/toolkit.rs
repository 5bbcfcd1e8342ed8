//! Programs of CUDA's toolkit, where they are installed.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A program of the toolkit that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{tool} not found: neither in the PATH nor in /usr/local/cuda; set CUDA_HOME to the toolkit"
)]
pub struct NotFound {
    /// Its name: `nvcc`.
    pub tool: &'static str,
}

/// Where programs of the toolkit are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolkit {
    folders: Vec<PathBuf>,
}

impl Toolkit {
    /// In this order: `$CUDA_HOME/bin`, `$CUDA_PATH/bin`, the `PATH`'s folders,
    /// `/usr/local/cuda/bin`.
    pub fn installed() -> Toolkit {
        let homes = ["CUDA_HOME", "CUDA_PATH"].map(env::var_os);
        Toolkit::new(homes, env::var_os("PATH"))
    }

    fn new(homes: [Option<OsString>; 2], path: Option<OsString>) -> Toolkit {
        let homes = homes
            .into_iter()
            .flatten()
            .map(|home| Path::new(&home).join("bin"));
        let path = path.iter().flat_map(env::split_paths);
        let usual = PathBuf::from("/usr/local/cuda/bin");
        Toolkit {
            folders: homes.chain(path).chain([usual]).collect(),
        }
    }

    /// In this folder alone.
    #[cfg(test)]
    pub fn in_folder(folder: &Path) -> Toolkit {
        Toolkit {
            folders: vec![folder.to_owned()],
        }
    }

    /// The path of the first program of this name.
    ///
    /// # Errors
    ///
    /// [`NotFound`], as a message for the user.
    pub fn find(&self, tool: &'static str) -> Result<PathBuf, NotFound> {
        let mut paths = self.folders.iter().map(|folder| folder.join(tool));
        paths.find(|path| path.is_file()).ok_or(NotFound { tool })
    }
}

/// Makes a program of the toolkit that runs this shell script.
#[cfg(all(test, unix))]
pub fn fake(folder: &Path, tool: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.join(tool);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_tried_in_order() {
        let toolkit = Toolkit::new(
            [Some("/opt/cuda-13".into()), None],
            Some("/usr/bin:/opt/bin".into()),
        );
        let folders = [
            "/opt/cuda-13/bin",
            "/usr/bin",
            "/opt/bin",
            "/usr/local/cuda/bin",
        ];
        assert_eq!(toolkit.folders, folders.map(PathBuf::from));
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let toolkit = Toolkit::in_folder(folder.path());
        insta::assert_snapshot!(toolkit.find("nvcc").unwrap_err(), @"nvcc not found: neither in the PATH nor in /usr/local/cuda; set CUDA_HOME to the toolkit");
        std::fs::write(folder.path().join("nvcc"), "").unwrap();
        assert_eq!(toolkit.find("nvcc"), Ok(folder.path().join("nvcc")));
    }
}
