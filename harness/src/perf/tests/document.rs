//! What `--json` writes.

use super::*;

#[test]
fn the_document_names_where_it_comes_from() {
    let run = small("naive");
    let results = run.results.unwrap();
    assert_eq!(results.schema_version, SCHEMA_VERSION);
    assert!(results.quick && !results.interrupted && !results.command_line.is_empty());
    assert_eq!(results.harness_version, env!("CARGO_PKG_VERSION"));
    assert_eq!(results.devices[0].info.name, "Adder 9000");
    assert_eq!(
        results.devices[0].limits.copy.as_ref().unwrap().best_per_s,
        1e9
    );
    let missing = [
        "limits of cuda: FP64: not enough memory",
        "clocks, throttling, power of cuda: no telemetry: libnvidia-ml.so.1 not found",
    ];
    assert_eq!(results.missing, missing);
    let again = Results::parse(&results.to_json().unwrap()).unwrap();
    assert!(again == results);
}

#[test]
fn the_page_is_written_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("results.html");
    let html = format!("--html={}", file.display());
    let run = timed(
        &[&SMALL[..], &["--variant=naive", &html]].concat(),
        &testing::machine(),
    );
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "a page of 1 cases");
    let run = timed(
        &["--html=/no/such/folder/results.html"],
        &testing::machine(),
    );
    assert!(matches!(run.ending, Err(Failure::Input(_))) && run.text.is_empty());
}
