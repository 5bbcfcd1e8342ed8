//! The crates that submissions are compiled against: the course's, compiled once.
//!
//! They are trusted, so cargo builds them, outside any sandbox, in a folder that is kept: whatever
//! number of submissions is packed, `core` and the rest are compiled once, and again only when a
//! compiler or the course changes. Beside what cargo leaves there lie the built-in solutions too.
//! So submissions are compiled against folders that hold nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use cuda_builder::toolchain::{self, Toolchain};
use cuda_builder::{NvvmArch, Panics, Prebuilt};

use super::PackError;
use super::screen::Sources;
use output_files::digest::sha256;

/// The crates that a submission may use, where the course has them, and with which features.
const CRATES: [(&str, &str, &str); 3] = [
    ("cuda_std", "crates/cuda_std", ""),
    ("kernels-gpu", "kernels-gpu", ", default-features = false"),
    ("plan", "crates/plan", ""),
];

/// The crate that host code of submissions has instead of `std`.
const STD: &str = include_str!("host_std.rs");

/// Those of them that kernels use.
const OF_KERNELS: usize = 2;

/// How far the first build is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Building {
    /// The crates of kernels and those of launch.rs are compiled, at once.
    All,
    /// Those of launch.rs are there, and those of kernels are still compiled.
    OfKernels,
}

/// The course's crates, compiled for both machines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dependencies {
    /// For kernels.
    pub device: Prebuilt,
    /// For kernels that need a newer device; compiled when the first submission has some.
    #[serde(skip)]
    newer: OnceLock<Prebuilt>,
    /// The sources of [`Dependencies::newer`], and its folder.
    kernels: PathBuf,
    cache: PathBuf,
    /// For the recorder.
    pub host: HostCrates,
}

/// The course's crates, compiled for the recorder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostCrates {
    /// The compiler.
    pub rustc: PathBuf,
    /// The first line of `rustc --version`.
    pub rustc_version: String,
    /// Where it is installed.
    pub sysroot: PathBuf,
    /// Where it has the real `std`, and what that depends on.
    pub library: PathBuf,
    /// Names and files for `--extern`, of a submission: it has nothing else.
    pub externs: Vec<(String, PathBuf)>,
    /// Where these and their own dependencies lie, and nothing else.
    pub folders: Vec<PathBuf>,
}

