//! The flags that describe a problem: those of the lab's parameters, stated there.
//!
//! Extents along several axes are one flag, `--shape`. A run may have other defaults than a case of
//! `perf`, and a flag of its own instead of a parameter's.

use std::fmt;
use std::marker::PhantomData;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use exit::CommandError;
use lab::{CaseError, CaseParams, Lab, LabCase, Parameter, downcast};

use super::flags::extents;

/// A lab's problem that is run.
pub trait RunProblem: LabCase + Clone {
    /// Its lab.
    fn lab() -> &'static Lab;
    /// The values of a run where none is given, for parameters that have others here.
    const DEFAULTS: &'static [(&'static str, &'static str)];
    /// Parameters without a flag of their own: another flag gives them.
    const OTHERS: &'static [&'static str];
}

/// The parameters that a command line gives.
pub struct Parameters<P> {
    /// As the lab takes them.
    pub given: CaseParams,
    shape: Option<Vec<u32>>,
    problem: PhantomData<fn() -> P>,
}

impl<P> Clone for Parameters<P> {
    fn clone(&self) -> Parameters<P> {
        Parameters {
            given: self.given.clone(),
            shape: self.shape.clone(),
            problem: PhantomData,
        }
    }
}

impl<P> fmt::Debug for Parameters<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.given.fmt(f)
    }
}

/// The id, and the name, of the flag for extents along several axes.
const SHAPE: &str = "shape";

impl<P: RunProblem> Parameters<P> {
    /// The problem with these parameters.
    ///
    /// # Errors
    ///
    /// [`CommandError::Input`], with the flag, for values that the lab does not allow.
    pub fn problem(&self) -> Result<P, CommandError> {
        self.case().map_err(of_flag::<P>)
    }

    /// [`Parameters::problem`] for a lab with flags of its own, whose errors name these.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for values that the lab does not allow, and for no timesteps.
    pub fn case(&self) -> Result<P, CaseError> {
        let lab = P::lab();
        let case = lab.case(&self.given)?;
        match (case.timesteps(), lab.steps_parameter()) {
            (Some(0), Some(name)) => {
                let reason = "there is nothing to compute; at least 1";
                Err(CaseError::invalid(name, 0, reason))
            }
            _ => Ok(downcast::<P>("run", case.as_ref()).clone()),
        }
    }

    /// The extents that `--shape` gives, if it is used.
    pub fn shape(&self) -> Option<&[u32]> {
        self.shape.as_deref()
    }

    /// The parameters that have a flag of their own.
    fn flags() -> impl Iterator<Item = &'static Parameter> {
        let lab = P::lab();
        let parameters = lab.parameters.iter();
        parameters.filter(move |parameter| {
            let is_extent = has_shape(lab) && lab.extents.contains(&parameter.name);
            !is_extent && !P::OTHERS.contains(&parameter.name)
        })
    }
}

/// The value of a run where none is given.
fn default<P: RunProblem>(parameter: &Parameter) -> &'static str {
    let own = P::DEFAULTS.iter().find(|(name, _)| *name == parameter.name);
    own.map_or(parameter.default, |(_, value)| value)
}

/// A name that lives as long as the program, as clap wants names. A command line is made once.
fn kept(name: String) -> &'static str {
    Box::leak(name.into_boxed_str())
}

