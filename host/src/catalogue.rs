//! Which labs, variants and cases a command is about.

use crate::lab::{CaseError, SHAPE};
use crate::{CaseParams, Lab, Variant, find_shaped, find_variant};

use crate::devices::Wanted;
use exit::CommandError;

/// The lab of this name, or all of them.
///
/// # Errors
///
/// [`CommandError::Input`], with the nearest name.
pub fn select<'l>(
    labs: &[&'l dyn Lab],
    name: Option<&str>,
) -> Result<Vec<&'l dyn Lab>, CommandError> {
    let Some(name) = name else {
        return Ok(labs.to_vec());
    };
    match labs.iter().find(|lab| lab.name() == name) {
        Some(lab) => Ok(vec![*lab]),
        None => Err(CaseError::unknown("lab", name, labs.iter().map(|lab| lab.name())).into()),
    }
}

/// Whether this copy of the course has built-in solutions.
pub fn has_solutions() -> bool {
    crate::labs().iter().any(|lab| !lab.variants().is_empty())
}

/// Refuses a command that needs the built-in solutions where there are none: `what` it does, and
/// what to do `instead`.
///
/// # Errors
///
/// [`CommandError::Input`] in a student's copy of the course.
pub fn needs_solutions(what: &str, instead: &str) -> Result<(), CommandError> {
    match has_solutions() {
        true => Ok(()),
        false => Err(only_for_instructors(what, instead)),
    }
}

fn only_for_instructors(what: &str, instead: &str) -> CommandError {
    CommandError::Input(format!("{what}, and is the instructor's; {instead}"))
}

/// The name of the variant that others are compared with; empty in a copy without built-in
/// solutions.
pub fn first_variant(lab: &dyn Lab) -> &'static str {
    lab.variants().first().map_or("", |variant| variant.name)
}

/// The variant that a run is told to use, and the device. A copy without built-in solutions has no
/// variant to run, and computes on the CPU.
///
/// # Errors
///
/// [`CommandError::Input`] for an unknown variant, and for a device in a lab without variants.
pub fn variant_of_run(
    lab: &dyn Lab,
    name: &str,
    device: Option<Wanted>,
) -> Result<(&'static str, Option<Wanted>), CommandError> {
    if lab.variants().is_empty() {
        return match device {
            None | Some(Wanted::Cpu) => Ok(("", Some(Wanted::Cpu))),
            Some(device) => Err(CommandError::Input(format!(
                "--device {device}: this copy of the course has no built-in solution that could run there; \
                 `--device cpu` has the reference"
            ))),
        };
    }
    let variant =
        find_shaped(lab, name).map_err(|error| CommandError::from(error).context("--variant"))?;
    Ok((variant.name, device))
}

/// A lab and the variants of it that a command is about.
pub type Chosen<'l> = (&'l dyn Lab, Vec<Variant>);

/// The variants of each lab that `--variant` names, some of them in a shape, or all of them as they
/// are. Labs that have none of those named are left out.
///
/// # Errors
///
/// [`CommandError::Input`] for a name that no lab has, with the nearest.
pub fn variants<'l>(
    labs: &[&'l dyn Lab],
    names: &[String],
) -> Result<Vec<Chosen<'l>>, CommandError> {
    let known: Vec<Variant> = labs
        .iter()
        .flat_map(|lab| lab.variants())
        .copied()
        .collect();
    if let (true, Some(name)) = (known.is_empty(), names.first()) {
        return Err(CommandError::Input(format!(
            "--variant {name}: this copy of the course has no built-in variants"
        )));
    }
    for name in names {
        if labs.iter().any(|lab| find_shaped(*lab, name).is_ok()) {
            continue;
        }
        let base = name.split(SHAPE).next().unwrap_or_default();
        let has_base = |lab: &&&dyn Lab| find_variant(lab.variants(), base).is_ok();
        let error = match labs.iter().find(has_base) {
            Some(lab) => find_shaped(*lab, name).err(),
            None => find_variant(&known, base).err(),
        };
        if let Some(error) = error {
            return Err(CommandError::from(error).context("--variant"));
        }
    }
    let chosen = labs.iter().map(|lab| {
        let is_named = |variant: &Variant| names.iter().any(|name| name == variant.name);
        let variants = lab.variants().iter().flat_map(|&variant| {
            let shapes = lab.shapes(variant.name).into_iter().filter(is_named);
            let plain = (names.is_empty() || is_named(&variant)).then_some(variant);
            plain.into_iter().chain(shapes).collect::<Vec<_>>()
        });
        (*lab, variants.collect())
    });
    Ok(chosen
        .filter(|(_, variants): &(_, Vec<Variant>)| names.is_empty() || !variants.is_empty())
        .collect())
}

