//! The submission's files through the compilers, in a sandbox.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use cuda_builder::{Error, Prebuilt};

use sandbox::{Access, Calls, End, Finished, InForce, ResourceLimits, Sandbox};

use super::dependencies::HostCrates;
use super::rustc_diagnostics::{self, Diagnostics, Taken};
use super::screen::{self, Sources};
use super::{Options, PackError};
use crate::bundle::MAX_PTX_BYTES;
use crate::outcome::{Kind, fail};
use crate::processes;

/// Only errors are told: some hundred warnings are not a reason to refuse a file, and items that
/// are unused on the host are used on the device. Unlike `--cap-lints`, it leaves what is forbidden
/// so.
const NO_WARNINGS: &str = "-Awarnings";

/// The files that a program needs to start.
pub const LIBRARIES: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/nix/store",
];

/// The other files that a linker reads.
const LINKER: [&str; 8] = [
    "/bin",
    "/lib32",
    "/usr/bin",
    "/usr/lib32",
    "/usr/libexec",
    "/usr/local",
    "/etc/alternatives",
    "/dev/urandom",
];

/// The longest compiler message that is passed on.
const MESSAGE_BYTES: usize = 16 << 10;

/// The longest text that macros may become: four files' worth. Its tokens take 300 MB.
const EXPANDED_BYTES: u64 = 2 << 20;

/// A disk with less space counts as full: a build takes some ten megabytes.
const MIN_FREE_BYTES: u64 = 64 << 20;

/// The exit code of a recorder that was given no more memory.
pub const OUT_OF_MEMORY: i32 = 77;

/// Compiles the kernels in `folder`, which holds nothing yet, to PTX.
pub fn ptx(
    sources: &Sources,
    device: &Prebuilt,
    folder: &Path,
    options: &Options,
) -> Result<(String, InForce), PackError> {
    let own = ["lib.rs", "kernels.rs"];
    write(
        folder,
        &[
            (own[0], "#![no_std]\npub mod kernels;\n"),
            (own[1], &sources.kernels),
        ],
    )?;
    let tools = device.tools();
    let mut read: Vec<PathBuf> = device.folders().to_vec();
    // The sysroot's: the library source is `lib/rustlib/src/rust` in it.
    read.extend(tools.library_source.ancestors().nth(3).map(Path::to_owned));
    for tool in [&tools.opt, &tools.llc, &tools.rustc] {
        read.extend(installation(tool));
    }
    let sandbox = compiler(read, folder, options)?;
    let mut in_force = InForce::ALL;
    // A refusal, whatever the result of the rest.
    let mut refused = None;
    let mut diagnostics = Diagnostics::default();
    let built = device.compile(folder, &mut |command| {
        let is_rustc = command.get_program() == tools.rustc;
        if is_rustc {
            command.arg(NO_WARNINGS);
            let checked = check_expanded(&sandbox, command, folder, screen::Machine::Device)?;
            if let Err(error) = checked {
                refused = Some(error);
                return Ok(output(processes::status(End::ForbiddenCall), Vec::new()));
            }
            command.args(["--error-format=json", "--emit=dep-info=taken.d"]);
        }
        let finished = confined(&sandbox, command, folder)?;
        in_force = in_force.and(finished.in_force);
        let mut stderr = finished.stderr.clone();
        if is_rustc {
            diagnostics = Diagnostics::read(&finished.stderr);
            stderr = options.within_course(&diagnostics.text).into_bytes();
            refused = from_outside(folder, "kernels.rs", &own);
        }
        if let Some(limit) = over_limit(&finished, &sandbox.limits) {
            let message = format!("kernels.rs: compiling it {limit}");
            refused.get_or_insert(PackError::failure(Kind::BuildLimit, message));
        }
        Ok(output(processes::status(finished.end), stderr))
    });
    if let Some(refused) = refused {
        return Err(refused);
    }
    let ptx = built.map_err(|error| match error {
        Error::KernelCompile { output, .. } if diagnostics.in_submission => {
            let hints: String = diagnostics
                .hints
                .iter()
                .map(|hint| format!("\n\nhint: {hint}"))
                .collect();
            compile_error("kernels.rs", &output, &hints)
        }
        Error::NoKernels { .. } => PackError::failure(
            Kind::CompileError,
            "kernels.rs has no kernel: mark a `pub unsafe fn` with #[kernel]",
        ),
        Error::Unresolved { .. } => PackError::failure(Kind::CompileError, error.to_string()),
        Error::NoClusters { .. } => {
            PackError::failure(Kind::CompileError, format!("kernels.rs: {error}"))
        }
        other => no_space(folder, &other.to_string()).unwrap_or_else(|| other.into()),
    })?;
    if ptx.len() > MAX_PTX_BYTES {
        fail!(
            Kind::BuildLimit,
            "kernels.rs: compiling it gives {} MiB of PTX; the limit is {}",
            ptx.len() >> 20,
            size(MAX_PTX_BYTES as u64)
        );
    }
    Ok((ptx, in_force))
}

