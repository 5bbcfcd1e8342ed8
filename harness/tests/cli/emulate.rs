//! `harness emulate`: programs of this project that find the emulated driver. The command itself is
//! tested in crate `emulate`.

use crate::gpu_program;
use crate::run::{describe, harness};

/// This program is a user of the CUDA driver too.
#[test]
fn a_program_runs_on_the_emulated_driver() {
    let program = env!("CARGO_BIN_EXE_harness");
    let test = [
        "test",
        "matadd",
        "--device=cuda",
        "--variant=grid1d_block1d_32",
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut command = harness(
        folder.path(),
        &[
            "emulate",
            "--orders=0,1",
            "--json=report.json",
            "--",
            program,
        ],
    );
    let output = command.args(test).output().unwrap();
    let text = describe(&output);
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert_eq!(text.matches("emulate: order").count(), 2, "{text}");
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["runs"][1]["started"], true, "{report}");
    assert_eq!(report["runs"][1]["exit_code"], 0);
}

/// A GPU does not notice the race: the program ends well, and `emulate` does not.
#[test]
fn a_fault_of_a_program_is_one_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = harness(folder.path(), &["emulate", "--json=report.json", "--"]);
    let text = describe(&gpu_program::of(&mut command, "race").output().unwrap());
    assert!(
        text.contains("1 passed") && text.contains("race in global memory"),
        "{text}"
    );
    assert!(text.starts_with("exit code: 1\n"), "{text}");
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["runs"][0]["exit_code"], 0, "{report}");
    assert_eq!(
        report["runs"][0]["faults"].as_array().unwrap().len(),
        1,
        "{report}"
    );
}

/// The streams and events that order a plan on several GPUs, by what its kernels and copies really
/// access.
#[test]
fn plans_of_several_devices_have_no_race_between_their_commands() {
    let program = env!("CARGO_BIN_EXE_harness");
    for case in [
        "poisson --n 9 --iterations 4",
        "wave2d --shape 32,24 --steps 6",
        "wave3d --shape 9,8,10 --steps 5",
        "stencil25 --shape 24,16,12 --shell 1 --steps 3",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let emulate = "emulate --devices 3 --multiprocessors 2 --".split(' ');
        let run = ["run"].into_iter().chain(case.split(' '));
        let words = [program].into_iter().chain(run);
        let mut command = harness(folder.path(), &emulate.chain(words).collect::<Vec<_>>());
        let output = command
            .args(["--gpus=3", "--device=cuda"])
            .output()
            .unwrap();
        let text = describe(&output);
        assert!(text.starts_with("exit code: 0"), "{case}: {text}");
        assert!(text.contains("emulate: no fault"), "{case}: {text}");
    }
}
