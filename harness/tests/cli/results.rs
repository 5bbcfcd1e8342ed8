//! The published results: the picture follows from the committed measurements. With `BLESS=1` in
//! the environment its test writes it. The tables are checked with all figures, in `tests/`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::{describe, harness};

/// The committed measurements. A lab that several have is taken from the last of them.
const MEASURED: [&str; 1] = ["docs/results/h100.json"];

/// A file of the workspace.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The file is `text`, or becomes it.
fn is(name: &str, text: &str) {
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(file(name), text).unwrap();
    }
    assert!(
        read(name) == text,
        "{name} does not follow from {MEASURED:?}; run this test with BLESS=1"
    );
}

#[test]
fn the_ladder_is_made_from_the_committed_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let output = harness(folder.path(), &["report", "--ladder", "ladder.svg"])
        .args(MEASURED.map(file))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let ladder = std::fs::read_to_string(folder.path().join("ladder.svg")).unwrap();
    is("docs/ladder.svg", &ladder);
}

/// The parts of `read` that `written` lacks, by path.
fn lost(read: &Value, written: &Value, path: &str) -> Vec<String> {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => read
            .iter()
            .flat_map(|(key, value)| {
                let inner = format!("{path}.{key}");
                match written.get(key) {
                    Some(same) => lost(value, same, &inner),
                    None => vec![inner],
                }
            })
            .collect(),
        (Value::Array(read), Value::Array(written)) if read.len() == written.len() => read
            .iter()
            .zip(written)
            .enumerate()
            .flat_map(|(at, (value, same))| lost(value, same, &format!("{path}[{at}]")))
            .collect(),
        _ if read == written => Vec::new(),
        _ => vec![format!("{path}: {read} became {written}")],
    }
}

/// The figures of a row are grouped in types, and side by side in the document.
#[test]
fn published_documents_are_written_as_they_were_read() {
    for name in ["docs/results/h100.json", "docs/results/h200.json"] {
        let text = read(name);
        let results = results::Results::parse(&text).unwrap();
        let (published, written) = (
            serde_json::from_str::<Value>(&text).unwrap(),
            serde_json::to_value(&results).unwrap(),
        );
        assert_eq!(lost(&published, &written, name), Vec::<String>::new());
        assert_eq!(lost(&written, &published, name), Vec::<String>::new());
    }
}