/// Compiles the recorder in `folder`, which holds nothing yet, and returns the program.
///
/// Twice: the submission as a library, which has no `std` but ours, by a compiler that reads
/// nothing but its own library; and a program of ours around it, by one that reads what linking
/// takes. That one reads no text but ours.
pub fn recorder(
    sources: &Sources,
    host: &HostCrates,
    lab: &str,
    folder: &Path,
    options: &Options,
) -> Result<(PathBuf, InForce), PackError> {
    let [text, program] = ["text", "program"].map(|name| folder.join(name));
    for part in [&text, &program] {
        fs::create_dir(part).map_err(PackError::io(part))?;
    }
    let compiled = library(sources, host, lab, &text, options)?;
    let linked = link(host, lab, &text, &program, options)?;
    let recorder = format!("recorder{}", std::env::consts::EXE_SUFFIX);
    Ok((program.join(recorder), compiled.and(linked)))
}

/// Compiles the two files, as a library in `folder`.
fn library(
    sources: &Sources,
    host: &HostCrates,
    lab: &str,
    folder: &Path,
    options: &Options,
) -> Result<InForce, PackError> {
    let root = format!(
        "pub mod kernels;\n#[forbid(unsafe_code)]\npub mod launch;\n\n\
         pub fn solution() -> impl plan::Solution<{lab}> {{\n    launch::Submission\n}}\n"
    );
    let own = ["lib.rs", "kernels.rs", "launch.rs"];
    write(
        folder,
        &[
            (own[0], &root),
            (own[1], &sources.kernels),
            (own[2], &sources.launch),
        ],
    )?;
    let mut rustc = rustc(host, "submission", "lib.rs", &["--crate-type=rlib"]);
    rustc
        .arg(NO_WARNINGS)
        // No crate but those that are named here can be named in it.
        .arg("--sysroot=.")
        .arg(format!("-Ldependency={}", host.library.display()));
    for (name, file) in &host.externs {
        rustc.arg(format!("--extern={name}={}", file.display()));
    }
    let sandbox = compiler(of_rustc(host), folder, options)?;
    check_expanded(&sandbox, &rustc, folder, screen::Machine::Host)
        .map_err(PackError::io(&host.rustc))??;
    rustc.args(["--error-format=json", "--emit=link,dep-info=taken.d"]);
    let finished = confined(&sandbox, &rustc, folder).map_err(PackError::io(&host.rustc))?;
    if let Some(refused) = from_outside(folder, "launch.rs", &own) {
        return Err(refused);
    }
    if let Some(limit) = over_limit(&finished, &sandbox.limits) {
        fail!(Kind::BuildLimit, "launch.rs: compiling it {limit}");
    }
    if !finished.succeeded() {
        let diagnostics = Diagnostics::read(&finished.stderr);
        let mut said = options.within_course(&diagnostics.text);
        // `plan::wave2d::Wave2d`.
        let lab = lab.split("::").nth(1).unwrap_or(lab);
        if let Some(sentence) = rustc_diagnostics::about_launch(&diagnostics, &sources.launch, lab)
        {
            said = format!("{sentence}\n{said}");
        }
        if diagnostics.in_submission {
            return Err(compile_error("launch.rs", &said, ""));
        }
        return Err(
            no_space(folder, &said).unwrap_or_else(|| PackError::HostCompiler {
                program: host.rustc.display().to_string(),
                said: shortened(&said),
            }),
        );
    }
    Ok(finished.in_force)
}

