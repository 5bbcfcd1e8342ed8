//! Each protection keeps a program that wants out from what it wants, and its report is true.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use test_support::{Means, Need, skip};

use super::*;

/// The program that wants out, in a folder of its own.
fn probe() -> &'static Path {
    static PROBE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, program) = PROBE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("probe.rs");
        fs::write(&source, include_str!("probe.rs")).unwrap();
        let program = folder.path().join("probe");
        let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
        let compiled = Command::new(rustc)
            .args(["--edition=2024", "-o"])
            .args([&program, &source])
            .status()
            .unwrap();
        assert!(compiled.success());
        (folder, program)
    });
    program
}

fn sandbox() -> Sandbox {
    let mut read: Vec<PathBuf> = ["/lib", "/lib64", "/usr/lib", "/usr/bin", "/etc/ld.so.cache"]
        .map(PathBuf::from)
        .to_vec();
    read.push(probe().to_owned());
    Sandbox {
        limits: ResourceLimits {
            wall: Duration::from_secs(20),
            cpu_s: 10,
            memory_bytes: 1 << 30,
            file_bytes: 1 << 20,
            open_files: 64,
            output_bytes: 64 << 10,
        },
        access: Access {
            read,
            write: Vec::new(),
        },
        calls: Calls::Compiler,
        without: Vec::new(),
    }
}

impl Sandbox {
    fn recorder(self) -> Sandbox {
        Sandbox {
            calls: Calls::Recorder,
            ..self
        }
    }

    fn without(self, layers: &[Layer]) -> Sandbox {
        Sandbox {
            without: layers.to_vec(),
            ..self
        }
    }

    fn within(mut self, change: impl FnOnce(&mut ResourceLimits)) -> Sandbox {
        change(&mut self.limits);
        self
    }

    fn writing(mut self, path: &Path) -> Sandbox {
        self.access.write.push(path.to_owned());
        self
    }

    fn probe(&self, arguments: &[&str]) -> Finished {
        let mut command = Command::new(probe());
        self.run(command.args(arguments), b"").unwrap()
    }
}

impl Finished {
    fn said(&self) -> &str {
        assert_eq!(self.end, End::Exited(0), "{self:?}");
        std::str::from_utf8(&self.stdout).unwrap().trim_end()
    }
}

/// The layers of this machine: one that it lacks is not tested, and said to be lacking.
fn offers(layer: Layer) -> bool {
    let offered = sandbox().probe(&["echo"]).in_force.has(layer);
    if !offered {
        skip(
            Need::Sandbox,
            format!("this machine has no `{}`", layer.name()),
        );
    }
    offered
}

const EVERY_LINUX: [Layer; 3] = [Layer::Limits, Layer::Deadline, Layer::Privileges];
const OTHERS: [Layer; 4] = [
    Layer::Files,
    Layer::SystemCalls,
    Layer::Network,
    Layer::Processes,
];

#[test]
fn input_output_and_exit_code_pass() {
    for sandbox in [sandbox(), sandbox().recorder(), sandbox().without(&OTHERS)] {
        let mut command = Command::new(probe());
        let text = "line\n".repeat(5000);
        let finished = sandbox.run(command.arg("echo"), text.as_bytes()).unwrap();
        assert_eq!(finished.end, End::Exited(0));
        assert_eq!(finished.stdout, text.as_bytes());
        assert_eq!(finished.stderr, b"told");
        for layer in EVERY_LINUX {
            assert!(finished.in_force.has(layer), "{layer:?}");
        }
        assert_eq!(sandbox.probe(&["exit"]).end, End::Exited(7));
        assert_eq!(sandbox.probe(&["abort"]).end, End::Signal(libc::SIGABRT));
    }
}

