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
