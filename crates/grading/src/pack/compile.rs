//! The submission's files through the compilers, in a sandbox.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use cuda_builder::{Error, Prebuilt};

use sandbox::{Access, Calls, End, Finished, InForce, ResourceLimits, Sandbox};

use super::dependencies::HostCrates;
use super::screen::Sources;
use super::{Options, PackError};
use crate::bundle::MOST_PTX_BYTES;
use crate::outcome::{Kind, fail};

/// What a compiler or linker reads besides its own.
const SYSTEM: [&str; 13] = [
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/nix/store",
];

/// The longest compiler message that is passed on.
const MESSAGE_BYTES: usize = 16 << 10;

/// Compiles the kernels in `folder`, which holds nothing yet, to PTX.
pub fn ptx(
    sources: &Sources,
    device: &Prebuilt,
    folder: &Path,
    options: &Options,
) -> Result<(String, InForce), PackError> {
    write(
        folder,
        &[
            ("lib.rs", "#![no_std]\npub mod kernels;\n"),
            ("kernels.rs", &sources.kernels),
        ],
    )?;
    let tools = device.tools();
    let mut read: Vec<PathBuf> = device.folders().to_vec();
    // The sysroot: the library source is `lib/rustlib/src/rust` in it.
    read.extend(tools.library_source.ancestors().nth(4).map(Path::to_owned));
    for tool in [&tools.opt, &tools.llc, &tools.rustc] {
        read.extend(installation(tool));
    }
    let sandbox = compiler(read, folder, options);
    let mut in_force = None;
    let mut limit = None;
    let built = device.compile(folder, &mut |command| {
        let finished = confined(&sandbox, command, folder)?;
        in_force = Some(finished.in_force);
        limit = limit.take().or(over_limit(&finished, &sandbox.limits));
        Ok(output(finished))
    });
    if let Some(limit) = limit {
        fail!(Kind::BuildLimit, "kernels.rs: compiling it {limit}");
    }
    let ptx = built.map_err(|error| match error {
        Error::KernelCompile { output, .. } => compile_error("kernels.rs", &output),
        Error::NoKernels { .. } => PackError::refused(
            Kind::CompileError,
            "kernels.rs has no kernel: mark a `pub unsafe fn` with #[kernel]",
        ),
        Error::Unresolved { .. } => PackError::refused(Kind::CompileError, error.to_string()),
        Error::NoClusters { .. } => {
            PackError::refused(Kind::CompileError, format!("kernels.rs: {error}"))
        }
        // Whatever LLVM cannot do with it, the submission is to blame for as far as anybody can tell.
        Error::Tool { .. } | Error::UnexpectedIr { .. } => PackError::refused(
            Kind::CompileError,
            format!("kernels.rs: {}", shortened(&error.to_string())),
        ),
        other => other.into(),
    })?;
    if ptx.len() > MOST_PTX_BYTES {
        fail!(
            Kind::BuildLimit,
            "kernels.rs: compiling it gives {} MiB of PTX; the limit is {}",
            ptx.len() >> 20,
            size(MOST_PTX_BYTES as u64)
        );
    }
    Ok((ptx, in_force.unwrap_or_default()))
}

/// Compiles the recorder in `folder`, which holds nothing yet, and returns the program.
pub fn recorder(
    sources: &Sources,
    host: &HostCrates,
    lab: &str,
    folder: &Path,
    options: &Options,
) -> Result<(PathBuf, InForce), PackError> {
    let main = format!(
        "mod kernels;\nmod launch;\n\n\
         fn main() {{\n    \
             let file = std::env::args_os().nth(1).expect(\"a file to write\");\n    \
             let file = std::fs::OpenOptions::new().write(true).open(file).expect(\"the file to write\");\n    \
             if let Err(error) = plan::record_all::<{lab}>(&launch::Submission, std::io::stdin(), file) {{\n        \
                 eprintln!(\"{{error}}\");\n        \
                 std::process::exit(1);\n    \
             }}\n\
         }}\n"
    );
    write(
        folder,
        &[
            ("main.rs", &main),
            ("kernels.rs", &sources.kernels),
            ("launch.rs", &sources.launch),
        ],
    )?;
    let mut rustc = Command::new(&host.rustc);
    rustc
        .args(["--crate-name=recorder", "--edition=2024", "main.rs"])
        .args(["--crate-type=bin", "--color=never", "--out-dir=."])
        // What is left unused there is used on the device.
        .args(["-Adead_code", "-Aunused"])
        .args(["-Cdebuginfo=0", "-Cstrip=debuginfo"]);
    for folder in &host.folders {
        rustc.arg(format!("-Ldependency={}", folder.display()));
    }
    for (name, file) in &host.externs {
        rustc.arg(format!("--extern={name}={}", file.display()));
    }
    let mut read = host.folders.clone();
    read.push(host.sysroot.clone());
    read.extend(installation(&host.rustc));
    let sandbox = compiler(read, folder, options);
    let finished = confined(&sandbox, &mut rustc, folder).map_err(PackError::io(&host.rustc))?;
    if let Some(limit) = over_limit(&finished, &sandbox.limits) {
        fail!(Kind::BuildLimit, "launch.rs: compiling it {limit}");
    }
    if !finished.succeeded() {
        let text = String::from_utf8_lossy(&finished.stderr);
        if text.contains("linking with") || text.contains("linker `") {
            return Err(PackError::NoLinker {
                said: shortened(&text),
            });
        }
        return Err(compile_error("launch.rs", &text));
    }
    Ok((folder.join("recorder"), finished.in_force))
}

