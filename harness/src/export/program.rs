//! The program for students: it must not hold what they are to find out.

use std::collections::BTreeSet;
use std::path::Path;

use exit::CommandError;
use grading::lab_spec::{Group, LabSpec, edited, embedded, names};
use output_files::input::{read, unreadable};

/// A program that is larger is none of ours, which have 50 MB with symbols of debuggers.
const MAX_BYTES: u64 = 1 << 30;

/// Kernels that measure the device or a run. They are parts of crate `kernels-gpu`, which students
/// have, and of a lab's module by their names.
pub const GIVEN: [&str; 15] = [
    "membench_chase_ca",
    "membench_chase_cg",
    "membench_chase_cv",
    "membench_chase_shared",
    "membench_copy",
    "membench_lines_atomic",
    "membench_lines_load",
    "membench_link",
    "membench_read",
    "membench_read_cg",
    "membench_read_l1",
    "membench_read_shared",
    "membench_write",
    "poisson_max_change",
    "stencil25_gather",
];

/// A program's bytes, if they are those of a program without solutions, and without hidden cases of
/// this program's lab files and of those of the course in `root`.
///
/// # Errors
///
/// [`CommandError::Input`] for another file, one that cannot be read, or a course with a lab file
/// that makes no sense.
pub fn for_students(file: &Path, root: &Path) -> Result<Vec<u8>, CommandError> {
    let bytes = read(file, MAX_BYTES).map_err(|error| {
        let (file, why) = (file.display(), unreadable(&error));
        CommandError::Input(format!("--program {file}: {why}"))
    })?;
    let refused = |why: &str| {
        CommandError::Input(format!(
            "--program {}: {why}; build it in an exported copy, as .ci/release does",
            file.display()
        ))
    };
    if !bytes.starts_with(b"\x7fELF") {
        return Err(refused("is not a Linux program"));
    }
    let kernels = kernels();
    if let Some(kernel) = entries(&bytes).find(|name| kernels.contains(name)) {
        return Err(refused(&format!(
            "has the built-in kernel `{kernel}` inside"
        )));
    }
    if let Some(case) = hidden_case(&bytes, &lab_files(root)?) {
        return Err(refused(&format!("has the hidden case `{case}` inside")));
    }
    Ok(bytes)
}

/// The names of the labs' kernels that students do not have. They are read in the text that a
/// program with solutions has inside: which of them a variant launches depends on case and device.
pub fn kernels() -> BTreeSet<&'static str> {
    let modules = host::labs().iter().map(|lab| lab.module.as_ref());
    let names = modules.flat_map(|module| entries(module.ptx().as_bytes()));
    names.filter(|name| !GIVEN.contains(name)).collect()
}

/// This program's lab files, and those of the course that differ.
pub fn lab_files(root: &Path) -> Result<Vec<LabSpec>, CommandError> {
    let mut files = Vec::new();
    for name in names() {
        let wrong = |error: &dyn std::fmt::Display| CommandError::Input(error.to_string());
        files.push(embedded(name).map_err(|error| wrong(&error))?.clone());
        files.extend(edited(root, name).map_err(|error| wrong(&error))?);
    }
    Ok(files)
}

/// A hidden case of these files that a program has inside.
fn hidden_case<'f>(bytes: &[u8], files: &'f [LabSpec]) -> Option<&'f str> {
    let cases = |is_hidden: bool| {
        let cases = files
            .iter()
            .flat_map(|file| file.cases.iter().map(move |case| (file, case)));
        cases.filter(move |(_, case)| (case.group == Group::Hidden) == is_hidden)
    };
    let inside: BTreeSet<&str> = case_names(bytes).collect();
    let visible: BTreeSet<&str> = cases(false).map(|(_, case)| case.name.as_str()).collect();
    let mut found = cases(true).filter(|(file, case)| {
        let name = case.name.as_str();
        // The name of a case that students have, in another lab, tells nothing by itself.
        inside.contains(name)
            && (!visible.contains(name)
                || as_written(file, name).is_some_and(|text| contains(bytes, text.as_bytes())))
    });
    found.next().map(|(_, case)| case.name.as_str())
}

