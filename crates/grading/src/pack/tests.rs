//! Real submissions through all of it. What the screen would refuse is tested without it: the sandbox alone must do.

use std::time::Instant;

use test_support::{Need, skip};

use super::*;

const KERNELS: &str = include_str!("tests/kernels.rs");
const LAUNCH: &str = include_str!("tests/launch.rs");

const COURSE: &str = "\
format_version = 1
lab = \"poisson\"
[tolerance]
rule = \"exact\"
[[case]]
name = \"small\"
group = \"small\"
points = 1.0
params = { n = 5, iterations = 2 }
[[case]]
name = \"hidden\"
group = \"hidden\"
points = 1.0
params = { n = 9, iterations = 3 }
[[case]]
name = \"other\"
group = \"small\"
points = 1.0
params = { n = 4, iterations = 1 }
";

fn course() -> &'static Course {
    static COURSE_READ: OnceLock<Course> = OnceLock::new();
    COURSE_READ.get_or_init(|| Course::parse(COURSE, "lab.toml").unwrap())
}

/// As by default, with this course.
fn options() -> Options {
    Options {
        without_landlock: !sandbox::confines_files(),
        ..Options::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
    }
}

/// What is built once for all tests.
fn dependencies() -> &'static Dependencies {
    static BUILT: OnceLock<Dependencies> = OnceLock::new();
    BUILT.get_or_init(|| {
        let packer = Packer::new(options());
        let built = packer.dependencies();
        built.unwrap_or_else(|error| panic!("{error}")).clone()
    })
}

fn packer(options: Options) -> Packer {
    Packer {
        dependencies: OnceLock::from(dependencies().clone()),
        building: Mutex::default(),
        able: OnceLock::new(),
        options,
    }
}

/// With this in place of the body of the function that records.
fn sources(body: &str) -> Sources {
    let (before, rest) = LAUNCH.split_once("// RECORD").unwrap();
    let (own, after) = rest.split_once("// END").unwrap();
    let body = if body.is_empty() { own } else { body };
    Sources {
        kernels: KERNELS.to_owned(),
        launch: format!("{before}{body}{after}"),
    }
}

fn packed(sources: &Sources, options: Options) -> Result<Bundle, Failing> {
    packer(options)
        .pack(sources, course())
        .map_err(|error| match error {
            PackError::Refused(failing) => *failing,
            other => panic!("{other}"),
        })
}

fn build(sources: &Sources, options: Options) -> Result<Bundle, (Kind, String)> {
    packed(sources, options).map_err(|failing| (failing.kind, failing.message))
}

#[test]
fn a_submission_becomes_a_bundle() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.rs"), KERNELS).unwrap();
    std::fs::write(folder.path().join("launch.rs"), LAUNCH).unwrap();
    // Whatever else is there does not count.
    std::fs::write(folder.path().join("build.rs"), "compile_error!();").unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[").unwrap();
    let packer = packer(options());
    let pack = || {
        packer
            .pack(&Sources::read(folder.path()).unwrap(), course())
            .unwrap()
    };
    let bundle = pack();
    assert_eq!(bundle.lab, "poisson");
    assert!(bundle.ptx.contains(".entry halve"));
    assert!(!bundle.ptx.contains("harness-pack-"), "no folder's name");
    let cases: Vec<_> = bundle
        .cases
        .iter()
        .map(|case| (case.name.as_str(), case.plan.commands().count()))
        .collect();
    assert_eq!(cases, [("small", 2), ("hidden", 3), ("other", 1)]);
    assert_eq!(bundle.cases[1].problem["n"], 9);
    assert!(bundle.protections.iter().any(|p| p.in_force));
    // The same again, to the last bit.
    let again = pack();
    assert_eq!(
        again.packed().unwrap().sha256,
        bundle.packed().unwrap().sha256
    );
}

