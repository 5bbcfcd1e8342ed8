//! What submissions are compiled against: the course's crates, compiled once.
//!
//! They are trusted, so cargo builds them, outside any sandbox, in a folder that is kept: whatever number of submissions
//! is packed, `core` and the rest are compiled once, and again only when a compiler or the course changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use cuda_builder::toolchain::{self, Toolchain};
use cuda_builder::{NvvmArch, Prebuilt};

use super::PackError;

/// The crates that a submission may use, where the course has them, and with which features.
const CRATES: [(&str, &str, &str); 3] = [
    ("cuda_std", "crates/cuda_std", ""),
    ("kernels-gpu", "kernels-gpu", ", default-features = false"),
    ("plan", "crates/plan", ""),
];

/// Those of them that kernels use.
const OF_KERNELS: usize = 2;

/// The course's crates, compiled for both machines.
#[derive(Debug, Clone)]
pub struct Dependencies {
    /// For kernels.
    pub device: Prebuilt,
    /// For kernels that need a newer device; compiled when the first submission has some.
    newer: OnceLock<Prebuilt>,
    /// What [`Dependencies::newer`] is compiled from, and where.
    kernels: PathBuf,
    kernels_cache: PathBuf,
    /// For the recorder.
    pub host: HostCrates,
}

/// The course's crates, compiled for the recorder.
#[derive(Debug, Clone)]
pub struct HostCrates {
    /// The compiler.
    pub rustc: PathBuf,
    /// The first line of `rustc --version`.
    pub rustc_version: String,
    /// Where it has its library.
    pub sysroot: PathBuf,
    /// Names and files for `--extern`.
    pub externs: Vec<(String, PathBuf)>,
    /// Where these and their own dependencies lie.
    pub folders: Vec<PathBuf>,
}

impl Dependencies {
    /// Compiles what is not yet compiled. In cargo's own target folder, `core` for kernels already is: the course's kernels
    /// were built with it.
    ///
    /// # Errors
    ///
    /// Compilers, or crates that were never downloaded, are missing.
    pub fn build(course_root: &Path, cache: &Path) -> Result<Dependencies, PackError> {
        let tools = toolchain::find()?;
        let kernels = template(course_root, cache, "kernels", OF_KERNELS)?;
        let recorder = template(course_root, cache, "recorder", CRATES.len())?;
        // Two compilers, two folders: neither waits for the other.
        let (device, host) = std::thread::scope(|scope| {
            let device = scope.spawn(|| {
                let cache = cache.join("cuda-builder");
                prebuilt(&kernels, NvvmArch::Compute80, &cache, tools)
            });
            let host = HostCrates::build(&recorder, &cache.join("pack"));
            (device.join().expect("no panic"), host)
        });
        Ok(Dependencies {
            device: device?,
            newer: OnceLock::new(),
            kernels_cache: cache.join("cuda-builder"),
            kernels,
            host: host?,
        })
    }

    /// For kernels that need a device of compute capability 9.0.
    ///
    /// # Errors
    ///
    /// As [`Dependencies::build`].
    pub fn newer(&self) -> Result<&Prebuilt, PackError> {
        if let Some(built) = self.newer.get() {
            return Ok(built);
        }
        let tools = self.device.tools().clone();
        let built = prebuilt(
            &self.kernels,
            NvvmArch::Compute90,
            &self.kernels_cache,
            tools,
        )?;
        Ok(self.newer.get_or_init(|| built))
    }
}

/// The crates that kernels use, for this architecture.
fn prebuilt(
    kernels: &Path,
    arch: NvvmArch,
    cache: &Path,
    tools: Toolchain,
) -> Result<Prebuilt, cuda_builder::Error> {
    Prebuilt::build(kernels, &["cuda_std", "kernels_gpu"], arch, cache, tools)
}

