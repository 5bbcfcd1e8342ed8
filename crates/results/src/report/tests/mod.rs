//! Pages of made-up measurements.

mod browser;

use super::*;

const PERF: &str = include_str!("perf.json");
const MEMBENCH: &str = include_str!("membench.json");

fn of(texts: &[&str]) -> String {
    let documents: Vec<Document> = texts
        .iter()
        .map(|text| Document::parse(text).unwrap())
        .collect();
    html(&documents)
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
            "The labs on Example GPU (made-up figures)",
            "From the plain variant to the fastest",
            "Roofline, Example GPU (made-up figures)",
            "wave2d: throughput against size",
            "wave3d: throughput against size",
            "Speedups",
            "Power over time",
            "Where, when, and the limits",
            "Latency, Example GPU (made-up figures)",
        ]
    );
    for section in &sections {
        assert!(
            section.contains("<table>") && section.contains("class=\"command\""),
            "{section}"
        );
    }
    let are_words = ["The labs on", "Where, when"];
    for section in &sections {
        let is_drawn = !are_words.iter().any(|words| section.starts_with(words));
        assert_eq!(section.contains("<svg"), is_drawn, "{section}");
        assert_eq!(section.contains("<details>"), is_drawn, "{section}");
    }
    let command = "harness perf --large --peers --param &#39;note=two words&#39; --json=perf.json";
    assert!(html.contains(command));
}

/// The document with what was counted of a case's variants: bytes of an update at L1 and at L2.
fn with_counted(case: usize, levels: &[(&str, u64, u64)]) -> serde_json::Value {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    let kernels = levels.iter().map(|(variant, l1, l2)| {
        serde_json::json!({
            "variant": variant, "kernel": "step", "launches": 1, "updates": 100, "instructions": 1000,
            "warp_instructions": 50, "sectors": 60, "ideal_sectors": 50, "efficiency": 0.9,
            "l1_bytes": 100 * l1, "l2_bytes": 100 * l2,
        })
    });
    document["cases"][case]["counted"] = serde_json::json!({
        "case": "64x64, 1 step", "unit": "cell updates", "kernels": kernels.collect::<Vec<_>>(),
    });
    document
}

