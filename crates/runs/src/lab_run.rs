//! `harness run LAB`, for any lab that says how it is run: its flags, and what they ask for.

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use exit::{CommandError, Ending};
use lab::{Lab, Running, Shown};
use select::catalogue::{SubmissionArg, Submitted};
use terminal::stdout::Out;

use super::chunks::ChunkArgs;
use super::instruments::Instrument;
use super::last::LastArgs;
use super::parameters::Parameters;
use super::processor::DeviceArg;

/// A lab that is run, with its arguments.
#[derive(Debug, Clone)]
pub enum RunLab {
    /// One with timesteps.
    Stepping(Box<LabArgs>),
    /// Another one.
    Instrument(Instrument),
}

/// The arguments of `harness run LAB`.
#[derive(Debug, Clone)]
pub struct LabArgs {
    lab: &'static Lab,
    problem: Parameters,
    shown: ShownArgs,
    device: DeviceArg,
}

/// The flags of what is shown.
#[derive(Debug, Clone)]
enum ShownArgs {
    Chunks(ChunkArgs),
    Last(LastArgs),
}

/// The labs that say how they are run, by their names.
fn labs() -> Vec<(&'static Lab, &'static Running)> {
    let labs = host::labs().iter().copied();
    let mut labs: Vec<_> = labs
        .filter_map(|lab| Some((lab, lab.running.as_ref()?)))
        .collect();
    labs.sort_by_key(|(lab, _)| lab.name);
    labs
}

/// The subcommand of a lab.
fn command(lab: &'static Lab, running: &'static Running) -> Command {
    let parameters = Parameters::flags(lab, running, Command::new(lab.name));
    let shown = match &running.shown {
        Shown::Chunks(chunks) => ChunkArgs::flags(lab, chunks, parameters),
        Shown::Last(last) => LastArgs::flags(lab, last, parameters),
    };
    DeviceArg::augment_args(shown).about(running.summary)
}

impl LabArgs {
    fn read(
        lab: &'static Lab,
        running: &'static Running,
        matches: &ArgMatches,
    ) -> Result<LabArgs, clap::Error> {
        Ok(LabArgs {
            lab,
            problem: Parameters::read(lab, running, matches),
            shown: match &running.shown {
                Shown::Chunks(chunks) => ShownArgs::Chunks(ChunkArgs::read(chunks, matches)?),
                Shown::Last(last) => ShownArgs::Last(LastArgs::read(last, matches)?),
            },
            device: DeviceArg::from_arg_matches(matches)?,
        })
    }

    /// Runs the problem.
    ///
    /// # Errors
    ///
    /// As [`run`](super::run).
    pub fn run(&self, submitted: Submitted, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        let problem = self.problem.problem()?;
        let problem = problem.as_ref();
        match &self.shown {
            ShownArgs::Chunks(args) => args.run(self.lab, problem, &self.device, submitted, out),
            ShownArgs::Last(args) => args.run(self.lab, problem, &self.device, submitted, out),
        }
    }
}

impl RunLab {
    /// Runs the problem.
    ///
    /// # Errors
    ///
    /// As [`run`](super::run).
    pub fn run(&self, submitted: Submitted, out: &mut Out<'_>) -> Result<Ending, CommandError> {
        match self {
            RunLab::Stepping(args) => args.run(submitted, out),
            RunLab::Instrument(instrument) => instrument.run(submitted, out),
        }
    }

    /// The lab, and the submissions that are to run it.
    pub fn own(&self) -> Option<(&'static str, &SubmissionArg)> {
        match self {
            RunLab::Stepping(args) => Some((args.lab.name, args.device.own())),
            RunLab::Instrument(instrument) => instrument.own(),
        }
    }
}

#[cfg(test)]
impl LabArgs {
    /// The arguments of a lab's run as a command line gives them.
    pub fn of(lab: &'static Lab, args: &[&str]) -> Result<LabArgs, clap::Error> {
        let running = lab.running.as_ref().expect("a lab that is run");
        let args = std::iter::once(&"run").chain(args);
        let matches = command(lab, running).try_get_matches_from(args)?;
        LabArgs::read(lab, running, &matches)
    }
}

#[cfg(test)]
impl RunLab {
    /// The problem that is run, of a lab with timesteps.
    pub fn problem(&self) -> Result<Box<dyn lab::LabCase>, CommandError> {
        match self {
            RunLab::Stepping(args) => args.problem.problem(),
            RunLab::Instrument(_) => panic!("an instrument has no problem"),
        }
    }
}

impl Subcommand for RunLab {
    fn augment_subcommands(above: Command) -> Command {
        let labs = labs();
        let commands = labs.into_iter().map(|(lab, running)| command(lab, running));
        Instrument::augment_subcommands(above.subcommands(commands))
    }

    fn augment_subcommands_for_update(above: Command) -> Command {
        Self::augment_subcommands(above)
    }

    fn has_subcommand(name: &str) -> bool {
        labs().iter().any(|(lab, _)| lab.name == name) || Instrument::has_subcommand(name)
    }
}

impl FromArgMatches for RunLab {
    fn from_arg_matches(matches: &ArgMatches) -> Result<RunLab, clap::Error> {
        let named = matches.subcommand().and_then(|(name, of_lab)| {
            let mut labs = labs().into_iter();
            Some((labs.find(|(lab, _)| lab.name == name)?, of_lab))
        });
        match named {
            Some(((lab, running), of_lab)) => {
                let args = LabArgs::read(lab, running, of_lab)?;
                Ok(RunLab::Stepping(Box::new(args)))
            }
            None => Instrument::from_arg_matches(matches).map(RunLab::Instrument),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