/// On a machine with nothing but limits and a deadline.
#[test]
fn it_works_where_protections_are_missing() {
    let without = vec![
        Layer::Files,
        Layer::SystemCalls,
        Layer::Network,
        Layer::Processes,
    ];
    let options = Options {
        without: without.clone(),
        without_landlock: true,
        ..options()
    };
    let bundle = build(&sources(""), options).unwrap();
    for layer in Layer::ALL {
        let name = format!("sandbox: {}", layer.name());
        let protection = bundle.protections.iter().find(|p| p.name == name).unwrap();
        assert_eq!(protection.in_force, !without.contains(&layer), "{name}");
    }
}

#[test]
fn compilers_say_where() {
    let (kind, message) = build(&sources("let n: u32 = 1.5;"), options()).unwrap_err();
    assert_eq!(kind, Kind::CompileError);
    assert!(message.starts_with("launch.rs does not compile:\n"));
    assert!(message.contains("--> launch.rs:17:"), "{message}");
    let broken = Sources {
        kernels: KERNELS.replace("0.5", "\"x\""),
        ..sources("")
    };
    let (kind, message) = build(&broken, options()).unwrap_err();
    assert_eq!(kind, Kind::CompileError);
    assert!(message.starts_with("kernels.rs does not compile:\n"));
    assert!(message.contains("--> kernels.rs:11:"), "{message}");
}

/// A submission may use clusters. Its PTX is for devices that have them.
#[test]
fn kernels_for_newer_devices() {
    let clusters = |attribute: &str| Sources {
        kernels: KERNELS
            .replace("#[kernel]", attribute)
            .replace("let i = ", "cluster::sync();\n    let i = "),
        ..sources("")
    };
    let newer = clusters("#[kernel(capability = \"9.0\")]");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.rs"), &newer.kernels).unwrap();
    std::fs::write(folder.path().join("launch.rs"), &newer.launch).unwrap();
    let newer = Sources::read(folder.path()).unwrap();
    let bundle = build(&newer, options()).unwrap();
    assert!(bundle.ptx.contains(".target sm_90"));
    assert!(bundle.ptx.contains("barrier.cluster.arrive.aligned"));
    let bundle = build(&sources(""), options()).unwrap();
    assert!(bundle.ptx.contains(".target sm_80"));

    let (kind, message) = build(&clusters("#[kernel]"), options()).unwrap_err();
    assert_eq!(kind, Kind::CompileError);
    assert!(
        message.starts_with("kernels.rs: `halve` uses thread block clusters"),
        "{message}"
    );
}

/// Host code alone, compiled.
fn recorder(sources: &Sources) -> Result<(), (Kind, String)> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let lab = AnyLab::find("poisson").unwrap().type_path;
    match compile::recorder(sources, &dependencies().host, lab, &folder, &options()) {
        Ok(_) => Ok(()),
        Err(PackError::Refused(failing)) => Err((failing.kind, failing.message)),
        // The machine has the crate or has not; the submission that is known to be good tells.
        Err(PackError::HostCompiler { said, .. }) => Err((Kind::CompileError, said)),
        Err(other) => panic!("{other}"),
    }
}

/// However it is spelled: the screen is left out here, and what remains has no such name.
#[test]
fn host_code_names_nothing_that_reaches_outside() {
    for body in [
        "std::fs::read(\"/etc/passwd\").unwrap(); todo!()",
        "macro_rules! read { ($s:ident, $fs:ident) => { $s::$fs::read(\"/etc/passwd\") } } read!(std, fs).unwrap(); todo!()",
        "macro_rules! from { ($e:tt $c:tt $s:tt) => { $e $c $s as other; } } from!(extern crate alloc); todo!()",
        "drop(::std::net::TcpStream::connect(\"127.0.0.1:9\")); todo!()",
        "drop(std::process::Command::new(\"/bin/true\").status()); todo!()",
        "drop(std::thread::spawn(|| ())); todo!()",
        "use std::env::args; todo!()",
        "macro_rules! hidden { ($s:ident) => { $s::real::fs::read(\"/etc/passwd\") } } hidden!(std).unwrap(); todo!()",
        "extern crate libc; todo!()",
        "extern crate serde_json; todo!()",
        "macro_rules! u { ($u:tt) => { $u { *(8 as *const u32) } } } assert!(u!(unsafe) > 1); todo!()",
    ] {
        let (kind, message) = recorder(&sources(body)).unwrap_err();
        assert_eq!(kind, Kind::CompileError, "{body}: {message}");
        assert!(message.contains("--> launch.rs:"), "{message}");
    }
}

