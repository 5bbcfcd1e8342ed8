//! A program that finds the emulated driver as its `libcuda.so.1`, and gets PTX of the compilers
//! that it calls.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use exit::{CommandError, Ending};
use output_files::{ScratchFolder, input};
use ptx_emu::KnownFaults;
use serde::Serialize;
use terminal::stdout::Out;
use units::count;

use crate::options::{EmulateArgs, Whether};
use crate::runs::{Run, report};
use records::RecordFile;

mod environment;
mod processes;
mod records;
mod start;

/// The driver's file, which cargo makes and a release has beside the program.
const DRIVER: (&str, &str) = ("libemulated_driver.so", "emulated-driver");

/// That of the compilers' stand-in.
const COMPILERS: (&str, &str) = ("libemulated_compilers.so", "emulated-compilers");

/// The driver's name.
const NAME: &str = "libcuda.so.1";

/// Another, which leads to it: a program that opens both has one driver.
const ALIAS: &str = "libcuda.so";

#[derive(Serialize)]
struct Report {
    program: String,
    devices: u32,
    runs: Vec<Run>,
}

/// Runs the program once for each order.
pub(crate) fn run(args: &EmulateArgs, out: &mut Out<'_>) -> Result<Ending, CommandError> {
    let known = known_faults(&args.suppress)?;
    // The driver writes the page. Whether it can is seen before anything runs.
    drop(args.replay.open()?);
    let json = args.json.open()?;
    let forms = args.forge.open(json.wants_text())?;
    let mut library = Library::place(&file_of(DRIVER)?, &file_of(COMPILERS)?)?;
    library.keep_known(&known)?;
    let program = args.program[0].to_string_lossy().into_owned();
    let mut runs = Vec::new();
    for order in &args.orders.0 {
        let unrecorded = |error: io::Error| {
            CommandError::Environment(format!("cannot record what the driver finds: {error}"))
        };
        let record = RecordFile::new().map_err(unrecorded)?;
        let name = record.name().map_err(unrecorded)?;
        let is_replayed = runs.iter().any(|run: &Run| !run.faults.is_empty());
        let list = library.known.as_deref();
        let settings = settings(args, name, *order, list, is_replayed);
        library.set(settings)?;
        let ended = processes::run(&mut command(args, &library))
            .map_err(|error| start::failed(&args.program[0], &error))?;
        let mut run = Run {
            order: *order,
            exit_code: Some(ended.code),
            ..Run::default()
        };
        run.read(&record).map_err(unrecorded)?;
        if run.has_machine_code {
            environment::forget();
        }
        if !ended.left.is_empty() {
            run.lose(format!(
                "the program has ended, and left running {}; let it wait for them",
                ended.left.join(", ")
            ));
        }
        if !library.is_there() {
            run.lose(format!(
                "the program has removed {}, and no process that began later could find its CUDA \
                 driver; give the program a folder of its own for temporary files, by \
                 `env TMPDIR=FOLDER PROGRAM` behind the `--`",
                library.folder.path().display()
            ));
        }
        if json.wants_text() {
            tell(&run, args, out)?;
        }
        runs.push(run);
    }
    let ending = ending(&program, &runs);
    forms.write(|| report(&program, &runs), out)?;
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

/// Lists of known faults, as one.
///
/// # Errors
///
/// A file that cannot be read, or a line that makes no sense.
fn known_faults(lists: &[PathBuf]) -> Result<String, CommandError> {
    let mut all = String::new();
    for list in lists {
        let refused =
            |why: String| CommandError::Input(format!("--suppress: {}: {why}", list.display()));
        let text = input::text(list).map_err(|error| refused(input::unreadable(&error)))?;
        KnownFaults::parse(&text).map_err(refused)?;
        all += &text;
        all.push('\n');
    }
    Ok(all)
}

/// The list of folders that the system looks into for a library cannot name this one.
fn refuse_separators(folder: &Path) -> Result<(), CommandError> {
    let bytes = folder.as_os_str().as_bytes();
    match bytes.iter().find(|byte| b":;".contains(byte)) {
        None => Ok(()),
        Some(byte) => Err(CommandError::Environment(format!(
            "the folder for temporary files has a `{}` in its path, {}, which separates the paths \
             of LD_LIBRARY_PATH: set TMPDIR to another one",
            char::from(*byte),
            folder.display()
        ))),
    }
}

/// The file of a library, which a crate makes: beside this program, or where cargo puts it.
fn file_of((file, package): (&str, &str)) -> Result<PathBuf, CommandError> {
    let program = std::env::current_exe().map_err(|error| {
        CommandError::Environment(format!("cannot find this program's file: {error}"))
    })?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(file), folder.join("deps").join(file)];
    // Cargo makes both, at different times: the other one may be of an older source.
    let made = |place: &&PathBuf| place.metadata().and_then(|about| about.modified()).ok();
    let found = places
        .iter()
        .filter(|place| place.exists())
        .max_by_key(made);
    found.cloned().ok_or_else(|| {
        CommandError::Environment(format!(
            "there is no {file} beside {}: copy it there from the release, or run `cargo build --release -p {package}`",
            program.display()
        ))
    })
}