/// [`variants`] for a command that measures: without names, those that are measured only by name
/// are left out.
///
/// # Errors
///
/// As there.
pub fn measured<'l>(
    labs: &[&'l dyn Lab],
    names: &[String],
) -> Result<Vec<Chosen<'l>>, CommandError> {
    let mut chosen = variants(labs, names)?;
    if names.is_empty() {
        for (_, variants) in &mut chosen {
            variants.retain(|variant| !variant.on_request);
        }
    }
    Ok(chosen)
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
/// allow.
pub fn own_case(lab: &dyn Lab, params: &CaseParams) -> Result<Box<dyn crate::Case>, CommandError> {
    lab.case(params)
        .map_err(|error| CommandError::from(error).context("--param"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_lab;

    #[test]
    fn names_that_are_not_there() {
        let labs = test_lab::labs();
        let failure = select(&labs, Some("doublin")).err().unwrap();
        insta::assert_snapshot!(failure, @"unknown lab `doublin`; did you mean `doubling`?");
        let failure = variants(&labs, &["nave".to_owned()]).err().unwrap();
        insta::assert_snapshot!(failure, @"--variant: unknown variant `nave`; did you mean `naive`?");
        let failure = variants(&labs, &["twofold@x3".to_owned()]).err().unwrap();
        insta::assert_snapshot!(failure, @"--variant: unknown shape `x3`; did you mean `x1`?");
        let failure = params(&["n".to_owned()]).err().unwrap();
        insta::assert_snapshot!(failure, @"--param: `n` is not a parameter: write name=value");
        let params = params(&["m=3".to_owned()]).unwrap().unwrap();
        let failure = own_case(labs[0], &params).err().unwrap();
        insta::assert_snapshot!(failure, @"--param: unknown parameter `m`; there are: n, steps");
        assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
    }

    #[test]
    fn what_to_do_instead_is_said() {
        insta::assert_snapshot!(only_for_instructors("export makes the students' copy of the course", "this is one"), @"export makes the students' copy of the course, and is the instructor's; this is one");
        assert!(has_solutions());
        assert_eq!(
            needs_solutions("export makes a copy", "this is one"),
            Ok(())
        );
    }

    #[test]
    fn all_or_one() {
        let labs = test_lab::labs();
        assert_eq!(select(&labs, None).unwrap().len(), labs.len());
        let chosen = variants(&labs, &["naive".to_owned()]).unwrap();
        assert_eq!(chosen[0].1.len(), 1);
        assert_eq!(
            variants(&labs, &[]).unwrap()[0].1.len(),
            labs[0].variants().len()
        );
    }

    #[test]
    fn a_shape_is_named_like_a_variant() {
        let labs = test_lab::labs();
        let names = ["twofold@x4", "naive"].map(str::to_owned);
        let chosen = variants(&labs, &names).unwrap();
        let names: Vec<&str> = chosen[0].1.iter().map(|variant| variant.name).collect();
        assert_eq!(names, ["naive", "twofold@x4"]);
        let of_run = variant_of_run(labs[0], "twofold@x4", None).unwrap();
        assert_eq!(of_run.0, "twofold@x4");
    }

    #[test]
    fn some_are_measured_on_request() {
        let labs = test_lab::labs();
        let names = |names: &[String]| -> Vec<&str> {
            let chosen = measured(&labs, names).unwrap();
            chosen[0].1.iter().map(|variant| variant.name).collect()
        };
        let all = labs[0].variants();
        assert_eq!(names(&[]).len(), all.len() - 2);
        assert!(!names(&[]).contains(&"newer"));
        assert_eq!(names(&["newer".to_owned()]), ["newer"]);
    }
}
