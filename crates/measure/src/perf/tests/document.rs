//! The document of `--json`.

use output_files::OutputDocument;

use super::*;
use terminal::json::JsonOut;

#[test]
fn the_document_names_where_it_comes_from() {
    let run = small("naive");
    let results = run.results.unwrap();
    assert_eq!(results.schema_version, results::SCHEMA_VERSION);
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
        &test_lab::machine(),
    );
    assert_eq!(run.ending, Ok(Ending::Fine));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "a page of 1 cases");
    let refused = timed(
        &["--html=/no/such/folder/results.html"],
        &test_lab::machine(),
    );
    assert!(matches!(refused.ending, Err(CommandError::Input(_))) && refused.text.is_empty());
}

#[test]
fn what_is_finished_is_written_while_the_rest_is_measured() {
    let measured = small("naive").results.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("results");
    std::fs::create_dir(&inner).unwrap();
    let file = inner.join("p.json");
    let json = OutputDocument::create("--json", &file).unwrap();
    let outputs = Outputs {
        json: JsonOut::File(json),
        html: None,
        page: |_| String::new(),
    };
    let begun = Results {
        cases: Vec::new(),
        ..measured.clone()
    };
    let mut said = Vec::new();
    let mut out = Out::new(&mut said, Look::PLAIN);
    let mut reporters = Reporters::begin(begun, outputs, Instant::now(), false, &mut out).unwrap();
    let case = |name: &str| {
        Event::CaseDone(results::CaseResults {
            case: name.to_owned().into(),
            ..measured.cases[0].clone()
        })
    };
    let read = || {
        // As another program does: this one reads nothing that it is going to replace.
        let document = std::fs::read_to_string(&file).unwrap();
        let results = Results::parse(&document).unwrap();
        let cases = results.cases.iter().map(|one| one.case.to_string());
        (results.interrupted, cases.collect::<Vec<_>>())
    };
    assert!(!file.exists());
    reporters.tell(case("first")).unwrap();
    assert_eq!(read(), (true, vec!["first".to_owned()]));
    // A disk that is full for a while costs nothing that is measured.
    std::fs::remove_dir_all(&inner).unwrap();
    reporters.tell(case("second")).unwrap();
    std::fs::create_dir(&inner).unwrap();
    reporters.tell(case("third")).unwrap();
    let all = ["first", "second", "third"].map(str::to_owned).to_vec();
    assert_eq!(read(), (true, all.clone()));
    let ending = reporters.finish();
    drop(out);
    assert_eq!(ending, Ok(Ending::Fine));
    assert_eq!(read(), (false, all));
    // The devices, and no tables: no lab was done.
    let text = String::from_utf8(said).unwrap();
    assert!(
        text.contains("Adder 9000") && !text.contains("naive"),
        "{text}"
    );
}