/// Links the library in `from` to a `main` of ours, in `folder`.
fn link(
    host: &HostCrates,
    lab: &str,
    from: &Path,
    folder: &Path,
    options: &Options,
) -> Result<InForce, PackError> {
    let main = include_str!("recorder_main.rs")
        .replace("plan::LAB", lab)
        .replace("OUT_OF_MEMORY", &OUT_OF_MEMORY.to_string());
    write(folder, &[("main.rs", &main)])?;
    let mut rustc = rustc(host, "recorder", "main.rs", &["--crate-type=bin"]);
    rustc
        .args(["-Cdebuginfo=0", "-Cstrip=debuginfo", "--error-format=json"])
        .arg(format!(
            "--extern=submission={}",
            from.join("libsubmission.rlib").display()
        ));
    for (name, file) in &host.externs {
        if name == "plan" {
            rustc.arg(format!("--extern={name}={}", file.display()));
        }
    }
    let mut read = of_rustc(host);
    read.extend(LINKER.map(PathBuf::from));
    read.push(from.to_owned());
    let sandbox = sandbox(read, folder, options);
    let finished = confined(&sandbox, &rustc, folder).map_err(PackError::io(&host.rustc))?;
    if let Some(limit) = over_limit(&finished, &sandbox.limits) {
        fail!(Kind::BuildLimit, "launch.rs: linking it {limit}");
    }
    if !finished.succeeded() {
        let said = shortened(&Diagnostics::read(&finished.stderr).text);
        return Err(no_space(folder, &said).unwrap_or(PackError::NoLinker { said }));
    }
    Ok(finished.in_force)
}

/// The host's compiler, for one crate in the working folder, with what crates depend on.
fn rustc(host: &HostCrates, name: &str, root: &str, more: &[&str]) -> Command {
    let mut rustc = Command::new(&host.rustc);
    rustc
        .arg(format!("--crate-name={name}"))
        .args(["--edition=2024", root, "--color=never", "--out-dir=."])
        .args(more);
    for folder in &host.folders {
        rustc.arg(format!("-Ldependency={}", folder.display()));
    }
    rustc
}

/// The files that this compiler reads: its own, and the crates for submissions.
fn of_rustc(host: &HostCrates) -> Vec<PathBuf> {
    let mut read = host.folders.clone();
    read.push(host.sysroot.join("lib"));
    read.extend(installation(&host.rustc));
    read
}

fn write(folder: &Path, files: &[(&str, &str)]) -> Result<(), PackError> {
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(PackError::io(&path))?;
    }
    Ok(())
}

/// The sandbox of a compiler that reads a submission's text, and with it whatever that text may
/// name: its own, and crates for submissions. Fails if the course's solutions or this program are
/// among it.
fn compiler(read: Vec<PathBuf>, folder: &Path, options: &Options) -> Result<Sandbox, PackError> {
    let read_by = sandbox(read, folder, options);
    keeps(&read_by.access.read, &options.secrets())?;
    Ok(read_by)
}

/// Fails if one of `secrets` can be read by who may read `read`.
pub fn keeps(read: &[PathBuf], secrets: &[PathBuf]) -> Result<(), PackError> {
    let real = |path: &PathBuf| path.canonicalize().ok();
    for secret in secrets.iter().filter_map(real) {
        if let Some(folder) = read
            .iter()
            .filter_map(real)
            .find(|it| secret.starts_with(it))
        {
            return Err(PackError::Readable { secret, folder });
        }
    }
    Ok(())
}

/// Where a program reads these and what it needs to start, and writes in `folder`.
fn sandbox(mut read: Vec<PathBuf>, folder: &Path, options: &Options) -> Sandbox {
    read.extend(LIBRARIES.map(PathBuf::from));
    Sandbox {
        limits: options.compile,
        access: Access {
            read,
            write: vec![folder.to_owned(), "/dev/null".into()],
        },
        calls: Calls::Compiler,
        without: options.without.clone(),
    }
}

/// The installation of a program: its file, links resolved, and the libraries beside its `bin`.
fn installation(program: &Path) -> Vec<PathBuf> {
    let Ok(program) = program.canonicalize() else {
        return Vec::new();
    };
    let above = program.parent().and_then(Path::parent);
    let libraries = above.map(|above| above.join("lib"));
    libraries.into_iter().chain([program]).collect()
}

/// Shows what macros become to the screen: `command`, which compiles the text in `folder`, is run
/// with an option that writes that and nothing else. Where it cannot, it says nothing: then the
/// text does not compile.
fn check_expanded(
    sandbox: &Sandbox,
    command: &Command,
    folder: &Path,
    machine: screen::Machine,
) -> io::Result<Result<(), PackError>> {
    let file = folder.join("expanded.rs");
    let mut expand = Command::new(command.get_program());
    let not_emitted =
        |argument: &&std::ffi::OsStr| !argument.as_encoded_bytes().starts_with(b"--emit");
    expand
        .args(command.get_args().filter(not_emitted))
        .envs(set(command))
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Zunpretty=expanded", "-o", "expanded.rs"]);
    let finished = confined(sandbox, &expand, folder)?;
    if let Some(limit) = over_limit(&finished, &sandbox.limits) {
        let source = machine.file();
        let message = format!("{source}: compiling it {limit}");
        return Ok(Err(PackError::failure(Kind::BuildLimit, message)));
    }
    if !finished.succeeded() {
        return Ok(Ok(()));
    }
    let mut text = Vec::new();
    File::open(&file)?
        .take(EXPANDED_BYTES + 1)
        .read_to_end(&mut text)?;
    fs::remove_file(&file)?;
    if text.len() as u64 > EXPANDED_BYTES {
        let message = format!(
            "{}: compiling it makes more than {} of text",
            machine.file(),
            size(EXPANDED_BYTES)
        );
        return Ok(Err(PackError::failure(Kind::BuildLimit, message)));
    }
    Ok(screen::expanded(&String::from_utf8_lossy(&text), machine))
}

