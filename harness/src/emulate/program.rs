//! A program that finds the emulated driver as its `libcuda.so.1`.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::ValueEnum;
use exit::{CommandError, Ending};
use output_files::ScratchFolder;
use serde::Serialize;
use terminal::stdout::Out;
use units::count;

use super::options::EmulateArgs;
use super::records::Run;

/// The library's file, which cargo makes and a release has beside the program.
const LIBRARY: &str = "libemulated_driver.so";

#[derive(Serialize)]
struct Report {
    program: String,
    devices: u32,
    runs: Vec<Run>,
}

/// Runs the program once for each order.
pub(super) fn run(args: &EmulateArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let json = args.json.open()?;
    let library = library()?;
    let folder = ScratchFolder::new("emulate");
    let folder = folder.map_err(|error| {
        CommandError::Environment(format!("cannot make a folder for the library: {error}"))
    })?;
    place(&library, folder.path())?;
    let program = args.program[0].to_string_lossy().into_owned();
    let mut runs = Vec::new();
    for order in &args.orders.0 {
        let report = folder.path().join(format!("report-{order}"));
        let status = command(args, folder.path(), &report, *order)
            .status()
            .map_err(|error| CommandError::Input(format!("{program}: {}", why_not_run(&error))))?;
        let mut run = Run {
            order: *order,
            exit_code: Some(code_of(status)),
            ..Run::default()
        };
        run.read(&report)?;
        if json.wants_text() {
            tell(&run, args, out)?;
        }
        runs.push(run);
    }
    let ending = ending(&program, &runs);
    let devices = args.devices;
    json.write(
        "emulate",
        Report {
            program,
            devices,
            runs,
        },
        out,
    )?;
    ending
}

/// Why a program cannot be started, with a remedy.
fn why_not_run(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "not found; write ./NAME for one in this folder".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "it may not be executed; name a program, or `chmod +x` it".to_owned()
        }
        _ => format!("cannot be run: {error}"),
    }
}

/// The file of the library: beside this program, or where cargo puts it.
fn library() -> Result<PathBuf, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::Environment(format!("cannot find this program's file: {error}"))
    })?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(LIBRARY), folder.join("deps").join(LIBRARY)];
    let found = places.iter().find(|place| place.exists());
    found.cloned().ok_or_else(|| {
        CommandError::Environment(format!(
            "there is no {LIBRARY} beside {}: copy it there from the release, or run `cargo build --release -p emulated-driver`",
            program.display()
        ))
    })
}

/// Puts the library into a folder under the driver's names.
fn place(library: &Path, folder: &Path) -> Result<(), CommandError> {
    for name in ["libcuda.so.1", "libcuda.so"] {
        let link = folder.join(name);
        let made = std::fs::hard_link(library, &link)
            .or_else(|_| std::fs::copy(library, &link).map(|_| ()));
        made.map_err(|error| CommandError::not_written(&link, &error))?;
    }
    Ok(())
}

fn command(args: &EmulateArgs, folder: &Path, report: &Path, order: u32) -> Command {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty()) {
        path.push(":");
        path.push(others);
    }
    // The driver knows checks by the names that they have on the command line.
    let checks = { args.check.iter() }.filter_map(ValueEnum::to_possible_value);
    let checks: Vec<String> = checks.map(|check| check.get_name().to_owned()).collect();
    let mut command = Command::new(&args.program[0]);
    command
        .args(&args.program[1..])
        .env("LD_LIBRARY_PATH", path)
        // It would hide devices.
        .env_remove("CUDA_VISIBLE_DEVICES")
        .env("EMULATED_DRIVER_DEVICES", args.devices.to_string())
        .env(
            "EMULATED_DRIVER_MULTIPROCESSORS",
            args.multiprocessors.to_string(),
        )
        .env("EMULATED_DRIVER_ORDER", order.to_string())
        .env("EMULATED_DRIVER_CHECK", checks.join(","))
        .env(
            "EMULATED_DRIVER_VOLATILE_IS_PLAIN",
            u8::from(args.volatile_is_plain).to_string(),
        )
        .env("EMULATED_DRIVER_REPORT", report)
        .env(
            "EMULATED_DRIVER_COUNTS",
            OsString::from(if args.counts { "1" } else { "0" }),
        );
    command
}

/// The exit code, as shells have it.
fn code_of(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}

/// Says how a run ended. The faults themselves the driver has told when they happened.
fn tell(run: &Run, args: &EmulateArgs, out: &mut Out<'_>) -> Result<(), CommandError> {
    let order = match args.orders.0.len() {
        1 => String::new(),
        _ => format!("order {}: ", run.order),
    };
    let code = run.exit_code.unwrap_or(0);
    let ended = match code {
        0 => String::new(),
        _ => format!("; the program ended with {code}"),
    };
    let found = match (run.started, run.faults.len(), run.unsupported.len()) {
        (false, ..) => "the program has not used the CUDA driver".to_owned(),
        (true, 0, 0) => "no fault".to_owned(),
        (true, faults, 0) => count(faults, "fault"),
        (true, 0, needs) => format!("{} not supported", count(needs, "need")),
        (true, faults, needs) => format!(
            "{}, {} not supported",
            count(faults, "fault"),
            count(needs, "need")
        ),
    };
    let look = out.look();
    let line = format!("emulate: {order}{found}{ended}");
    out.line(match run.faults.is_empty() && run.started {
        true => line,
        false => look.bad(&line),
    })?;
    if args.counts && !run.counts.is_empty() {
        out.line(run.table(look))?;
    }
    Ok(())
}

/// A fault counts most, then what is not supported, then the program's own exit code.
fn ending(program: &str, runs: &[Run]) -> Result<Ending, CommandError> {
    if runs.iter().any(|run| !run.faults.is_empty()) {
        return Ok(Ending::Wrong);
    }
    let failed = runs
        .iter()
        .find_map(|run| run.exit_code.filter(|code| *code != 0));
    // A program may do without a function that it has asked for.
    let lacks = |run: &Run| run.needs_more || !run.unsupported.is_empty() && failed.is_some();
    if runs.iter().any(lacks) {
        return Ok(Ending::Lacking);
    }
    match failed {
        Some(code) => Err(CommandError::Process {
            code: u8::try_from(code).unwrap_or(1),
            text: format!("{program} ended with exit code {code}"),
        }),
        None => Ok(Ending::Fine),
    }
}