/// What computes is there, without being imported too.
#[test]
fn host_code_has_what_computes() {
    let body = "use std::collections::{BTreeMap, HashMap, VecDeque};
        use std::fmt::Write as _;
        use std::{cmp::Ordering, iter::repeat_n, ops::Range, rc::Rc, sync::{Mutex, OnceLock}};
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        struct Tile { side: u32 }
        static CALLS: Mutex<u32> = Mutex::new(0);
        static SIDE: OnceLock<u32> = OnceLock::new();
        *CALLS.lock().unwrap() += 1;
        let mut sides: HashMap<Tile, Vec<u32>> = HashMap::new();
        sides.entry(Tile { side: *SIDE.get_or_init(|| 8) }).or_default().push(1);
        let mut text = String::new();
        write!(text, \"{sides:?} {:?}\", BTreeMap::from([(1, 2)])).unwrap();
        let range: Range<u32> = 0..4;
        let waves: VecDeque<f64> = range.map(|i| f64::from(i).sqrt().sin().powi(2)).collect();
        let shared: Rc<Box<dyn Fn(f32) -> f32>> = Rc::new(Box::new(|x: f32| x.mul_add(2.0, 1.0).exp()));
        println!(\"{text} {waves:?} {:?}\", shared(1.5).partial_cmp(&2.0) == Some(Ordering::Less));
        eprintln!(\"{}\", format!(\"{:?}\", vec![1; 3]) + &repeat_n('x', 3).collect::<String>());
        debug_assert!(std::mem::size_of::<Tile>() == size_of::<u32>() && matches!(1u32.try_into(), Ok(1u8)));
        Ok(Outputs { u: buffers.u })";
    recorder(&sources(body)).unwrap();
}

/// What the text does not show, the compiler does: the files and variables that it took, and what macros became.
#[test]
fn what_macros_hide_is_found() {
    let hidden = |kernels: &str, body: &str| Sources {
        kernels: format!("{KERNELS}\n{kernels}"),
        ..sources(body)
    };
    // Every machine has them, and every compiler may read them.
    let public = dependencies()
        .host
        .library
        .join("../../../../lib/rustlib/components");
    let public = public.canonicalize().unwrap();
    let public = public.display();
    let source = dependencies()
        .device
        .tools()
        .library_source
        .join("library/core/src/lib.rs");
    let source = source.display();
    for (sources, expected) in [
        (
            hidden("", &format!("macro_rules! c {{ ($($m:tt)*) => {{ $($m)*!({:?}) }} }} assert!(c!(core::include_str).len() > 9); todo!()", public.to_string())),
            format!("launch.rs: compiling it reads {public}: a submission is its two files, and reads no others"),
        ),
        (
            hidden(&format!("macro_rules! c {{ ($($m:tt)*) => {{ $($m)*!({:?}) }} }} pub const TEXT: &[u8] = c!(core::include_bytes);", source.to_string()), ""),
            format!("kernels.rs: compiling it reads {source}: a submission is its two files, and reads no others"),
        ),
        (
            hidden("", "macro_rules! c { ($($m:tt)*) => { $($m)*!(\"PATH\") } } assert!(c!(core::option_env).is_none()); todo!()"),
            "launch.rs: compiling it reads the environment variable PATH: a submission does not depend on the machine that compiles it".to_owned(),
        ),
        (
            hidden("macro_rules! a { ($($m:tt)*) => { unsafe { $($m)*!(\"trap;\") } } } #[cfg(target_arch = \"nvptx64\")] pub fn f() { a!(core::arch::asm) }", ""),
            "kernels.rs: its macros become `asm!`: kernels are Rust; cuda_std has the instructions that Rust cannot spell".to_owned(),
        ),
        (
            hidden("macro_rules! a { ($h:tt $e:tt) => { unsafe $e \"C\" { fn getpid() -> i32; } } } a!(# extern);", ""),
            "kernels.rs: its macros become `extern`: a submission calls nothing but Rust; cuda_std has the device's functions".to_owned(),
        ),
        (
            hidden("macro_rules! a { ($h:tt) => { $h[unsafe(link_section = \".init_array\")] pub static F: fn() = f; } } fn f() {} #[cfg(not(target_arch = \"nvptx64\"))] a!(#);", ""),
            "kernels.rs: its macros become `#[link_section]`: only #[kernel] gives functions their names and places in the PTX".to_owned(),
        ),
    ] {
        let (kind, message) = build(&sources, options()).unwrap_err();
        assert_eq!((kind, message), (Kind::ForbiddenConstruct, expected));
    }
}

/// Nothing of the course's solutions: neither where they lie nor what was compiled of them, nor this program.
#[test]
fn compilers_cannot_read_the_reference() {
    if !sandbox::confines_files() {
        return skip(Need::Sandbox, "this machine has no Landlock");
    }
    let root = options().course_root.canonicalize().unwrap();
    let own = std::env::current_exe().unwrap();
    let built = dependencies().device.libraries()[0].clone();
    let cache = options().cache_folder();
    let mut secrets = vec![
        root.join("kernels-gpu/solutions/wave2d/shmem/kernels.rs"),
        root.join("Cargo.toml"),
        own,
    ];
    // What cargo left beside the originals.
    let mut folders = vec![cache.join("cuda-builder"), cache.join("debug")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let is_of_kernels = path.extension().is_some_and(|it| it == "ptx" || it == "ll");
            match path.is_dir() {
                true if secrets.len() < 8 => folders.push(path),
                _ if is_of_kernels && secrets.len() < 8 => secrets.push(path),
                _ => {}
            }
        }
    }
    let text: String = secrets
        .iter()
        .map(|secret| {
            format!(
                "compile_error!(core::include_str!({:?}));\n",
                secret.display().to_string()
            )
        })
        .collect();
    for sources in [
        Sources {
            kernels: format!("{KERNELS}\n{text}"),
            ..sources("")
        },
        Sources {
            launch: format!("{LAUNCH}\n{text}"),
            ..sources("")
        },
    ] {
        let (kind, message) = build(&sources, options()).unwrap_err();
        assert_eq!(kind, Kind::CompileError);
        let refused = message.matches("error: couldn't read").count();
        assert_eq!(refused, secrets.len(), "{message}");
    }
    // The folders that they do read hold the crates for submissions, and those have no solution's kernel.
    let given = built.parent().unwrap();
    let crates = &dependencies().host.folders;
    for folder in crates.iter().map(PathBuf::as_path).chain([given]) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let shows = bytes.windows(12).any(|window| window == b"wave2d_shmem");
            assert!(!shows, "{}", path.display());
        }
    }
}

