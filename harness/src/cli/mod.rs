//! The command line.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::{doctor, export, list, new_lab, new_project, own, test};
use classroom::{check_course, grade, pack, progress, watch};
use exit::{CommandError, Ending};
use grading::pack::own::Purpose;
use inspect::{counts, occupancy, profile};
use measure::{perf, tune};
use results::{compare, report};
use select::catalogue::{self, SubmissionArg};
use terminal::stdout::Out;
use terminal::{command_line, program};

/// Does what the command line says, and ends the program with an exit code that says how it went.
pub fn main() -> ExitCode {
    // A kernel prints at any time, also while a bar is drawn.
    device::write_printed_by(terminal::progress::print);
    program::main(|out| Cli::read()?.run(out))
}

/// Write, check, time and grade GPU kernels, with or without a GPU.
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
    /// Show which labs are done, and how far the others are
    Progress(progress::ProgressArgs),
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
    #[command(after_help = emulate::help("harness emulate"))]
    Emulate(emulate::EmulateArgs),
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
        let mut command = saying_which_submissions(Cli::command());
        if !catalogue::has_solutions(host::labs()) {
            for path in FOR_INSTRUCTORS {
                command = hidden(command, path);
            }
        }
        command_line::read(command)
    }

    /// The lab, and the submissions that are to be its solutions beside the built-in ones.
    fn own(&self) -> Option<(Option<&str>, &SubmissionArg)> {
        match &self.command {
            Command::Test(args) => Some((args.lab.as_deref(), &args.own)),
            Command::Perf(args) => Some((args.lab.as_deref(), &args.own)),
            Command::Profile(args) => Some((Some(&args.lab), &args.own)),
            Command::Counts(args) => Some((args.lab(), &args.own)),
            Command::Tune(args) => Some((args.lab(), args.own())),
            Command::Run(args) => args.own().map(|(lab, named)| (Some(lab), named)),
            _ => None,
        }
    }

    /// Whether this process computes on all cores.
    fn computes(&self) -> bool {
        matches!(
            &self.command,
            Command::Test(_)
                | Command::Perf(_)
                | Command::Tune(_)
                | Command::Profile(_)
                | Command::Counts(_)
                | Command::Run(_)
                | Command::Emulate(_)
        )
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
            program::start_threads()?;
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
            Command::Profile(args) => profile::run(args, host::labs(), submitted, out),
            Command::Counts(args) => counts::run(args, host::labs(), submitted, out),
            Command::Grade(args) => grade::run(args, out),
            Command::Watch(args) => watch::run(args, out),
            Command::Progress(args) => progress::run(args, out),
            Command::GradeWorker(args) => grade::work(args.clone()),
            Command::Report(args) => report::run(args, out),
            Command::Run(args) => runs::run(args, submitted, out),
            Command::CheckCourse(args) => check_course::run(args, out),
            Command::New(args) => new_project::run(args, out),
            Command::NewLab(args) => new_lab::run(args, out),
            Command::Export(args) => export::run(args, out),
            Command::Pack(args) => pack::run(args, out),
            Command::Launch(args) => crate::launch::run(args),
            Command::Emulate(args) => emulate::run(args, out),
            Command::Occupancy(args) => occupancy::run(args, out),
        }
    }
}

/// Has `perf` and `run` say what they take as `--submission`.
fn saying_which_submissions(command: clap::Command) -> clap::Command {
    const FOR_PERF: &str = "A submission of your own: a folder with kernels.rs and launch.rs, or a bundle of `pack`, \
                            which needs no compiler; may be repeated";
    const FOR_RUN: &str = "A submission of your own: a folder with kernels.rs and launch.rs";
    let say = |text: &'static str| {
        move |arg: clap::Arg| {
            if arg.get_id() == "submission" {
                arg.help(text)
            } else {
                arg
            }
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

#[cfg(test)]
mod tests;
