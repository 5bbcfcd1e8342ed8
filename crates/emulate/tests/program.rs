//! The program as its users meet it: messages and exit codes.
#![cfg(target_os = "linux")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

fn emulate(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_emulate"));
    command.args(args).env_remove("RUST_BACKTRACE");
    command
}

fn run(args: &[&str]) -> String {
    describe(&emulate(args).output().unwrap())
}

/// The exit code, and what was said.
fn describe(output: &Output) -> String {
    let code = output.status.code().expect("it ended by itself");
    let mut text = format!("exit code: {code}\n");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let said = std::str::from_utf8(bytes).unwrap();
            text += &format!("--- {name} ---\n{}\n", said.trim_end());
        }
    }
    text
}

#[test]
fn a_program_without_the_driver() {
    insta::assert_snapshot!(run(&["--", "/bin/sh", "-c", "exit 7"]), @r"
    exit code: 7
    --- stdout ---
    emulate: the program has not used the CUDA driver; the program ended with 7
    --- stderr ---
    error: /bin/sh ended with exit code 7
    ");
}

#[test]
fn threads_that_exit_before_a_barrier_are_noted_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("early.ptx");
    let ptx = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry early()\n{\n\
               .reg .pred %p<1>;\n.reg .b32 %r<1>;\nmov.u32 %r0, %tid.x;\n\
               setp.ge.u32 %p0, %r0, 50;\n@%p0 ret;\nbar.sync 0;\nret;\n}";
    std::fs::write(&file, ptx).unwrap();
    let file = file.to_str().unwrap();
    let args = ["--kernel=early", "--block=128", "--orders=0..2", file];
    insta::assert_snapshot!(run(&args), @r"
    exit code: 0
    --- stdout ---
    order 0: no fault
    order 1: no fault
    order 2: no fault
    --- stderr ---
    note: kernel `early`: 78 threads of 128 had exited in block (0, 0, 0) when the others waited at the barrier at PTX line 11. Exited threads count as arrived. Where that is not meant, put their work under a condition, and let all threads reach the barrier.
    ");
}

/// A device of the generation that is asked for has no room for it, or not its instructions.
#[test]
fn a_kernel_for_other_devices_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.ptx");
    let ptx = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";
    std::fs::write(&file, ptx).unwrap();
    let file = file.to_str().unwrap();
    let of = |capability: &str, shared: &str| {
        let capability = format!("--compute-capability={capability}");
        run(&["--kernel=k", "--block=32", &capability, shared, file])
    };
    insta::assert_snapshot!(of("7.5", "--shared=0"), @r"
    exit code: 2
    --- stderr ---
    error: --compute-capability 7.5: the file is for sm_80 and newer; compile it for sm_75, or emulate a newer device
    ");
    insta::assert_snapshot!(of("8.6", "--shared=102400"), @r"
    exit code: 2
    --- stderr ---
    error: launch of `k`: a block needs 102400 bytes of shared memory (0 declared in the kernel, 102400 asked for by the launch); the device allows 101376; use smaller tiles
    ");
    insta::assert_snapshot!(of("8.0", "--shared=102400"), @r"
    exit code: 0
    --- stdout ---
    order 0: no fault
    ");
    insta::assert_snapshot!(of("6.1", "--shared=0"), @r"
    exit code: 2
    --- stderr ---
    error: invalid value '6.1' for '--compute-capability <X.Y>': `6.1` is not a compute capability from 7.5 on; write 7.5, 8.6, 12.0

    For more information, try '--help'.
    ");
}

#[test]
fn lists_of_known_faults_that_make_no_sense() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("known");
    let of = |text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(&list, text).unwrap();
        }
        let flag = format!("--suppress={}", list.display());
        let said = run(&[&flag, "--", "/bin/true"]);
        said.replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    insta::assert_snapshot!(of(None), @r"
    exit code: 2
    --- stderr ---
    error: --suppress: FOLDER/known: there is no such file
    ");
    let nonsense = of(Some("# why\nrace  *.cu\n"));
    let error = "--suppress: FOLDER/known: line 2: `race  *.cu` begins with no kind of fault";
    assert!(
        nonsense.starts_with("exit code: 2") && nonsense.contains(error),
        "{nonsense}"
    );
    insta::assert_snapshot!(of(Some("# why\nuninitialized read  *.cu:12\n")), @r"
    exit code: 0
    --- stdout ---
    emulate: the program has not used the CUDA driver
    ");
}

#[test]
fn nonsense() {
    insta::assert_snapshot!(run(&["--", "./no-such-program"]), @r"
    exit code: 2
    --- stderr ---
    error: ./no-such-program: not found; write ./NAME for one in this folder
    ");
    insta::assert_snapshot!(run(&["--", ""]), @r"
    exit code: 2
    --- stderr ---
    error: the program's name is empty: write it behind `--`
    ");
    insta::assert_snapshot!(run(&["--", "/usr"]), @r"
    exit code: 2
    --- stderr ---
    error: /usr: this is a folder; name a program in it
    ");
    insta::assert_snapshot!(run(&["no-such-file.ptx"]), @r"
    exit code: 2
    --- stderr ---
    error: no-such-file.ptx: there is no such file
    ");
}

/// The system says of each "not found", and the file is there.
#[test]
fn a_program_that_lacks_what_runs_it() {
    let folder = tempfile::tempdir().unwrap();
    let said = |name: &str, content: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin", folder.path().display());
        let mut command = emulate(&["--", name]);
        describe(&command.env("PATH", path).output().unwrap())
    };
    insta::assert_snapshot!(said("its-script", b"#! /no/such/python3 -u\nprint()\n"), @r"
    exit code: 2
    --- stderr ---
    error: its-script: its first line, `#!/no/such/python3 -u`, names a program that is not there: install /no/such/python3, or mend the line
    ");
    // A program of this system, with a loader of no system.
    let mut program = std::fs::read("/bin/sh").unwrap();
    let mut names = program.windows(4);
    let at = names.position(|bytes| bytes == b"/ld-").unwrap();
    program[at + 1] = b'X';
    insta::assert_snapshot!(said("its-program", &program), @r"
    exit code: 2
    --- stderr ---
    error: its-program: the file is there, and the loader that it asks for is not: it was built for another system; `readelf -l` shows the loader
    ");
}