/// A variable of the driver, and its value.
type Setting = (&'static str, String);

/// The driver in a folder, under its names and with its settings, and the compilers' stand-in.
struct Library {
    folder: ScratchFolder,
    settings: Vec<Setting>,
    /// The list of known faults, if there is one.
    known: Option<PathBuf>,
}

impl Library {
    /// Puts them into a folder of their own.
    fn place(driver: &Path, compilers: &Path) -> Result<Library, CommandError> {
        let folder = ScratchFolder::new("emulate").map_err(|error| {
            CommandError::Environment(format!("cannot make a folder for the library: {error}"))
        })?;
        let placed = Library {
            folder,
            settings: Vec::new(),
            known: None,
        };
        refuse_separators(placed.folder.path())?;
        let [file, alias, stand_in] =
            [NAME, ALIAS, COMPILERS.0].map(|name| placed.folder.path().join(name));
        for (library, name) in [(driver, &file), (compilers, &stand_in)] {
            let made = std::fs::hard_link(library, name)
                .or_else(|_| std::fs::copy(library, name).map(|_| ()));
            made.map_err(|error| CommandError::not_written(name, &error))?;
        }
        symlink(NAME, &alias).map_err(|error| CommandError::not_written(&alias, &error))?;
        Ok(placed)
    }

    /// Leaves settings beside it, for processes that do not get their variables: `settings.rs` of
    /// crate `emulated-driver`.
    fn set(&mut self, settings: Vec<Setting>) -> Result<(), CommandError> {
        self.settings = settings;
        for (name, value) in &self.settings {
            let link = self.folder.path().join(name);
            // There is one of the last run.
            let _ = std::fs::remove_file(&link);
            symlink(value, &link).map_err(|error| CommandError::not_written(&link, &error))?;
        }
        Ok(())
    }

    /// Puts the list of known faults beside it.
    fn keep_known(&mut self, list: &str) -> Result<(), CommandError> {
        if !list.is_empty() {
            let file = self.folder.path().join("known-faults");
            std::fs::write(&file, list)
                .map_err(|error| CommandError::not_written(&file, &error))?;
            self.known = Some(file);
        }
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let settings = self.settings.iter().map(|(name, _)| *name);
        let names = [NAME, ALIAS, COMPILERS.0].into_iter().chain(settings);
        let paths = names.map(|name| self.folder.path().join(name));
        paths.chain(self.known.clone())
    }

    /// Whether the program has left all of it there.
    fn is_there(&self) -> bool {
        self.files().all(|file| file.symlink_metadata().is_ok())
    }
}

impl Drop for Library {
    /// Removes it by its names: to list a folder takes a descriptor, and none may be left.
    fn drop(&mut self) {
        // A failure here is left to the folder's own end.
        for file in self.files() {
            let _ = std::fs::remove_file(file);
        }
        let _ = std::fs::remove_dir(self.folder.path());
    }
}

/// The name that a value has on the command line, and for the driver.
fn named(value: impl ValueEnum) -> String {
    let value = value.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The driver's settings for a run with this record and order.
fn settings(
    args: &EmulateArgs,
    record: String,
    order: u32,
    known: Option<&Path>,
    is_replayed: bool,
) -> Vec<Setting> {
    let checks: Vec<String> = args.check.iter().copied().map(named).collect();
    let flag = |is_on: bool| u8::from(is_on).to_string();
    let mut settings = vec![
        ("EMULATED_DRIVER_DEVICES", args.devices.to_string()),
        (
            "EMULATED_DRIVER_MULTIPROCESSORS",
            args.multiprocessors.to_string(),
        ),
        ("EMULATED_DRIVER_ORDER", order.to_string()),
        ("EMULATED_DRIVER_CHECK", checks.join(",")),
        (
            "EMULATED_DRIVER_VOLATILE_IS_PLAIN",
            flag(args.volatile_is_plain),
        ),
        ("EMULATED_DRIVER_RECORD", record),
        ("EMULATED_DRIVER_COUNTS", flag(args.counts)),
        ("EMULATED_DRIVER_LEAKS", flag(args.leaks)),
        (
            "EMULATED_DRIVER_HOST_ACCESSES",
            flag(args.host_accesses == Whether::On),
        ),
    ];
    let after_fault = args.after_fault.map(named);
    settings.extend(after_fault.map(|name| ("EMULATED_DRIVER_AFTER_FAULT", name)));
    settings.extend(known.map(|file| {
        let path = file.to_string_lossy().into_owned();
        ("EMULATED_DRIVER_KNOWN", path)
    }));
    // Of several orders, the first with a fault is replayed.
    if let Some(file) = args.replay.file().filter(|_| !is_replayed) {
        let wish = args.replay.wish();
        let blocks: Vec<String> = wish.blocks.iter().map(u64::to_string).collect();
        let path = std::path::absolute(&**file).unwrap_or_else(|_| file.to_path_buf());
        settings.extend([
            (
                "EMULATED_DRIVER_REPLAY",
                path.to_string_lossy().into_owned(),
            ),
            ("EMULATED_DRIVER_REPLAY_STEPS", wish.steps.to_string()),
        ]);
        // A link that leads nowhere cannot be made.
        if !blocks.is_empty() {
            settings.push(("EMULATED_DRIVER_REPLAY_BLOCKS", blocks.join(",")));
        }
    }
    settings.extend(args.compute_capability.map(|(major, minor)| {
        let name = "EMULATED_DRIVER_COMPUTE_CAPABILITY";
        (name, format!("{major}.{minor}"))
    }));
    settings
}

fn command(args: &EmulateArgs, library: &Library) -> Command {
    let mut command = Command::new(&args.program[0]);
    command
        .args(&args.program[1..])
        .envs(environment::variables(library.folder.path(), COMPILERS.0))
        // It would hide devices.
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs(library.settings.iter().map(|(name, value)| (name, value)));
    command
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
        (_, 0, _) if !run.bugs.is_empty() => {
            format!("no verdict: {}", count(run.bugs.len(), "bug"))
        }
        (_, 0, _) if let Some(why) = &run.incomplete => format!("no verdict: {why}"),
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
    let known = match run.known.len() {
        0 => String::new(),
        number => format!("; {number} known and left out"),
    };
    let line = format!("emulate: {order}{found}{known}{ended}");
    let is_well = run.faults.is_empty() && run.started && run.is_whole();
    out.line(if is_well { line } else { look.bad(&line) })?;
    if args.counts && !run.counts.is_empty() {
        out.line(run.table(look))?;
    }
    Ok(())
}

/// A fault counts most, then that one may be missing, then what is not supported, then the
/// program's own exit code.
fn ending(program: &str, runs: &[Run]) -> Result<Ending, CommandError> {
    if runs.iter().any(|run| !run.faults.is_empty()) {
        return Ok(Ending::Wrong);
    }
    if let Some(bug) = runs.iter().find_map(|run| run.bugs.first()) {
        return Err(CommandError::Bug(format!(
            "the emulated driver panicked {bug}"
        )));
    }
    if runs.iter().any(|run| run.incomplete.is_some()) {
        return Ok(Ending::Lacking);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The system's own files cannot be linked to from a folder.
    #[test]
    fn both_names_are_one_file_where_the_library_must_be_copied() {
        let system = Path::new("/proc/version");
        let library = Library::place(system, system).expect("it is placed");
        let files: std::collections::BTreeSet<PathBuf> = library
            .files()
            .filter(|file| !file.ends_with(COMPILERS.0))
            .map(|file| std::fs::canonicalize(file).expect("it is there"))
            .collect();
        assert_eq!(files.len(), 1, "{files:?}");
    }

    #[test]
    fn a_fault_counts_most_and_then_what_makes_faults_uncertain() {
        let ended = |change: &dyn Fn(&mut Run)| {
            let mut run = Run {
                exit_code: Some(7),
                started: true,
                ..Run::default()
            };
            change(&mut run);
            match ending("p", &[Run::default(), run]) {
                Ok(ending) => ending.exit_code(),
                Err(error) => error.exit_code(),
            }
        };
        assert_eq!(ended(&|_| ()), 7);
        let bug = |run: &mut Run| run.bugs.push("in cuNothing: nothing".to_owned());
        let loses = |run: &mut Run| run.lose("a record is missing".to_owned());
        assert_eq!(ended(&loses), exit::codes::ENVIRONMENT);
        assert_eq!(ended(&bug), exit::codes::BUG);
        let fault = |run: &mut Run| {
            bug(run);
            loses(run);
            run.faults.push(crate::runs::Fault {
                kernel: "k".to_owned(),
                grid: [1; 3],
                block: [1; 3],
                kind: "race".to_owned(),
                text: "race".to_owned(),
                places: Vec::new(),
            });
        };
        assert_eq!(ended(&fault), exit::codes::WRONG_RESULT);
    }
}
