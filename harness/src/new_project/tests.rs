use toml_edit::DocumentMut;

use super::*;
use terminal::look::Look;

fn course() -> PathBuf {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR"));
    harness.parent().unwrap().to_owned()
}

fn made(args: &NewArgs) -> Result<String, CommandError> {
    let mut text = Vec::new();
    run(args, &mut Out::new(&mut text, Look::PLAIN))?;
    Ok(String::from_utf8(text).unwrap())
}

fn with_path(folder: PathBuf) -> NewArgs {
    NewArgs {
        folder: folder.into(),
        path: Some(course()),
        git: None,
    }
}

/// Every file of the template is one of the new crate: none is forgotten.
#[test]
fn the_template_is_the_example() {
    let mut names = Vec::new();
    let root = course().join(TEMPLATE);
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path)
            } else {
                names.push(path.strip_prefix(&root).unwrap().to_owned())
            }
        }
    }
    names.sort();
    assert_eq!(names, FILES.map(|(name, _)| PathBuf::from(name)));
}

#[test]
fn a_crate_on_a_copy_of_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("my-kernels");
    let text = made(&with_path(target.clone())).unwrap();
    let root = course().display().to_string();
    let text = text.replace(&root, "COURSE");
    insta::assert_snapshot!(text.replace(&target.display().to_string(), "FOLDER"), @"
    my-kernels: 8 files
      .gitignore
      Cargo.toml
      README.md
      build.rs
      kernels/Cargo.toml
      kernels/src/lib.rs
      src/main.rs
      tests/emulated.rs

      cd FOLDER
      cargo test    # the kernels on the emulated device, with every check: no GPU
      cargo run     # on the first GPU: no CUDA toolkit

    It uses the crates in COURSE. GitHub's machines lack that folder, so the workflow for them is left out: `--git URL` adds it.
    ");
    let mut dependencies = 0;
    for (file, name) in [("", "my-kernels"), ("kernels", "my-kernels-kernels")] {
        let manifest_text = fs::read_to_string(target.join(file).join("Cargo.toml")).unwrap();
        let manifest: DocumentMut = manifest_text.parse().unwrap();
        assert_eq!(manifest["package"]["name"].as_str(), Some(name));
        let tables = [
            manifest.get("dependencies"),
            manifest.get("build-dependencies"),
            manifest.get("dev-dependencies"),
            manifest
                .get("patch")
                .and_then(|patch| patch.get("crates-io")),
        ]
        .into_iter()
        .flatten();
        for (_, dependency) in tables.flat_map(|table| table.as_table_like().unwrap().iter()) {
            let Some(path) = dependency.get("path").and_then(|path| path.as_str()) else {
                continue;
            };
            assert!(Path::new(path).join("Cargo.toml").is_file(), "{path}");
            dependencies += 1;
        }
    }
    assert_eq!(dependencies, 5);
    let readme = fs::read_to_string(target.join("README.md")).unwrap();
    assert!(readme.starts_with("# my-kernels\n"), "{readme}");
}

#[test]
fn a_crate_on_an_address() {
    let source = Source::Git("https://example.org/kernels.git".to_owned());
    let files = files("saxpy", &source);
    assert_eq!(files.len(), FILES.len());
    let text = |name: &str| &files.iter().find(|(file, _)| *file == name).unwrap().1;
    insta::assert_snapshot!(text("Cargo.toml"), @r#"
    [package]
    name = "saxpy"
    version = "0.1.0"
    edition = "2024"

    [dependencies]
    anyhow = "1.0"
    cuda_driver = { git = "https://example.org/kernels.git" }
    cust = { version = "0.3.2", default-features = false, features = ["bytemuck"] }

    [build-dependencies]
    cuda_builder = { git = "https://example.org/kernels.git" }

    [dev-dependencies]
    ptx-emu = { git = "https://example.org/kernels.git" }

    [workspace]
    members = ["kernels"]

    # The build scripts of `cust` look for a CUDA toolkit by this crate. Ours needs none.
    [patch.crates-io]
    find_cuda_helper = { git = "https://example.org/kernels.git" }
    "#);
    insta::assert_snapshot!(text("kernels/Cargo.toml"), @r#"
    [package]
    name = "saxpy-kernels"
    version = "0.1.0"
    edition = "2024"

    [dependencies]
    cuda_std = { git = "https://example.org/kernels.git" }
    "#);
}

#[test]
fn what_cannot_be_a_crate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |args: &NewArgs| {
        let failure = made(args).unwrap_err();
        assert_eq!(failure.exit_code(), exit::codes::BAD_INPUT);
        let text = failure.to_string();
        text.replace(&folder.path().display().to_string(), "FOLDER")
    };
    let named = |name: &str| refused(&with_path(folder.path().join(name)));
    for name in ["Saxpy", "2d", "ü", "a.b", "match", ".."] {
        assert!(named(name).contains("a crate's name consists of"), "{name}");
    }
    insta::assert_snapshot!(named("cust"), @"new FOLDER/cust: cargo, or a crate that the new one uses, has the name `cust`; take another");
    // To the compiler, - and _ are one.
    for name in ["ptx_emu", "ptx-emu", "proc_macro", "cuda-std"] {
        assert!(named(name).contains("take another"), "{name}");
    }
    for address in ["", " ", "https://example.org/a b"] {
        let mut nowhere = with_path(folder.path().join("saxpy"));
        nowhere.path = None;
        nowhere.git = Some(address.to_owned());
        assert!(
            refused(&nowhere).contains("is not an address"),
            "{address:?}"
        );
    }
    let mut elsewhere = with_path(folder.path().join("saxpy"));
    elsewhere.path = Some(folder.path().to_owned());
    insta::assert_snapshot!(refused(&elsewhere), @"--path FOLDER: is not a copy of the course's repository: it has no crates/cuda_std");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    fs::create_dir(folder.path().join("saxpy")).unwrap();
    fs::write(folder.path().join("saxpy/Cargo.toml"), "").unwrap();
    insta::assert_snapshot!(named("saxpy"), @"new FOLDER/saxpy: the folder is not empty; remove it, or name another");
}
