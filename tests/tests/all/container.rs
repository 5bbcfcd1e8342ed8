//! The container is made of what the course needs, as far as that can be seen without an engine.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn the_compiler_is_as_new_as_the_crates_need() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let needed = manifest["workspace"]["package"]["rust-version"]
        .as_str()
        .unwrap();
    let dockerfile = text("Dockerfile");
    let image = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("FROM rust:"))
        .expect("an image with Rust");
    let (version, _) = image.split_once('-').expect("rust:VERSION-DISTRIBUTION");
    assert_eq!(version, needed);
}

/// One script knows the packages; it runs before the sources are copied, so that a change of them
/// installs nothing again.
#[test]
fn setup_installs_the_compiler_of_kernels() {
    let dockerfile = text("Dockerfile");
    let line = |wanted: &str| {
        let found = dockerfile.lines().position(|line| line == wanted);
        found.unwrap_or_else(|| panic!("Dockerfile lacks the line: {wanted}"))
    };
    assert!(line("COPY setup ./") < line("RUN ./setup"));
    assert!(line("RUN ./setup") < line("COPY . ."));
    let ignored = text(".dockerignore");
    assert!(ignored.lines().any(|entry| entry == "target"));
}

#[test]
fn the_dev_container_is_that_container() {
    let container: serde_json::Value =
        serde_json::from_str(&text(".devcontainer/devcontainer.json")).unwrap();
    let folder = root().join(".devcontainer");
    let dockerfile = container["build"]["dockerfile"].as_str().unwrap();
    assert!(folder.join(dockerfile).is_file());
    let context = container["build"]["context"].as_str().unwrap();
    assert!(folder.join(context).join("Cargo.toml").is_file());
}

#[test]
fn workflows_call_scripts_that_are_there() {
    for (workflow, script) in [("ci", ".ci/run"), ("release", ".ci/release")] {
        let text = text(&format!(".github/workflows/{workflow}.yml"));
        assert!(text.contains(&format!("- run: {script}\n")), "{workflow}");
        assert!(root().join(script).is_file());
    }
}
