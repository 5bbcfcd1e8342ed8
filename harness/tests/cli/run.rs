//! Starting the program.

use std::path::Path;
use std::process::{Command, Output};

/// The program with these arguments, on a machine that shows it no GPU, in a folder of its own.
pub fn harness(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command
        .args(args)
        .current_dir(folder)
        .env("CUDA_VISIBLE_DEVICES", "")
        .env_remove("RUST_BACKTRACE");
    #[cfg(unix)]
    test_support::heeding_signals(&mut command);
    command
}

/// The program with these arguments, which need not be in the course: cargo's target folder can be
/// anywhere. It is told where the course is.
pub fn harness_of_course(folder: &Path, args: &[&str]) -> Command {
    let mut command = harness(folder, args);
    command.env("HARNESS_COURSE", concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

/// Runs the program, and tells its exit code, standard output and standard error in one text.
pub fn run(args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = harness(folder.path(), args).output().unwrap();
    assert_eq!(names(folder.path()), [""; 0], "files are left behind");
    describe(&output)
}

/// See [`run`].
pub fn describe(output: &Output) -> String {
    let code = output.status.code().expect("it ended by itself");
    let mut text = format!("exit code: {code}\n");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let lines = std::str::from_utf8(bytes).unwrap();
            text += &format!("--- {name} ---\n{}", lines.trim_end());
            text += "\n";
        }
    }
    same_everywhere(&text)
}

/// The names in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Without what differs from run to run and from machine to machine: times, and why there is no
/// GPU.
fn same_everywhere(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = match line.split_once("no CUDA device: ") {
            Some((before, after)) => {
                let after = after.rsplit_once("; see ").map_or("", |(_, after)| after);
                let remedy = if after.is_empty() { "" } else { "; see " };
                format!("{before}no CUDA device: [reason]{remedy}{after}")
            }
            None => line.to_owned(),
        };
        match line.rsplit_once(" (") {
            Some((before, after)) if after.ends_with(" s)") => format!("{before} ([time])"),
            _ => line,
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}
