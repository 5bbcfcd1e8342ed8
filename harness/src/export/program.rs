//! The program for students: it must not hold what they are to find out.

use std::collections::BTreeSet;
use std::path::Path;

use exit::CommandError;
use output_files::input::unreadable;
use plan::Command;

/// A program's bytes, if they are those of a program without hidden cases and solutions.
///
/// # Errors
///
/// [`CommandError::Input`] for another file, or one that cannot be read.
pub fn for_students(file: &Path) -> Result<Vec<u8>, CommandError> {
    let bytes = std::fs::read(file).map_err(|error| {
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
    if let Some(kernel) = entries(&bytes).find(|name| kernels.contains(*name)) {
        return Err(refused(&format!(
            "has the built-in kernel `{kernel}` inside"
        )));
    }
    if let Some(case) = hidden_cases().find(|case| contains(&bytes, case.as_bytes())) {
        return Err(refused(&format!("has the hidden case {case} inside")));
    }
    Ok(bytes)
}

/// The names of all kernels that built-in variants launch.
pub fn kernels() -> BTreeSet<String> {
    let mut kernels = BTreeSet::new();
    for lab in host::labs() {
        for case in lab.small_cases() {
            let plans = lab.variants.iter();
            let plans = plans.filter_map(|variant| variant.record(case.as_ref()).ok());
            for plan in plans {
                for command in plan.commands() {
                    if let Command::Launch(launch) = command {
                        kernels.insert(launch.kernel.to_owned());
                    }
                }
            }
        }
    }
    kernels
}

/// The names of hidden cases, in quotes as lab files have them.
pub fn hidden_cases() -> impl Iterator<Item = String> {
    grading::lab_spec::embedded_files()
        .flat_map(|(_, _, text)| text.lines())
        .filter_map(|line| line.strip_prefix("name = "))
        .filter(|name| name.starts_with("\"hidden"))
        .map(str::to_owned)
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
