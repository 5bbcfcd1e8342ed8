//! `harness run LAB`, from the arguments to the files and the text.

mod poisson;
mod stencil25;
mod wave2d;
mod wave3d;

use exit::{CommandError, Ending};
use lab::LabCase;
use select::catalogue::Submitted;

use crate::RunArgs;
use crate::lab_run::LabArgs;
use crate::test_command::{parse, printed, unprinted};

/// The arguments of `harness run LAB`.
fn args(lab: &str, args: &[&str]) -> RunArgs {
    parse(&[&[lab], args].concat())
}

/// The ending of `harness run LAB` with these arguments, and the text that it prints.
fn computed(lab: &str, of_lab: &[&str]) -> (Result<Ending, CommandError>, String) {
    printed(|out| crate::run(&args(lab, of_lab), Submitted::NONE, out))
}

/// The error of `harness run LAB` with these arguments, which prints nothing.
fn refused(lab: &str, args: &[&str]) -> CommandError {
    let (ending, text) = computed(lab, args);
    assert_eq!(text, "");
    ending.unwrap_err()
}

/// The error of `harness run LAB` whose report cannot be printed.
fn cut_short(lab: &str, of_lab: &[&str]) -> CommandError {
    unprinted(|out| crate::run(&args(lab, of_lab), Submitted::NONE, out))
}

/// The course does not have this lab: a new one needs nothing here.
#[test]
fn a_lab_is_run_by_what_it_says_of_itself() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("numbers");
    let out = format!("--out={}", folder.display());
    let args = [
        "--n=5",
        "--steps=3",
        "--frames=2",
        "--output=npy",
        "--device=cpu",
        &out,
    ];
    let lab = &*test_lab::DOUBLING;
    let args = LabArgs::of(lab, &args).unwrap();
    let (ending, text) = printed(|to| args.run(Submitted::NONE, to));
    assert_eq!(ending, Ok(Ending::Fine));
    assert!(text.contains("doubling  5 numbers, 3 steps, CPU"), "{text}");
    assert!(text.contains("numbers: 2 fields"), "{text}");
    let last = std::fs::read(folder.join("x-000003.npy")).unwrap();
    // x becomes 2 x + 1.
    let expected = [7u32, 15, 23, 31, 39].map(u32::to_le_bytes);
    assert!(last.ends_with(expected.as_flattened()));
}

/// The problem of `harness run LAB` with these arguments.
fn problem(lab: &str, of_lab: &[&str]) -> Box<dyn LabCase> {
    args(lab, of_lab).lab.problem().unwrap()
}
