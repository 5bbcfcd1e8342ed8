//! Several processes that compute one problem.

use std::net::Ipv4Addr;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::run::{describe, harness};

fn launched(processes: &str, args: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let launch = ["launch", "--processes", processes, "--", "run"];
    let output = harness(folder.path(), &[&launch, args].concat()).output();
    describe(&output.unwrap())
}

#[test]
fn processes_have_the_result_of_one() {
    for (processes, args) in [
        ("2", &["poisson", "--n", "14", "--iterations", "4"][..]),
        (
            "2",
            &[
                "poisson",
                "--n",
                "12",
                "--iterations",
                "3",
                "--gpus",
                "2",
                "--variant",
                "fast",
            ],
        ),
        (
            "3",
            &[
                "wave3d",
                "--shape",
                "9,8,8",
                "--steps",
                "6",
                "--out-period",
                "2",
            ],
        ),
        (
            "2",
            &[
                "stencil25",
                "--shape",
                "26,12,12",
                "--shell",
                "2",
                "--steps",
                "5",
            ],
        ),
    ] {
        let told = launched(processes, &[args, &["--device", "emulated"]].concat());
        assert!(told.starts_with("exit code: 0\n"), "{told}");
        assert!(told.contains("\n  0 of "), "{told}");
        assert!(!told.contains("[rank 1]"), "rank 0 alone reports: {told}");
    }
}

#[test]
fn what_processes_cannot_do_together() {
    let told = launched("2", &["poisson", "--n", "3", "--device", "emulated"]);
    assert!(
        told.contains("2 devices need a plane each, and there is 1 plane between the walls: use at most 1 device"),
        "{told}"
    );
    let dual = launched(
        "2",
        &[
            "poisson",
            "--n",
            "9",
            "--device",
            "emulated",
            "--variant",
            "dual",
        ],
    );
    assert!(dual.contains("these two have no peer access"), "{dual}");
    let without_device = launched("2", &["poisson", "--n", "9"]);
    assert!(
        without_device.contains("no CUDA device"),
        "{without_device}"
    );
}

/// Processes that a launcher would have started, one with each of these arguments.
fn ranks(runs: &[&[&str]]) -> Vec<Child> {
    // An address for each call, which no other process uses, and torchrun's port, which systems
    // give to no client: one that was found free could be taken again.
    static CALLS: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, high, low, CALLS.fetch_add(1, Ordering::Relaxed));
    let count = runs.len().to_string();
    let start = |(rank, args): (usize, &&[&str])| {
        let rank = rank.to_string();
        let mut command = harness(&std::env::temp_dir(), &[&["run"], *args].concat());
        command
            .envs([("RANK", &rank), ("LOCAL_RANK", &rank)])
            .envs([("WORLD_SIZE", &count), ("LOCAL_WORLD_SIZE", &count)])
            .envs([
                ("MASTER_ADDR", &address.to_string()),
                ("MASTER_PORT", &29400.to_string()),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    runs.iter().enumerate().map(start).collect()
}

fn told(child: Child) -> String {
    describe(&child.wait_with_output().unwrap())
}

#[test]
fn problems_that_differ_end_all_with_one_message() {
    let run = |n| {
        [
            "poisson",
            "--n",
            n,
            "--iterations",
            "3",
            "--device",
            "emulated",
        ]
    };
    let children = ranks(&[&run("9"), &run("9"), &run("10")]);
    let told: Vec<String> = children.into_iter().map(told).collect();
    insta::assert_snapshot!(told[0], @r#"
exit code: 2
--- stderr ---
error: the ranks do not run the same: problem: 9^3, 3 iterations, {"iterations":3,"n":9} in ranks 0 and 1, 10^3, 3 iterations, {"iterations":3,"n":10} in rank 2; start all with the same program and arguments
"#);
    assert!(told.iter().all(|other| *other == told[0]), "{told:?}");
}

/// Whether the process has threads for the connections to others.
fn has_met_others(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let mut names = threads
        .into_iter()
        .flatten()
        .flatten()
        .map(|thread| std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default());
    names.any(|name| name.trim() == "rank-reader")
}

#[test]
fn a_process_that_dies_ends_the_others() {
    // Minutes of work.
    let run = [
        "poisson",
        "--n",
        "40",
        "--iterations",
        "20000",
        "--device",
        "emulated",
        "--no-check",
    ];
    let mut children = ranks(&[&run, &run, &run]);
    for child in &mut children {
        while !has_met_others(child.id()) {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let mut dies = children.remove(1);
    dies.kill().unwrap();
    dies.wait().unwrap();
    let began = Instant::now();
    let told: Vec<String> = children.into_iter().map(told).collect();
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    for one in told {
        assert!(
            one.starts_with("exit code: 3\n--- stderr ---\nerror: rank 1 "),
            "{one}"
        );
        assert_eq!(one.lines().count(), 3, "{one}");
    }
}
