use plan::Element;
use serde_json::json;

use super::*;

fn tasks() -> Vec<Task> {
    let task = |name: &str| Task {
        name: name.into(),
        problem: json!({}),
    };
    vec![task("a"), task("b")]
}

fn line(name: &str) -> String {
    let mut plan = Plan::new(name);
    plan.buffer("u", Element::F32, 8);
    let recording = Recording {
        name: name.into(),
        plan: Some(plan),
        error: None,
        too_large: false,
    };
    serde_json::to_string(&recording).unwrap() + "\n"
}

/// The result of this output.
fn parsed(text: &str) -> Result<Vec<Plan>, (Kind, String)> {
    parse(text.as_bytes(), &tasks()).map_err(|error| match error {
        PackError::Failure(failure) => (failure.kind, failure.message),
        other => panic!("{other}"),
    })
}

#[test]
fn each_plan_once_is_taken() {
    let plans = parsed(&(line("a") + &line("b"))).unwrap();
    let names: Vec<_> = plans.iter().map(Plan::name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn anything_else_is_told() {
    let both = line("a") + &line("b");
    let (kind, message) = parsed("").unwrap_err();
    assert_eq!(kind, Kind::RecorderFailed);
    insta::assert_snapshot!(message, @"launch.rs: recording ended before case `a`: there are 0 of 2 plans; it must return, not exit");
    let (kind, message) = parsed(&line("a")).unwrap_err();
    assert_eq!(kind, Kind::RecorderFailed);
    insta::assert_snapshot!(message, @"launch.rs: recording ended before case `b`: there are 1 of 2 plans; it must return, not exit");
    // A line without an end is none.
    let (kind, _) = parsed(both.trim_end()).unwrap_err();
    assert_eq!(kind, Kind::RecorderFailed);

    for (text, expected) in [
        (
            line("b") + &line("a"),
            "launch.rs: a plan for `b` where that for case `a` should be",
        ),
        (
            line("a") + &line("a"),
            "launch.rs: a plan for `a` where that for case `b` should be",
        ),
        (
            both.clone() + &line("b"),
            "launch.rs: more than the 2 plans that were asked for",
        ),
        (
            both.clone() + "{}",
            "launch.rs: more than the 2 plans that were asked for",
        ),
        (
            line("a") + "{\"name\":\"b\"}\n",
            "launch.rs: case `b`: it needs a plan or an error",
        ),
    ] {
        let (kind, message) = parsed(&text).unwrap_err();
        assert_eq!((kind, message.as_str()), (Kind::PlanMalformed, expected));
    }
    let (kind, message) = parsed("{\"status\":\"passed\",\"earned\":100}\n").unwrap_err();
    assert_eq!(kind, Kind::PlanMalformed);
    assert!(
        message.starts_with("launch.rs: case `a`: this is not a plan: unknown field `status`"),
        "{message}"
    );
    // A plan that refers to what it does not have.
    let broken = line("a").replace("\"outputs\":[]", "\"outputs\":[[\"u\",7]]");
    assert_ne!(broken, line("a"));
    assert_eq!(parsed(&broken).unwrap_err().0, Kind::PlanMalformed);
}

#[test]
fn errors_of_the_solution_are_told() {
    let error = "{\"name\":\"a\",\"error\":\"no\"}\n";
    let (kind, message) = parsed(error).unwrap_err();
    assert_eq!(
        (kind, message.as_str()),
        (Kind::RecorderFailed, "launch.rs: case `a`: no")
    );
    let error = "{\"name\":\"a\",\"error\":\"much\",\"too_large\":true}\n";
    assert_eq!(parsed(error).unwrap_err().0, Kind::PlanTooLarge);
    // Nothing that it says fills a report.
    let long = format!("{{\"name\":\"a\",\"error\":\"{}\"}}\n", "é".repeat(1 << 20));
    assert!(parsed(&long).unwrap_err().1.len() < 20_000);
}