/// A summary as texts of help begin.
fn sentence(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next();
    first.map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

fn has_shape(lab: &Lab) -> bool {
    lab.extents.len() > 1
}

/// The error with the flag that gave the value.
pub fn of_flag<P: RunProblem>(error: CaseError) -> CommandError {
    let lab = P::lab();
    match error {
        CaseError::Invalid {
            name,
            value,
            reason,
        } if has_shape(lab) && lab.extents.iter().any(|extent| name.starts_with(extent)) => {
            CommandError::Input(format!("--{SHAPE}: {name} = {value}: {reason}"))
        }
        CaseError::Unknown { what, .. } => CommandError::from(error).context(format!("--{what}")),
        other => super::flags::of_flag(other),
    }
}

impl<P: RunProblem> Args for Parameters<P> {
    fn augment_args(command: Command) -> Command {
        let lab = P::lab();
        let shape = has_shape(lab).then(|| {
            let axes = lab.extents.len();
            let of_axis = |name: &&str| {
                let mut known = lab.parameters.iter();
                let known = known.find(|known| known.name == *name);
                known.expect("an extent is a parameter")
            };
            let parameters: Vec<&Parameter> = lab.extents.iter().map(of_axis).collect();
            let summaries: Vec<&str> = parameters.iter().map(|known| known.summary).collect();
            let defaults: Vec<&str> = parameters.iter().map(|known| default::<P>(known)).collect();
            Arg::new(SHAPE)
                .long(SHAPE)
                .value_name(kept(lab.extents.join(",").to_uppercase()))
                .value_parser(move |text: &str| extents(text, axes))
                .help(format!(
                    "{} [default: {}]",
                    sentence(&summaries.join("; ")),
                    defaults.join(",")
                ))
        });
        let flags = Self::flags().map(|parameter| {
            Arg::new(parameter.name)
                .long(kept(parameter.name.replace('_', "-")))
                .value_name(kept(parameter.name.to_uppercase()))
                .help(sentence(parameter.summary))
                .default_value(default::<P>(parameter))
        });
        command.args(shape).args(flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: RunProblem> FromArgMatches for Parameters<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = CaseParams::default();
        for (name, value) in P::DEFAULTS {
            given.set(*name, value);
        }
        for Parameter { name, .. } in Self::flags() {
            let value = matches.get_one::<String>(name);
            let is_typed = matches.value_source(name) == Some(ValueSource::CommandLine);
            if let Some(value) = value.filter(|_| is_typed) {
                given.set(*name, value);
            }
        }
        let lab = P::lab();
        let shape = has_shape(lab)
            .then(|| matches.get_one::<Vec<u32>>(SHAPE).cloned())
            .flatten();
        for (name, extent) in lab.extents.iter().zip(shape.iter().flatten()) {
            given.set(*name, extent);
        }
        Ok(Parameters {
            given,
            shape,
            problem: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use host::wave3d::Wave3d;

    use super::*;
    use crate::test_command::parse;

    #[test]
    fn a_run_has_defaults_of_its_own() {
        let parameters: Parameters<Wave3d> = parse(&[]);
        assert_eq!(parameters.given.get("n_x"), Some("256"));
        // The lab has this one.
        assert_eq!(parameters.given.get("dx"), None);
        let typed: Parameters<Wave3d> = parse(&["--shape=5,6,7", "--dx=20", "--seed=3"]);
        assert_eq!(typed.given.get("n_z"), Some("7"));
        let problem = typed.problem().unwrap();
        assert_eq!((problem.domain().n_z, problem.dx_m()), (7, 20.0));
    }

    #[test]
    fn an_error_names_the_flag() {
        let refused = |args: &[&str]| parse::<Parameters<Wave3d>>(args).problem().unwrap_err();
        insta::assert_snapshot!(refused(&["--shape=5,6,2"]), @"--shape: n_z = 2: a domain has at least 3 sites along each axis: two borders and one between");
        insta::assert_snapshot!(refused(&["--steps=0"]), @"--steps 0: there is nothing to compute; at least 1");
        insta::assert_snapshot!(refused(&["--steps=many"]), @"--steps many: write a whole number from 0 to 4294967295: timesteps, at least 1");
        insta::assert_snapshot!(refused(&["--first-step=x"]), @"--first-step x: write a whole number from 0 to 4294967295: number of the first timestep");
        insta::assert_snapshot!(refused(&["--model=layer"]), @"--model: unknown model `layer`; did you mean `layers`?");
    }
}
