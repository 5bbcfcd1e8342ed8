//! The flags that describe a problem: those of the lab's parameters, stated there.
//!
//! Extents along several axes are one flag, `--shape`. A run may have other defaults than a case of
//! `perf`, a flag for several parameters, and a parameter that is a file: see [`lab::Running`].

use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use exit::CommandError;
use lab::{CaseError, CaseParams, FromFile, Lab, LabCase, Parameter, Running, Together, Values};

use super::flags::{extents, for_each, kept, sentence};
use super::npy;

/// The id, and the name, of the flag for extents along several axes.
const SHAPE: &str = "shape";

/// The parameters that a command line gives.
#[derive(Debug, Clone)]
pub struct Parameters {
    lab: &'static Lab,
    running: &'static Running,
    /// As the lab takes them.
    given: CaseParams,
    /// The extents that `--shape` gives, if it is used.
    shape: Option<Vec<u32>>,
    /// The parameter that is a file, and the file.
    file: Option<(&'static FromFile, String)>,
}

impl Parameters {
    /// Adds the flags of the lab's parameters.
    pub fn flags(lab: &'static Lab, running: &'static Running, command: Command) -> Command {
        let flags = own_flags(lab, running).map(|parameter| {
            let file = file_of(running, parameter.name);
            Arg::new(parameter.name)
                .long(kept(parameter.name.replace('_', "-")))
                .value_name(kept(parameter.name.to_uppercase()))
                .help(sentence(
                    file.map_or(parameter.summary, |file| file.summary),
                ))
                .default_value(default(running, parameter))
        });
        let together = running.together.as_ref().map(|together| {
            let of = together.parameters.len();
            let first = known(lab, together.parameters[0]);
            Arg::new(together.flag)
                .long(together.flag)
                .value_name(together.value)
                .value_parser(move |text: &str| for_each(text, of))
                .help(format!(
                    "{} [default: {}]",
                    together.summary,
                    default(running, first)
                ))
        });
        let shape = has_shape(lab).then(|| shape(lab, running));
        command.args(shape).args(flags).args(together)
    }

    /// The parameters of a command line with [`Parameters::flags`].
    pub fn read(lab: &'static Lab, running: &'static Running, matches: &ArgMatches) -> Parameters {
        let (mut given, mut file) = (CaseParams::default(), None);
        for (name, value) in running.defaults {
            given.set(*name, value);
        }
        for Parameter { name, .. } in own_flags(lab, running) {
            let value = matches.get_one::<String>(name);
            let is_typed = matches.value_source(name) == Some(ValueSource::CommandLine);
            let Some(value) = value.filter(|_| is_typed) else {
                continue;
            };
            match file_of(running, name) {
                Some(from) if !from.words.contains(&value.as_str()) => {
                    file = Some((from, value.clone()));
                }
                _ => {
                    given.set(*name, value);
                }
            }
        }
        if let Some(together) = &running.together {
            let values = matches.get_one::<Vec<String>>(together.flag);
            for (name, value) in together.parameters.iter().zip(values.into_iter().flatten()) {
                given.set(*name, value);
            }
        }
        let shape = has_shape(lab).then(|| matches.get_one::<Vec<u32>>(SHAPE).cloned());
        let shape = shape.flatten();
        set_extents(&mut given, lab, shape.iter().flatten());
        Parameters {
            lab,
            running,
            given,
            shape,
            file,
        }
    }

    /// The problem with these parameters.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`], with the flag, for values that the lab does not allow, for no
    /// timesteps, and for a file that cannot be read.
    pub fn problem(&self) -> Result<Box<dyn LabCase>, CommandError> {
        let case = match &self.file {
            Some((from, file)) => self.of_file(from, file)?,
            None => self
                .lab
                .case(&self.given)
                .map_err(|error| self.of_flag(error))?,
        };
        match (case.timesteps(), self.lab.steps_parameter()) {
            (Some(0), Some(name)) => {
                let reason = "there is nothing to compute; at least 1";
                Err(self.of_flag(CaseError::invalid(name, 0, reason)))
            }
            _ => Ok(case),
        }
    }

