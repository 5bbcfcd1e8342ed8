//! Whose fault a failure is, and that the words of compilers do not decide it.

use super::*;

/// Nothing is concluded from what compilers print: a submission chooses it.
#[test]
fn words_of_errors_mean_nothing() {
    for text in [
        "compile_error!(\"linking with `cc` failed: linker `cc` not found\");",
        "compile_error!(\"out of memory: memory allocation of 7 bytes failed\");",
        "const _: () = assert!(false, \"LLVM ERROR: out of memory\");",
    ] {
        let with = |text: &str| format!("{LAUNCH}\n{text}");
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

/// Whose fault an unclear failure is, a submission that is known to be good decides, which fails only if the machine does.
#[test]
fn a_machine_that_cannot_compile_is_not_the_submission_s_fault() {
    let mut broken = dependencies().clone();
    broken.host.externs.retain(|(name, _)| name != "core");
    let packer = Packer {
        dependencies: OnceLock::from(broken),
        building: Mutex::default(),
        able: OnceLock::new(),
        options: options(),
    };
    let error = packer.pack(&sources(""), course()).unwrap_err();
    assert!(!matches!(error, PackError::Refused(_)), "{error}");
    // No submission is compiled in so little memory.
    let compile = ResourceLimits {
        memory_bytes: 64 << 20,
        ..options().compile
    };
    let packer = self::packer(Options {
        compile,
        ..options()
    });
    let error = packer.pack(&sources(""), course()).unwrap_err();
    assert!(!matches!(error, PackError::Refused(_)), "{error}");
}