#[test]
fn what_is_left_out_is_not_in_force() {
    for layer in OTHERS {
        let finished = sandbox().without(&[layer]).probe(&["echo"]);
        assert!(finished.succeeded());
        assert!(!finished.in_force.has(layer), "{layer:?}");
    }
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let error = sandbox()
        .run(&mut Command::new("/no/such/program"), b"")
        .unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn the_environment_is_what_was_set() {
    let mut command = Command::new(probe());
    let finished = sandbox()
        .run(command.arg("environment").env("TMPDIR", "/x"), b"")
        .unwrap();
    assert_eq!(finished.said(), "TMPDIR=/x");
}

#[test]
fn files_outside_cannot_be_read() {
    if !offers(Layer::Files) {
        return;
    }
    let denied = "Permission denied (os error 13)";
    for sandbox in [sandbox(), sandbox().recorder()] {
        assert_eq!(sandbox.probe(&["read", "/etc/passwd"]).said(), denied);
        assert_eq!(
            sandbox.probe(&["read", "/proc/self/environ"]).said(),
            denied
        );
    }
    // It is Landlock that denies it.
    let open = sandbox().without(&[Layer::Files]);
    assert!(
        open.probe(&["read", "/etc/passwd"])
            .said()
            .starts_with("read ")
    );
}

#[test]
fn only_its_own_folder_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&inside).unwrap();
    let sandbox = sandbox().writing(&inside);
    let create = |path: &Path| {
        let finished = sandbox.probe(&["create", path.to_str().unwrap()]);
        finished.said().to_owned()
    };
    assert_eq!(create(&inside.join("file")), "created");
    if offers(Layer::Files) {
        assert_eq!(create(&outside), "Permission denied (os error 13)");
        assert!(!outside.exists());
    }
}

#[test]
fn a_recorder_creates_no_file_and_writes_the_one_that_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let given = folder.path().join("given");
    fs::write(&given, "").unwrap();
    let new = folder.path().join("new");
    // Twice refused: each protection alone suffices.
    for without in [&[][..], &[Layer::Files], &[Layer::SystemCalls]] {
        let sandbox = sandbox().recorder().writing(&given).without(without);
        let finished = sandbox.probe(&["overwrite", given.to_str().unwrap()]);
        assert_eq!(finished.said(), "overwritten");
        if finished.in_force.has(Layer::Files) || finished.in_force.has(Layer::SystemCalls) {
            let create = sandbox.probe(&["create", new.to_str().unwrap()]);
            assert_ne!(create.said(), "created", "without {without:?}");
            assert!(!new.exists());
        }
    }
}

#[test]
fn there_is_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connect = |sandbox: &Sandbox| sandbox.probe(&["connect", &address]);
    // Thrice refused: each protection alone suffices.
    for alone in [Layer::Network, Layer::SystemCalls, Layer::Files] {
        let without: Vec<Layer> = OTHERS.into_iter().filter(|&l| l != alone).collect();
        let finished = connect(&sandbox().without(&without));
        if finished.in_force.has(alone) {
            assert_ne!(finished.said(), "connected", "with {alone:?} alone");
        }
    }
    if offers(Layer::SystemCalls) {
        let finished = connect(&sandbox().recorder());
        assert_eq!(finished.end, End::ForbiddenCall);
    }
    let open = connect(&sandbox().without(&OTHERS));
    assert_eq!(open.said(), "connected");
}

#[test]
fn a_recorder_starts_nothing() {
    if !offers(Layer::SystemCalls) {
        return;
    }
    let sandbox = sandbox().recorder();
    for misdeed in [
        &["run", "/usr/bin/env"][..],
        &["forks"],
        &["thread"],
        &["trace"],
    ] {
        assert_eq!(
            sandbox.probe(misdeed).end,
            End::ForbiddenCall,
            "{misdeed:?}"
        );
    }
    // Without a namespace of processes too.
    let sandbox = sandbox.without(&[Layer::Network, Layer::Processes]);
    assert_eq!(sandbox.probe(&["forks"]).end, End::ForbiddenCall);
}

#[test]
fn compilers_start_programs_but_trace_nothing() {
    let sandbox = sandbox();
    assert_eq!(
        sandbox.probe(&["run", "/usr/bin/true"]).said(),
        "exit status: 0"
    );
    assert!(sandbox.probe(&["thread"]).said().starts_with("Ok"));
    if offers(Layer::SystemCalls) {
        assert_eq!(sandbox.probe(&["trace"]).said(), "-1");
    }
}

/// Where no namespace hides the others, and Landlock does not keep signals inside.
#[test]
fn other_processes_are_out_of_reach() {
    if !offers(Layer::SystemCalls) {
        return;
    }
    let without = [Layer::Files, Layer::Network, Layer::Processes];
    let meddle = |sandbox: Sandbox, with: &str| {
        let finished = sandbox.without(&without).probe(&["meddle", with]);
        finished.said().to_owned()
    };
    for with in ["owner", "signal", "owner_ex", "prlimit64 of the caller"] {
        for sandbox in [sandbox(), sandbox().recorder()] {
            let said = meddle(sandbox, with);
            assert!(said == "[-1, 0]" || said == "[-1, 1]", "{with}: {said}");
        }
    }
    for with in ["tgkill", "prlimit64"] {
        assert_eq!(meddle(sandbox().recorder(), with), "[-1, 0]", "{with}");
    }
    // It is the filter that refuses it.
    let open = sandbox().without(&OTHERS);
    for with in ["tgkill", "prlimit64", "owner"] {
        let said = open.probe(&["meddle", with]).said().to_owned();
        assert!(said.starts_with("[0, "), "{with}: {said}");
    }
}

