//! The command line.

use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{doctor, export, list, new_lab, new_project, own, test};
use classroom::{check_course, grade, pack, watch};
use exit::{CommandError, Ending};
use grading::pack::own::Purpose;
use guard::guard;
use inspect::{counts, occupancy, profile};
use measure::{perf, tune};
use results::{compare, report};
use select::catalogue::{self, SubmissionArg};
use terminal::stdout::Out;

/// Tests, times and shows the labs.
#[derive(Debug, Parser)]
#[command(name = "harness", version, after_help = exit::codes::HELP, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the labs: variants, parameters, cases
    List(list::ListArgs),
    /// Show what this machine has for the course, and how to get what it lacks
    Doctor(doctor::DoctorArgs),
    /// Check every variant against the CPU reference, on small cases
    Test(test::TestArgs),
    /// Time every variant, beside the CPU and the device's limits
    Perf(perf::PerfArgs),
    /// Find the launch shape in which a variant is fastest on this GPU
    Tune(tune::TuneArgs),
    /// Compare two results of `perf`: what is faster, slower, the same
    Compare(compare::CompareArgs),
    /// Count what every kernel does, and show the source lines that cost most
    Profile(profile::ProfileArgs),
    /// Count what kernels do, and fail where a count grew since a baseline
    Counts(counts::CountsArgs),
    /// Grade a submission: results on fresh inputs, and on a GPU its speed
    Grade(grade::GradeArgs),
    /// Grade a submission on every save, and say what to do next
    Watch(watch::WatchArgs),
    /// Do one job for `harness grade` or `harness pack`
    #[command(hide = true)]
    GradeWorker(grade::WorkerArgs),
    /// Write measurements as one page, with plots
    Report(report::ReportArgs),
    /// Run one problem of a lab, with its figures and files
    Run(runs::RunArgs),
    /// Test the course: starters, references, lab files, the handouts' commands
    CheckCourse(check_course::CheckCourseArgs),
    /// Make a crate of your own: a kernel, its host program, tests that need no GPU
    New(new_project::NewArgs),
    /// Make the files of a new lab, from a small one that works
    NewLab(new_lab::NewLabArgs),
    /// Write the student's copy of the course, without solutions
    Export(export::ExportArgs),
    /// Build a submission in isolation, and write its kernels and plans to one file
    Pack(pack::PackArgs),
    /// Start this program several times here, as the ranks of one run
    Launch(crate::launch::LaunchArgs),
    /// Run a GPU program, or a file of PTX, without a GPU and with every access checked
    #[cfg(target_os = "linux")]
    Emulate(crate::emulate::EmulateArgs),
    /// Explain how many blocks a multiprocessor holds, what limits them, and what latency they hide
    Occupancy(occupancy::OccupancyArgs),
}

/// The commands and flags that only the instructor's program has.
const FOR_INSTRUCTORS: [&[&str]; 3] = [&["check-course"], &["export"], &["new-lab"]];

impl Cli {
    /// Reads the command line, and ends the program where it makes no sense. Without built-in
    /// solutions, `--help` does not show what needs them.
    ///
    /// # Errors
    ///
    /// An output that would replace an input.
    pub fn read() -> Result<Cli, CommandError> {
        let mut command = saying_which_submissions(taking_negative_numbers(Cli::command()));
        if !catalogue::has_solutions(host::labs()) {
            for path in FOR_INSTRUCTORS {
                command = hidden(command, path);
            }
        }
        let typed = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        if let Some(remedy) = json_with_a_space(&typed.collect::<Vec<_>>()) {
            command.error(ErrorKind::InvalidValue, remedy).exit();
        }
        let matches = match command.clone().try_get_matches() {
            Ok(matches) => matches,
            Err(error) => refuse(error, command),
        };
        guard(&command, &matches)?;
        Cli::from_arg_matches(&matches).or_else(|error| refuse(error, command))
    }

    /// The lab, and the submissions that are to be its solutions beside the built-in ones.
    fn own(&self) -> Option<(Option<&str>, &SubmissionArg)> {
        match &self.command {
            Command::Test(args) => Some((args.lab.as_deref(), &args.own)),
            Command::Perf(args) => Some((args.lab.as_deref(), &args.own)),
            Command::Profile(args) => Some((Some(&args.lab), &args.own)),
            Command::Counts(args) => Some((args.lab(), &args.own)),
            Command::Tune(args) => Some((Some(args.lab()), args.own())),
            Command::Run(args) => args.own().map(|(lab, named)| (Some(lab), named)),
            _ => None,
        }
    }

    /// Whether this process computes on all cores.
    fn computes(&self) -> bool {
        match &self.command {
            Command::Test(_)
            | Command::Perf(_)
            | Command::Tune(_)
            | Command::Profile(_)
            | Command::Counts(_)
            | Command::Run(_) => true,
            #[cfg(target_os = "linux")]
            Command::Emulate(_) => true,
            _ => false,
        }
    }

