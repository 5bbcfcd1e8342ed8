//! Labs, variants and cases that commands name.

use select::catalogue::{
    OfLab, Submitted, has_solutions, needs_solutions, own_case, params, select, variant,
};
use select::choice;

/// The variants that are named, without submissions.
fn variants(
    labs: &[&'static lab::Lab],
    names: &[String],
) -> Result<Vec<OfLab>, exit::CommandError> {
    select::catalogue::variants(labs, names, Submitted::NONE)
}

#[test]
fn names_that_are_not_there() {
    let labs = test_lab::labs();
    let failure = select(&labs, Some("doublin")).err().unwrap();
    insta::assert_snapshot!(failure, @"unknown lab `doublin`; did you mean `doubling`?");
    let unknown_variant = variants(&labs, &["nave".to_owned()]).err().unwrap();
    insta::assert_snapshot!(unknown_variant, @"--variant: unknown variant `nave`; did you mean `naive`?");
    let unknown_shape = variants(&labs, &["twofold@x3".to_owned()]).err().unwrap();
    insta::assert_snapshot!(unknown_shape, @"--variant: unknown shape `x3`; did you mean `x1`?");
    let without_value = params(&["n".to_owned()]).err().unwrap();
    insta::assert_snapshot!(without_value, @"--param: `n` is not a parameter: write name=value");
    let params = params(&["m=3".to_owned()]).unwrap().unwrap();
    let unknown_parameter = own_case(labs[0], &params).err().unwrap();
    insta::assert_snapshot!(unknown_parameter, @"--param: unknown parameter `m`; there are: n, steps");
    assert_eq!(unknown_parameter.exit_code(), exit::codes::BAD_INPUT);
}

#[test]
fn what_to_do_instead_is_said() {
    let labs = test_lab::labs();
    let needs = |some: &[&lab::Lab]| {
        let what = "export makes the students' copy of the course";
        needs_solutions(some, what, "this is one")
    };
    assert!(has_solutions(&labs));
    assert_eq!(needs(&labs), Ok(()));
    let failure = needs(&[&test_lab::BARE]).unwrap_err();
    insta::assert_snapshot!(failure, @"export makes the students' copy of the course, and is the instructor's; this is one");
}

#[test]
fn all_or_one() {
    let labs = test_lab::labs();
    assert_eq!(select(&labs, None).unwrap().len(), labs.len());
    let chosen = variants(&labs, &["naive".to_owned()]).unwrap();
    assert_eq!(chosen[0].variants.len(), 1);
    assert_eq!(
        variants(&labs, &[]).unwrap()[0].variants.len(),
        labs[0].variants.len()
    );
}

#[test]
fn a_shape_is_named_like_a_variant() {
    let labs = test_lab::labs();
    let names = ["twofold@x4", "naive"].map(str::to_owned);
    let chosen = variants(&labs, &names).unwrap();
    let chosen_names: Vec<&str> = chosen[0]
        .variants
        .iter()
        .map(|variant| &*variant.name)
        .collect();
    assert_eq!(chosen_names, ["naive", "twofold@x4"]);
    assert_eq!(variant(labs[0], "twofold@x4").unwrap().name, "twofold@x4");
}

#[test]
fn some_are_measured_on_request() {
    let labs = test_lab::labs();
    let names = |names: &[String]| -> Vec<&str> {
        let chosen = choice::measured(&labs, names, Submitted::NONE).unwrap();
        chosen[0]
            .variants
            .iter()
            .map(|variant| &*variant.name)
            .collect()
    };
    let all = &labs[0].variants;
    assert_eq!(names(&[]).len(), all.len() - 6);
    assert!(!names(&[]).contains(&"newer"));
    assert_eq!(names(&["newer".to_owned()]), ["newer"]);
}