impl Dependencies {
    /// Compiles what is not yet compiled. In cargo's own target folder, `core` for kernels already
    /// is: the course's kernels were built with it.
    ///
    /// # Errors
    ///
    /// Compilers are missing, or crates that were never downloaded and cannot be now.
    pub fn build(
        course_root: &Path,
        cache: &Path,
        tell: &mut dyn FnMut(Building),
    ) -> Result<Dependencies, PackError> {
        tell(Building::All);
        let kernels = template(course_root, cache, "kernels", OF_KERNELS)?;
        let recorder = template(course_root, cache, "recorder", CRATES.len())?;
        // Two compilers, two folders: neither waits for the other.
        let (device, host) = std::thread::scope(|scope| {
            let device = scope.spawn(|| prebuilt(&kernels, CODE, cache, toolchain::find()?));
            let host = HostCrates::build(&recorder, cache);
            tell(Building::OfKernels);
            (device.join().expect("no panic"), host)
        });
        Ok(Dependencies {
            device: device?,
            newer: OnceLock::new(),
            cache: cache.to_owned(),
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
        let code = (NvvmArch::Compute90, Panics::Trap);
        let built = prebuilt(&self.kernels, code, &self.cache, tools)?;
        Ok(self.newer.get_or_init(|| built))
    }

    /// For kernels whose panics say which they are; `newer` if they need a device of compute
    /// capability 9.0.
    ///
    /// # Errors
    ///
    /// As [`Dependencies::build`].
    pub fn with_messages(&self, newer: bool) -> Result<Prebuilt, PackError> {
        let arch = if newer {
            NvvmArch::Compute90
        } else {
            NvvmArch::Compute80
        };
        let tools = self.device.tools().clone();
        prebuilt(&self.kernels, (arch, Panics::Message), &self.cache, tools)
    }
}

/// The PTX of these sources says what older devices have of it, down to those of compute capability
/// 7.5: a bundle is for any machine.
pub fn for_older_devices(built: Prebuilt, sources: &Sources) -> Prebuilt {
    // Code that asks for its device has been told of one.
    if sources.asks_for_device() {
        return built;
    }
    built.oldest(NvvmArch::Compute75)
}

/// How most kernels are compiled.
const CODE: (NvvmArch, Panics) = (NvvmArch::Compute80, Panics::Trap);

/// The crates that kernels use, compiled like this.
fn prebuilt(
    kernels: &Path,
    code: (NvvmArch, Panics),
    cache: &Path,
    tools: Toolchain,
) -> Result<Prebuilt, PackError> {
    let target_dir = cache.join("cuda-builder");
    let crates = ["cuda_std", "kernels_gpu"];
    let built = Prebuilt::build(kernels, &crates, code, &target_dir, tools)?;
    let to = alone(cache, built.libraries())?;
    Ok(built.moved(&to))
}

/// A folder in the cache that is known by `key`, filled by `fill` when it is first needed and never
/// changed.
fn kept(
    cache: &Path,
    key: &str,
    fill: impl FnOnce(&Path) -> Result<(), PackError>,
) -> Result<PathBuf, PackError> {
    let folder = cache.join("pack/for-submissions").join(sha256(key));
    if folder.is_dir() {
        return Ok(folder);
    }
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| PackError::Cache { path, source }
    };
    let above = folder.parent().unwrap_or(cache);
    fs::create_dir_all(above).map_err(failed(above))?;
    let unfinished = tempfile::tempdir_in(above).map_err(failed(above))?;
    fill(unfinished.path())?;
    match fs::rename(unfinished.path(), &folder) {
        // Another process was faster.
        Err(_) if folder.is_dir() => {}
        renamed => renamed.map_err(failed(&folder))?,
    }
    Ok(folder)
}

/// A folder with these files, and nothing else.
fn alone(cache: &Path, files: &[PathBuf]) -> Result<PathBuf, PackError> {
    let mut files = files.to_vec();
    files.sort();
    let mut key = String::new();
    for file in &files {
        let metadata = file.metadata().map_err(PackError::io(file))?;
        let modified = metadata.modified().map_err(PackError::io(file))?;
        key += &format!("{} {} {modified:?}\n", file.display(), metadata.len());
    }
    kept(cache, &key, |folder| {
        for file in &files {
            let copy = folder.join(file.file_name().unwrap_or_default());
            // The same file, where the cache is one file system: a later compilation makes another.
            fs::hard_link(file, &copy)
                .or_else(|_| fs::copy(file, &copy).map(drop))
                .map_err(PackError::io(file))?;
        }
        Ok(())
    })
}

/// A package that depends on the first `count` of [`CRATES`], and does nothing. Each course has its
/// own: several may share a target folder.
fn template(
    course_root: &Path,
    cache: &Path,
    name: &str,
    count: usize,
) -> Result<PathBuf, PackError> {
    let course = &sha256(course_root.as_os_str().as_encoded_bytes())[..16];
    let folder = cache.join("pack/templates").join(course).join(name);
    let dependencies: String = CRATES[..count]
        .iter()
        .map(|(dependency, path, more)| {
            let path = course_root.join(path);
            format!("{dependency} = {{ path = {path:?}{more} }}\n")
        })
        .collect();
    let manifest = format!(
        "[package]\nname = \"{name}-dependencies\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
         [dependencies]\n{dependencies}"
    );
    let write = |file: &str, text: &[u8]| {
        let path = folder.join(file);
        // An unchanged file keeps its time, so that cargo has nothing to do.
        if fs::read(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        fs::create_dir_all(path.parent().unwrap_or(&folder))
            .and_then(|()| fs::write(&path, text))
            .map_err(|source| PackError::Cache { path, source })
    };
    // The versions that the course was built with are already downloaded. cargo leaves out what is
    // not needed, so its own file stays until the course's changes.
    let lock = course_root.join("Cargo.lock");
    let lock = fs::read(&lock).map_err(PackError::io(&lock))?;
    if fs::read(folder.join("course.lock")).is_ok_and(|old| old != lock)
        || !folder.join("Cargo.lock").is_file()
    {
        write("Cargo.lock", &lock)?;
    }
    write("course.lock", &lock)?;
    write("Cargo.toml", manifest.as_bytes())?;
    // It has the panic handler, which a library of kernels needs to be linked.
    write("src/lib.rs", b"#![no_std]\nextern crate cuda_std;\n")?;
    Ok(folder)
}

impl HostCrates {
    fn build(package: &Path, cache: &Path) -> Result<HostCrates, PackError> {
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
        // rustup's `rustc` starts another, which is asked for by name: only that one runs in the
        // sandbox.
        let sysroot = ask(Path::new("rustc"), &["--print", "sysroot"])?;
        let sysroot = PathBuf::from(sysroot.trim());
        let or_path = |name: &str| {
            let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            let own = sysroot.join("bin").join(file);
            if own.is_file() { own } else { name.into() }
        };
        let rustc = or_path("rustc");
        let version = ask(&rustc, &["--version"])?;
        let build = |network: &[&str]| {
            run(cuda_builder::command(&or_path("cargo"))
                .env("RUSTC", &rustc)
                .env("CARGO_TARGET_DIR", cache.join("pack"))
                .args(["build", "--release", "--lib", "--quiet"])
                .args(network)
                .arg("--message-format=json-render-diagnostics"))
            .map(text)
        };
        // Where the program was not built, nothing is downloaded yet.
        let messages = build(&["--offline"]).or_else(|_| build(&[]))?;
        let libraries = libraries(&messages);
        let files: Vec<PathBuf> = libraries.iter().map(|(_, file)| file.clone()).collect();
        let crates = alone(cache, &files)?;
        let krate = |(name, ..): (&str, _, _)| {
            let name = name.replace('-', "_");
            let found = libraries.iter().find(|(library, _)| *library == name);
            let (_, file) =
                found.ok_or_else(|| failed("cargo", &format!("built no library `{name}`")))?;
            Ok((name, crates.join(file.file_name().unwrap_or_default())))
        };
        let mut externs: Vec<(String, PathBuf)> = CRATES
            .into_iter()
            .map(krate)
            .collect::<Result<_, PackError>>()?;
        let library = ask(&rustc, &["--print", "target-libdir"])?;
        let library = PathBuf::from(library.trim());
        // From Rust 1.95 on, most of what a compiler reads of them is a file of its own.
        externs.extend(core_of(&library)?.map(|file| ("core".to_owned(), file)));
        let std = kept(cache, &format!("{version}\n{STD}"), |folder| {
            let source = folder.join("std.rs");
            fs::write(&source, STD).map_err(PackError::io(&source))?;
            run(cuda_builder::command(&rustc)
                .args(["--crate-name=std", "--crate-type=rlib", "--edition=2024"])
                // It is another crate than the real one.
                .arg("-Cmetadata=for-submissions")
                .arg("--out-dir")
                .arg(folder)
                .arg(source))
            .map(drop)
        })?;
        externs.push(("std".to_owned(), std.join("libstd.rlib")));
        Ok(HostCrates {
            rustc,
            rustc_version: version.trim().to_owned(),
            sysroot,
            library,
            externs,
            folders: vec![crates, std],
        })
    }
}

/// The files of `core` in the compiler's library.
fn core_of(library: &Path) -> Result<impl Iterator<Item = PathBuf>, PackError> {
    let entries = fs::read_dir(library).map_err(PackError::io(library))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(files.filter(|file| {
        let is_core = file
            .file_stem()
            .and_then(|stem| stem.to_str())
            .is_some_and(|stem| stem.starts_with("libcore-"));
        let extension = file.extension().and_then(|extension| extension.to_str());
        is_core && matches!(extension, Some("rlib" | "rmeta"))
    }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn courses_that_share_a_target_folder_have_their_own_crates() {
        let shared = tempfile::tempdir().unwrap();
        let courses = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let made = courses.each_ref().map(|course| {
            fs::write(course.path().join("Cargo.lock"), "version = 4\n").unwrap();
            template(course.path(), shared.path(), "recorder", CRATES.len()).unwrap()
        });
        for (course, folder) in courses.iter().zip(&made) {
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let plan = course.path().join("crates/plan");
            assert!(manifest.contains(&format!("plan = {{ path = {plan:?} }}")));
        }
    }
}
