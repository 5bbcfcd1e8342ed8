//! The counts that handouts quote are those of the emulated device.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value as Json};

use super::measured::COUNTS;
use super::{read, root, shared};

/// The sums over a profile's kernels, by name: `global_loads.sectors`.
fn counted<'a>(profile: &'a Json) -> Map<String, Json> {
    let mut sums: Map<String, Json> = Map::new();
    let variant = &profile["variants"][0];
    for kernel in variant["kernels"].as_array().unwrap() {
        for (group, counts) in kernel["counts"].as_object().unwrap() {
            let parts = match counts {
                Json::Object(parts) => parts
                    .iter()
                    .map(|(part, n)| (format!("{group}.{part}"), n))
                    .collect(),
                Json::Number(_) => vec![(group.clone(), counts)],
                // Instructions of a class, by threads.
                Json::Array(classes) => {
                    let class = |it: &'a Json| {
                        let name = it["class"].as_str()?;
                        Some((format!("{group}.{name}"), &it["by_threads"]))
                    };
                    classes.iter().filter_map(class).collect()
                }
                _ => Vec::new(),
            };
            for (name, count) in parts {
                let sum = sums.get(&name).and_then(Json::as_u64).unwrap_or(0);
                if let Some(count) = count.as_u64() {
                    sums.insert(name, Json::from(sum + count));
                }
            }
        }
    }
    sums.retain(|_, count| count.as_u64() != Some(0));
    for (name, value) in [
        ("updates", &profile["updates"]),
        ("flops", &variant["flops"]),
    ] {
        sums.insert(name.to_owned(), value.clone());
    }
    sums.insert("must_move".to_owned(), variant["must_move_bytes"].clone());
    sums
}

/// The arguments of a profile, `ARGUMENTS & FILE: OLD -> NEW & ..`, with a changed copy of its
/// submission if it has edits.
fn arguments(profile: &str, scratch: &Path) -> Vec<String> {
    let mut parts = profile.split(" & ");
    let arguments = parts.next().unwrap_or_default().split_whitespace();
    let mut arguments: Vec<String> = arguments.map(str::to_owned).collect();
    let edits: Vec<&str> = parts.collect();
    if edits.is_empty() {
        return arguments;
    }
    let submission = arguments
        .iter_mut()
        .skip_while(|it| *it != "--submission")
        .nth(1);
    let submission = submission.expect("an edit is of a submission");
    for file in ["kernels.rs", "launch.rs"] {
        let mut text = read(&format!("{submission}/{file}"));
        for edit in edits
            .iter()
            .filter_map(|it| it.strip_prefix(file)?.strip_prefix(": "))
        {
            let (old, new) = edit.split_once(" -> ").expect("an edit has an arrow");
            assert!(text.contains(old), "{submission}/{file} has no `{old}`");
            text = text.replace(old, new);
        }
        std::fs::write(scratch.join(file), text).unwrap();
    }
    *submission = scratch.to_str().expect("UTF-8").to_owned();
    arguments
}

/// Each profile of the list is run again.
#[test]
fn the_counts_of_the_pages_are_those_of_the_emulated_device() {
    let mut all = Map::new();
    for (name, profile) in &shared().profiles {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_submissions"));
        command.current_dir(root()).arg("profile");
        command.args(arguments(profile, scratch.path()));
        let output = command.arg("--json").output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let printed = serde_json::from_slice(&output.stdout).unwrap();
        all.insert(name.clone(), Json::Object(counted(&printed)));
    }
    let text = serde_json::to_string_pretty(&all).unwrap() + "\n";
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(root().join(COUNTS), text).unwrap();
    }
    assert!(
        read(COUNTS) == text,
        "{COUNTS} differs; run this test with BLESS=1"
    );
}
