//! Which labs, variants and cases a command is about.

use std::path::{Path, PathBuf};

use clap::Args;
use exit::CommandError;

use crate::devices::Wanted;
use lab::{CaseError, CaseParams, Lab, LabCase, SHAPE, Variant, find_lab, find_variant};

/// The lab of this name, or all of them.
///
/// # Errors
///
/// [`CommandError::Input`], with the nearest name.
pub fn select(
    labs: &[&'static Lab],
    name: Option<&str>,
) -> Result<Vec<&'static Lab>, CommandError> {
    Ok(match name {
        Some(name) => vec![find_lab(labs, name)?],
        None => labs.to_vec(),
    })
}

/// Whether this copy of the course has built-in solutions.
pub fn has_solutions(labs: &[&Lab]) -> bool {
    labs.iter().any(|lab| !lab.variants.is_empty())
}

/// `--submission`: solutions of one's own.
#[derive(Debug, Clone, Default, Args)]
pub struct SubmissionArg {
    /// A submission of your own: a folder with kernels.rs and launch.rs; may be repeated
    #[arg(long, value_name = "DIR")]
    pub submission: Vec<PathBuf>,
}

/// Refuses a command that needs the built-in solutions where there are none: `what` it does, and
/// what to do `instead`.
///
/// # Errors
///
/// [`CommandError::Input`] in a student's copy of the course.
pub fn needs_solutions(labs: &[&Lab], what: &str, instead: &str) -> Result<(), CommandError> {
    if has_solutions(labs) {
        Ok(())
    } else {
        Err(CommandError::Input(format!(
            "{what}, and is the instructor's; {instead}"
        )))
    }
}

/// The solutions that are not built in: those that `--submission` named, once they are built. They
/// come after the built-in ones wherever a command goes through variants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Submitted {
    lab: &'static str,
    variants: &'static [Variant],
}

impl Submitted {
    /// None.
    pub const NONE: Submitted = Submitted {
        lab: "",
        variants: &[],
    };

    /// These, of this lab. They stay in memory until the program ends, as the built-in ones do: a
    /// command line is read once.
    pub fn new(lab: &'static Lab, variants: Vec<Variant>) -> Submitted {
        Submitted {
            lab: lab.name,
            variants: Box::leak(variants.into_boxed_slice()),
        }
    }

    /// Those of this lab.
    pub fn of(&self, lab: &Lab) -> &'static [Variant] {
        if self.lab == lab.name {
            self.variants
        } else {
            &[]
        }
    }
}