/// Where they lie in a folder that compilers read, nothing is packed.
#[test]
fn a_readable_secret_is_refused() {
    let secret = tempfile::tempdir().unwrap();
    let inside = secret.path().join("course/solutions");
    std::fs::create_dir_all(&inside).unwrap();
    let read = [secret.path().to_owned(), "/lib".into()];
    let error = compile::keeps(&read, &[inside]).unwrap_err().to_string();
    assert!(error.contains("course/solutions: is in "), "{error}");
    compile::keeps(&read[1..], &[secret.path().to_owned()]).unwrap();
}

/// Without Landlock, a submission could read the reference.
#[test]
fn without_landlock_nothing_is_packed_unasked() {
    let options = Options {
        without: vec![Layer::Files],
        without_landlock: false,
        ..options()
    };
    let error = packer(options).pack(&sources(""), course()).unwrap_err();
    assert!(matches!(error, PackError::NotConfined), "{error}");
    assert!(error.to_string().contains("--without-landlock"));
}

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

/// What a program can do that is given what the recorder is given. None of it can be spelled in a submission's own Rust: this
/// is what the sandbox is for.
#[test]
fn the_recorder_is_confined() {
    let everything = build(&sources(""), options()).unwrap().protections;
    let all_in_force = everything.iter().all(|protection| protection.in_force);
    if !all_in_force {
        return skip(Need::Sandbox, "this machine lacks a protection");
    }
    for (body, expected) in [
        (
            "std::fs::read(\"/etc/passwd\").unwrap();",
            Kind::RecorderFailed,
        ),
        (
            "std::fs::write(\"/tmp/harness-was-here\", \"x\").unwrap();",
            Kind::RecorderFailed,
        ),
        (
            "drop(std::net::TcpStream::connect(\"127.0.0.1:9\"));",
            Kind::RecorderForbidden,
        ),
        (
            "drop(std::process::Command::new(\"/bin/true\").status());",
            Kind::RecorderForbidden,
        ),
        ("drop(std::thread::spawn(|| ()));", Kind::RecorderForbidden),
    ] {
        let (kind, message) = recorded(body).unwrap_err();
        assert_eq!(kind, expected, "{body}: {message}");
    }
    assert!(!Path::new("/tmp/harness-was-here").exists());
}

