//! Input that makes no sense, or cannot be had: one line, a remedy, the right exit code.

use crate::run::{describe, harness, run};

/// `perf` of a case of one's own.
fn own_case(params: &[&str]) -> String {
    let mut args = vec!["perf", "wave2d"];
    for param in params {
        args.extend(["--param", param]);
    }
    run(&args)
}

#[test]
fn unknown_lab() {
    insta::assert_snapshot!(run(&["test", "wave2b"]), @r"
    exit code: 2
    --- stderr ---
    error: unknown lab `wave2b`; did you mean `wave2d`?
    ");
}

#[test]
fn unknown_command() {
    insta::assert_snapshot!(run(&["wathc"]), @r"
    exit code: 2
    --- stderr ---
    error: unrecognized subcommand 'wathc'

      tip: a similar subcommand exists: 'watch'

    Usage: harness <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn unknown_variant() {
    insta::assert_snapshot!(run(&["perf", "wave2d", "--variant", "shmen"]), @r"
    exit code: 2
    --- stderr ---
    error: --variant: unknown variant `shmen`; did you mean `shmem`?
    ");
}

#[test]
fn a_folder_is_no_variant() {
    let said = "exit code: 2\n--- stderr ---\nerror: --variant ./mine: no variant has this name, and a folder is a submission: write --submission ./mine";
    for command in ["test wave2d", "perf wave2d", "profile wave2d", "run wave2d"] {
        let args: Vec<&str> = command.split(' ').chain(["--variant", "./mine"]).collect();
        assert_eq!(run(&args), said, "{command}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    let args = ["test", "wave2d", "--variant", "mine"];
    let text = describe(&harness(folder.path(), &args).output().unwrap());
    assert!(text.ends_with("write --submission mine"), "{text}");
}

#[test]
fn a_students_copy_is_not_checked() {
    let copy = tempfile::tempdir().unwrap();
    for part in ["crates/plan", "kernels-gpu", "labs"] {
        std::fs::create_dir_all(copy.path().join(part)).unwrap();
    }
    let args = ["check-course", "--course", "."];
    let text = describe(&harness(copy.path(), &args).output().unwrap());
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(
        text.contains("is a students' copy, without solutions to check"),
        "{text}"
    );
}

#[test]
fn json_with_a_space() {
    let said = "exit code: 2\n--- stderr ---\nerror: write --json=a.json, with `=`\n";
    for command in ["perf", "perf wave2d", "list", "counts wave2d"] {
        let args: Vec<&str> = command.split(' ').chain(["--json", "a.json"]).collect();
        let text = run(&args);
        assert!(text.starts_with(said), "{command}: {text}");
    }
}

#[test]
fn values_that_are_no_numbers() {
    let said = |args: &str| {
        let text = run(&args.split(' ').collect::<Vec<_>>());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["exit code: 2", "--- stderr ---"], "{text}");
        lines[2].to_owned()
    };
    insta::assert_snapshot!(said("perf wave2d --samples -1"), @"error: invalid value '-1' for '--samples <N>': -1 is not in 1..=10000");
    insta::assert_snapshot!(said("run wave2d --steps many"), @"error: --steps many: write a whole number from 0 to 4294967295: timesteps, at least 1");
    insta::assert_snapshot!(said("run wave2d --steps -1"), @"error: --steps -1: write a whole number from 0 to 4294967295: timesteps, at least 1");
    insta::assert_snapshot!(said("run wave2d --k x"), @"error: --k x: write a number: (c dt/dx)^2, above 0 and at most 0.5");
    insta::assert_snapshot!(said("run poisson --n 99999999999"), @"error: --n 99999999999: write a whole number from 0 to 4294967295: points along each axis, walls included: 3 to 32768; variants of one launch take 1625");
}

#[test]
fn a_solution_that_the_cpu_would_not_run() {
    insta::assert_snapshot!(run(&["run", "poisson", "--variant", "shared_tile"]), @r"
    exit code: 2
    --- stderr ---
    error: --variant shared_tile: this machine has no GPU that could run it; add --device emulated, with a small problem, or leave out --variant
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--variant", "naive", "--device", "cpu"]), @r"
    exit code: 2
    --- stderr ---
    error: --variant naive: the CPU computes the reference, and no solution; leave out --variant or --device cpu
    ");
}

#[test]
fn unknown_case() {
    insta::assert_snapshot!(run(&["profile", "wave2d", "--case", "17x17"]), @r"
    exit code: 2
    --- stderr ---
    error: --case 17x17: no case of wave2d has this label; `harness list wave2d` shows them all
    ");
    insta::assert_snapshot!(run(&["profile", "wave2d", "--case", "3x3, 100 steps"]), @r"
    exit code: 2
    --- stderr ---
    error: --case 3x3, 100 steps: 5 cases of wave2d have this in their label, `3x3, 100 steps, point-source` and `3x3, 100 steps, double-slit` among them; write more of it
    ");
}

#[test]
fn unknown_scene() {
    insta::assert_snapshot!(own_case(&["scene=double-split"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: unknown scene `double-split`; did you mean `double-slit`?
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--scene", "duble-slit"]), @r"
    exit code: 2
    --- stderr ---
    error: --scene: unknown scene `duble-slit`; did you mean `double-slit`?
    ");
}

#[test]
fn unknown_parameter() {
    insta::assert_snapshot!(own_case(&["nx=100"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: unknown parameter `nx`; did you mean `n_x`?
    ");
    insta::assert_snapshot!(own_case(&["n_x"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: `n_x` is not a parameter: write name=value
    ");
    insta::assert_snapshot!(own_case(&["n_x=100", "n_x=200"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `n_x` is given twice
    ");
}

#[test]
fn too_few_cells() {
    insta::assert_snapshot!(own_case(&["n_x=0"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `n_x` = `0`: a domain has at least 2 cells along each axis, its two borders
    ");
    insta::assert_snapshot!(own_case(&["n_y=1"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `n_y` = `1`: a domain has at least 2 cells along each axis, its two borders
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--shape", "0,9"]), @r"
    exit code: 2
    --- stderr ---
    error: --shape: n_x = 0: a domain has at least 2 cells along each axis, its two borders
    ");
}

#[test]
fn too_many_cells() {
    insta::assert_snapshot!(own_case(&["n_x=70000", "n_y=70000"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `n_x * n_y` = `70000 * 70000`: a domain has at most 2147483648 cells
    ");
    insta::assert_snapshot!(own_case(&["n_x=4294967295", "n_y=4294967295"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `n_x` = `4294967295`: a domain has at most 500000 cells along an axis
    ");
    insta::assert_snapshot!(own_case(&["n_x=99999999999"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `n_x` = `99999999999`: write a whole number from 0 to 4294967295: cells along x, at least 2
    ");
}

#[test]
fn no_steps() {
    insta::assert_snapshot!(own_case(&["steps=0"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `steps` = `0`: there is nothing to compute; at least 1
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--steps", "0"]), @r"
    exit code: 2
    --- stderr ---
    error: --steps 0: there is nothing to compute; at least 1
    ");
}

#[test]
fn an_unstable_scheme() {
    insta::assert_snapshot!(own_case(&["k=0.51"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `k` = `0.51`: unstable: the CFL condition is k = (c dt/dx)^2 <= 0.5
    ");
    insta::assert_snapshot!(own_case(&["k=NaN"]), @r"
    exit code: 2
    --- stderr ---
    error: --param: parameter `k` = `NaN`: unstable: the CFL condition is k = (c dt/dx)^2 <= 0.5
    ");
}

#[test]
fn an_unwritable_output() {
    insta::assert_snapshot!(run(&["perf", "--json=no/such/perf.json"]), @r"
    exit code: 2
    --- stderr ---
    error: --json no/such/perf.json: there is no folder no/such; create it first
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--gif", "no/such/wave.gif"]), @r"
    exit code: 2
    --- stderr ---
    error: --gif no/such/wave.gif: there is no folder no/such; create it first
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--gif", "wave.mp4"]), @r"
    exit code: 2
    --- stderr ---
    error: --gif wave.mp4: name a .gif, a .png, or a folder that ends in /
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--gif", "/"]), @r"
    exit code: 2
    --- stderr ---
    error: --gif /: the folder is not empty; remove it, or name another
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_written() {
    // In the system's own words why.
    let text = run(&["run", "wave2d", "--gif", "/proc/wave.gif"]);
    let start = "exit code: 2\n--- stderr ---\nerror: --gif /proc/wave.gif: cannot be written: ";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_device_that_is_not_there() {
    insta::assert_snapshot!(run(&["test", "--device", "cuda"]), @r"
    exit code: 3
    --- stderr ---
    error: --device cuda: no CUDA device: [reason]; see `harness doctor`
    ");
    insta::assert_snapshot!(run(&["perf", "--device", "cuda:7"]), @r"
    exit code: 3
    --- stderr ---
    error: --device cuda:7: no CUDA device: [reason]; see `harness doctor`
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--device", "cuda"]), @r"
    exit code: 3
    --- stderr ---
    error: --device cuda: no CUDA device: [reason]; see `harness doctor`
    ");
    insta::assert_snapshot!(run(&["test", "--device", "gpu"]), @r"
    exit code: 2
    --- stderr ---
    error: invalid value 'gpu' for '--device <DEVICE>': unknown device `gpu`; a GPU is called `cuda`

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["perf", "--device", "emulated"]), @r"
    exit code: 2
    --- stderr ---
    error: --device emulated: the speed of the emulated device says nothing about a GPU; try `harness test --device emulated`
    ");
}

#[test]
fn flags_that_do_not_go_together() {
    insta::assert_snapshot!(run(&["test", "--param", "n_x=3"]), @r"
    exit code: 2
    --- stderr ---
    error: the following required arguments were not provided:
      <LAB>

    Usage: harness test --param <NAME=VALUE> <LAB>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["run", "wave2d", "--out-period", "5", "--frames", "5"]), @r"
    exit code: 2
    --- stderr ---
    error: the argument '--out-period <STEPS>' cannot be used with '--frames <N>'

    Usage: harness run wave2d --out-period <STEPS>

    For more information, try '--help'.
    ");
    let args = ["profile", "wave2d", "--case", "3x3", "--param", "n_x=3"];
    insta::assert_snapshot!(run(&args), @r"
    exit code: 2
    --- stderr ---
    error: the argument '--case <LABEL>' cannot be used with '--param <NAME=VALUE>'

    Usage: harness profile --case <LABEL> <LAB>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["profile"]), @r"
    exit code: 2
    --- stderr ---
    error: the following required arguments were not provided:
      <LAB>

    Usage: harness profile <LAB>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["test", "--sanitize=maybe"]), @r"
    exit code: 2
    --- stderr ---
    error: invalid value 'maybe' for '--sanitize[=<WHETHER>]'
      [possible values: on, off]

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["perf", "--samples", "0"]), @r"
    exit code: 2
    --- stderr ---
    error: invalid value '0' for '--samples <N>': 0 is not in 1..=10000

    For more information, try '--help'.
    ");
}

#[test]
fn runs_that_make_no_sense() {
    insta::assert_snapshot!(run(&["run", "poison"]), @r"
    exit code: 2
    --- stderr ---
    error: unrecognized subcommand 'poison'

      tip: a similar subcommand exists: 'poisson'

    Usage: harness run <COMMAND>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["run", "poisson", "--n", "2"]), @r"
    exit code: 2
    --- stderr ---
    error: --n 2: a cube has at least 3 points along each axis: two walls and one between them
    ");
    insta::assert_snapshot!(run(&["run", "poisson", "--tolerance", "0"]), @r"
    exit code: 2
    --- stderr ---
    error: --tolerance 0: a finite number above 0: the largest change of a point in one iteration
    ");
    insta::assert_snapshot!(run(&["run", "poisson", "--iterations", "0"]), @r"
    exit code: 2
    --- stderr ---
    error: --iterations 0: there is nothing to compute; at least 1
    ");
    insta::assert_snapshot!(run(&["run", "wave3d", "--shape", "10,10"]), @r"
    exit code: 2
    --- stderr ---
    error: invalid value '10,10' for '--shape <N_X,N_Y,N_Z>': write 3 numbers: 64,64,64

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["run", "wave3d", "--dt", "0.1"]), @r"
    exit code: 2
    --- stderr ---
    error: --dt 0.1: unstable: the CFL condition is dt <= dx / (c sqrt(3)); with dx = 10 m and c up to 2400 m/s, dt is at most 0.00240562 s
    ");
    insta::assert_snapshot!(run(&["run", "wave3d", "--device", "cuda"]), @r"
    exit code: 3
    --- stderr ---
    error: --device cuda: no CUDA device: [reason]; see `harness doctor`
    ");
    insta::assert_snapshot!(run(&["run", "membench"]), @r"
    exit code: 3
    --- stderr ---
    error: --device cuda: no CUDA device: [reason]; see `harness doctor`; `--device emulated` checks the kernels without one
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_field() {
    // A file as large as a process may write, which is the same to it as a full disk.
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_harness");
    let script = format!(
        "ulimit -f 8; exec {program} run poisson --n 33 --iterations 1 --device cpu --output npy --out ."
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(
        text.starts_with("error: cannot write ./poisson-33.npy: "),
        "{text}"
    );
    assert_eq!(crate::run::names(folder.path()), [""; 0]);
}

#[test]
fn occupancy_of_what_no_gpu_holds() {
    let occupancy = |more: &[&str]| {
        let needs = ["occupancy", "--registers", "32", "--threads", "256"];
        run(&[&needs[..], more].concat())
    };
    insta::assert_snapshot!(occupancy(&["--gpu", "h10"]), @r"
    exit code: 2
    --- stderr ---
    error: --gpu: unknown GPU `h10`; did you mean `h100`?
    ");
    insta::assert_snapshot!(occupancy(&["--gpu", "h100", "--shared", "240000"]), @r"
    exit code: 2
    --- stderr ---
    error: --shared 240000: 240000 bytes of shared memory: a block of h100 has at most 232448
    ");
    insta::assert_snapshot!(occupancy(&["--throughput", "1"]), @r"
    exit code: 2
    --- stderr ---
    error: the following required arguments were not provided:
      --latency-cycles <CYCLES>

    Usage: harness occupancy --registers <R> --threads <T> --throughput <RATE> --latency-cycles <CYCLES>

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(occupancy(&["--latency-cycles", "10", "--throughput", "5"]), @r"
    exit code: 2
    --- stderr ---
    error: invalid value '5' for '--throughput <RATE>': a number above 0, at most 4: a multiprocessor has four schedulers that issue one instruction each

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(run(&["occupancy", "--registers", "32", "--threads", "2000", "--gpu", "h100"]), @r"
    exit code: 2
    --- stderr ---
    error: --threads 2000: a block of 2000 threads: it has 1 to 1024
    ");
    insta::assert_snapshot!(run(&["occupancy", "--registers", "300", "--threads", "32", "--gpu", "h100"]), @r"
    exit code: 2
    --- stderr ---
    error: --registers 300: 300 registers per thread: it has at most 255
    ");
}

#[test]
fn results_that_cannot_be_compared() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("old.json"),
        r#"{"schema_version": 1, "command": "perf", "cases": []}"#,
    )
    .unwrap();
    let compare = |files: [&str; 2]| {
        let args = ["compare", files[0], files[1]];
        describe(&harness(folder.path(), &args).output().unwrap())
    };
    insta::assert_snapshot!(compare(["old.json", "old.json"]), @r"
    exit code: 2
    --- stderr ---
    error: old.json: has schema version 1, this program reads version 4; measure again with this one
    ");
    insta::assert_snapshot!(compare(["no.json", "old.json"]), @r"
    exit code: 2
    --- stderr ---
    error: no.json: there is no such file; `harness perf --json=no.json` makes one
    ");
}

#[test]
fn what_does_not_scale() {
    let mut all = String::new();
    for flags in [
        "poisson --gpus 1,2",
        "poisson --gpus 0",
        "poisson --weak",
        "--gpus 2",
        "poisson --gpus 2 --peers",
        "membench --gpus 2",
        "poisson --gpus 2 --device cpu",
        "poisson --gpus 2 --variant fst",
        "poisson --gpus 2 --variant computes_source",
        "poisson --gpus 2 --variant dual,fast",
        "poisson --gpus 1,4 --device emulated --variant dual",
        "poisson --gpus 2 --device emulated --param n=3",
        "poisson --gpus 2 --device emulated --param n=x",
    ] {
        let words = format!("perf {flags}");
        let told = run(&words.split(' ').collect::<Vec<&str>>());
        all += &format!("$ harness {words}\n{told}\n\n");
    }
    insta::assert_snapshot!(all);
}

/// The first line that each of these is answered with, beside exit code 2. All were accepted once,
/// or answered with words that led elsewhere.
#[test]
fn nothing_is_accepted_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results/h100.json");
    std::fs::copy(results, folder.path().join("old.json")).unwrap();
    write("cut.json", r#"{"schema_version": 4, "comm"#);
    write("text", "text");
    write(
        "a.ptx",
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p){ ret; }\n",
    );
    let mut all = String::new();
    for words in [
        "grad x",
        "test wave2d --device cpu --variant naive",
        "perf wave2d --device cpu --variant shmem",
        "perf wave2d --json=x --html x",
        "counts a.ptx --variant naive",
        "counts a.ptx --param n=3",
        "counts a.ptx --baseline a.ptx --update",
        "occupancy --registers 0 --threads 32",
        "report old.json -o old.json",
        "report old.json --ladder x.png",
        "report old.json -o x.svg --ladder x.svg",
        "report old.json old.json",
        "compare old.json old.json --json=old.json",
        "compare cut.json old.json",
        "compare text old.json",
        "compare . old.json",
        "run wave2d --shape -3,3",
        "run poisson --suffix x",
        "run stencil25 --receivers r.npy --gif r.png",
        "run poisson --n 9 --gpus 99 --device emulated",
        "run wave2d --shape 20,20 --steps 2 --device cpu --out o --gif o/",
        "emulate a.ptx --kernel k 1u64 --grid 2",
        "emulate . --kernel k",
        "emulate a.ptx --devices 2",
        "emulate a.ptx --devices 2 --kernel k 1u64",
        "emulate a.ptx --multiprocessors 4",
        "emulate a.ptx --check none",
        "emulate a.ptx --orders 0..5",
        "emulate a.ptx --counts",
        "emulate a.ptx --volatile-is-plain",
        "emulate a.ptx --check none,races --kernel k 1u64",
        "emulate --check none,races -- ./none",
        "emulate -- ./none",
        "pack none --lab wave2d -o x",
        "pack text --lab wave2d -o x",
        "grade --all none --lab wave2d -o x",
        "grade --all text --lab wave2d -o x",
        "grade --all . --lab wave2d -o text",
        "grade text --lab wave2d -o text",
    ] {
        let args: Vec<&str> = words.split(' ').collect();
        let output = harness(folder.path(), &args).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words}: {}",
            describe(&output)
        );
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or_default();
        all += &format!("$ harness {words}\n{first}\n");
    }
    insta::assert_snapshot!(all);
    // A command that `--help` does not show is not proposed.
    let tip = run(&["grad"]);
    assert!(
        tip.contains("'grade'") && !tip.contains("grade-worker"),
        "{tip}"
    );
    // All files stay as they were.
    assert_eq!(
        crate::run::names(folder.path()),
        ["a.ptx", "cut.json", "old.json", "text"]
    );
    let same =
        std::fs::read(results).unwrap() == std::fs::read(folder.path().join("old.json")).unwrap();
    assert!(same, "the results were replaced");
}