    /// The problem whose numbers, and shape, are those of a file.
    fn of_file(&self, from: &FromFile, file: &str) -> Result<Box<dyn LabCase>, CommandError> {
        let (lab, flag) = (self.lab, format!("--{}", from.name));
        if Path::new(file).extension().is_none() {
            let unknown = CaseError::unknown(from.name, file, from.words.iter().copied());
            return Err(CommandError::Input(format!(
                "{flag}: {unknown}; a {} of your own is a .npy file",
                from.name
            )));
        }
        let (shape, numbers) = npy::read(&flag, Path::new(file), lab.extents.len())?;
        if let Some(given) = self.shape.as_ref().filter(|given| **given != shape) {
            return Err(CommandError::Input(format!(
                "{flag} {file}: it has {} points, and --{SHAPE} says {}; leave --{SHAPE} out",
                with_commas(&shape),
                with_commas(given)
            )));
        }
        let mut given = self.given.clone();
        set_extents(&mut given, lab, &shape);
        let case =
            Values::new(&given, lab.parameters).and_then(|values| (from.case)(&values, numbers));
        case.map_err(|error| match error {
            CaseError::Invalid {
                name,
                value,
                reason,
            } if is_extent(lab, &name) => {
                CommandError::Input(format!("{flag} {file}: {name} = {value}: {reason}"))
            }
            CaseError::Invalid { name, reason, .. } if name == from.name => {
                CommandError::Input(format!("{flag} {file}: {reason}"))
            }
            other => self.of_flag(other),
        })
    }

    /// The error with the flag that gave the value.
    fn of_flag(&self, error: CaseError) -> CommandError {
        let several = |name: &str| {
            if is_extent(self.lab, name) {
                return Some(SHAPE);
            }
            let together = self.running.together.as_ref();
            let together = together.filter(|together| is_one_of(together, name));
            together.map(|together| together.flag)
        };
        match error {
            CaseError::Invalid {
                name,
                value,
                reason,
            } => match several(&name) {
                Some(flag) => CommandError::Input(format!("--{flag}: {name} = {value}: {reason}")),
                None => super::flags::of_flag(CaseError::Invalid {
                    name,
                    value,
                    reason,
                }),
            },
            CaseError::Unknown { what, .. } => {
                CommandError::from(error).context(format!("--{what}"))
            }
            other => super::flags::of_flag(other),
        }
    }
}

/// The parameters that have a flag of their own.
fn own_flags(
    lab: &'static Lab,
    running: &'static Running,
) -> impl Iterator<Item = &'static Parameter> {
    let parameters = lab.parameters.iter();
    parameters.filter(move |Parameter { name, .. }| {
        let together = running.together.as_ref();
        let is_together = together.is_some_and(|together| is_one_of(together, name));
        let is_of_shape = has_shape(lab) && lab.extents.contains(name);
        !is_together && !is_of_shape
    })
}

/// The flag for the extents.
fn shape(lab: &'static Lab, running: &Running) -> Arg {
    let axes = lab.extents.len();
    let parameters: Vec<&Parameter> = lab.extents.iter().map(|name| known(lab, name)).collect();
    let summaries: Vec<&str> = parameters.iter().map(|known| known.summary).collect();
    let defaults: Vec<&str> = parameters
        .iter()
        .map(|known| default(running, known))
        .collect();
    Arg::new(SHAPE)
        .long(SHAPE)
        .value_name(kept(lab.extents.join(",").to_uppercase()))
        .value_parser(move |text: &str| extents(text, axes))
        .help(format!(
            "{} [default: {}]",
            sentence(&summaries.join("; ")),
            defaults.join(",")
        ))
}