#[test]
fn counted_kernels_have_a_roofline_by_level() {
    let html = of(&[&with_counted(1, &[("naive", 48, 30), ("shmem", 60, 12)]).to_string()]);
    let heading = "wave2d: roofline by level, Example GPU (made-up figures)";
    let section = section(&html, heading);
    assert!(section.contains("L1, shared memory (reads)") && section.contains("on 64x64, 1 step"));
    let (_, tables) = section.split_once("<table>").unwrap();
    let rows = ["naive", "shmem"].map(|name| rows_of(section, name).remove(0).join(" | "));
    insta::assert_snapshot!(rows.join("\n"), @r"
    naive | 1409 | 0.146 | 0.233 | 0.583 | 33.3 % | 99.0 % | 80.0 %
    shmem | 3234 | 0.117 | 0.583 | 1.67 | 95.6 % | 90.9 % | 64.3 %
    ");
    let (_, headers) = tables.split_once("<tr>").unwrap();
    assert!(headers.contains("flop/byte of L1") && section.contains("class=\"command\""));
    // The peer's kernels were not counted, and those of the other case were not either.
    assert_eq!(rows_of(section, "naive, CUDA C++").len(), 0);
    assert!(!section.contains("801x801"));
    let plain = of(&[PERF]);
    assert!(!plain.contains("by level"));
}

#[test]
fn counts_without_bytes_of_the_levels_have_none() {
    let html = of(&[&with_counted(1, &[("naive", 0, 0)]).to_string()]);
    assert!(!html.contains("by level"));
}

#[test]
fn a_page_loads_nothing_and_runs_its_own_script_alone() {
    let html = of(&[PERF, MEMBENCH]);
    for outside in ["src=\"http", "href", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<script").count(), 1);
}

#[test]
fn the_page_opens_with_a_line_per_lab() {
    let html = of(&[PERF]);
    let section = section(&html, "The labs on Example GPU (made-up figures)");
    let row = |lab| rows_of(section, lab).remove(0);
    let wave2d = row("wave2d");
    assert_eq!(wave2d[1..3], ["201.3 ± 0.5", "462.0 ± 1.0"]);
    assert!(wave2d.contains(&"shmem") && wave2d.last().unwrap().starts_with("3201x3201"));
    // Its plain variant is the best.
    let wave3d = row("wave3d");
    assert_eq!(wave3d[1], wave3d[2]);
}

#[test]
fn commands_have_no_folders_of_the_machine() {
    let line = |words: &[&str]| {
        shell_line(
            &words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let words = [
        "/home/me/target/release/harness",
        "perf",
        "--json=/tmp/a b.json",
    ];
    assert_eq!(line(&words), "harness perf '--json=a b.json'");
    let relative = [
        "./harness",
        "perf",
        "--submission",
        "/home/me/mine",
        "-o",
        "out/a.html",
    ];
    assert_eq!(
        line(&relative),
        "harness perf --submission mine -o out/a.html"
    );
}

#[test]
fn what_has_no_figures_says_why() {
    let html = of(&[PERF]);
    assert!(html.contains("split3, CUDA C++ on cuda: lacking: no nvcc on this machine"));
    assert!(html.contains("missing: numba-cuda: no Python module of this name"));
}

#[test]
fn names_are_escaped() {
    let html = of(&[&PERF.replace("shmem", "<script>alert(1)<\\u001b[2J")]);
    assert!(!html.contains("<script>alert") && !html.contains('\x1b'));
    assert!(html.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn without_a_gpu_there_are_rates_of_the_cpu() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    document["devices"] = serde_json::json!([]);
    for case in document["cases"].as_array_mut().unwrap() {
        case["traces"] = serde_json::json!([]);
        case["rows"] = serde_json::json!([]);
    }
    let html = of(&[&document.to_string()]);
    assert!(html.contains("wave2d: throughput") && !html.contains("Roofline"));
}

#[test]
fn without_the_cpu_speedups_are_over_the_first_variant() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    document["references"] = serde_json::json!([]);
    for case in document["cases"].as_array_mut().unwrap() {
        for row in case["rows"].as_array_mut().unwrap() {
            row["vs_serial"] = serde_json::Value::Null;
            row["vs_cpu"] = serde_json::Value::Null;
        }
    }
    let html = of(&[&document.to_string()]);
    let (_, section) = html.split_once("<h2>Speedups</h2>").unwrap();
    let (section, _) = section.split_once("<h2>").unwrap();
    assert!(section.contains("<rect") && section.contains("first variant / time"));
    assert!(!section.contains("vs one core"));
}

#[test]
fn one_size_gives_bars() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    let cases = document["cases"].as_array_mut().unwrap();
    cases.truncate(1);
    let html = of(&[&document.to_string()]);
    let (_, section) = html.split_once("<h2>wave2d: throughput</h2>").unwrap();
    let (section, _) = section.split_once("<h2>").unwrap();
    // On a desk and on a phone: two references and three variants.
    assert_eq!(section.matches("<rect").count(), 2 * 5, "{section}");
    assert!(section.contains("serial on cpu (401x401, 50 steps, double-slit)"));
}

#[test]
fn several_measurements_share_the_plots_of_throughput() {
    let other = PERF.replace("--json=perf.json", "--json=other.json");
    let html = of(&[PERF, &other]);
    assert!(html.contains("<h2>Measurement 2 of 2</h2>"));
    assert_eq!(html.matches("<h2>Speedups</h2>").count(), 2);
    let sections: Vec<&str> = html.split("<h2>wave2d: throughput").skip(1).collect();
    let [section] = sections[..] else {
        panic!("{} sections", sections.len());
    };
    let (section, _) = section.split_once("<h2>").unwrap();
    for text in ["measurement 2", "--json=perf.json", "--json=other.json"] {
        assert!(section.contains(text), "{text}");
    }
}

#[test]
fn other_files_are_refused() {
    let refusal = |text: &str| {
        Document::parse(text)
            .unwrap_err()
            .context("a.json")
            .to_string()
    };
    insta::assert_snapshot!(refusal("[1]"), @"a.json: does not begin with `schema_version` and `command`: not a file of results; write one with `harness perf --json=FILE` or `harness run membench --json=FILE`");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 1, "command": "test"}"#), @"a.json: results of `harness test`; write one with `harness perf --json=FILE` or `harness run membench --json=FILE`");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 1, "command": "perf"}"#), @"a.json: has schema version 1, this program reads version 4; measure again with this one");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 2, "command": "run membench"}"#), @"a.json: has schema version 2, this program reads version 1; read it with the program that wrote it, or a newer one");
    insta::assert_snapshot!(refusal(r#"{"schema_version": 4, "command": "perf"}"#), @"a.json: damaged: missing field `harness_version`; measure again");
}

#[test]
fn documents_of_before_a_field_was_added_are_read() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    let fields = document.as_object_mut().unwrap();
    assert!(fields.remove("between_runs").is_some());
    let Document::Perf(results) = Document::parse(&document.to_string()).unwrap() else {
        panic!("of another command");
    };
    assert_eq!(results.between_runs, 0.0);
}

#[test]
fn fields_that_are_not_there_are_named() {
    let refusal = |text: &str, from: &str, to: &str| {
        let text = text.replacen(from, to, 1);
        Document::parse(&text).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refusal(PERF, "\"median_s\"", "\"mean_s\""), @"damaged: `references[0]`: missing field `median_s`; measure again");
    insta::assert_snapshot!(refusal(PERF, "\"outcome\": \"timed\"", "\"outcome\": \"guessed\""), @"damaged: `references[0]`: unknown variant `guessed`, expected one of `timed`, `computed`, `does_not_fit`, `skipped`, `failed`, `lacking`; measure again");
    insta::assert_snapshot!(refusal(PERF, "\"wall_s\": 93.4", "\"wall_s\": \"long\""), @r#"damaged: `wall_s`: invalid type: string "long", expected f64; measure again"#);
    insta::assert_snapshot!(refusal(MEMBENCH, "\"footprint_bytes\"", "\"footprint\""), @"damaged: `latencies[0]`: missing field `footprint_bytes`; measure again");
}

#[test]
fn fields_that_are_not_known_are_passed_over() {
    let read = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from));
        Document::parse(&text.replacen(from, to, 1)).unwrap()
    };
    read(
        PERF,
        "\"wall_s\":",
        "\"what_a_later_program_added\": [1], \"wall_s\":",
    );
    read(MEMBENCH, "\"attribute_bytes\"", "\"attribute\"");
}

#[test]
fn every_field_is_documented() {
    let page = include_str!("../../../../../docs/reference/perf-json.md");
    let document = serde_json::from_str(PERF).unwrap();
    for name in test_support::field_names(&document, &[]) {
        assert!(page.contains(name), "the page of perf JSON lacks {name}");
    }
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("perf.json");
    std::fs::write(&input, PERF).unwrap();
    let target = folder.path().join("report.html");
    let args = |results| ReportArgs {
        results,
        out: Some(target.clone().into()),
        ladder: None,
    };
    let mut text = Vec::new();
    let mut out = Out::new(&mut text, terminal::look::Look::PLAIN);
    let missing = vec![input.clone(), folder.path().join("no.json")];
    let failure = run(&args(missing), &mut out).unwrap_err();
    assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
    assert!(!target.exists());
    assert_eq!(run(&args(vec![input]), &mut out), Ok(Ending::Fine));
    assert!(
        std::fs::read_to_string(&target)
            .unwrap()
            .ends_with("</html>\n")
    );
    // A picture alone is not a page.
    let picture = folder.path().join("ladder.svg");
    let picture_alone = ReportArgs {
        results: vec![folder.path().join("perf.json")],
        out: None,
        ladder: Some(picture.clone().into()),
    };
    assert_eq!(run(&picture_alone, &mut out), Ok(Ending::Fine));
    let svg = std::fs::read_to_string(&picture).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    drop(out);
    assert_eq!(String::from_utf8(text).unwrap().lines().count(), 2);
}

/// The page's text from a heading to the next.
fn section<'h>(html: &'h str, heading: &str) -> &'h str {
    let (_, section) = html.split_once(&format!("<h2>{heading}</h2>")).unwrap();
    section.split("<h2>").next().unwrap()
}

