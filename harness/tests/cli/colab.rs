//! The notebook for Colab and Kaggle: its cells, typed.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::book::{ROOT, typed, workplace};
use crate::run::describe;

/// The code cells, in order.
fn cells() -> Vec<String> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs/colab.ipynb")).unwrap();
    let notebook: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(notebook["nbformat"], 4);
    let cells = notebook["cells"].as_array().unwrap();
    let code = cells.iter().filter(|cell| cell["cell_type"] == "code");
    code.map(|cell| {
        // An output would be that of some day and machine.
        assert_eq!(cell["outputs"], Value::Array(Vec::new()));
        let lines = cell["source"].as_array().unwrap().iter();
        lines.map(|line| line.as_str().unwrap()).collect()
    })
    .collect()
}

/// The part of a cell that a shell runs: all of one that begins with `%%bash`, else the line
/// behind `!`.
fn command(cell: &str) -> &str {
    let of_shell = cell.strip_prefix("%%bash\n");
    of_shell.or_else(|| cell.strip_prefix('!')).unwrap()
}

#[test]
fn the_cells_of_the_notebook_run() {
    let cells = cells();
    let [install, doctor, lab_0, race, perf] = &cells[..] else {
        panic!("{} cells", cells.len());
    };
    assert_eq!(install, "%pip install --quiet gpu-labs");
    let (folder, search) = workplace();
    let course = folder.path().join("course");
    let said = |cell: &str| {
        let output = typed(command(cell), &course, &search);
        assert!(output.status.success(), "{cell}\n{}", describe(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (cell, expected) in [
        (doctor, "Ready: "),
        (lab_0, "all right"),
        (race, "race in global memory"),
        (race, "as was to be shown"),
        (perf, "matadd"),
    ] {
        let said = said(cell);
        assert!(said.contains(expected), "{cell}\n{said}");
    }
}
