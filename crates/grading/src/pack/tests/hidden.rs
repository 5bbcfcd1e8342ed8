//! The information on hidden cases that a student can get from how packing ends.

use super::*;

/// Students are shown nothing that came from a hidden case: those are recorded by another process,
/// and last.
#[test]
fn hidden_cases_are_not_revealed() {
    let told = |body: &str| packed(&before_recording(body), options());
    // How the hidden case fails, and no other.
    let hidden = |body: &str| {
        let bundle = told(body).unwrap();
        let fault = |name| bundle.case(name).unwrap().plan.as_ref().err().cloned();
        assert_eq!((fault("small"), fault("other")), (None, None), "{body}");
        fault("hidden").unwrap()
    };
    let fault = hidden("assert!(problem.n != 9, \"n is {}\", problem.n);");
    assert!(fault.message.contains("n is 9"), "{}", fault.message);
    let by_kernel = hidden(
        "if problem.n == 9 { plan.launch(\"n_is_9\", LaunchConfig::covering(1, 1)?, args![])?; }",
    );
    assert!(
        by_kernel.message.ends_with("[plan_invalid]"),
        "{}",
        by_kernel.message
    );
    // However it fails, that is all that a student learns.
    for body in [
        "assert!(problem.n != 9);",
        "if problem.n == 9 { std::process::exit(3) }",
        "if problem.n == 9 { std::process::abort() }",
        "if problem.n == 9 { loop { drop(vec![1u8; 100 << 30]) } }",
        "if problem.n == 9 { loop { println!(\"{}\", \"y\".repeat(1 << 16)) } }",
        "if problem.n == 9 { plan.launch(\"n_is_9\", LaunchConfig::covering(1, 1)?, args![])?; }",
    ] {
        let found = hidden(body);
        assert_eq!(found.kind, Kind::RecorderFailed, "{body}");
        assert!(
            found.message.starts_with("in a hidden case: "),
            "{}",
            found.message
        );
    }
    let failure = told("assert!(problem.n == 9, \"n is {}\", problem.n);").unwrap_err();
    assert!(failure.message.contains("n is 5"), "{}", failure.message);
    assert!(!failure.knew_hidden);
    // `other` comes after `hidden` in the lab file, and yet knows nothing of it.
    let remember =
        "static KNOWN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
                    let before = KNOWN.swap(problem.n, std::sync::atomic::Ordering::Relaxed);
                    assert!(before != 9 && (problem.n != 9 || before == 0), \"n was {before}\");";
    assert!(told(remember).is_ok());
}

/// Once they are begun, a death of this process may be over one of them.
#[test]
fn that_hidden_cases_are_begun_is_noted() {
    let scratch = tempfile::tempdir().unwrap();
    let has_begun = |body: &str| {
        let options = Options {
            scratch: Some(scratch.path().to_owned()),
            ..options()
        };
        drop(packed(&before_recording(body), options));
        scratch.path().join(HIDDEN_BEGUN).exists()
    };
    assert!(!has_begun("assert!(problem.n == 9);"));
    let launch = "if problem.n != 9 { plan.launch(\"k\", LaunchConfig::new(1, 1), args![])?; }";
    assert!(!has_begun(launch));
    assert!(has_begun("assert!(problem.n != 9);"));
}

/// Of plans that a bundle does not hold: those of known cases are told of before hidden ones are
/// recorded.
#[test]
fn plans_too_large_are_named() {
    let fault = BundleErrorKind::TooLarge {
        what: "a bundle",
        limit: "32 MiB".to_owned(),
    };
    let failure = plans_too_large(fault);
    insta::assert_snapshot!(failure.message, @"launch.rs: the plans are larger than the 32 MiB that they may have; record fewer launches");
    let failure = of_hidden_case(failure);
    assert_eq!(failure.kind, Kind::RecorderFailed);
    assert!(failure.knew_hidden);
}