/// The lab's parameter of this name.
fn known(lab: &Lab, name: &str) -> &'static Parameter {
    let mut parameters = lab.parameters.iter();
    let found = parameters.find(|parameter| parameter.name == name);
    found.expect("flags are of the lab's parameters")
}

/// The value of a run where none is given.
fn default(running: &Running, parameter: &Parameter) -> &'static str {
    let mut own = running.defaults.iter();
    let own = own.find(|(name, _)| *name == parameter.name);
    own.map_or(parameter.default, |(_, value)| value)
}

fn file_of(running: &'static Running, parameter: &str) -> Option<&'static FromFile> {
    running.file.as_ref().filter(|file| file.name == parameter)
}

fn is_one_of(together: &Together, parameter: &str) -> bool {
    together.parameters.contains(&parameter)
}

fn has_shape(lab: &Lab) -> bool {
    lab.extents.len() > 1
}

/// Whether an error's name is that of an extent, or of a product of extents, of several.
fn is_extent(lab: &Lab, name: &str) -> bool {
    has_shape(lab) && lab.extents.iter().any(|extent| name.starts_with(extent))
}

fn set_extents<'e>(given: &mut CaseParams, lab: &Lab, shape: impl IntoIterator<Item = &'e u32>) {
    for (name, extent) in lab.extents.iter().zip(shape) {
        given.set(*name, extent);
    }
}

fn with_commas(shape: &[u32]) -> String {
    let extents: Vec<String> = shape.iter().map(u32::to_string).collect();
    extents.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters of a lab's run with these arguments.
    fn parse(lab: &str, args: &[&str]) -> Parameters {
        let lab = host::find_lab(lab).unwrap();
        let running = lab.running.as_ref().unwrap();
        let command = Parameters::flags(lab, running, Command::new("run"));
        let args = std::iter::once(&"run").chain(args);
        Parameters::read(lab, running, &command.get_matches_from(args))
    }

    #[test]
    fn a_run_has_defaults_of_its_own() {
        let parameters = parse("wave3d", &[]);
        assert_eq!(parameters.given.get("n_x"), Some("256"));
        // The lab has this one.
        assert_eq!(parameters.given.get("dx"), None);
        let typed = parse("wave3d", &["--shape=5,6,7", "--dx=20", "--seed=3"]);
        assert_eq!(typed.given.get("n_z"), Some("7"));
        let boxed = typed.problem().unwrap();
        let problem: &host::wave3d::Wave3d = lab::downcast("run", boxed.as_ref());
        assert_eq!((problem.domain().n_z, problem.dx_m()), (7, 20.0));
    }

    #[test]
    fn a_flag_gives_several() {
        let given = |args: &[&str]| {
            let parameters = parse("stencil25", args);
            ["dx", "dy", "dz"].map(|name| parameters.given.get(name).map(str::to_owned))
        };
        let some = |values: [&str; 3]| values.map(|value| Some(value.to_owned()));
        assert_eq!(given(&[]), [None, None, None]);
        assert_eq!(given(&["--spacing=20"]), some(["20", "20", "20"]));
        assert_eq!(given(&["--spacing=1, 2,3"]), some(["1", "2", "3"]));
    }

    #[test]
    fn an_error_names_the_flag() {
        let refused = |args: &[&str]| parse("wave3d", args).problem().err().unwrap();
        insta::assert_snapshot!(refused(&["--shape=5,6,2"]), @"--shape: n_z = 2: a domain has at least 3 sites along each axis: two borders and one between");
        insta::assert_snapshot!(refused(&["--steps=0"]), @"--steps 0: there is nothing to compute; at least 1");
        insta::assert_snapshot!(refused(&["--steps=many"]), @"--steps many: write a whole number from 0 to 4294967295: timesteps, at least 1");
        insta::assert_snapshot!(refused(&["--first-step=x"]), @"--first-step x: write a whole number from 0 to 4294967295: number of the first timestep");
        insta::assert_snapshot!(refused(&["--model=layer"]), @"--model: unknown model `layer`; did you mean `layers`?");
    }
}