/// Processes whose command line is the probe's own with this argument.
fn running(argument: &str) -> usize {
    let wanted = [probe().to_str().unwrap(), argument].join("\0");
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .filter(|line| line.starts_with(wanted.as_bytes()))
        .count()
}

#[test]
fn forks_die_with_the_program() {
    if !offers(Layer::Processes) {
        return;
    }
    let finished = sandbox().probe(&["forks"]);
    assert_eq!(finished.said(), "forked 1000");
    // They sleep a minute, in sessions of their own.
    assert_eq!(running("forks"), 0);
}

#[test]
fn a_file_ends_at_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let arguments = ["fill", file.to_str().unwrap()];
    for without in [&[][..], &[Layer::Processes]] {
        let sandbox = sandbox().recorder().writing(&file).without(without);
        assert_eq!(sandbox.probe(&arguments).end, End::FileTooLarge);
        assert_eq!(fs::metadata(&file).unwrap().len(), 1 << 20);
    }
}

#[test]
fn open_files_are_few() {
    let finished = sandbox().probe(&["open", "/etc/ld.so.cache"]);
    let said = finished.said();
    assert!(said.starts_with("Too many open files"), "{said}");
}

#[test]
fn endless_output_ends() {
    let start = Instant::now();
    let finished = sandbox().probe(&["print"]);
    assert_eq!(finished.end, End::TooMuchOutput);
    assert_eq!(finished.stdout.len(), 64 << 10);
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn sleep_ends_at_the_deadline() {
    for without in [&[][..], &OTHERS] {
        let sandbox = sandbox()
            .without(without)
            .within(|limits| limits.wall = Duration::from_millis(300));
        let start = Instant::now();
        assert_eq!(sandbox.probe(&["sleep"]).end, End::TimedOut);
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!(running("sleep"), 0);
    }
}

#[test]
fn a_loop_ends_with_its_cpu_time() {
    let sandbox = sandbox().within(|limits| limits.cpu_s = 1);
    let start = Instant::now();
    assert_eq!(sandbox.probe(&["spin"]).end, End::TimedOut);
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "not the deadline"
    );
}

#[test]
fn memory_ends_at_its_limit() {
    for without in [&[][..], &OTHERS] {
        let finished = sandbox().recorder().without(without).probe(&["allocate"]);
        assert_eq!(finished.end, End::Signal(libc::SIGABRT));
        let said = String::from_utf8(finished.stderr).unwrap();
        assert!(said.starts_with("memory allocation of "), "{said}");
    }
}

/// Root in a sandbox cannot do what root can.
#[test]
fn privileges_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for without in [&[][..], &OTHERS] {
        let sandbox = sandbox().writing(folder.path()).without(without);
        let finished = sandbox.probe(&["chown", file.to_str().unwrap()]);
        assert!(finished.said().ends_with(" -1"), "{finished:?}");
    }
}

/// Says that these tests run where something is lacking, and need not run themselves again.
const LACKING: &str = "SANDBOX_TESTS_LACK";

/// These tests where the kernel or a container offers less: each skips what it cannot test.
#[test]
fn they_pass_where_protections_are_missing() {
    if std::env::var_os(LACKING).is_some() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    for (lacking, said) in [
        // Docker, with the profile that it has by default.
        (&[Means::Namespaces][..], &["`processes`"][..]),
        (
            &[Means::Landlock, Means::Namespaces, Means::Seccomp],
            &["`files`", "`system calls`", "`processes`"],
        ),
    ] {
        let mut tests = Command::new(&own);
        tests.arg("--nocapture").env(LACKING, "1");
        let text = test_support::passed_lacking(&mut tests, lacking);
        for layer in said {
            let skipped = format!("skipped: this machine has no {layer}");
            assert!(text.contains(&skipped), "without {lacking:?}: {text}");
        }
    }
}
