//! The edits of files: the student's copy has less of each.

use std::path::PathBuf;

use grading::lab_spec::Group;
use toml_edit::{Array, DocumentMut, Item, TableLike, TomlError, Value};

use exit::CommandError;

/// The workspace's manifest with these members; `cargo test` tests the last one alone.
///
/// # Errors
///
/// [`CommandError::Input`] for text that is not TOML.
pub fn with_members(text: &str, members: &[PathBuf]) -> Result<String, CommandError> {
    let mut manifest: DocumentMut = text
        .parse()
        .map_err(|error| not_toml("Cargo.toml", &error))?;
    let names = members.iter().map(|member| member.to_string_lossy());
    let mut all: Array = names.map(|name| name.into_owned()).collect();
    for member in all.iter_mut() {
        member.decor_mut().set_prefix("\n    ");
    }
    all.set_trailing("\n");
    all.set_trailing_comma(true);
    let last: Array = members
        .last()
        .map(|member| member.to_string_lossy())
        .map(|name| name.into_owned())
        .into_iter()
        .collect();
    manifest["workspace"]["members"] = all.into();
    manifest["workspace"]["default-members"] = last.into();
    let workspace = manifest["workspace"].as_table_mut();
    if let Some(mut key) = workspace.and_then(|table| table.key_mut("default-members")) {
        let comment = "# What `cargo test` tests: your solutions.\n";
        key.leaf_decor_mut().set_prefix(comment);
    }
    Ok(manifest.to_string())
}

/// A package's manifest without the tests and benchmarks that it names: their files are not in the
/// copy.
///
/// # Errors
///
/// [`CommandError::Input`] for text that is not TOML.
pub fn without_tests(text: &str) -> Result<String, CommandError> {
    let parsed = text.parse::<DocumentMut>();
    let mut manifest = parsed.map_err(|error| not_toml("Cargo.toml", &error))?;
    manifest.remove("test");
    manifest.remove("bench");
    Ok(manifest.to_string())
}

/// A lab file without its hidden cases, and without the comments above them.
///
/// # Errors
///
/// [`CommandError::Input`] for text that is not TOML.
pub fn without_hidden_cases(text: &str) -> Result<String, CommandError> {
    let mut file: DocumentMut = text.parse().map_err(|error| not_toml("lab.toml", &error))?;
    match file.get_mut("case") {
        Some(Item::ArrayOfTables(cases)) => cases.retain(|case| !is_hidden(case)),
        // `case = [{ name = "..." }]`
        Some(Item::Value(Value::Array(cases))) => {
            cases.retain(|case| !case.as_inline_table().is_some_and(|case| is_hidden(case)));
        }
        _ => {}
    }
    Ok(file.to_string())
}

/// A page without the comment at its end that says where its figures come from: it names files
/// that the copy does not have, and it has every answer in one place.
pub fn without_sources(page: &str) -> &str {
    match page.rsplit_once("\n<!-- figures\n") {
        Some((text, _)) => text,
        None => page,
    }
}

fn is_hidden(case: &dyn TableLike) -> bool {
    case.get("group").and_then(Item::as_str) == Some(Group::Hidden.name())
}

fn not_toml(file: &str, error: &TomlError) -> CommandError {
    CommandError::Input(format!("{file}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_loses_the_sources_of_its_figures_alone() {
        let page = "# Lab\n\n<!-- a -->\nIt takes 2 us.\n\n<!-- figures\n2 us = 1e-6 * 2\n-->\n";
        let left = "# Lab\n\n<!-- a -->\nIt takes 2 us.\n";
        assert_eq!(without_sources(page), left);
        assert_eq!(without_sources(left), left);
    }

    #[test]
    fn the_workspace_has_the_members_of_the_copy() {
        let text = r#"[workspace]
resolver = "3"
members = [
    "a",
    "b",
]

[profile.dev]
"#;
        let members = ["a", "tests"].map(PathBuf::from);
        insta::assert_snapshot!(with_members(text, &members).unwrap(), @r##"
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
    fn tests_of_a_package_leave_nothing_behind() {
        let text = "[package]\nname = \"a\"\n\n# A test for each file.\n[[test]]\nname = \"ui\"\nharness = false\n\n[[bench]]\nname = \"speed\"\n";
        assert_eq!(without_tests(text).unwrap(), "[package]\nname = \"a\"\n");
    }

    #[test]
    fn hidden_cases_leave_nothing_behind() {
        let text = r#"lab = "wave2d"

# Small ones.

[[case]]
name = "a"
group = "small"

# Hidden: against cheating.

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
        insta::assert_snapshot!(without_hidden_cases(text).unwrap(), @r#"
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

    /// As TOML has it, too.
    #[test]
    fn hidden_cases_in_one_array_go_as_well() {
        let text = "case = [{ name = 'a', group = 'small' }, { name = 'h', group = 'hidden' }]\n";
        assert_eq!(
            without_hidden_cases(text).unwrap(),
            "case = [{ name = 'a', group = 'small' }]\n"
        );
    }
}