/// The cells of the rows whose first one is this name.
fn rows_of<'h>(section: &'h str, name: &str) -> Vec<Vec<&'h str>> {
    let rows = section.split("<tr>").skip(1).map(|row| {
        let cells = row
            .split("<td")
            .skip(1)
            .map(|cell| cell.split_once('>').unwrap().1);
        cells.map(|cell| cell.split('<').next().unwrap()).collect()
    });
    let is_named = |row: &Vec<&str>| row.first() == Some(&name);
    rows.filter(is_named).collect()
}

#[test]
fn what_is_no_result_is_not_compared() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    // wave2d at 801x801: the CPU on all cores, and naive.
    for row in ["/references/1", "/cases/0/rows/0"] {
        let doubts = serde_json::json!([{"doubt": "clocks", "device_s": 2.0, "host_s": 1.0}]);
        document.pointer_mut(row).unwrap()["run"]["doubts"] = doubts;
    }
    let html = of(&[&document.to_string()]);
    let speedups = rows_of(section(&html, "Speedups"), "shmem");
    let dashes = |cells: &[&str]| cells.iter().filter(|cell| **cell == "-").count();
    let before = of(&[PERF]);
    let before = rows_of(section(&before, "Speedups"), "shmem");
    // Nothing is compared with all cores, whose column is gone, or with the first variant.
    assert_eq!(before[0][2..5], ["141", "19.7", "2.34 ± 0.02"]);
    assert!(!section(&html, "Speedups").contains("vs all cores"));
    assert_eq!(speedups[0], ["shmem", "cuda", "141", "-", "-"]);
    let rates = section(&html, "wave2d: throughput against size");
    let naive = &rows_of(rates, "naive")[0];
    let is_withheld = |cell: &&str| cell.starts_with("withheld: device events say");
    assert!(
        naive.iter().any(is_withheld) && dashes(naive) > 0,
        "{naive:?}"
    );
    let roofline = section(&html, "Roofline, Example GPU (made-up figures)");
    assert_eq!(rows_of(roofline, "naive").len(), 1);
}

