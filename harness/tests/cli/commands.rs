//! The output of commands when all is well.

use crate::run::{describe, harness, run};

#[test]
fn list() {
    let text = run(&["list"]);
    assert!(
        text.starts_with("exit code: 0\n--- stdout ---\nwave2d  "),
        "{text}"
    );
}

#[test]
fn colours_only_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let has_colours = |variables: &[(&str, &str)]| {
        let mut command = harness(folder.path(), &["list"]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        output.stdout.contains(&b'\x1b')
    };
    // Standard output is a pipe.
    assert!(!has_colours(&[]));
    assert!(has_colours(&[("CLICOLOR_FORCE", "1")]));
    assert!(!has_colours(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn a_case_of_ones_own_on_the_cpu_and_the_emulated_device() {
    let args: Vec<&str> =
        "test wave2d --device cpu,emulated --param n_x=37 --param n_y=53 --param steps=9"
            .split(' ')
            .collect();
    insta::assert_snapshot!(run(&args));
}

#[test]
fn without_a_gpu_tests_run_on_the_emulated_device() {
    for sanitize in ["--sanitize=on", "--sanitize=off"] {
        let args: Vec<&str> = "test wave2d --param n_x=37 --param n_y=53 --param steps=9 --json"
            .split(' ')
            .chain([sanitize])
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let output = harness(folder.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let results = document["labs"][0]["results"].as_array().unwrap();
        let devices: Vec<&serde_json::Value> =
            results.iter().map(|result| &result["device"]).collect();
        let variants = host::find_lab("wave2d").unwrap().variants.len();
        assert_eq!(devices[0], "cpu");
        assert_eq!(devices[1..], vec!["emulated"; variants]);
        assert_eq!(document["skipped"][0]["device"], "cuda");
    }
}

/// Nothing here depends on the compiler.
#[test]
fn profile_in_json_adds_up() {
    let args = "profile wave2d --param n_x=37 --param n_y=53 --param steps=9 --json";
    let folder = tempfile::tempdir().unwrap();
    let args: Vec<&str> = args.split(' ').collect();
    let output = harness(folder.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = 37 * 53;
    assert_eq!(document["updates"], 9 * cells);
    for (variant, name, launches) in [(0, "wave2d_naive", 9), (2, "wave2d_shmem", 1)] {
        let kernels = document["variants"][variant]["kernels"].as_array().unwrap();
        assert_eq!(kernels.len(), 1);
        let counts = &kernels[0]["counts"];
        assert_eq!(kernels[0]["kernel"], name);
        assert_eq!(kernels[0]["launches"], launches);
        for traffic in ["global_loads", "global_stores"] {
            let field = |count: &str| counts[traffic][count].as_u64().unwrap();
            assert!(field("sectors") >= field("ideal_sectors"));
            assert!(32 * field("sectors") >= field("bytes"));
        }
        let stored = counts["global_stores"]["bytes"].as_u64().unwrap();
        // Each launch of naive writes one field, each of shmem two.
        let fields = if name == "wave2d_naive" { 9 } else { 2 };
        assert_eq!(stored, fields * 4 * cells);
        let sum = |field: &str| -> u64 {
            let lines = kernels[0]["lines"].as_array().unwrap().iter();
            lines
                .map(|line| line["counts"]["instructions"][field].as_u64().unwrap())
                .sum()
        };
        let all = &counts["instructions"];
        assert_eq!(all["by_warps"], sum("by_warps"));
        assert_eq!(all["by_threads"], sum("by_threads"));
        assert!(sum("by_threads") <= 32 * sum("by_warps"));
    }
}

#[test]
fn without_a_gpu_its_variants_are_counted() {
    let args = "perf wave2d --param n_x=20 --param n_y=20 --param steps=3 --samples 1";
    let text = run(&args.split(' ').collect::<Vec<&str>>());
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert!(
        text.contains("\nmissing: cuda: no CUDA device: [reason]\n"),
        "{text}"
    );
    // Once, however many rows it is the reason of.
    assert_eq!(text.matches("no CUDA device").count(), 1, "{text}");
    let note = "  not timed: counted by the emulated device on 20x20, 3 steps, point-source";
    assert!(text.lines().any(|line| line == note), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("  naive  ")),
        "{text}"
    );
}

#[test]
fn json_is_json() {
    let perf = "perf wave2d --device cpu --param n_x=20 --param n_y=20 --samples 2 --json";
    let test = "test wave2d --device cpu --json";
    for args in ["list --json", "doctor --json", test, perf] {
        let args: Vec<&str> = args.split(' ').collect();
        let folder = tempfile::tempdir().unwrap();
        let output = harness(folder.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let version = if args[0] == "perf" { 4 } else { 1 };
        assert_eq!(document["schema_version"], version);
        assert_eq!(document["command"], args[0]);
    }
}

#[test]
fn perf_in_json_has_samples_and_rates() {
    let args = "perf wave2d --device cpu --param n_x=20 --param n_y=20 --samples 4 --json=p.json";
    let folder = tempfile::tempdir().unwrap();
    let args: Vec<&str> = args.split(' ').collect();
    let output = harness(folder.path(), &args).output().unwrap();
    assert!(describe(&output).contains("wave2d  20x20, 1000 steps, point-source"));
    let text = std::fs::read_to_string(folder.path().join("p.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &document["references"][1];
    assert_eq!(row["variant"], "parallel");
    assert_eq!(row["result"], "equal");
    assert_eq!(row["run"]["samples_s"].as_array().unwrap().len(), 4);
    let median_s = row["run"]["median_s"].as_f64().unwrap();
    let rate = row["updates_per_s"].as_f64().unwrap();
    assert!((rate * median_s / (20.0 * 20.0 * 1000.0) - 1.0).abs() < 1e-9);
    let command_line = document["command_line"].as_array().unwrap();
    assert_eq!(command_line.last().unwrap(), "--json=p.json");
    assert_eq!(document["interrupted"], false);

    let compare = ["compare", "p.json", "p.json", "--strict"];
    let compared = harness(folder.path(), &compare).output().unwrap();
    let said = describe(&compared);
    assert_eq!(compared.status.code(), Some(0), "{said}");
    assert!(said.contains("2 same; margin 1.5 %"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = harness(folder.path(), &["list"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(describe(&output), "exit code: 0");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is() {
    let folder = tempfile::tempdir().unwrap();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = harness(folder.path(), &["list"])
        .stdout(full)
        .output()
        .unwrap();
    insta::assert_snapshot!(describe(&output), @r"
    exit code: 3
    --- stderr ---
    error: cannot write to standard output: No space left on device (os error 28)
    ");
}

#[test]
fn scaling_on_emulated_devices_compares_results() {
    let perf = |flags: &str| {
        let args = format!("perf poisson --gpus 3,1,2 --device emulated --param n=12 {flags}");
        let text = run(&args.split_whitespace().collect::<Vec<&str>>());
        // After the machine.
        let table = text.split_once("\npoisson  ").unwrap().1.to_owned();
        assert!(text.starts_with("exit code: 0\n"), "{text}");
        table
    };
    insta::assert_snapshot!(perf(""));
    insta::assert_snapshot!(perf("--weak"));
}

#[test]
fn tune_explores_without_a_gpu_and_goes_on_where_it_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let tune = || {
        let args: Vec<&str> = "tune wave2d shmem --device emulated --param n_x=130 --param n_y=70 --param steps=12 --table t.toml".split(' ').collect();
        describe(&harness(folder.path(), &args).output().unwrap())
    };
    let file = folder.path().join("t.toml");
    let text = tune();
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert!(text.contains("the instructions that threads"), "{text}");
    assert!(!text.contains("passed over"), "{text}");
    let table = std::fs::read_to_string(&file).unwrap();
    assert_eq!(table.matches("{ shape = \"t").count(), 8, "{table}");
    // The best is that of the fewest instructions.
    let parsed: toml::Table = table.parse().unwrap();
    let entry = &parsed["tuned"][0];
    let step = |value: &toml::Value| {
        value
            .as_float()
            .or(value.as_integer().map(|step| step as f64))
            .unwrap()
    };
    let tried = entry["tried"].as_array().unwrap().iter();
    let least = tried.min_by(|a, b| step(&a["step"]).total_cmp(&step(&b["step"])));
    assert_eq!(entry["shape"], least.unwrap()["shape"], "{table}");

    let lines = table.lines();
    // All that a run that was cut off after five shapes leaves.
    let is_of_result =
        |line: &&str| ["shape", "step", "default_step"].contains(&line.split(' ').next().unwrap());
    let lines: Vec<&str> = lines.filter(|line| !is_of_result(line)).collect();
    let cut_off = format!("{}\n]\n", lines[..lines.len() - 4].join("\n"));
    std::fs::write(&file, cut_off).unwrap();
    let continued = tune();
    assert!(
        continued.contains("t.toml has 5 of 8 shapes; continuing with the others"),
        "{continued}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), table);
}

#[test]
fn tune_needs_a_gpu_or_the_emulated_device() {
    insta::assert_snapshot!(run(&["tune", "wave2d", "shmem"]), @"
    exit code: 3
    --- stderr ---
    error: --device cuda: no CUDA device: [reason]; see `harness doctor`. Without a GPU, `--device emulated` compares shapes by instructions
    ");
    insta::assert_snapshot!(run(&["tune", "wave2d", "shmem", "--device=cpu"]), @"
    exit code: 2
    --- stderr ---
    error: --device cpu: shapes are those of launches on a GPU; `--device emulated` needs none
    ");
}

/// A table that is damaged, in the working folder.
#[test]
fn a_bad_table_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tuned.toml"), "[[tuned]]\ngpu = 3\n").unwrap();
    let args = "test matadd --device=emulated".split(' ');
    let output = harness(folder.path(), &args.collect::<Vec<&str>>()).output();
    insta::assert_snapshot!(describe(&output.unwrap()), @"
    exit code: 2
    --- stderr ---
    error: tuned.toml:2: invalid type: integer `3`, expected a string; mend it, or delete the entry and run `harness tune` again
    ");
}