/// The built-in variant that `--variant` names, or `NAME@LABEL` in that shape.
///
/// # Errors
///
/// [`CommandError::Input`] for a name that the lab does not have, with the nearest.
pub fn variant(lab: &'static Lab, name: &str) -> Result<&'static Variant, CommandError> {
    lab.find(name).map_err(|error| unknown(error, name))
}

/// A lab and the variants of it that a command is about.
pub struct OfLab {
    /// The lab.
    pub lab: &'static Lab,
    /// In order, submissions last.
    pub variants: Vec<&'static Variant>,
}

/// The variants of each lab that `--variant` names, some of them in a shape, or all of them as they
/// are, and every submission. Labs that have none of those named are left out.
///
/// # Errors
///
/// [`CommandError::Input`] for a name that no lab has, with the nearest.
pub fn variants(
    labs: &[&'static Lab],
    names: &[String],
    submitted: Submitted,
) -> Result<Vec<OfLab>, CommandError> {
    if let (false, Some(name)) = (has_solutions(labs), names.first()) {
        return Err(CommandError::Input(format!(
            "--variant {name}: this copy of the course has no built-in variants"
        )));
    }
    for name in names {
        check_name(labs, name).map_err(|error| unknown(error, name))?;
    }
    let chosen = labs.iter().map(|&lab| {
        let is_named = |variant: &&Variant| names.contains(&variant.name);
        let variants = lab.variants.iter().flat_map(|variant| {
            let shapes = variant.shapes.iter().filter(is_named);
            let plain = Some(variant).filter(|plain| names.is_empty() || is_named(plain));
            plain.into_iter().chain(shapes)
        });
        OfLab {
            lab,
            variants: variants.chain(submitted.of(lab)).collect(),
        }
    });
    Ok(chosen
        .filter(|of| names.is_empty() || !of.variants.is_empty())
        .collect())
}

/// [`variants`] for commands that look at a solution for its own sake: built-in ones are left out
/// where there are submissions, unless `--variant` names some.
///
/// # Errors
///
/// As [`variants`].
pub fn for_its_own_sake(
    labs: &[&'static Lab],
    names: &[String],
    submitted: Submitted,
) -> Result<Vec<OfLab>, CommandError> {
    let mut chosen = variants(labs, names, submitted)?;
    for of in &mut chosen {
        let own = submitted.of(of.lab);
        if names.is_empty() && !own.is_empty() {
            of.variants = own.iter().collect();
        }
    }
    Ok(chosen)
}

/// Refuses a solution that is named and would not run, since the CPU is the only device that is
/// named.
///
/// # Errors
///
/// [`CommandError::Input`].
pub fn needs_device(
    devices: &[Wanted],
    variants: &[String],
    own: &SubmissionArg,
) -> Result<(), CommandError> {
    if devices.is_empty() || devices.iter().any(|device| *device != Wanted::Cpu) {
        return Ok(());
    }
    let named = named_solution(variants.first().map(String::as_str), own);
    named.map_or(Ok(()), |(flag, name)| Err(on_cpu(flag, &name)))
}

/// The first solution that is named, and the flag that names it.
pub fn named_solution(
    variant: Option<&str>,
    own: &SubmissionArg,
) -> Option<(&'static str, String)> {
    match &own.submission[..] {
        [first, ..] => Some(("--submission", first.display().to_string())),
        [] => variant.map(|name| ("--variant", name.to_owned())),
    }
}

/// The error of a solution that is named beside `--device cpu`.
pub fn on_cpu(flag: &str, name: &str) -> CommandError {
    CommandError::Input(format!(
        "{flag} {name}: the CPU computes the reference, and no solution; leave out {flag} or --device cpu"
    ))
}

/// Refuses more than one solution where one runs; `flag` is that which names a variant.
///
/// # Errors
///
/// [`CommandError::Input`].
pub fn one_solution(
    flag: &str,
    variant: Option<&str>,
    own: &SubmissionArg,
) -> Result<(), CommandError> {
    let first = |folders: &[PathBuf]| folders[0].display().to_string();
    match (variant, &own.submission[..]) {
        (Some(name), own @ [_, ..]) => Err(CommandError::Input(format!(
            "{flag} {name}: one solution runs, and --submission {} is named, too; leave out one",
            first(own)
        ))),
        (None, own @ [_, second, ..]) => Err(CommandError::Input(format!(
            "--submission {}: one solution runs, and --submission {} is named, too; leave out one",
            second.display(),
            first(own)
        ))),
        _ => Ok(()),
    }
}

/// The error of a name that `--variant` gives. A folder has a flag of its own.
fn unknown(error: CaseError, name: &str) -> CommandError {
    if name.contains(std::path::is_separator) || Path::new(name).is_dir() {
        CommandError::Input(format!(
            "--variant {name}: no variant has this name, and a folder is a submission: write --submission {name}"
        ))
    } else {
        CommandError::from(error).context("--variant")
    }
}

/// Refuses a variant's name that no lab has.
fn check_name(labs: &[&'static Lab], name: &str) -> Result<(), CaseError> {
    if labs.iter().any(|lab| lab.find(name).is_ok()) {
        return Ok(());
    }
    let base = name.split(SHAPE).next().unwrap_or_default();
    let has_base = |lab: &&&Lab| find_variant(&lab.variants, base).is_ok();
    match labs.iter().find(has_base) {
        Some(lab) => lab.find(name).map(drop),
        None => {
            let known = labs
                .iter()
                .flat_map(|lab| &lab.variants)
                .map(|variant| &*variant.name);
            Err(CaseError::unknown("variant", base, known))
        }
    }
}

/// The parameters that `--param` gives; `None` if it is not used.
///
/// # Errors
///
/// [`CommandError::Input`] for what is not `name=value`, or a name given twice.
pub fn params(pairs: &[String]) -> Result<Option<CaseParams>, CommandError> {
    if pairs.is_empty() {
        return Ok(None);
    }
    CaseParams::parse(pairs.iter().map(String::as_str))
        .map(Some)
        .map_err(|error| CommandError::from(error).context("--param"))
}

/// The case that `--param` describes.
///
/// # Errors
///
/// [`CommandError::Input`] for parameters that the lab does not have, or values that it does not
/// allow; and for a case of no timesteps, which only the grader has a use for.
pub fn own_case(lab: &Lab, params: &CaseParams) -> Result<Box<dyn LabCase>, CommandError> {
    let refused = |error: CaseError| CommandError::from(error).context("--param");
    let case = lab.case(params).map_err(refused)?;
    match (case.timesteps(), lab.steps_parameter()) {
        (Some(0), Some(name)) => Err(refused(CaseError::invalid(
            name,
            0,
            "there is nothing to compute; at least 1",
        ))),
        _ => Ok(case),
    }
}