#[test]
fn what_the_cpu_checked_is_said() {
    let mut document: serde_json::Value = serde_json::from_str(PERF).unwrap();
    let steps = serde_json::json!({"first": 15, "last": 2, "of": 200});
    document["cases"][0]["rows"][2]["checked_steps"] = steps;
    let html = of(&[&document.to_string()]);
    assert!(html.contains("the CPU checked 15 + 2 of 200 steps"));
}

#[test]
fn a_ladder_has_the_variants_that_are_faster_than_those_before_beside_their_peers() {
    let results = Results::parse(PERF).unwrap();
    let svg = ladder::svg(&[&results]).unwrap();
    let (_, rungs) = svg.split_once("var(--bg)\"").unwrap();
    let texts: Vec<&str> = rungs
        .split("<text")
        .skip(1)
        .map(|text| text.split_once('>').unwrap().1.split('<').next().unwrap())
        .collect();
    // Of wave3d the plain variant is the fastest: it has no ladder.
    insta::assert_snapshot!(texts.join("\n"), @"
    wave2d, 3201x3201, 200 steps, double-slit, 1e9 cell updates/s
    naive
    201 ± 0.4 (80 % of memory)
    naive, CUDA C++
    199 ± 0.4 (79 % of memory)
    shmem
    462 ± 0.9 (64 % of memory)
    the limit that binds it
    ");
    assert_eq!(svg.matches("<line").count(), 4);
    let none = Results {
        cases: Vec::new(),
        ..results
    };
    insta::assert_snapshot!(ladder::svg(&[&none]).unwrap_err(), @"--ladder: no lab of these results has two variants that were timed on a GPU; `harness perf --large --peers --json=FILE` times them");
}
