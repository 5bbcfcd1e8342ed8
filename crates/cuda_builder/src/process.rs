//! Running programs without the outer cargo's environment variables.

use std::path::Path;
use std::process::{Command, Output};

use crate::Error;

/// A command with the user's environment instead of a build script's: an outer `cargo clippy`,
/// `RUSTFLAGS` for the host or another profile must not affect the kernels.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let ours = text.starts_with("CUDA_BUILDER_");
        let keep = [
            "CARGO_HOME",
            "CARGO_NET_",
            "CARGO_HTTP_",
            "CARGO_REGISTRIES_",
            "CARGO_TERM_",
        ];
        let foreign = (text.starts_with("CARGO") && !keep.iter().any(|k| text.starts_with(k)))
            || (text.starts_with("RUSTC") || text.starts_with("RUSTDOC") || text == "RUSTFLAGS")
            || [
                "RUSTUP_TOOLCHAIN",
                "TARGET",
                "HOST",
                "OPT_LEVEL",
                "DEBUG",
                "PROFILE",
                "MAKEFLAGS",
                "MFLAGS",
            ]
            .contains(&text);
        if foreign && !ours {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs `command` to its end and captures its output.
pub fn capture(command: &mut Command) -> Result<Output, Error> {
    let program = command.get_program().to_owned();
    command.output().map_err(Error::io("run", program))
}

/// A function that runs a program to its end and captures its output.
pub type Run<'r> = dyn FnMut(&mut Command) -> std::io::Result<Output> + 'r;

/// Runs `command` and returns its standard output. A failure is a bug of the build.
pub fn stdout_of(command: &mut Command) -> Result<String, Error> {
    let output = succeed(&mut Command::output, command)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` with `run`. A failure is a bug of the build.
pub fn succeed(run: &mut Run<'_>, command: &mut Command) -> Result<Output, Error> {
    let program = command.get_program().to_owned();
    let output = run(command).map_err(Error::io("run", program))?;
    if !output.status.success() {
        return Err(Error::Tool {
            tool: command.get_program().into(),
            status: output.status.to_string(),
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(output)
}