fn write(folder: &Path, files: &[(&str, &str)]) -> Result<(), PackError> {
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(PackError::io(&path))?;
    }
    Ok(())
}

/// A compiler's sandbox: it reads its own, the course's crates and the system's, and writes in `folder`.
fn compiler(mut read: Vec<PathBuf>, folder: &Path, options: &Options) -> Sandbox {
    read.extend(SYSTEM.map(PathBuf::from));
    read.push("/dev/urandom".into());
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

/// The folder that a program was installed in, links resolved: the one above its `bin`.
fn installation(program: &Path) -> Option<PathBuf> {
    let program = program.canonicalize().ok()?;
    let bin = program.parent()?;
    Some(match bin.parent() {
        // A system's own `bin` stands for itself.
        Some(above) if above != Path::new("/") && above != Path::new("/usr") => above.to_owned(),
        _ => bin.to_owned(),
    })
}

/// Runs a program with an environment of what compilers need.
fn confined(sandbox: &Sandbox, command: &mut Command, folder: &Path) -> std::io::Result<Finished> {
    let set: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let mut confined = Command::new(command.get_program());
    confined
        .args(command.get_args())
        .current_dir(folder)
        .envs(set)
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LC_ALL", "C")
        .env("TMPDIR", folder);
    sandbox.run(&mut confined, b"")
}

fn output(finished: Finished) -> Output {
    let status = match finished.end {
        End::Exited(code) => code << 8,
        End::Signal(signal) => signal,
        // The caller looks at these first.
        _ => libc::SIGKILL,
    };
    Output {
        status: ExitStatus::from_raw(status),
        stdout: finished.stdout,
        stderr: finished.stderr,
    }
}

/// Which limit ended a compiler, as the end of a sentence.
fn over_limit(finished: &Finished, limits: &ResourceLimits) -> Option<String> {
    let said = String::from_utf8_lossy(&finished.stderr).to_lowercase();
    // rustc's words, and LLVM's.
    let lacks_memory = said.contains("memory allocation of") || said.contains("out of memory");
    match finished.end {
        End::TimedOut => Some(format!("takes more than {} s of CPU time", limits.cpu_s)),
        End::TooMuchOutput => Some(format!(
            "gives more than {} KiB of messages",
            limits.output_bytes >> 10
        )),
        End::FileTooLarge => Some(format!("writes more than {}", size(limits.file_bytes))),
        End::ForbiddenCall => Some("makes a system call that no compiler needs".to_owned()),
        End::Signal(_) | End::Exited(1..) if lacks_memory => Some(format!(
            "takes more than {} of memory",
            size(limits.memory_bytes)
        )),
        End::Signal(signal) => Some(format!("crashes the compiler (signal {signal})")),
        End::Exited(_) => None,
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 => format!("{} GiB", bytes >> 30),
        bytes => format!("{} MiB", bytes >> 20),
    }
}

/// The compiler's message, without its summary.
fn compile_error(file: &str, output: &str) -> PackError {
    let message = format!("{file} does not compile:\n{}", shortened(output));
    PackError::refused(Kind::CompileError, message)
}

/// At most so much text.
pub fn shortened(text: &str) -> String {
    let text = text.trim();
    if text.len() <= MESSAGE_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MESSAGE_BYTES);
    format!("{}\n... ({} bytes more)", &text[..end], text.len() - end)
}