/// What becomes of a recorder that is this program, asked for `small`.
fn recorded(main: &str) -> Result<Vec<plan::Plan>, (Kind, String)> {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let source = folder.join("main.rs");
    std::fs::write(&source, format!("fn main() {{ {main} }}")).unwrap();
    let program = folder.join("recorder");
    let status = std::process::Command::new(&dependencies().host.rustc)
        .args(["--edition=2024", "-o"])
        .args([&program, &source])
        .status();
    assert!(status.unwrap().success());
    let task = tasks(course(), false).unwrap().remove(0);
    match record::plans(&program, &[task], &folder, &options()) {
        Ok((plans, _)) => Ok(plans),
        Err(PackError::Refused(failing)) => Err((failing.kind, failing.message)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn recording_ends_well_or_is_refused() {
    for (body, expected) in [
        ("std::process::exit(0)", Kind::RecorderFailed),
        (
            "loop { println!(\"{}\", \"y\".repeat(1 << 16)) }",
            Kind::RecorderLimit,
        ),
        (
            "let all = vec![1u8; 100 << 30]; panic!(\"{}\", all[7])",
            Kind::RecorderLimit,
        ),
        (
            "let mut all = Vec::new(); loop { all.push(vec![7u8; 1 << 20]); assert!(!all.is_empty()) }",
            Kind::RecorderLimit,
        ),
    ] {
        let (kind, message) = build(&sources(body), options()).unwrap_err();
        assert_eq!(kind, expected, "{body}: {message}");
    }
}

/// What students are shown cannot have come from a hidden case: those are recorded by another process, and last.
#[test]
fn hidden_cases_are_not_revealed() {
    let told = |body: &str| {
        let own = LAUNCH.split_once("// RECORD").unwrap().1;
        let own = own.split_once("// END").unwrap().0;
        packed(&sources(&format!("{body}\n{own}")), options())
    };
    let failing = told("assert!(problem.n != 9, \"n is {}\", problem.n);").unwrap_err();
    assert!(failing.message.contains("n is 9"), "{}", failing.message);
    assert!(failing.knew_hidden);
    let failing = told(
        "if problem.n == 9 { plan.launch(\"n_is_9\", LaunchConfig::covering(1, 1)?, args![])?; }",
    );
    let failing = failing.unwrap_err();
    assert!(
        failing.message.ends_with("[plan_invalid]"),
        "{}",
        failing.message
    );
    assert!(failing.knew_hidden);
    // However it fails, that is all that a student learns.
    for body in [
        "assert!(problem.n != 9);",
        "if problem.n == 9 { std::process::exit(3) }",
        "if problem.n == 9 { std::process::abort() }",
        "if problem.n == 9 { loop { drop(vec![1u8; 100 << 30]) } }",
        "if problem.n == 9 { loop { println!(\"{}\", \"y\".repeat(1 << 16)) } }",
        "if problem.n == 9 { plan.launch(\"n_is_9\", LaunchConfig::covering(1, 1)?, args![])?; }",
    ] {
        let failing = told(body).unwrap_err();
        assert_eq!(failing.kind, Kind::RecorderFailed, "{body}");
        assert!(failing.knew_hidden, "{body}");
        assert!(
            failing.message.starts_with("in a hidden case: "),
            "{}",
            failing.message
        );
    }
    let failing = told("assert!(problem.n == 9, \"n is {}\", problem.n);").unwrap_err();
    assert!(failing.message.contains("n is 5"), "{}", failing.message);
    assert!(!failing.knew_hidden);
    // `other` comes after `hidden` in the lab file, and yet knows nothing of it.
    let remember =
        "static KNOWN: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
                    let before = KNOWN.swap(problem.n, std::sync::atomic::Ordering::Relaxed);
                    assert!(before != 9 && (problem.n != 9 || before == 0), \"n was {before}\");";
    assert!(told(remember).is_ok());
}

#[test]
fn recording_ends_in_time() {
    let options = Options {
        record: ResourceLimits {
            wall: Duration::from_secs(1),
            cpu_s: 1,
            ..options().record
        },
        ..options()
    };
    let start = Instant::now();
    let (kind, message) = build(&sources("loop {}"), options).unwrap_err();
    assert_eq!(kind, Kind::RecorderTimedOut, "{message}");
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// A submission may write anything to the file; it is read as untrusted input.
#[test]
fn a_forged_result_is_found() {
    let forge = |text: &str| {
        recorded(&format!(
            "let file = std::env::args().nth(1).unwrap();
             let mut file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
             std::io::Write::write_all(&mut file, b{text:?}).unwrap();"
        ))
    };
    let kind = |text: &str| forge(text).unwrap_err().0;
    assert_eq!(kind("{\"earned\":100}\n"), Kind::PlanMalformed);
    let plan = "{\"name\":\"small\",\"plan\":{\"name\":\"small\",\"buffers\":[],\"outputs\":[],\"kernels\":[],\
                \"configs\":[],\"args\":[],\"commands\":[]}}\n";
    // A plan is a plan, whoever wrote it. Whether it is one of the lab's is looked at later.
    assert_eq!(forge(plan).unwrap().len(), 1);
    assert_eq!(kind(&format!("{plan}{plan}")), Kind::PlanMalformed);
    assert_eq!(
        kind(&plan.replace("\"small\"", "\"other\"")),
        Kind::PlanMalformed
    );
    let problem = tasks(course(), false).unwrap()[0].problem.clone();
    let module = Module::new("kernels.rs", build(&sources(""), options()).unwrap().ptx);
    let plan = &forge(plan).unwrap()[0];
    let fits = plan_check::fits("poisson", &problem, plan, &module, &LaunchLimits::COMMON);
    let Err(Outcome::Failed(failing)) = fits else {
        panic!("it has no buffers")
    };
    assert_eq!(failing.kind, Kind::PlanInvalid);
}

/// What a compiler never gets done with, or not within what it may use. On real submissions the limits are larger.
#[test]
fn compilers_end_in_time_and_space() {
    let limits = ResourceLimits {
        wall: Duration::from_secs(4),
        cpu_s: 2,
        memory_bytes: 1 << 30,
        file_bytes: 32 << 20,
        ..options().compile
    };
    let with = |more: &str| Sources {
        kernels: format!("{KERNELS}\n{more}"),
        ..sources("")
    };
    let endless = "#[allow(long_running_const_eval)] pub const N: u32 = { let mut n = 1u32; while n != 0 { n = n.wrapping_add(2) } n };";
    // As many statements as leaves of a binary tree.
    let doubling = |depth: u32, leaf: &str| {
        let mut text = format!("macro_rules! d0 {{ ($x:ident) => {{ {leaf} }} }}\n");
        for i in 1..=depth {
            let below = i - 1;
            text += &format!(
                "macro_rules! d{i} {{ ($x:ident) => {{ d{below}!($x); d{below}!($x); }} }}\n"
            );
        }
        text
    };
    let kernel = |depth: u32| {
        format!(
            "#[kernel]\npub unsafe fn long(u: *mut f32) {{ let mut x = 1.0f32; d{depth}!(x); unsafe {{ *u = x }} }}"
        )
    };
    let unrolled = |depth| {
        let leaf = "$x = $x * $x + core::hint::black_box($x);";
        doubling(depth, leaf) + &kernel(depth)
    };
    let table = |len: usize| {
        format!(
            "static TABLE: [u32; {len}] = {{ let mut t = [0; {len}]; t[1] = 1; t[{len} - 1] = 7; t }};
             #[kernel]\npub unsafe fn look(u: *mut u32, i: u32) {{ unsafe {{ *u = TABLE[i as usize] }} }}"
        )
    };
    let doubles_itself =
        "macro_rules! bomb { ($($t:tt)*) => { bomb! { $($t)* $($t)* } } } bomb! { a b c d }";
    let types = "pub fn f<T>(n: u32) -> usize { if n == 0 { 0 } else { f::<(T, T)>(n - 1) + core::mem::size_of::<T>() } }
         #[kernel]\npub unsafe fn k(u: *mut usize, n: u32) { unsafe { *u = f::<u8>(n) } }";
    let (time, memory) = (
        "takes more than 2 s of CPU time",
        "takes more than 1 GiB of memory, or makes the compiler abort",
    );
    for (bomb, kernels, ends) in [
        (
            "a constant that is never known",
            endless.to_owned(),
            [time, time],
        ),
        (
            "a macro that doubles itself",
            doubles_itself.to_owned(),
            [time, memory],
        ),
        ("types that double", types.to_owned(), [time, memory]),
        (
            "a kernel of a million statements",
            unrolled(20),
            [time, memory],
        ),
        (
            "a table longer than PTX may be",
            table(1 << 20),
            ["gives 12 MiB of PTX; the limit is 8 MiB"; 2],
        ),
        (
            "a table longer than a file may be",
            table(4 << 20),
            ["writes more than 32 MiB", memory],
        ),
    ] {
        let start = Instant::now();
        let options = Options {
            compile: limits,
            ..options()
        };
        let (kind, message) = build(&with(&kernels), options).expect_err(bomb);
        assert_eq!(kind, Kind::BuildLimit, "{bomb}: {message}");
        assert!(
            message.starts_with("kernels.rs: compiling it ")
                && ends.iter().any(|end| message.ends_with(end)),
            "{bomb}: {message}"
        );
        assert!(start.elapsed() < Duration::from_secs(60), "{bomb}");
    }
    // It was their fault, and theirs alone.
    build(&sources(""), options()).unwrap();
}

/// These tests, or those of them that show it, on a machine that lacks what confines.
#[test]
#[cfg(target_os = "linux")]
fn they_pass_where_protections_are_missing() {
    use test_support::Means;
    // Built here, for those too.
    dependencies();
    let own = std::env::current_exe().unwrap();
    for lacking in [
        // Docker, with the profile that it has by default.
        &[Means::Namespaces][..],
        &[Means::Landlock, Means::Namespaces, Means::Seccomp],
    ] {
        let mut tests = std::process::Command::new(&own);
        tests
            .args(["--exact", "--nocapture"])
            .args(
                ["a_submission_becomes_a_bundle", "the_recorder_is_confined"]
                    .map(|name| format!("pack::tests::{name}")),
            )
            .arg("pack::tests::without_landlock_nothing_is_packed_unasked")
            .env_remove("REQUIRE_SANDBOX");
        test_support::lacking(&mut tests, lacking);
        let output = tests.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "without {lacking:?}:\n{text}\n{errors}"
        );
        assert!(
            text.contains("3 passed") && text.contains("skipped: this machine lacks"),
            "{text}"
        );
    }
}
