//! The command line of a program: read, and refused with a remedy where it makes no sense.

use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::MAIN_SEPARATOR;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, FromArgMatches};
use exit::CommandError;

use guard::guard;

mod guard;

/// Reads the command line, and ends the program where it makes no sense.
///
/// # Errors
///
/// An output that would replace an input.
pub fn read<C: FromArgMatches>(command: Command) -> Result<C, CommandError> {
    let mut command = taking_negative_numbers(command);
    let typed = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    if let Some(remedy) = json_with_a_space(&typed.collect::<Vec<_>>()) {
        command.error(ErrorKind::InvalidValue, remedy).exit();
    }
    let matches = match command.clone().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => refuse(error, command),
    };
    guard(&command, &matches)?;
    C::from_arg_matches(&matches).or_else(|error| refuse(error, command))
}

/// A word of a command as it is typed: quoted where the shell would not take it literally.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == MAIN_SEPARATOR || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Ends the program with what is wrong with the command line, and the usage of the subcommand.
fn refuse(error: clap::Error, mut command: Command) -> ! {
    let error = without_hidden(error, &command);
    let Some(words) = no_number(&error) else {
        error.exit()
    };
    command.build();
    let typed = std::env::args().skip(1);
    named_by(&mut command, typed)
        .error(error.kind(), words)
        .exit()
}

/// The subcommand that these words name, among flags and their values.
fn named_by(command: &mut Command, mut typed: impl Iterator<Item = String>) -> &mut Command {
    match typed.find(|word| command.find_subcommand(word).is_some()) {
        Some(name) => {
            let below = command.find_subcommand_mut(name);
            named_by(below.expect("it was found"), typed)
        }
        None => command,
    }
}

/// The remedy for `--json FILE`. The flag may have no value, so FILE is an argument of its own.
fn json_with_a_space(words: &[String]) -> Option<String> {
    let ours = words.split(|word| word == "--").next()?;
    let is_file = |pair: &&[String]| pair[0] == "--json" && pair[1].ends_with(".json");
    let file = &ours.windows(2).find(is_file)?[1];
    Some(format!("write --json={file}, with `=`"))
}

/// Takes commands that `--help` does not show out of what the error proposes.
fn without_hidden(mut error: clap::Error, command: &Command) -> clap::Error {
    const NAMES: ContextKind = ContextKind::SuggestedSubcommand;
    if let Some(ContextValue::Strings(mut names)) = error.remove(NAMES) {
        let is_hidden = |name: &str| {
            let found = command.find_subcommand(name);
            found.is_some_and(Command::is_hide_set)
        };
        names.retain(|name| !is_hidden(name));
        if !names.is_empty() {
            error.insert(NAMES, ContextValue::Strings(names));
        }
    }
    error
}

/// The error of a flag whose value is not a number.
fn no_number(error: &clap::Error) -> Option<String> {
    let (Some(ContextValue::String(flag)), Some(ContextValue::String(value))) = (
        error.get(ContextKind::InvalidArg),
        error.get(ContextKind::InvalidValue),
    ) else {
        return None;
    };
    let cause = std::error::Error::source(error)?;
    let wanted = match cause
        .downcast_ref::<ParseIntError>()
        .map(ParseIntError::kind)
    {
        Some(IntErrorKind::PosOverflow) => "the number is too large",
        Some(_) => "write a whole number, 0 or more",
        None if cause.is::<ParseFloatError>() => "write a number",
        None => return None,
    };
    Some(format!("invalid value '{value}' for '{flag}': {wanted}"))
}

/// Lets flags of the command take `-1` and `-1,2` as values, and say what is wrong with them.
fn taking_negative_numbers(command: Command) -> Command {
    let is_list = |arg: &clap::Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|name| name.contains(','))
    };
    let takes = |arg: clap::Arg| match arg.get_action().takes_values() {
        true if is_list(&arg) => arg.allow_hyphen_values(true),
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command
        .mut_args(takes)
        .mut_subcommands(taking_negative_numbers)
}
