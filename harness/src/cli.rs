//! The command line.

use clap::{Parser, Subcommand};

#[cfg(not(feature = "solutions"))]
use crate::absent;
use crate::failure::{Ending, Failure};
use crate::out::Out;
use crate::{
    animate, compare, doctor, exit, grade, list, occupancy, pack, perf, profile, report, run, test,
};
#[cfg(feature = "solutions")]
use crate::{check_course, export};

/// Tests, times and shows the labs.
#[derive(Debug, Parser)]
#[command(name = "harness", version, after_help = exit::HELP, max_term_width = 100)]
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
    /// Compare two results of `perf`: what is faster, slower, the same
    Compare(compare::CompareArgs),
    /// Count what every kernel does, and show the source lines that cost most
    Profile(profile::ProfileArgs),
    /// Grade a submission: results on fresh inputs, and on a GPU its speed
    Grade(grade::GradeArgs),
    /// Run one case for `harness grade`
    #[command(hide = true)]
    GradeCase(grade::CaseArgs),
    /// Write measurements as one page, with plots
    Report(report::ReportArgs),
    /// Make a GIF, or PNG pictures, of a lab
    Animate(animate::AnimateArgs),
    /// Run one problem of a lab, with its figures and files
    Run(run::RunArgs),
    /// Test the course: starters, references, lab files, the handouts' commands
    #[cfg(feature = "solutions")]
    CheckCourse(check_course::CheckCourseArgs),
    /// Write the student's copy of the course, without solutions
    #[cfg(feature = "solutions")]
    Export(export::ExportArgs),
    /// In the instructor's program
    #[cfg(not(feature = "solutions"))]
    #[command(hide = true)]
    CheckCourse(absent::AbsentArgs),
    /// In the instructor's program
    #[cfg(not(feature = "solutions"))]
    #[command(hide = true)]
    Export(absent::AbsentArgs),
    /// Build a submission in isolation, and write its kernels and plans to one file
    Pack(pack::PackArgs),
    /// Explain how many blocks a multiprocessor holds, what limits them, and what latency they hide
    Occupancy(occupancy::OccupancyArgs),
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    ///
    /// Why it cannot be done.
    pub fn run(&self, out: &mut Out<'_>) -> Result<Ending, Failure> {
        match &self.command {
            Command::List(args) => list::run(args, out),
            Command::Doctor(args) => doctor::run(args, out),
            Command::Test(args) => test::run(args, out),
            Command::Perf(args) => perf::run(args, report::of_perf, out),
            Command::Compare(args) => compare::run(args, out),
            Command::Profile(args) => profile::run(args, out),
            Command::Grade(args) => grade::run(args, out),
            Command::GradeCase(args) => grade::run_case(args),
            Command::Report(args) => report::run(args, out),
            Command::Animate(args) => animate::run(args, out),
            Command::Run(args) => run::run(args, out),
            #[cfg(feature = "solutions")]
            Command::CheckCourse(args) => check_course::run(args, out),
            #[cfg(feature = "solutions")]
            Command::Export(args) => export::run(args, out),
            #[cfg(not(feature = "solutions"))]
            Command::CheckCourse(_) => Err(absent::check_course()),
            #[cfg(not(feature = "solutions"))]
            Command::Export(_) => Err(absent::export()),
            Command::Pack(args) => pack::run(args, out),
            Command::Occupancy(args) => occupancy::run(args, out),
        }
    }
}
