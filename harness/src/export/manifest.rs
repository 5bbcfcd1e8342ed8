//! Cargo.toml files and lab.toml files of the student's copy.

/// Sections of a package's manifest that are about files that stay behind.
const DROPPED: [&str; 5] = [
    "[dev-dependencies]",
    "[[bench]]",
    "[[example]]",
    "[[test]]",
    "[target.'cfg(test)'.dependencies]",
];

/// A package's manifest without its tests and without feature `solutions`.
pub fn package(text: &str) -> String {
    let mut left = String::new();
    for section in sections(text) {
        let header = section.lines().next().unwrap_or("").trim();
        if DROPPED.contains(&header) {
            continue;
        }
        if header == "[features]" {
            left += &features(section);
        } else {
            left += section;
        }
    }
    left.trim_end().to_owned() + "\n"
}

fn features(section: &str) -> String {
    let mut left = String::new();
    let mut comments = String::new();
    for line in section.split_inclusive('\n') {
        if line.starts_with('#') {
            comments += line;
            continue;
        }
        if !line.starts_with("solutions") {
            left += &comments;
            left += &line
                .replace("\"solutions\", ", "")
                .replace(", \"solutions\"", "")
                .replace("\"solutions\"", "");
        }
        comments.clear();
    }
    left
}

/// The workspace's manifest with these members; `cargo test` tests the last one alone.
pub fn workspace(text: &str, members: &[String]) -> String {
    let (Some(start), Some(rest)) = (text.find("members = ["), text.split_once("members = ["))
    else {
        return text.to_owned();
    };
    let end = rest
        .1
        .find(']')
        .map_or(text.len(), |end| text.len() - rest.1.len() + end + 1);
    let list: String = members
        .iter()
        .map(|member| format!("    {member:?},\n"))
        .collect();
    let default = members.last().map_or("", String::as_str);
    format!(
        "{}members = [\n{list}]\n# What `cargo test` tests: your solutions.\ndefault-members = [{default:?}]{}",
        &text[..start],
        &text[end..]
    )
}

/// A lab file without its hidden cases, and without the comments above them.
pub fn without_hidden_cases(text: &str) -> String {
    let mut left = String::new();
    for section in sections(text) {
        let is_hidden = section.starts_with("[[case]]")
            && section.lines().any(|line| {
                line.split_once('=').is_some_and(|(key, value)| {
                    key.trim() == "group" && value.trim().trim_matches('"') == "hidden"
                })
            });
        if is_hidden {
            // The comment above this case came with the section before.
            let kept = left.len() - trailing_comment(&left).len();
            left.truncate(kept);
            // The comment that is above the next case came with this one.
            left += trailing_comment(section);
        } else {
            left += section;
        }
    }
    left
}

/// Each section of a TOML file, from its header on; first what is before any.
fn sections(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with('[') && at > 0 {
            starts.push(at);
        }
        at += line.len();
    }
    starts.push(text.len());
    starts
        .windows(2)
        .map(|ends| &text[ends[0]..ends[1]])
        .collect()
}

/// The lines at the end that are comments or blank, if there is a comment.
fn trailing_comment(text: &str) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev() {
        if !(line.trim().is_empty() || line.starts_with('#')) {
            break;
        }
        start -= line.len();
    }
    let tail = &text[start..];
    if tail.contains('#') {
        tail.trim_start_matches('\n')
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_loses_its_tests_and_the_feature() {
        let text = r#"[package]
name = "host"

[features]
default = ["solutions", "instruments"]
# The built-in variants.
solutions = ["kernels-gpu/solutions"]
# The rest.
instruments = []

[dependencies]
serde = { workspace = true }

[dev-dependencies]
insta = { workspace = true }

[build-dependencies]
cuda_builder = { workspace = true }

[[example]]
name = "shapes"
required-features = ["solutions"]
"#;
        insta::assert_snapshot!(package(text), @r#"
        [package]
        name = "host"

        [features]
        default = ["instruments"]
        # The rest.
        instruments = []

        [dependencies]
        serde = { workspace = true }

        [build-dependencies]
        cuda_builder = { workspace = true }
        "#);
    }

    #[test]
    fn a_workspace_gets_other_members() {
        let text = "[workspace]\nresolver = \"3\"\nmembers = [\n    \"a\",\n    \"tests\",\n]\n\n[profile.dev]\n";
        let members = ["a".to_owned(), "tests".to_owned()];
        insta::assert_snapshot!(workspace(text, &members), @r##"
        [workspace]
        resolver = "3"
        members = [
            "a",
            "tests",
        ]
        # What `cargo test` tests: your solutions.
        default-members = ["tests"]

        [profile.dev]
        "##);
    }

    #[test]
    fn hidden_cases_leave_nothing_behind() {
        let text = r#"lab = "wave2d"

# Small ones.

[[case]]
name = "a"
group = "small"

# Hidden: for whoever cheats.

[[case]]
name = "h1"
group = "hidden"

[[case]]
name = "h2"
group="hidden"

# Large.

[[case]]
name = "large"
group = "large"

[[performance]]
case = "large"
"#;
        insta::assert_snapshot!(without_hidden_cases(text), @r#"
        lab = "wave2d"

        # Small ones.

        [[case]]
        name = "a"
        group = "small"

        # Large.

        [[case]]
        name = "large"
        group = "large"

        [[performance]]
        case = "large"
        "#);
    }
}
