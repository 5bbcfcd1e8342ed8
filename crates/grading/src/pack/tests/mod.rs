//! Real submissions through all of it. Constructs that the screen refuses are tested without it:
//! the sandbox alone must do.

mod blame;
mod hidden;
mod one_case;
mod reach;

use sandbox::ResourceLimits;
use std::time::Instant;

use test_support::{Need, skip};

use super::*;

const KERNELS: &str = include_str!("kernels.rs");
const LAUNCH: &str = include_str!("launch.rs");

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

fn lab_spec() -> &'static LabSpec {
    static COURSE_READ: OnceLock<LabSpec> = OnceLock::new();
    COURSE_READ.get_or_init(|| LabSpec::parse(COURSE, "lab.toml").unwrap())
}

/// As by default, with this course.
fn options() -> Options {
    Options {
        without_isolation: !sandbox::confines_files(),
        ..Options::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
    }
}

/// The crates that are built once for all tests.
pub fn dependencies() -> &'static Dependencies {
    static BUILT: OnceLock<Dependencies> = OnceLock::new();
    BUILT.get_or_init(|| {
        let packer = Packer::new(options());
        let built = packer.dependencies(&mut |_| {});
        built.unwrap_or_else(|error| panic!("{error}")).clone()
    })
}

fn packer(options: Options) -> Packer {
    Packer::with_dependencies(options, dependencies().clone())
}

/// With this as the body of the function that records.
fn sources(body: &str) -> Sources {
    let (before, rest) = LAUNCH.split_once("// RECORD").unwrap();
    let (own, after) = rest.split_once("// END").unwrap();
    let body = if body.is_empty() { own } else { body };
    Sources {
        kernels: KERNELS.to_owned(),
        launch: format!("{before}{body}{after}"),
    }
}

/// The submission that is known to be good, which does this first.
fn before_recording(body: &str) -> Sources {
    let own = LAUNCH
        .split_once("// RECORD")
        .unwrap()
        .1
        .split_once("// END")
        .unwrap()
        .0;
    sources(&format!("{body}\n{own}"))
}

fn packed(sources: &Sources, options: Options) -> Result<Bundle, Failure> {
    packer(options)
        .pack(sources, lab_spec())
        .map_err(|error| match error {
            PackError::Failure(failure) => *failure,
            other => panic!("{other}"),
        })
}

fn build(sources: &Sources, options: Options) -> Result<Bundle, (Kind, String)> {
    packed(sources, options).map_err(|failure| (failure.kind, failure.message))
}

#[test]
fn a_submission_becomes_a_bundle() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernels.rs"), KERNELS).unwrap();
    std::fs::write(folder.path().join("launch.rs"), LAUNCH).unwrap();
    // Other files do not count.
    std::fs::write(folder.path().join("build.rs"), "compile_error!();").unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "[").unwrap();
    let packer = packer(options());
    let pack = || {
        packer
            .pack(&Sources::read(folder.path()).unwrap(), lab_spec())
            .unwrap()
    };
    let bundle = pack();
    assert_eq!(bundle.lab, "poisson");
    assert!(bundle.ptx.contains(".entry halve"));
    assert!(!bundle.ptx.contains("harness-pack-"), "no folder's name");
    let course = options().course_root.canonicalize().unwrap();
    assert!(!bundle.ptx.contains(course.to_str().unwrap()));
    assert!(
        bundle.ptx.contains("\"crates/cuda_std/src/"),
        "names of files stay"
    );
    let cases: Vec<_> = bundle
        .cases
        .iter()
        .map(|case| {
            let plan = case.plan.as_ref().unwrap();
            (case.name.as_str(), plan.commands().count())
        })
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

