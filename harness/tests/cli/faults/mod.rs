//! Faults around a program, with every command: outputs that are inputs, missing folders,
//! full disks, closed streams, odd files, limits, signals.
//!
//! A new command joins by a row in `table`; until it has one, a test here fails. In every case it
//! ends soon, with a documented exit code and without a bug's words; what it reads is as it was; no
//! temporary file and no process is left.

mod fixture;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::CommandFactory;
use harness::cli::Cli;
use output_files::OutputPath;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use crate::run::harness_of_course;
use table::{PLAIN, Row, TABLE, Word};

/// Longer than any row of the table takes, on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// The exit codes of `harness --help`.
const DOCUMENTED: [i32; 9] = [0, 1, 2, 3, 5, 129, 130, 143, SIGPIPE];

/// A shell's code of a program that writes into a closed pipe.
const SIGPIPE: i32 = 141;

/// A folder with the fixture, and what was in it.
struct Case {
    folder: tempfile::TempDir,
    before: std::collections::BTreeMap<PathBuf, Option<String>>,
}

/// How a program ended.
struct Ended {
    code: i32,
    stderr: String,
}

impl Case {
    fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        fixture::make(folder.path());
        let before = fixture::digests(folder.path());
        Case { folder, before }
    }

    /// With something else in the place of an input.
    fn replaced(name: &str, by: Odd) -> Case {
        let mut case = Case::new();
        let path = case.folder.path().join(name);
        if let Odd::Unreadable = by {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
            case.before = fixture::digests(case.folder.path());
            return case;
        }
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap()
        } else {
            fs::remove_file(&path).unwrap()
        }
        match by {
            Odd::Folder => fs::create_dir(&path).unwrap(),
            Odd::Pipe => {
                let made = Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            }
            Odd::Endless => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
            Odd::Loop => std::os::unix::fs::symlink(name, &path).unwrap(),
            Odd::Unreadable => unreachable!("it stays where it is"),
        }
        case.before = fixture::digests(case.folder.path());
        case
    }

    /// Runs the program; a shell runs `before` first, and `streams` are behind its words.
    fn run(&self, line: &[String], before: &str, streams: &str) -> Ended {
        let shown = format!("{before} harness {} {streams}", line.join(" "));
        self.ended(&shown, line, self.command(line, before, streams), |_| {})
    }

    fn command(&self, line: &[String], before: &str, streams: &str) -> Command {
        let program = harness_of_course(self.folder.path(), &[]);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!(r#"{before} exec "$0" "$@" {streams}"#)])
            .arg(program.get_program())
            .args(line)
            .current_dir(self.folder.path())
            .envs(
                program
                    .get_envs()
                    .filter_map(|(key, value)| Some((key, value?))),
            )
            .env("TMPDIR", self.folder.path().join("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        test_support::heeding_signals(&mut command);
        command
    }

    /// Runs it, and checks how it ended and what it left.
    fn ended(
        &self,
        shown: &str,
        line: &[String],
        mut command: Command,
        meanwhile: impl FnOnce(Pid),
    ) -> Ended {
        let mut child = command.spawn().unwrap();
        let group = Pid::from_child(&child);
        let stderr = child.stderr.take().unwrap();
        let reader = std::thread::spawn(move || std::io::read_to_string(stderr).unwrap());
        meanwhile(group);
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > LONGEST {
                let _ = kill_process_group(group, Signal::KILL);
                panic!("{shown}: goes on");
            }
            sleep(Duration::from_millis(2));
        };
        // A worker may be about to end.
        while test_kill_process_group(group).is_ok() {
            if began.elapsed() > LONGEST {
                let _ = kill_process_group(group, Signal::KILL);
                panic!("{shown}: a process is left");
            }
            sleep(Duration::from_millis(2));
        }

        let said = reader.join().unwrap();
        let code = status
            .code()
            .or(status.signal().map(|signal| 128 + signal))
            .unwrap();
        assert!(
            DOCUMENTED.contains(&code),
            "{shown}: ends with {code}: {said}"
        );
        for word in ["panicked", "bug in this program", "please report"] {
            assert!(!said.contains(word), "{shown}: {said}");
        }
        self.check(shown, line);
        Ended { code, stderr: said }
    }

    /// Inputs are as they were, and nothing temporary is left.
    fn check(&self, shown: &str, line: &[String]) {
        let after = fixture::digests(self.folder.path());
        let is_written = |path: &Path| {
            let name = path.strip_prefix(self.folder.path()).unwrap();
            let is_course = line[0] == "new-lab" && name.starts_with("course");
            is_course
                || line
                    .iter()
                    .any(|word| word == &format!("{}", name.display()))
        };
        for (path, digest) in &self.before {
            let is_same = after.get(path) == Some(digest);
            let is_output = line[0] == "counts" && line.iter().any(|word| word == "--update");
            assert!(
                is_same || is_written(path) && (is_output || line[0] == "new-lab"),
                "{shown}: {} is not as it was",
                path.display()
            );
        }
        let is_left = |path: &PathBuf| {
            let text = path.to_string_lossy();
            text.contains(".harness-") || path.starts_with(self.folder.path().join("tmp"))
        };
        let left: Vec<&PathBuf> = after.keys().filter(|path| is_left(path)).collect();
        assert!(left.is_empty(), "{shown}: {left:?} are left");
        let scratch = fs::read_dir(self.folder.path().join("tmp"))
            .unwrap()
            .count();
        assert_eq!(scratch, 0, "{shown}: a folder is left");
    }
}

/// Something else in an input's place.
#[derive(Debug, Clone, Copy)]
enum Odd {
    Folder,
    Pipe,
    Endless,
    Loop,
    Unreadable,
}

fn short() -> impl Iterator<Item = Row> {
    let rows = TABLE.into_iter().chain(PLAIN);
    rows.filter(|row| !row.is_long)
}

/// The commands at the ends of clap's tree, by their names, and their arguments of a type.
fn leaves(command: &clap::Command, above: &str) -> Vec<(String, clap::Command)> {
    let below: Vec<_> = command
        .get_subcommands()
        .filter(|one| one.get_name() != "help")
        .collect();
    if below.is_empty() {
        return vec![(above.trim().to_owned(), command.clone())];
    }
    let leaves = below
        .into_iter()
        .map(|one| leaves(one, &format!("{above} {}", one.get_name())));
    leaves.flatten().collect()
}

#[test]
fn every_command_and_every_path_has_a_row() {
    let mut program = Cli::command();
    program.build();
    let rows: Vec<Row> = TABLE.into_iter().chain(PLAIN).collect();
    for (name, command) in leaves(&program, "") {
        let is_of = |row: &&Row| row.line == name || row.line.starts_with(&format!("{name} "));
        let own: Vec<&Row> = rows.iter().filter(is_of).collect();
        assert!(
            !own.is_empty(),
            "harness {name}: has no row in the table of faults"
        );
        let mut missing: BTreeSet<String> = BTreeSet::new();
        let mut tried: BTreeSet<String> = BTreeSet::new();
        for row in own {
            let line = std::iter::once("harness".to_owned()).chain(row.plain());
            let matches = Cli::command().try_get_matches_from(line);
            let mut matches = &matches.unwrap_or_else(|error| panic!("{}: {error}", row.line));
            while let Some((_, below)) = matches.subcommand() {
                matches = below;
            }
            for arg in command.get_arguments() {
                let holds = arg.get_value_parser().type_id();
                let is_output = holds == std::any::TypeId::of::<OutputPath>();
                let is_input = holds == std::any::TypeId::of::<PathBuf>();
                if !is_output && !is_input {
                    continue;
                }
                let id = arg.get_id().as_str();
                missing.insert(id.to_owned());
                for value in matches.get_raw(id).into_iter().flatten() {
                    let marked = row.words().into_iter().any(|word| match word {
                        Word::Output(_, path) => is_output && path == value,
                        Word::Input(_, path) => path == value,
                        Word::Plain(text) => text == value && value == "pack",
                    });
                    // A default value is not in the row.
                    if marked {
                        tried.insert(id.to_owned());
                    }
                }
            }
        }
        let missing: Vec<_> = missing.difference(&tried).collect();
        assert!(
            missing.is_empty(),
            "harness {name}: no row of the table of faults has {missing:?}"
        );
    }
}

/// Each output in turn has the name of each input.
#[test]
fn no_output_replaces_an_input() {
    let case = Case::new();
    for row in TABLE {
        let inputs: Vec<&str> = row
            .words()
            .into_iter()
            .flat_map(|word| match word {
                Word::Input(_, "sub") => vec!["sub/kernels.rs", "sub/launch.rs"],
                Word::Input(_, "class") => vec!["class/ada/kernels.rs"],
                Word::Input(_, "course") => vec!["course/host/src/lib.rs", "course/Cargo.toml"],
                Word::Input(_, path) if path != "cache" => vec![path],
                _ => vec![],
            })
            .collect();
        let lines = row.variations(|word| match word {
            Word::Output(..) => inputs.clone(),
            _ => vec![],
        });
        for line in lines {
            let ended = case.run(&line, "", "");
            assert_eq!(ended.code, 2, "{line:?}: {}", ended.stderr);
        }
    }
}

/// A file's folder is missing, or a folder's is a file; some commands make missing folders.
#[test]
fn a_missing_folder_is_told() {
    for row in short() {
        for (is_folder, path) in [(false, "none/there/x.npy"), (true, "k.ptx/x")] {
            let lines = row.variations(|word| match word {
                Word::Output(_, old) if old.ends_with('/') == is_folder => vec![path],
                _ => vec![],
            });
            for line in lines {
                let case = Case::new();
                let ended = case.run(&line, "", "");
                // It looks for a GPU first.
                let expected = if line[1] == "membench" { 3 } else { 2 };
                assert_eq!(ended.code, expected, "{line:?}: {}", ended.stderr);
            }
        }
    }
}

/// A process may write no file of any length, which is the same to it as a full disk, or few; and
/// standard output is on a full disk, or closed.
#[test]
fn nothing_is_lost_where_nothing_can_be_written() {
    let faults = [
        ("ulimit -f 0;", ""),
        ("ulimit -f 4;", ""),
        ("", ">/dev/full"),
        ("", ">&-"),
        ("", "| true"),
    ];
    for row in short() {
        for (before, streams) in faults {
            let case = Case::new();
            let ended = case.run(&row.plain(), before, streams);
            let writes = row
                .words()
                .iter()
                .any(|word| matches!(word, Word::Output(..)));
            if before == "ulimit -f 0;" && writes {
                assert_eq!(ended.code, 3, "{}: {}", row.line, ended.stderr);
            }
            if streams == ">/dev/full" && !row.line.starts_with("launch") {
                assert_ne!(ended.code, 0, "{}: {}", row.line, ended.stderr);
            }
        }
    }
}

#[test]
fn a_machine_without_threads_is_told() {
    let mut lacking = 0;
    for row in short() {
        let case = Case::new();
        let line = row.plain();
        let mut command = case.command(&line, "", "");
        test_support::lacking(&mut command, &[test_support::Means::Threads]);
        let ended = case.ended(row.line, &line, command, |_| {});
        lacking += usize::from(ended.code == 3);
    }
    assert!(lacking > 5, "{lacking}");
}

/// A signal that the program takes for itself has its usual effect on programs that it starts.
#[test]
fn programs_that_it_starts_have_the_usual_limits() {
    let case = Case::new();
    let script = "sh -c 'kill -XFSZ $$'; echo ended with $? >&2";
    let line = ["emulate", "--", "sh", "-c", script].map(str::to_owned);
    let ended = case.run(&line, "", "");
    // 128 and the signal's number.
    assert!(ended.stderr.contains("ended with 153"), "{}", ended.stderr);
}

/// Soon after its start, and a little later.
#[test]
fn a_signal_leaves_nothing() {
    for row in TABLE {
        for (signal, millis) in [(Signal::TERM, 20), (Signal::INT, 60), (Signal::HUP, 120)] {
            let case = Case::new();
            let line = row.plain();
            let command = case.command(&line, "", "");
            let ended = case.ended(row.line, &line, command, |program| {
                sleep(Duration::from_millis(millis));
                // It may have ended.
                let _ = kill_process(program, signal);
            });
            let is_ended = ended.code == 128 + signal.as_raw();
            assert!(is_ended || ended.code < 128, "{}: {}", row.line, ended.code);
        }
    }
}

#[test]
fn odd_files_are_refused_and_not_waited_for() {
    for row in TABLE {
        for word in row.words() {
            let Word::Input(_, name) = word else {
                continue;
            };
            let name = name.trim_start_matches("./");
            let mut kinds = vec![Odd::Folder, Odd::Pipe, Odd::Endless, Odd::Loop];
            // Root reads every file.
            if name.contains('.') && !rustix::process::geteuid().is_root() {
                kinds.push(Odd::Unreadable);
            }
            for odd in kinds {
                let case = Case::replaced(name, odd);
                let ended = case.run(&row.plain(), "", "");
                assert_ne!(
                    ended.code, 0,
                    "{}: {name} is {odd:?}: {}",
                    row.line, ended.stderr
                );
            }
        }
    }
}
