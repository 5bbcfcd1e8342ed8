//! The names that a submission has, and the files that it can read while it is compiled.

use super::*;

/// Host code alone, compiled.
fn recorder(sources: &Sources) -> Result<(), (Kind, String)> {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().canonicalize().unwrap();
    let lab = InterfaceInfo::find("poisson").unwrap().type_path;
    match compile::recorder(sources, &dependencies().host, lab, &folder, &options()) {
        Ok(_) => Ok(()),
        Err(PackError::Failure(failure)) => Err((failure.kind, failure.message)),
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

/// Names that compute are there, without being imported too.
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

/// Attributes of a crate are allowed where they have no effect: both compilers take them.
#[test]
fn what_says_nothing_compiles() {
    let more = "#[macro_use] mod helpers { macro_rules! half { () => { 0.5 } } }
        #[cfg(test)] mod tests { #[test] #[should_panic] #[ignore] fn f() { panic!() } }
        pub const HALF: f32 = half!();\n";
    let short = "#[kernel] pub unsafe fn one(x: &[f32], u: *mut f32) { unsafe { *u = x[0] } }";
    let sources = Sources {
        kernels: format!("#![no_std]\n#![deny(unused_braces)]\n{KERNELS}\n{more}{short}"),
        launch: format!("#![no_std]\n{LAUNCH}\n{more}"),
    };
    build(&sources, options()).unwrap();
}

/// The compiler shows what the text does not: the files and variables that it took, and what macros
/// became.
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
    let file = dependencies()
        .device
        .tools()
        .library_source
        .join("library/core/src/lib.rs");
    let source = file.display();
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

/// Nothing of the course's solutions: their folder, their compiled code and this program are out of
/// reach.
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
    // The copies that cargo left beside the originals.
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
    // The folders that they do read hold the crates for submissions, and those have no solution's
    // kernel.
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
        without_isolation: false,
        ..options()
    };
    let error = packer(options).pack(&sources(""), lab_spec()).unwrap_err();
    assert!(matches!(error, PackError::NotConfined), "{error}");
    assert!(error.to_string().contains("--without-isolation"));
}
