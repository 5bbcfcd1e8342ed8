//! Whose fault a failure is, and that the words of compilers do not decide it.

use super::*;
use sandbox::ResourceLimits;

/// Nothing is concluded from what compilers print: a submission chooses it.
#[test]
fn words_of_errors_mean_nothing() {
    for text in [
        "compile_error!(\"linking with `cc` failed: linker `cc` not found\");",
        "compile_error!(\"out of memory: memory allocation of 7 bytes failed\");",
        "const _: () = assert!(false, \"LLVM ERROR: out of memory\");",
    ] {
        let with = |line: &str| format!("{LAUNCH}\n{line}");
        let launch = Sources {
            launch: with(text),
            ..sources("")
        };
        let kernels = Sources {
            kernels: format!("{KERNELS}\n{text}"),
            ..sources("")
        };
        for (sources, file) in [(launch, "launch.rs"), (kernels, "kernels.rs")] {
            let (kind, message) = build(&sources, options()).unwrap_err();
            assert_eq!(kind, Kind::CompileError, "{message}");
            assert!(
                message.starts_with(&format!("{file} does not compile:\n")),
                "{message}"
            );
        }
    }
    let body = "panic!(\"memory allocation of 7 bytes failed\")";
    assert_eq!(
        build(&sources(body), options()).unwrap_err().0,
        Kind::RecorderFailed
    );
}

/// Whose fault an unclear failure is, a submission that is known to be good decides, which fails
/// only if the machine does.
#[test]
fn a_machine_that_cannot_compile_is_not_the_submission_s_fault() {
    let mut broken = dependencies().clone();
    broken.host.rustc = "/bin/false".into();
    let packer = Packer {
        dependencies: OnceLock::from(broken),
        building: Mutex::default(),
        able: AtomicBool::new(false),
        options: options(),
    };
    let error = packer.pack(&sources(""), lab_spec()).unwrap_err();
    assert!(!matches!(error, PackError::Failure(_)), "{error}");
    // No submission is compiled in so little memory.
    let compile = ResourceLimits {
        memory_bytes: 64 << 20,
        ..options().compile
    };
    let small = self::packer(Options {
        compile,
        ..options()
    });
    let failure = small.pack(&sources(""), lab_spec()).unwrap_err();
    assert!(!matches!(failure, PackError::Failure(_)), "{failure}");
}

/// The line that is wrong is none of the submission's: what is amiss is said first.
#[test]
fn a_launch_file_that_is_not_the_lab_s_is_told() {
    let no_struct = LAUNCH.replace("pub struct Submission;", "");
    let no_struct = no_struct.split_once("impl Solution").unwrap().0;
    let private = LAUNCH.replace("pub struct Submission;", "struct Submission;");
    let fields = LAUNCH.replace(
        "pub struct Submission;",
        "pub struct Submission { _n: u32 }",
    );
    let no_impl = "use plan::poisson::Solution as _;\npub struct Submission;\n";
    let other = include_str!("../known_good/launch.rs");
    for (launch, expected) in [
        (no_struct, "launch.rs has no `pub struct Submission;`"),
        (&private, "launch.rs has no `pub struct Submission;`"),
        (&fields, "launch.rs has no `pub struct Submission;`"),
        (
            no_impl,
            "launch.rs does not implement `plan::poisson::Solution` for `pub struct Submission;`",
        ),
        (
            other,
            "launch.rs implements lab `matadd`, but is graded as `poisson`: is `--lab` right?",
        ),
    ] {
        let sources = Sources {
            launch: launch.to_owned(),
            ..sources("")
        };
        let (kind, message) = build(&sources, options()).unwrap_err();
        assert_eq!(kind, Kind::CompileError);
        let start = format!("launch.rs does not compile:\n{expected}\nerror");
        assert!(message.starts_with(&start), "{message}");
    }
}

/// Notes point into the course's crates, and not at where this machine has them.
#[test]
fn messages_name_no_folder_of_this_machine() {
    let root = options().course_root.canonicalize().unwrap();
    for sources in [
        Sources {
            kernels: KERNELS.replace("thread::index_1d()", "thread::index_1d(7)"),
            ..sources("")
        },
        sources("plan.launch(1, 2, 3)?; todo!()"),
    ] {
        let (kind, message) = build(&sources, options()).unwrap_err();
        assert_eq!(kind, Kind::CompileError);
        assert!(message.contains("--> crates/"), "{message}");
        assert!(!message.contains(root.to_str().unwrap()), "{message}");
    }
}
