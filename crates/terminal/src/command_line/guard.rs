//! No command replaces what it reads. Which paths those are, the types of its arguments say: an
//! [`OutputPath`] is written, and every other path is read. A new command that writes to a path of
//! another type is refused by its first test.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use exit::CommandError;
use output_files::OutputPath;
use output_files::input::spare;

/// Claims what this command line reads, and refuses the outputs that would replace any of it,
/// before any work starts.
///
/// # Errors
///
/// [`CommandError::Input`] with the flag.
pub fn guard(command: &Command, matches: &ArgMatches) -> Result<(), CommandError> {
    if let Ok(program) = std::env::current_exe() {
        spare(&program);
    }
    let mut outputs = Vec::new();
    claim(command, matches, &mut outputs);
    for (flag, output) in outputs {
        output.check(&flag)?;
    }
    Ok(())
}

/// Claims the inputs, and finds the outputs, each with its flag.
fn claim(command: &Command, matches: &ArgMatches, outputs: &mut Vec<(String, OutputPath)>) {
    for arg in command.get_arguments() {
        let values = matches
            .try_get_raw(arg.get_id().as_str())
            .ok()
            .flatten()
            .into_iter()
            .flatten();
        let holds = arg.get_value_parser().type_id();
        if holds == TypeId::of::<OutputPath>() {
            // `-` is standard output.
            let named = values.filter(|value| *value != "-");
            outputs.extend(named.map(|value| (flag(command, arg), value.to_owned().into())));
        } else if holds == TypeId::of::<PathBuf>() {
            values.for_each(|folder| spare_with_sources(Path::new(folder)));
        } else if holds == TypeId::of::<OsString>() {
            // The words of another program, which may read them.
            values
                .filter_map(file_of_word)
                .for_each(|file| spare(&file));
        } else {
            // A file or a name, as in `counts LAB|FILE.ptx`.
            let files = values
                .map(Path::new)
                .filter(|path| path.extension().is_some());
            files.filter(|path| path.is_file()).for_each(spare);
        }
    }
    if let Some((name, below)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        claim(command, below, outputs);
    }
}

/// The flag as messages have it; of an argument without one, the command's name.
fn flag(command: &Command, arg: &Arg) -> String {
    match (arg.get_short(), arg.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, Some(long)) => format!("--{long}"),
        (None, None) => command.get_name().to_owned(),
    }
}

/// Spares a file, or a submission's folder with the files that are its solution.
fn spare_with_sources(path: &Path) {
    spare(path);
    for file in ["kernels.rs", "launch.rs"].map(|name| path.join(name)) {
        if file.is_file() {
            spare(&file);
        }
    }
}

/// The file that a word of a command line names, if it does: as a path, or as a program's name.
fn file_of_word(word: &OsStr) -> Option<PathBuf> {
    let path = Path::new(word);
    if path.is_file() {
        return Some(path.to_owned());
    }
    let folders = std::env::var_os("PATH").filter(|_| path.components().count() == 1)?;
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(path));
    places.find(|place| place.is_file())
}