/// A refusal, if the compiler of the text in `folder` took something from outside of it.
fn from_outside(folder: &Path, file: &str, own: &[&str]) -> Option<PackError> {
    let taken = rustc_diagnostics::taken(&folder.join("taken.d"), own)?;
    let message = match taken {
        Taken::File(path) => format!(
            "{file}: compiling it reads {path}: a submission is its two files, and reads no others"
        ),
        Taken::Variable(name) => format!(
            "{file}: compiling it reads the environment variable {name}: a submission does not depend on the machine that \
             compiles it"
        ),
    };
    Some(PackError::failure(Kind::ForbiddenConstruct, message))
}

/// The environment that a command sets.
fn set(command: &Command) -> Vec<(OsString, OsString)> {
    let set = command.get_envs();
    set.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect()
}

/// Runs a program with an environment of what compilers need.
fn confined(sandbox: &Sandbox, command: &Command, folder: &Path) -> io::Result<Finished> {
    let mut confined = Command::new(command.get_program());
    confined
        .args(command.get_args())
        .current_dir(folder)
        .envs(set(command))
        .envs(processes::COMPILERS_PATH.map(|path| ("PATH", path)))
        .env("LC_ALL", "C")
        .env("TMPDIR", folder);
    sandbox.run(&mut confined, b"")
}

fn output(status: ExitStatus, stderr: Vec<u8>) -> Output {
    Output {
        status,
        stdout: Vec::new(),
        stderr,
    }
}

/// Which limit ended a compiler, as the end of a sentence.
fn over_limit(finished: &Finished, limits: &ResourceLimits) -> Option<String> {
    match finished.end {
        End::TimedOut => Some(format!("takes more than {} s of CPU time", limits.cpu_s)),
        End::TooMuchOutput => Some(format!(
            "gives more than {} KiB of messages",
            limits.output_bytes >> 10
        )),
        End::FileTooLarge => Some(format!("writes more than {}", size(limits.file_bytes))),
        End::ForbiddenCall => Some("makes a system call that no compiler needs".to_owned()),
        // A compiler aborts when it is given no more memory.
        End::Signal(processes::ABORT) => Some(format!(
            "takes more than {} of memory, or makes the compiler abort",
            size(limits.memory_bytes)
        )),
        End::Signal(signal) => Some(format!("crashes the compiler (signal {signal})")),
        End::Exited(_) => None,
    }
}

fn size(bytes: u64) -> String {
    if bytes >= 1 << 30 {
        format!("{} GiB", bytes >> 30)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

/// The machine's error where the disk of this folder is full, as the system says: a compiler that
/// failed there may have lacked space. Only the remedy follows from it.
fn no_space(folder: &Path, said: &str) -> Option<PackError> {
    (processes::free_bytes(folder)? < MIN_FREE_BYTES).then(|| PackError::NoSpace {
        folder: folder.to_owned(),
        said: shortened(said),
    })
}

/// The compiler's message, without its summary, and hints after it.
fn compile_error(file: &str, output: &str, hints: &str) -> PackError {
    let message = format!("{file} does not compile:\n{}{hints}", shortened(output));
    PackError::failure(Kind::CompileError, message)
}

/// The text, cut after [`MESSAGE_BYTES`].
pub fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MESSAGE_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MESSAGE_BYTES);
    format!("{}\n... ({} bytes more)", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_a_remedy() {
        let error = PackError::NoSpace {
            folder: "/tmp/x".into(),
            said: "ld: final link failed: No space left on device".to_owned(),
        };
        insta::assert_snapshot!(error, @r"
        less than 64 MiB are free in /tmp/x, where submissions are built; set TMPDIR to a folder that has more:
        ld: final link failed: No space left on device
        ");
    }

    /// The words of a compiler do not matter, which a submission may choose.
    #[test]
    fn a_disk_with_space_is_not_full() {
        let folder = tempfile::tempdir().unwrap();
        let said = "error: No space left on device (os error 28)";
        assert!(no_space(folder.path(), said).is_none());
    }
}