/// The text of a hidden case, from its name to its parameters and group.
fn as_written<'f>(file: &'f LabSpec, name: &str) -> Option<&'f str> {
    let quoted = |quote| file.text.find(&format!("{quote}{name}{quote}"));
    let at = quoted('"').or_else(|| quoted('\''))?;
    let case = file.text[at..].split("\n[").next()?;
    Some(case.trim_end())
}

/// The names in all lab files in a program: `name = "..."`, however it is spaced and quoted.
fn case_names(bytes: &[u8]) -> impl Iterator<Item = &str> {
    const KEY: &[u8] = b"name";
    let windows = bytes.windows(KEY.len()).enumerate();
    let keys = windows.filter(|(_, window)| *window == KEY);
    keys.filter_map(move |(at, _)| {
        let rest = bytes[at + KEY.len()..]
            .trim_ascii_start()
            .strip_prefix(b"=")?
            .trim_ascii_start();
        let (quote, rest) = rest.split_first()?;
        let is_end = |byte: &u8| byte == quote || *byte == b'\n';
        let end = rest
            .iter()
            .position(is_end)
            .filter(|_| b"\"'".contains(quote))?;
        std::str::from_utf8(&rest[..end]).ok()
    })
}

/// The entries of all PTX in a program.
fn entries(bytes: &[u8]) -> impl Iterator<Item = &str> {
    const ENTRY: &[u8] = b".entry ";
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let starts = bytes
        .windows(ENTRY.len())
        .enumerate()
        .filter(|(_, window)| *window == ENTRY)
        .map(|(at, _)| at + ENTRY.len());
    starts.filter_map(move |start| {
        let rest = &bytes[start..];
        let end = rest.iter().position(|byte| !is_of_name(byte))?;
        std::str::from_utf8(&rest[..end]).ok()
    })
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAB: &str = r#"
format_version = 1
lab = "matadd"
[tolerance]
rule = "exact"
[[case]]
name = "one"
group = "small"
points = 1
params = { n_x = 1, n_y = 1 }
[[case]]
name = "edge-1"
group = "hidden"
points = 1
params = { n_x = 31, n_y = 7 }
"#;

    /// The group decides, whatever the name is.
    #[test]
    fn a_hidden_case_is_found_by_its_group() {
        let file = LabSpec::parse(LAB, "lab.toml").unwrap();
        let own = std::slice::from_ref(&file);
        let found = |text: &str| hidden_case(text.as_bytes(), own);
        assert_eq!(found(LAB), Some("edge-1"));
        for text in [
            "name=\"edge-1\"",
            "name  = 'edge-1'",
            "\0name =\n\"edge-1\"\u{1}",
        ] {
            assert_eq!(found(text), Some("edge-1"), "{text}");
        }
        for text in [
            "name = \"one\"",
            "\"edge-1\"",
            "name = \"hidden-1\"",
            "name = \"edge-1",
            "name",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
        let visible = file.without_hidden_cases().unwrap();
        assert_eq!(found(&visible.text), None);
    }

    /// Where students have a case of that name in another lab, the case itself is looked for.
    #[test]
    fn a_name_that_students_have_elsewhere_is_no_hidden_case() {
        let other = LAB.replace("\"one\"", "\"edge-1\"").replace(
            "\"edge-1\"\ngroup = \"hidden\"",
            "\"h\"\ngroup = \"hidden\"",
        );
        let files = [LAB, &other].map(|text| LabSpec::parse(text, "lab.toml").unwrap());
        let visible = files[1].without_hidden_cases().unwrap();
        assert_eq!(hidden_case(visible.text.as_bytes(), &files), None);
        assert_eq!(hidden_case(LAB.as_bytes(), &files), Some("edge-1"));
    }
}
