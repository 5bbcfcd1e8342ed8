//! Several processes as the ranks of one run.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ranks::World;

use crate::run::{describe, harness, names, run};
use crate::signals::wait_for;

/// Longer than anything here takes.
const LONGEST: Duration = Duration::from_secs(60);

/// Far too long to finish.
const ENDLESS: [&str; 12] = [
    "launch",
    "--processes",
    "3",
    "--",
    "run",
    "wave2d",
    "--gif",
    "wave.gif",
    "--device",
    "cpu",
    "--steps",
    "4000000000",
];

/// Lines of rank 0, and those of rank 1 without their prefix.
fn by_rank(bytes: &[u8]) -> [String; 2] {
    let text = std::str::from_utf8(bytes).unwrap();
    let (others, mine): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.starts_with("[rank 1] "));
    let others = others.iter().map(|line| &line["[rank 1] ".len()..]);
    [mine.join("\n"), others.collect::<Vec<_>>().join("\n")]
}

#[test]
fn lines_say_whose_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let alone = harness(folder.path(), &["list", "matadd"])
        .output()
        .unwrap();
    let alone = String::from_utf8(alone.stdout).unwrap();
    assert!(alone.contains("matadd"), "{alone}");
    let args = ["launch", "--processes", "2", "list", "matadd"];
    let output = harness(folder.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", describe(&output));
    assert_eq!(
        by_rank(&output.stdout),
        [alone.trim_end(), alone.trim_end()]
    );
}

/// `kill -9` gives the program no time to end them: the system does.
#[test]
fn no_rank_outlives_a_killed_launch() {
    let folder = tempfile::tempdir().unwrap();
    let mut launched = Launched::new(folder.path());
    launched.launch.kill().unwrap();
    launched.launch.wait().unwrap();
    let is_gone = |pid: &u32| {
        let state = fs::read_to_string(format!("/proc/{pid}/stat"));
        // The process that has taken them over may not ask how they ended.
        state.map_or(true, |line| line.contains(") Z "))
    };
    wait_for("end of the ranks", || launched.ranks.iter().all(is_gone));
    // They had time to tidy up.
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_process_that_fails_gives_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["launch", "--processes", "2", "--", "list", "matad"];
    let output = harness(folder.path(), &args).output().unwrap();
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("error: unknown lab `matad`; did you mean `matadd`?"),
        "{text}"
    );
    let last = text.lines().last().unwrap();
    let rank = if last.contains("rank 0") { 0 } else { 1 };
    assert_eq!(
        last,
        format!("error: rank {rank} ended with exit code 2; the other ranks were ended")
    );
}

#[test]
fn arguments_that_make_no_sense() {
    for (args, words) in [
        (
            &["--processes", "0", "list"][..],
            "invalid value '0' for '--processes <N>': 0 is not in 1..=1024",
        ),
        (
            &["--processes", "2"],
            "required arguments were not provided:\n  <COMMAND>...",
        ),
        (
            &["list"],
            "required arguments were not provided:\n  --processes <N>",
        ),
    ] {
        let text = run(&[&["launch"], args].concat());
        assert!(text.starts_with("exit code: 2\n"), "{text}");
        assert!(text.contains(words), "{text}");
    }
}

/// A launch, and its processes by rank.
struct Launched {
    launch: Child,
    ranks: Vec<u32>,
}

impl Launched {
    /// Returns when all processes are at work.
    fn new(folder: &Path) -> Launched {
        let mut command = harness(folder, &ENDLESS);
        let launch = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let began = Instant::now();
        while names(folder).len() < 3 {
            assert!(began.elapsed() < LONGEST, "the ranks do not start");
            sleep(Duration::from_millis(5));
        }
        let pid = launch.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        let mut ranks = vec![0; 3];
        for child in children.split_whitespace() {
            let world = world_of(child);
            assert_eq!((world.ranks, world.local_ranks), (3, 3));
            assert_eq!(world.rank, world.local_rank);
            assert!(world.job.is_some());
            ranks[world.rank] = child.parse().unwrap();
        }
        assert!(!ranks.contains(&0), "{ranks:?}");
        Launched { launch, ranks }
    }

    /// How the launch ends, and after how long; none of its processes is left.
    fn end(self) -> (Output, Duration) {
        let began = Instant::now();
        let output = self.launch.wait_with_output().unwrap();
        for pid in self.ranks {
            let state = fs::read_to_string(format!("/proc/{pid}/stat"));
            assert!(state.is_err(), "{state:?}");
        }
        (output, began.elapsed())
    }
}

/// The rank of a process, from its environment.
fn world_of(pid: &str) -> World {
    let variables = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    let find = |name: &str| {
        variables.split('\0').find_map(|variable| {
            let (other, value) = variable.split_once('=')?;
            (other == name).then(|| value.to_owned())
        })
    };
    World::from_variables(&find).unwrap().unwrap()
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_process_that_dies_ends_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let launched = Launched::new(folder.path());
    send("-KILL", launched.ranks[1]);
    let (output, after) = launched.end();
    let text = describe(&output);
    assert_eq!(output.status.code(), Some(137), "{text}");
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "error: rank 1 was killed by signal 9; the other ranks were ended"
    );
    assert!(after < Duration::from_secs(10), "{after:?}");
    // Of the file of rank 1 its unfinished part stays; the others tidied up.
    assert_eq!(names(folder.path()).len(), 1);
}

#[test]
fn a_process_that_does_not_end_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let launched = Launched::new(folder.path());
    // A stopped process does nothing when it is told to end.
    send("-STOP", launched.ranks[2]);
    send("-TERM", launched.ranks[0]);
    let (output, after) = launched.end();
    assert_eq!(output.status.code(), Some(143), "{}", describe(&output));
    assert!(after < Duration::from_secs(15), "{after:?}");
}

#[test]
fn a_signal_ends_all() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let folder = tempfile::tempdir().unwrap();
        let launched = Launched::new(folder.path());
        send(signal, launched.launch.id());
        let (output, _) = launched.end();
        assert_eq!(output.status.code(), Some(code), "{}", describe(&output));
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
