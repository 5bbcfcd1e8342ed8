//! Pages of made-up measurements.

use super::*;

const PERF: &str = include_str!("tests/perf.json");
const MEMBENCH: &str = include_str!("tests/membench.json");

fn of(texts: &[&str]) -> String {
    let documents: Vec<Document> = texts
        .iter()
        .map(|text| Document::parse(text).unwrap())
        .collect();
    page(&documents)
}

/// Should `perf` write other fields one day, this example must follow, and so must what reads it here.
#[test]
fn the_example_is_as_perf_writes_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/tests/perf.json");
    let results = crate::perf::results::Results::read(std::path::Path::new(path)).unwrap();
    let Document::Perf(perf) = Document::parse(&results.to_json().unwrap()).unwrap() else {
        panic!("of another command");
    };
    let timed = results
        .cases
        .iter()
        .flat_map(|case| &case.rows)
        .filter_map(|row| row.figures());
    assert!(timed.count() > perf.timed().len() && perf.timed().len() > 10);
}

#[test]
fn every_section_has_its_plot_its_table_and_its_command() {
    let html = of(&[PERF, MEMBENCH]);
    let sections: Vec<&str> = html.split("<h2>").skip(1).collect();
    let titles: Vec<&str> = sections
        .iter()
        .map(|section| section.split("</h2>").next().unwrap())
        .collect();
    assert_eq!(
        titles,
        [
            "Limits, measured in the same run",
            "Roofline, Example GPU (made-up figures)",
            "wave2d: throughput against size",
            "wave3d: throughput against size",
            "Speedups",
            "Power over time",
            "Latency, Example GPU (made-up figures)",
        ]
    );
    for section in &sections {
        assert!(
            section.contains("<table>") && section.contains("class=\"command\""),
            "{section}"
        );
    }
    for section in &sections[1..] {
        assert!(section.contains("<svg"), "{section}");
    }
    let command = "harness perf --large --peers --param &#39;note=two words&#39; --json=perf.json";
    assert!(html.contains(command));
}

#[test]
fn a_page_loads_nothing_and_runs_nothing() {
    let html = of(&[PERF, MEMBENCH]);
    for outside in ["src=\"http", "href", "<script", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn what_has_no_figures_says_why() {
    let html = of(&[PERF]);
    assert!(html.contains("split3, CUDA C++ on cuda: lacking: no nvcc on this machine"));
    assert!(html.contains("missing: numba-cuda: no Python module of this name"));
    assert!(html.contains("<td class=\"caution\">noisy</td>"));
}

#[test]
fn names_are_escaped() {
    let html = of(&[&PERF.replace("shmem", "<script>alert(1)<\\u001b[2J")]);
    assert!(!html.contains("<script") && !html.contains('\x1b'));
    assert!(html.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn without_a_gpu_there_are_rates_of_the_cpu() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    document["devices"] = serde_json::json!([]);
    for case in document["cases"].as_array_mut().unwrap() {
        case["traces"] = serde_json::json!([]);
        case["rows"]
            .as_array_mut()
            .unwrap()
            .retain(|row| row["device"] == "cpu");
    }
    let html = of(&[&document.to_string()]);
    assert!(html.contains("wave2d: throughput") && !html.contains("Roofline"));
}

#[test]
fn other_files_are_refused() {
    let refusal = |text: &str| {
        Document::parse(text)
            .unwrap_err()
            .context("a.json")
            .to_string()
    };
    insta::assert_snapshot!(refusal("[1]"), @"a.json: no results of ours: invalid length 1, expected struct Head with 2 elements at line 1 column 3; write one with `harness perf --json=FILE` or `harness run membench --json=FILE`");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 1, "command": "test"}"#), @"a.json: results of `harness test`; write one with `harness perf --json=FILE` or `harness run membench --json=FILE`");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 1, "command": "perf"}"#), @"a.json: has schema version 1, this program reads version 2; measure again, or read it with the program that wrote it");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 2, "command": "perf"}"#), @"a.json: damaged: missing field `harness_version` at line 1 column 40");
    let no_time = PERF.replacen("\"median_s\"", "\"mean_s\"", 1);
    insta::assert_snapshot!(refusal(&no_time), @"a.json: damaged: serial on cpu was timed, and has no figures");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("perf.json");
    std::fs::write(&input, PERF).unwrap();
    let target = folder.path().join("report.html");
    let args = |results| ReportArgs {
        results,
        out: target.clone(),
    };
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, crate::terminal::Look::PLAIN);
    let missing = vec![input.clone(), folder.path().join("no.json")];
    let failure = run(&args(missing), &mut out).unwrap_err();
    assert_eq!(failure.exit_code(), crate::exit::BAD_INPUT);
    assert!(!target.exists());
    assert_eq!(run(&args(vec![input]), &mut out), Ok(Ending::Fine));
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .ends_with("</html>\n")
    );
}