/// A package that depends on the first `count` of [`CRATES`], and does nothing.
fn template(
    course_root: &Path,
    cache: &Path,
    name: &str,
    count: usize,
) -> Result<PathBuf, PackError> {
    let folder = cache.join("pack/templates").join(name);
    let dependencies: String = CRATES[..count]
        .iter()
        .map(|(name, path, more)| {
            let path = course_root.join(path);
            format!("{name} = {{ path = {path:?}{more} }}\n")
        })
        .collect();
    let manifest = format!(
        "[package]\nname = \"{name}-dependencies\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}"
    );
    let write = |file: &str, text: &[u8]| {
        let path = folder.join(file);
        // What is the same keeps its time, so that cargo has nothing to do.
        if fs::read(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().unwrap_or(&folder))
            .and_then(|()| fs::write(&path, text))
            .map_err(|source| PackError::Cache { path, source })
    };
    // The versions that the course was built with are already downloaded. cargo leaves out what is not needed, so
    // its own file stays until the course's changes.
    let lock = course_root.join("Cargo.lock");
    let lock = fs::read(&lock).map_err(PackError::io(&lock))?;
    if fs::read(folder.join("course.lock")).is_ok_and(|old| old != lock)
        || !folder.join("Cargo.lock").is_file()
    {
        write("Cargo.lock", &lock)?;
    }
    write("course.lock", &lock)?;
    write("Cargo.toml", manifest.as_bytes())?;
    write("src/lib.rs", b"#![no_std]\n")?;
    Ok(folder)
}

impl HostCrates {
    fn build(package: &Path, target_dir: &Path) -> Result<HostCrates, PackError> {
        let failed = |program: &str, said: &str| PackError::HostCompiler {
            program: program.to_owned(),
            said: said.trim().to_owned(),
        };
        let run = |command: &mut Command| -> Result<Output, PackError> {
            let name = command.get_program().to_string_lossy().into_owned();
            let output = command
                .current_dir(package)
                .output()
                .map_err(|error| failed(&name, &error.to_string()))?;
            if !output.status.success() {
                return Err(failed(&name, &String::from_utf8_lossy(&output.stderr)));
            }
            Ok(output)
        };
        let text = |output: Output| String::from_utf8_lossy(&output.stdout).into_owned();
        let ask = |program: &Path, arguments: &[&str]| {
            run(cuda_builder::command(program).args(arguments)).map(text)
        };
        // rustup's `rustc` stands for another, which is asked for by name: only that one runs in the sandbox.
        let sysroot = ask(Path::new("rustc"), &["--print", "sysroot"])?;
        let sysroot = PathBuf::from(sysroot.trim());
        let or_path = |name: &str| {
            let own = sysroot.join("bin").join(name);
            if own.is_file() { own } else { name.into() }
        };
        let rustc = or_path("rustc");
        let version = ask(&rustc, &["--version"])?;
        let messages = run(cuda_builder::command(&or_path("cargo"))
            .env("RUSTC", &rustc)
            .env("CARGO_TARGET_DIR", target_dir)
            .args(["build", "--release", "--lib", "--offline", "--quiet"])
            .arg("--message-format=json-render-diagnostics"))
        .map(text)?;
        let libraries = libraries(&messages);
        let library = |(name, ..): (&str, _, _)| {
            let name = name.replace('-', "_");
            let found = libraries.iter().find(|(library, _)| *library == name);
            let lacking = || failed("cargo", &format!("built no library `{name}`"));
            found.cloned().ok_or_else(lacking)
        };
        let externs = CRATES.into_iter().map(library).collect::<Result<_, _>>()?;
        let folders = libraries.iter().filter_map(|(_, file)| file.parent());
        let mut folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
        folders.sort();
        folders.dedup();
        Ok(HostCrates {
            rustc,
            rustc_version: version.trim().to_owned(),
            sysroot,
            externs,
            folders,
        })
    }
}

/// The libraries that cargo's messages name, each with its file.
fn libraries(messages: &str) -> Vec<(String, PathBuf)> {
    let artifact = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let name = message["target"]["name"].as_str()?.replace('-', "_");
        let mut files = message["filenames"].as_array()?.iter();
        let file = files.find_map(|file| {
            let file = file.as_str()?;
            let is_library =
                file.ends_with(".rlib") || file.ends_with(std::env::consts::DLL_SUFFIX);
            is_library.then(|| PathBuf::from(file))
        })?;
        Some((name, file))
    };
    messages.lines().filter_map(artifact).collect()
}