    /// The use that the command has for submissions.
    fn purpose(&self) -> Purpose {
        match &self.command {
            Command::Perf(_) => Purpose::TimedPlans,
            Command::Tune(_) => Purpose::Shapes,
            _ => Purpose::Plans,
        }
    }

    /// Does what was asked.
    ///
    /// # Errors
    ///
    /// Why it cannot be done.
    pub fn run(&self, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        if self.computes() {
            start_threads()?;
        }
        let (submitted, _folders) = match self.own() {
            Some((lab, named)) => own::submit(lab, named, self.purpose())?,
            None => Default::default(),
        };
        match &self.command {
            Command::List(args) => list::run(args, out),
            Command::Doctor(args) => doctor::run(args, out),
            Command::Test(args) => test::run(args, submitted, out),
            Command::Perf(args) => perf::run(args, submitted, out),
            Command::Tune(args) => tune::run(args, submitted, out),
            Command::Compare(args) => compare::run(args, out),
            Command::Profile(args) => profile::run(args, submitted, out),
            Command::Counts(args) => counts::run(args, submitted, out),
            Command::Grade(args) => grade::run(args, out),
            Command::Watch(args) => watch::run(args, out),
            Command::GradeWorker(args) => grade::work(args.clone()),
            Command::Report(args) => report::run(args, out),
            Command::Run(args) => runs::run(args, submitted, out),
            Command::CheckCourse(args) => check_course::run(args, out),
            Command::New(args) => new_project::run(args, out),
            Command::NewLab(args) => new_lab::run(args, out),
            Command::Export(args) => export::run(args, out),
            Command::Pack(args) => pack::run(args, out),
            Command::Launch(args) => crate::launch::run(args),
            #[cfg(target_os = "linux")]
            Command::Emulate(args) => crate::emulate::run(args, out),
            Command::Occupancy(args) => occupancy::run(args, out),
        }
    }
}

/// Ends the program with what is wrong with the command line, and the usage of the subcommand.
fn refuse(error: clap::Error, mut command: clap::Command) -> ! {
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
fn named_by(
    command: &mut clap::Command,
    mut typed: impl Iterator<Item = String>,
) -> &mut clap::Command {
    match typed.find(|word| command.find_subcommand(word).is_some()) {
        Some(name) => {
            let below = command.find_subcommand_mut(name);
            named_by(below.expect("it was found"), typed)
        }
        None => command,
    }
}

/// Starts the threads that compute. Where one cannot be started, the first that needs them would
/// panic.
fn start_threads() -> Result<(), CommandError> {
    let started = rayon::ThreadPoolBuilder::new().build_global();
    // Without a source, they were started before.
    match started.as_ref().err().and_then(std::error::Error::source) {
        Some(error) => Err(CommandError::no_threads(error)),
        None => Ok(()),
    }
}

/// The remedy for `--json FILE`. The flag may have no value, so FILE is an argument of its own.
fn json_with_a_space(words: &[String]) -> Option<String> {
    let ours = words.split(|word| word == "--").next()?;
    let is_file = |pair: &&[String]| pair[0] == "--json" && pair[1].ends_with(".json");
    let file = &ours.windows(2).find(is_file)?[1];
    Some(format!("write --json={file}, with `=`"))
}

/// The same error, which proposes no command that `--help` does not show.
fn without_hidden(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    const NAMES: ContextKind = ContextKind::SuggestedSubcommand;
    if let Some(ContextValue::Strings(mut names)) = error.remove(NAMES) {
        let is_hidden = |name: &str| {
            let found = command.find_subcommand(name);
            found.is_some_and(clap::Command::is_hide_set)
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

/// The same command whose flags take `-1` and `-1,2` as values, and say what is wrong with them.
fn taking_negative_numbers(command: clap::Command) -> clap::Command {
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

/// The same command, in which `perf` and `run` say what they take as `--submission`.
fn saying_which_submissions(command: clap::Command) -> clap::Command {
    const FOR_PERF: &str = "A submission of your own: a folder with kernels.rs and launch.rs, or a bundle of `pack`, \
                            which needs no compiler; may be repeated";
    const FOR_RUN: &str = "A submission of your own: a folder with kernels.rs and launch.rs";
    let say = |text: &'static str| {
        move |arg: clap::Arg| match arg.get_id() == "submission" {
            true => arg.help(text),
            false => arg,
        }
    };
    command
        .mut_subcommand("perf", |perf| perf.mut_args(say(FOR_PERF)))
        .mut_subcommand("run", |run| {
            run.mut_subcommands(|lab| lab.mut_args(say(FOR_RUN)))
        })
}

/// The command with the subcommand at this path hidden.
fn hidden(command: clap::Command, path: &[&str]) -> clap::Command {
    match path {
        [] => command.hide(true),
        [name, rest @ ..] => command.mut_subcommand(name, |below| hidden(below, rest)),
    }
}

mod guard;
#[cfg(test)]
mod tests;
