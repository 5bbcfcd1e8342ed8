//! The documents' links lead to files that exist, and so do the paths that they name.

use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};

/// The workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// The Markdown files in a folder, at any depth.
fn documents(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The relative links and images of a Markdown text, and its code spans that are paths in one of
/// `folders`. In `labs/LAB`, `LAB` means any lab.
fn targets(text: &str, folders: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut links, mut paths) = (Vec::new(), Vec::new());
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let file = dest_url.split('#').next().unwrap_or_default();
                // Pages beside the repository, wherever that is published: the README's badge, the
                // files of releases, the book, what people report.
                let beside = ["actions/", "releases/", "deployments/", "issues"];
                let is_beside = beside.iter().any(|page| {
                    file.rsplit_once("../../").is_some_and(|(up, to)| {
                        up.split("../").all(str::is_empty) && to.starts_with(page)
                    })
                });
                if !file.is_empty() && !file.contains(':') && !is_beside {
                    links.push(file.to_owned());
                }
            }
            Event::Code(code) => {
                let is_path = code
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
                let in_project = code.split_once('/').is_some_and(|(first, rest)| {
                    !rest.is_empty() && folders.iter().any(|folder| folder == first)
                });
                let is_placeholder =
                    |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_uppercase());
                if is_path && in_project && !code.split('/').any(is_placeholder) {
                    paths.push(code.into_string());
                }
            }
            _ => {}
        }
    }
    (links, paths)
}

#[test]
fn links_and_paths_of_the_documents_exist() {
    let root = root();
    let entries = std::fs::read_dir(&root).unwrap().map(Result::unwrap);
    let mut folders: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    folders.retain(|name| name != "target" && root.join(name).is_dir());
    let below = ["docs", "labs", "tests"].map(|folder| documents(&root.join(folder)));
    let above = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| root.join(name));
    let documents = [above.to_vec(), below.concat()].concat();
    let mut missing = Vec::new();
    for document in &documents {
        let text = std::fs::read_to_string(document).unwrap();
        let (links, paths) = targets(&text, &folders);
        let links = links
            .into_iter()
            .map(|link| (document.with_file_name(&link), link));
        let paths = paths.into_iter().map(|path| (root.join(&path), path));
        for (file, target) in links.chain(paths) {
            if !file.exists() {
                let document = document.strip_prefix(&root).unwrap().display();
                missing.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "these do not exist:\n{}",
        missing.join("\n")
    );
}

#[test]
fn the_book_has_every_page() {
    let docs = root().join("docs");
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let (links, _) = targets(&summary, &[]);
    let missing: Vec<PathBuf> = documents(&docs)
        .into_iter()
        .map(|page| page.strip_prefix(&docs).unwrap().to_owned())
        .filter(|page| page != Path::new("SUMMARY.md"))
        .filter(|page| !links.iter().any(|link| page == Path::new(link)))
        .collect();
    assert!(missing.is_empty(), "SUMMARY.md lacks {missing:?}");
}

#[test]
fn only_relative_links_and_paths_of_the_project_are_looked_at() {
    let line = "[a](docs/a.md#part) ![b](b.gif) [c](https://c.org/d.md) [d](#d) `host/src/lib.rs` `a/b` `host/x y` `host/X/y`";
    let text = format!("{line}\n\n    [e](code.md)\n");
    let (links, paths) = targets(&text, &["host".to_owned()]);
    assert_eq!(links, ["docs/a.md", "b.gif"]);
    assert_eq!(paths, ["host/src/lib.rs"]);
}
