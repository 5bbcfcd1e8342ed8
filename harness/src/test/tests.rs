use super::*;
use terminal::look::Look;

/// The ending and the text, without the time, in a terminal of 100 columns.
fn tested(args: &TestArgs, machine: &Machine) -> (Ending, String) {
    tested_in(100, args, machine)
}

fn tested_in(columns: usize, args: &TestArgs, machine: &Machine) -> (Ending, String) {
    let mut text = Vec::new();
    let look = Look {
        columns,
        ..Look::PLAIN
    };
    let (labs, tuned) = (test_lab::labs(), Table::default());
    let mut out = Out::new(&mut text, look);
    let ending = run_on(args, &labs, Submitted::NONE, machine, &tuned, &mut out).unwrap();
    drop(out);
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().find(|line| line.len() > columns), None);
    let (text, _time) = text.rsplit_once(" (").unwrap();
    (ending, text.to_owned())
}

fn variants(names: &[&str]) -> TestArgs {
    TestArgs {
        variant: names.iter().map(|name| (*name).to_owned()).collect(),
        ..TestArgs::default()
    }
}

#[test]
fn right_results() {
    let (ending, text) = tested(&variants(&["naive"]), &test_lab::machine());
    assert_eq!(ending, Ending::Fine);
    insta::assert_snapshot!(text);
}

#[test]
fn no_gpu() {
    let (ending, text) = tested(&TestArgs::default(), &test_lab::machine_without_gpu());
    assert_eq!(ending, Ending::Fine);
    insta::assert_snapshot!(text);
}

#[test]
fn wrong_results_are_explained() {
    let (ending, text) = tested(&variants(&["naive", "off-by-one"]), &test_lab::machine());
    assert_eq!(ending, Ending::Wrong);
    insta::assert_snapshot!(text);
}

#[test]
fn after_a_fault_nothing_runs_on_the_device() {
    let args = TestArgs {
        param: vec!["n=4".to_owned()],
        lab: Some("doubling".to_owned()),
        ..variants(&["trapping", "naive"])
    };
    let (ending, text) = tested(&args, &test_lab::machine());
    assert_eq!(ending, Ending::Wrong);
    insta::assert_snapshot!(text);
}

#[test]
fn too_little_memory_is_not_a_wrong_result() {
    let (ending, text) = tested(&variants(&["hungry"]), &test_lab::machine());
    assert_eq!(ending, Ending::Lacking);
    insta::assert_snapshot!(text);
}

#[test]
fn what_needs_a_newer_device_is_skipped() {
    let (ending, text) = tested(&variants(&["naive", "newer"]), &test_lab::machine());
    assert_eq!(ending, Ending::Fine);
    insta::assert_snapshot!(text);
}

#[test]
fn variants_measured_on_request_are_shown_as_one() {
    let args = parse(&["doubling", "--param=n=8", "--param=steps=4"]);
    let (ending, text) = tested_in(200, &args, &test_lab::machine());
    assert_eq!(ending, Ending::Wrong);
    insta::assert_snapshot!(text);
}

#[test]
fn variants_share_a_column_where_the_terminal_is_narrow() {
    let args = variants(&["naive", "off-by-one", "hungry"]);
    let [fits, shares] = [60, 44].map(|columns| tested_in(columns, &args, &test_lab::machine()).1);
    insta::assert_snapshot!(fits);
    insta::assert_snapshot!(shares);
}

#[test]
fn checks_find_a_race_that_leaves_the_result_right() {
    let ended = |flag: &str| {
        let args = parse(&["--variant=coalesced,racy", "--device=emulated", flag]);
        let machine = Machine::discover(&args.device, args.sanitize());
        let mut text = Vec::new();
        let mut out = Out::new(&mut text, Look::PLAIN);
        let ending = run_on(
            &args,
            &[&test_lab::ptx::TRIPLING],
            Submitted::NONE,
            &machine,
            &Table::default(),
            &mut out,
        );
        drop(out);
        (ending.unwrap(), String::from_utf8(text).unwrap())
    };
    for flag in ["--sanitize", "--sanitize=on", "--device=emulated"] {
        let (ending, text) = ended(flag);
        assert_eq!(ending, Ending::Wrong, "{text}");
        assert!(text.contains("race"), "{text}");
    }
    let (ending, text) = ended("--sanitize=off");
    assert_eq!(ending, Ending::Fine, "{text}");
}

#[test]
fn json_has_every_result() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.json");
    let text = format!("--json={}", file.display());
    let args = parse(&["--variant=off-by-one", "--device=cuda", &text]);
    tested(&args, &test_lab::machine());
    insta::assert_snapshot!(std::fs::read_to_string(file).unwrap());
}

fn parse(args: &[&str]) -> TestArgs {
    #[derive(clap::Parser)]
    struct Parser {
        #[command(flatten)]
        args: TestArgs,
    }
    let args = std::iter::once("test").chain(args.iter().copied());
    <Parser as clap::Parser>::parse_from(args).args
}
