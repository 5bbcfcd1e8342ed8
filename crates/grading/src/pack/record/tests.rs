use plan::Element;
use serde_json::json;

use super::*;

fn tasks() -> Vec<Task> {
    let task = |name: &str| Task {
        name: name.into(),
        problem: json!({}),
        devices: 1,
        shape: None,
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
        shapes: Vec::new(),
    };
    serde_json::to_string(&recording).unwrap() + "\n"
}

/// The result of this output of a process that ended well.
fn parsed(text: &str) -> Vec<Result<String, (Kind, String)>> {
    after(text, 0, Ok(()))
}

/// The result of this output of a process that ended like this, after this number of cases.
fn after(
    text: &str,
    before: usize,
    ended: Result<(), Failure>,
) -> Vec<Result<String, (Kind, String)>> {
    let (recorded, _) = parse(text.as_bytes(), &tasks(), before, ended);
    let name = |one: Recorded| match one {
        Ok(plan) => Ok(plan.name().to_owned()),
        Err(failure) => Err((failure.kind, failure.message)),
    };
    recorded.into_iter().map(name).collect()
}

/// How the last case fails that was recorded.
fn last_fails(text: &str) -> (Kind, String) {
    parsed(text).pop().unwrap().unwrap_err()
}

#[test]
fn each_plan_once_is_taken() {
    let names = [Ok("a".to_owned()), Ok("b".to_owned())];
    assert_eq!(parsed(&(line("a") + &line("b"))), names);
}

/// The case that the process was at fails; those before it have their plans, those after it are
/// left to another process.
#[test]
fn an_early_end_costs_one_case() {
    let crashed = || Err(Failure::new(Kind::RecorderFailed, "crashed"));
    let fault = (Kind::RecorderFailed, "crashed".to_owned());
    assert_eq!(after("", 0, crashed()), [Err(fault.clone())]);
    let expected = [Ok("a".to_owned()), Err(fault)];
    assert_eq!(after(&line("a"), 0, crashed()), expected);
    // In the midst of a line, and after all.
    let half = &line("b")[..9];
    assert_eq!(after(&(line("a") + half), 0, crashed()), expected);
    assert_eq!(after(&(line("a") + &line("b")), 0, crashed()), expected);
    insta::assert_snapshot!(after("", 3, Ok(())).remove(0).unwrap_err().1, @"launch.rs: recording ended before case `a`: there are 3 of 5 plans; it must return, not exit");
    // After a plan that is too large, the recorder stops: that is not the next case's fault.
    let error = "{\"name\":\"a\",\"error\":\"much\",\"too_large\":true}\n";
    assert_eq!(parsed(error).len(), 1);
    let (_, bytes) = parse((line("a") + &line("b")).as_bytes(), &tasks(), 0, Ok(()));
    assert_eq!(bytes as usize + 2, line("a").len() + line("b").len());
}

#[test]
fn anything_else_is_told() {
    let both = line("a") + &line("b");
    let (kind, message) = last_fails("");
    assert_eq!(kind, Kind::RecorderFailed);
    insta::assert_snapshot!(message, @"launch.rs: recording ended before case `a`: there are 0 of 2 plans; it must return, not exit");
    let (second_kind, second_message) = last_fails(&line("a"));
    assert_eq!(second_kind, Kind::RecorderFailed);
    insta::assert_snapshot!(second_message, @"launch.rs: recording ended before case `b`: there are 1 of 2 plans; it must return, not exit");
    // A line without an end is none.
    let (cut_kind, _) = last_fails(both.trim_end());
    assert_eq!(cut_kind, Kind::RecorderFailed);

    for (text, expected) in [
        (
            line("a") + &line("c"),
            "launch.rs: a plan for `c` where that for case `b` should be",
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
        let (found, said) = last_fails(&text);
        assert_eq!((found, said.as_str()), (Kind::PlanMalformed, expected));
    }
    let (status_kind, status_message) = parsed("{\"status\":\"passed\",\"earned\":100}\n")
        .remove(0)
        .unwrap_err();
    assert_eq!(status_kind, Kind::PlanMalformed);
    assert!(
        status_message
            .starts_with("launch.rs: case `a`: this is not a plan: unknown field `status`"),
        "{status_message}"
    );
    // A plan that refers to what it does not have.
    let broken = line("a").replace("\"outputs\":[]", "\"outputs\":[[\"u\",7]]");
    assert_ne!(broken, line("a"));
    assert_eq!(
        parsed(&broken).remove(0).unwrap_err().0,
        Kind::PlanMalformed
    );
}

#[test]
fn errors_of_the_solution_are_told() {
    let error = "{\"name\":\"a\",\"error\":\"no\"}\n";
    let (kind, message) = parsed(error).remove(0).unwrap_err();
    assert_eq!(
        (kind, message.as_str()),
        (Kind::RecorderFailed, "launch.rs: case `a`: no")
    );
    let too_large = "{\"name\":\"a\",\"error\":\"much\",\"too_large\":true}\n";
    assert_eq!(
        parsed(too_large).remove(0).unwrap_err().0,
        Kind::PlanTooLarge
    );
    // Nothing that it says fills a report.
    let long = format!("{{\"name\":\"a\",\"error\":\"{}\"}}\n", "é".repeat(1 << 20));
    assert!(parsed(&long).remove(0).unwrap_err().1.len() < 20_000);
}
