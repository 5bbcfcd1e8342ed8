//! The published results: picture and table follow from the committed measurements. With `BLESS=1`
//! in the environment the tests write both.

use std::path::{Path, PathBuf};

use serde_json::Value;
use units::plus_minus;

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

/// The rows of the table in docs/measure/results.md: a lab, its case, its name there, and variants.
const ROWS: [(&str, &str, &str, &[&str]); 7] = [
    (
        "wave2d",
        "3201x3201, 12800 steps, point-source",
        "wave2d 3201 x 3201",
        &[
            "naive",
            "single",
            "shmem",
            "fast",
            "wavefront",
            "wavefront_exact",
        ],
    ),
    (
        "poisson",
        "512^3, 200 iterations",
        "poisson 512^3",
        &["reads_source", "computes_source", "fast_single", "fast"],
    ),
    (
        "wave3d",
        "384x384x384, 100 steps",
        "wave3d 384^3",
        &["single", "fast"],
    ),
    (
        "wave3d",
        "1000x64x1000, 100 steps",
        "wave3d 1000 x 64 x 1000",
        &["single", "fast"],
    ),
    (
        "stencil25",
        "1000x1000x1000, 4 steps",
        "stencil25 1000^3",
        &["gmem", "st_reg_fixed", "fast", "two_steps"],
    ),
    (
        "membench",
        "268435456 elements, 32 per thread, blocks of 256",
        "membench, 2^28 elements",
        &["vector_load"],
    ),
    (
        "matadd",
        "32768x32768",
        "matadd 32768^2",
        &["grid2d_block2d_32x32", "grid_stride_vector4_256"],
    ),
];

/// The lines before and after the table.
const MARKS: [&str; 2] = [
    "<!-- made from the files in docs/results -->\n",
    "<!-- until here -->\n",
];

/// A figure and half of its interval.
fn with_interval(figure: f64, interval: &Value, times: f64) -> String {
    let end = |at: usize| interval[at].as_f64().unwrap() * times;
    plus_minus(figure * times, (end(1) - end(0)).abs() / 2.0)
}

fn table(cases: &[Value]) -> String {
    let mut table = String::from(
        "| problem | variant | us per timestep | updates/s | share of the limit | CUDA C++ time / ours |\n\
         |---|---|---:|---:|---:|---:|\n",
    );
    for (lab, case, name, variants) in ROWS {
        let found = cases
            .iter()
            .rfind(|one| one["lab"] == lab && one["case"] == case)
            .unwrap_or_else(|| panic!("{lab}: no case {case}"));
        let rows = || {
            let rows = found["rows"].as_array().unwrap().iter();
            rows.filter(|row| row["device"] == "cuda")
        };
        for (number, &variant) in variants.iter().enumerate() {
            let of = |row: &&Value| row["variant"] == variant;
            let row = rows()
                .filter(of)
                .find(|row| row["language"].is_null())
                .unwrap_or_else(|| panic!("{lab}, {case}: no row of {variant}"));
            let steps = row["timesteps"].as_f64().unwrap_or(1.0);
            let run = &row["run"];
            let median = run["median_s"].as_f64().unwrap();
            // Of builds with and without fused multiply-adds the faster one.
            let peer = rows()
                .filter(of)
                .filter(|other| {
                    let language = other["language"].as_str();
                    language.is_some_and(|language| language.starts_with("CUDA C++"))
                })
                .max_by(|a, b| {
                    let ratio = |one: &Value| one["vs_variant"]["estimate"].as_f64().unwrap();
                    ratio(a).total_cmp(&ratio(b))
                });
            let ratio = peer.map_or(String::new(), |theirs| {
                let ours = &theirs["vs_variant"];
                let inverse = |value: &Value| 1.0 / value.as_f64().unwrap();
                let interval = [1, 0].map(|at| inverse(&ours["interval"][at]));
                with_interval(
                    inverse(&ours["estimate"]),
                    &Value::from(interval.to_vec()),
                    1.0,
                )
            });
            table += &format!(
                "| {} | `{variant}` | {} | {:.2e} | {:.2} | {ratio} |\n",
                if number == 0 { name } else { "" },
                with_interval(median, &run["interval_s"], 1e6 / steps),
                row["updates_per_s"].as_f64().unwrap(),
                row["bound"]["share"].as_f64().unwrap(),
            );
        }
    }
    table
}

/// The table of the committed measurements.
fn measured_table() -> String {
    let cases = MEASURED.map(|name| {
        let document: Value = serde_json::from_str(&read(name)).unwrap();
        document["cases"].as_array().unwrap().clone()
    });
    table(&cases.concat())
}

#[test]
fn the_table_of_results_is_made_from_the_committed_measurements() {
    let page = read("docs/measure/results.md");
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    let [begin, end] = MARKS;
    let new = format!("{before}{begin}\n{}\n{end}{after}", measured_table());
    is("docs/measure/results.md", &new);
}

/// The rows of the README's table: a problem, its plain variant and its best.
const README_ROWS: [[&str; 3]; 5] = [
    ["wave2d 3201 x 3201", "naive", "wavefront"],
    ["poisson 512^3", "reads_source", "fast"],
    ["wave3d 384^3", "single", "fast"],
    ["stencil25 1000^3", "gmem", "two_steps"],
    [
        "matadd 32768^2",
        "grid2d_block2d_32x32",
        "grid_stride_vector4_256",
    ],
];

/// The README's table follows from that of the page of results, row by row.
#[test]
fn the_table_of_the_readme_is_made_from_the_same_measurements() {
    let full = measured_table();
    let mut problem = String::new();
    let mut rows = Vec::new();
    for line in full.lines().skip(2) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if !cells[1].is_empty() {
            problem = cells[1].to_owned();
        }
        rows.push((
            problem.clone(),
            cells[2].replace('`', ""),
            cells[3..7].to_vec(),
        ));
    }
    let mut new = String::from(
        "| lab | plain, us | best, us | gain | CUDA C++ / ours | of the memory limit |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for [name, plain, best] in README_ROWS {
        let of = |variant: &str| {
            let mut rows = rows.iter();
            let row = rows.find(|row| row.0 == name && row.1 == variant);
            &row.unwrap_or_else(|| panic!("{name}: no row of {variant}"))
                .2
        };
        let time = |cells: &[&str]| cells[0].split(' ').next().unwrap().parse::<f64>().unwrap();
        let (plain, best) = (of(plain), of(best));
        let gain = time(plain) / time(best);
        let digits = usize::from(gain < 10.0);
        let share = 100.0 * best[2].parse::<f64>().unwrap();
        new += &format!(
            "| {name} | {} | {} | {gain:.digits$} | {} | {share:.0} % |\n",
            time(plain),
            best[0],
            best[3],
        );
    }
    let readme = read("README.md");
    let (before, rest) = readme.split_once("| lab | plain").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    is("README.md", &format!("{before}{new}\n{after}"));
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