/// Launch shapes that a submission declares: its own, after the one that is graded.
#[test]
fn launch_shapes_have_labels_to_be_shown() {
    let shapes = |body: &str| {
        let begin = "impl Solution for Submission {";
        let own = format!(
            "{begin}\n    fn shapes(&self) -> Vec<(String, Box<dyn Solution>)> {{
        let boxed = |label: &str| (label.to_owned(), Box::new(Submission) as Box<dyn Solution>);
        {body}
    }}\n"
        );
        let sources = sources("");
        let launch = sources.launch.replace(begin, &own);
        let sources = Sources { launch, ..sources };
        let lab = host::find_lab("poisson").unwrap();
        match packer(options()).variant(&sources, lab, "./own", own::Purpose::Shapes) {
            Ok((variant, _folder)) => {
                // A plan is recorded in each.
                let case = lab.small_cases().remove(0);
                for shape in &variant.shapes {
                    shape.record(case.as_ref()).unwrap();
                }
                let names = variant.shapes.iter().map(|shape| shape.name.clone());
                Ok(names.collect::<Vec<String>>())
            }
            Err(error) => Err(error.to_string()),
        }
    };
    assert_eq!(
        shapes("[\"t1\", \"t2\"].map(boxed).into()").unwrap(),
        ["./own@graded", "./own@t1", "./own@t2"]
    );
    assert_eq!(shapes("Vec::new()").unwrap(), ["./own@graded"]);
    let refused = |body: &str| shapes(body).unwrap_err();
    insta::assert_snapshot!(refused("vec![boxed(\"\\x1b[31m\")]"), @r#"launch.rs: `Solution::shapes`: label "\u{1b}[31m": 1 to 40 ASCII characters, none of them a blank, a comma or an @"#);
    insta::assert_snapshot!(refused("[\"a\", \"a\"].map(boxed).into()"), @r#"launch.rs: `Solution::shapes`: label "a": is there twice, or is the label of the plan that is graded"#);
    insta::assert_snapshot!(refused("panic!(\"no {}\", boxed(\"a\").0)").lines().next().unwrap(), @"launch.rs: recording panicked; it said:");
}

/// On a laptop, `perf` counts a bundle's plans of other cases than it would time.
#[test]
fn a_bundle_has_what_perf_counts() {
    for lab in host::labs() {
        let tasks = timed_tasks(lab);
        for case in lab.laptop_cases().into_iter().chain(lab.large_cases()) {
            let counted = lab::counted_instead(lab, case.as_ref());
            let problem = counted.unwrap_or(case).problem_json();
            let has_it = tasks.iter().any(|task| task.problem == problem);
            assert!(has_it, "{}: {problem}", lab.name);
        }
    }
}

/// On a Linux with nothing but limits and a deadline.
#[test]
#[cfg(target_os = "linux")]
fn it_works_where_protections_are_missing() {
    let without = vec![
        Layer::Files,
        Layer::SystemCalls,
        Layer::Network,
        Layer::Processes,
    ];
    let options = Options {
        without: without.clone(),
        without_isolation: true,
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
    let (broken_kind, broken_message) = build(&broken, options()).unwrap_err();
    assert_eq!(broken_kind, Kind::CompileError);
    assert!(broken_message.starts_with("kernels.rs does not compile:\n"));
    assert!(
        broken_message.contains("--> kernels.rs:11:"),
        "{broken_message}"
    );
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
    let from_files = Sources::read(folder.path()).unwrap();
    let bundle = build(&from_files, options()).unwrap();
    assert!(bundle.ptx.contains(".target sm_90"));
    assert!(bundle.ptx.contains("barrier.cluster.arrive.aligned"));
    let older = build(&sources(""), options()).unwrap();
    assert!(older.ptx.contains(".target sm_80"));
    // Either says what devices before its own have of it.
    let generations = |ptx: &str| -> Vec<String> {
        let mark = "// cuda_std.generation ";
        let marks = ptx.lines().filter_map(|line| line.strip_prefix(mark));
        marks.map(str::to_owned).collect()
    };
    assert_eq!(generations(&bundle.ptx), ["sm_75 7.4"]);
    assert_eq!(generations(&older.ptx), ["sm_75 7.4"]);
    assert!(
        bundle
            .ptx
            .contains("// cuda_std.needs halve sm_90 clusters")
    );

    let (kind, message) = build(&clusters("#[kernel]"), options()).unwrap_err();
    assert_eq!(kind, Kind::CompileError);
    assert!(
        message.starts_with("kernels.rs: `halve` uses thread block clusters"),
        "{message}"
    );
}

/// The abilities of a program in the recorder's sandbox. None of it can be spelled in a
/// submission's own Rust: this is what the sandbox is for.
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

/// The result of a recorder that is this program, asked for `small`.
fn recorded(main: &str) -> Result<Vec<plan::Plan>, (Kind, String)> {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().canonicalize().unwrap();
    let source = folder.join("main.rs");
    std::fs::write(&source, format!("fn main() {{ {main} }}")).unwrap();
    let program = folder.join("recorder");
    let status = std::process::Command::new(&dependencies().host.rustc)
        .args(["--edition=2024", "-o"])
        .args([&program, &source])
        .status();
    assert!(status.unwrap().success());
    let task = tasks(lab_spec(), false).unwrap().remove(0);
    let mut allowance = Allowance::default();
    let ended = record::cases(&program, &[task], &folder, &options(), &mut allowance);
    let (recorded, _) = ended.unwrap_or_else(|error| panic!("{error}"));
    let plans: Result<Vec<plan::Plan>, Failure> = recorded.into_iter().collect();
    plans.map_err(|failure| (failure.kind, failure.message))
}

// Elsewhere memory has no limit.
#[test]
#[cfg(target_os = "linux")]
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
    let plan = "{\"name\":\"small\",\"plan\":{\"name\":\"small\",\"buffers\":[],\"outputs\":[],\
                \"commands\":[]}}\n";
    // A plan by any author is a plan. Whether it is one of the lab's is checked later.
    assert_eq!(forge(plan).unwrap().len(), 1);
    assert_eq!(kind(&format!("{plan}{plan}")), Kind::PlanMalformed);
    assert_eq!(
        kind(&plan.replace("\"small\"", "\"other\"")),
        Kind::PlanMalformed
    );
    let problem = tasks(lab_spec(), false).unwrap()[0].problem.clone();
    let module = Module::new("kernels.rs", build(&sources(""), options()).unwrap().ptx);
    let plan = &forge(plan).unwrap()[0];
    let limits = &LaunchLimits::SM_90;
    let one = Devices {
        number: 1,
        has_work: true,
    };
    let fits = plan_check::fits("poisson", &problem, plan, &module, limits, one);
    let Err(NoResult::Failed(failure)) = fits else {
        panic!("it has no buffers")
    };
    assert_eq!(failure.kind, Kind::PlanInvalid);
}

/// Texts that a compiler cannot finish within its limits. On real submissions the limits are
/// larger. Elsewhere than on Linux, only time has one.
#[test]
#[cfg(target_os = "linux")]
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
            .arg("pack::tests::reach::without_landlock_nothing_is_packed_unasked");
        let text = test_support::passed_lacking(&mut tests, lacking);
        assert!(
            text.contains("3 passed") && text.contains("skipped: this machine lacks"),
            "{text}"
        );
    }
}
