//! A program that compiles its kernels while it runs, and the environment that it gets for that.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A library in NVRTC's place, whose only program has a kernel with a race, as PTX and as the
/// beginning of an ELF file.
const NVRTC: &str = r#"
    #include <string.h>
    static const char ptx[] =
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<2>;\n.shared .b32 s[1];\n"
        "mov.u32 %r1, %tid.x;\nst.shared.u32 [s], %r1;\nret;\n}\n";
    int nvrtcGetPTXSize(void* p, size_t* n) { *n = sizeof ptx; return 0; }
    int nvrtcGetPTX(void* p, char* to) { memcpy(to, ptx, sizeof ptx); return 0; }
    int nvrtcGetCUBINSize(void* p, size_t* n) { *n = 8; return 0; }
    int nvrtcGetCUBIN(void* p, char* to) { memcpy(to, "\x7f""ELF\2\1\1", 8); return 0; }
    "#;

/// Gives the driver what NVRTC hands out as machine code, and launches it.
const PROGRAM: &str = r#"
    #include <dlfcn.h>
    #include <stdio.h>
    int main(int count, char** words) {
        void* nvrtc = dlopen(words[1], RTLD_NOW);
        char code[999]; size_t bytes;
        ((int (*)(void*, size_t*))dlsym(nvrtc, "nvrtcGetCUBINSize"))(0, &bytes);
        ((int (*)(void*, char*))dlsym(nvrtc, "nvrtcGetCUBIN"))(0, code);
        void* driver = dlopen("libcuda.so.1", RTLD_NOW);
        void *context, *module, *kernel;
        ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
        ((int (*)(void**, unsigned, int))dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0);
        int loaded = ((int (*)(void**, void*))dlsym(driver, "cuModuleLoadData"))(&module, code);
        if (loaded) return printf("not loaded: %d\n", loaded), 0;
        ((int (*)(void**, void*, char*))dlsym(driver, "cuModuleGetFunction"))(&kernel, module, "k");
        typedef int (*Launch)(void*, int, int, int, int, int, int, int, void*, void**, void**);
        return ((Launch)dlsym(driver, "cuLaunchKernel"))(kernel, 1, 1, 1, 2, 1, 1, 0, 0, 0, 0);
    }"#;

/// Compiles a text of C in a folder; `None` if `cc` lacks what the flags ask for.
fn cc(folder: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    let (file, made) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, source).unwrap();
    let mut command = Command::new("cc");
    command
        .arg("-w")
        .arg(&file)
        .arg("-o")
        .arg(&made)
        .args(flags);
    command.output().unwrap().status.success().then_some(made)
}

/// The program `emulate` about another, with a home of its own.
fn emulate(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_emulate"));
    command.args(words).env("HOME", home);
    for name in ["XDG_CACHE_HOME", "LD_PRELOAD", "ASAN_OPTIONS"] {
        command.env_remove(name);
    }
    command
}

/// The exit code, and all that was said.
fn said(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let both = [output.stdout, output.stderr].concat();
    let code = output.status.code().expect("it ended by itself");
    (code, String::from_utf8(both).unwrap())
}

#[test]
fn machine_code_that_is_made_on_the_spot_runs_as_ptx() {
    let folder = tempfile::tempdir().unwrap();
    let program = cc(folder.path(), "program", PROGRAM, &[]).unwrap();
    let nvrtc = cc(
        folder.path(),
        "libnvrtc.so.13",
        NVRTC,
        &["-shared", "-fPIC"],
    )
    .unwrap();
    let words = ["--", program.to_str().unwrap(), nvrtc.to_str().unwrap()];
    // The second folder's path cannot be in LD_PRELOAD, which is separated by blanks.
    for temporary in ["temporary", "with a blank"] {
        let temporary = folder.path().join(temporary);
        std::fs::create_dir(&temporary).unwrap();
        let mut command = emulate(folder.path(), &words);
        let (code, text) = said(command.env("TMPDIR", &temporary));
        assert!(
            code == 1 && text.contains("race in shared memory"),
            "{code}: {text}"
        );
        let left = std::fs::read_dir(&temporary).unwrap().count();
        assert_eq!(left, 0, "files in {}", temporary.display());
    }
}

#[test]
fn what_the_user_has_loaded_comes_first_and_caches_are_its_own() {
    let home = tempfile::tempdir().unwrap();
    let library = cc(home.path(), "own.so", "int own;", &["-shared", "-fPIC"]).unwrap();
    let shows = "for name in LD_PRELOAD ASAN_OPTIONS CUPY_CACHE_DIR NUMBA_CACHE_DIR PYCUDA_CACHE_DIR \
                 TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR WARP_CACHE_PATH; do printenv $name; done";
    let mut command = emulate(home.path(), &["--", "sh", "-c", shows]);
    command
        .env("LD_PRELOAD", &library)
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("CUPY_CACHE_DIR", "/of/the/user");
    let (_, text) = said(&mut command);
    let lines: Vec<&str> = text.lines().collect();
    let preloads: Vec<&str> = lines[0].split(':').collect();
    assert_eq!(preloads[0], library.to_str().unwrap());
    assert!(preloads[1].ends_with("/libemulated_compilers.so"), "{text}");
    assert_eq!(lines[1], "detect_leaks=0:verify_asan_link_order=0");
    let caches = home
        .path()
        .join(".cache/emulate")
        .join(env!("CARGO_PKG_VERSION"));
    let names = ["cupy", "numba", "pycuda", "torch", "triton", "warp"];
    for (line, name) in lines[2..].iter().zip(names) {
        assert_eq!(Path::new(line), caches.join(name));
        assert!(Path::new(line).is_dir(), "{line}");
    }
}

/// As in a container without a home: it works, and leaves nothing.
#[test]
fn where_nothing_can_be_kept_what_is_compiled_goes_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let shows = "printenv CUPY_CACHE_DIR && echo kernel > $CUPY_CACHE_DIR/a.cubin";
    let mut command = emulate(Path::new("/proc/version"), &["--", "sh", "-c", shows]);
    let (code, text) = said(command.env("TMPDIR", folder.path()));
    assert_eq!(code, 0, "{text}");
    let cache = Path::new(text.lines().next().unwrap());
    assert!(cache.starts_with(folder.path()), "{text}");
    assert!(!cache.exists(), "{text}");
}

/// Its runtime refuses to start behind another library, unless it is told not to look.
#[test]
fn a_program_with_an_address_sanitizer_starts() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <stdio.h>\nint main() { puts(\"started\"); }";
    let Some(program) = cc(folder.path(), "program", source, &["-fsanitize=address"]) else {
        eprintln!("skipped: cc has no address sanitizer");
        return;
    };
    let words = ["--", program.to_str().unwrap()];
    let (code, text) = said(&mut emulate(folder.path(), &words));
    assert!(code == 0 && text.starts_with("started\n"), "{code}: {text}");
}

/// A library that brings nothing else, and an environment that has lost the stand-in.
#[test]
fn python_is_told_what_helps_where_there_is_machine_code_alone() {
    let home = tempfile::tempdir().unwrap();
    let source = r#"int code[2] = {0x464c457f, 0};"#;
    cc(
        home.path(),
        "libcublas.so.13",
        source,
        &["-shared", "-fPIC"],
    )
    .unwrap();
    let program = r#"
import ctypes
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
driver.cuInit(0)
driver.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
library = ctypes.CDLL("./libcublas.so.13")
of_library, own = ctypes.c_int.in_dll(library, "code"), ctypes.create_string_buffer(b"\x7fELF", 64)
for code in of_library, own:
    assert driver.cuModuleLoadData(ctypes.byref(context), ctypes.byref(code)) == 209
"#;
    std::fs::write(home.path().join("program.py"), program).unwrap();
    let told = |words: &[&str]| {
        let words = [&["--"], words, &["python3", "program.py"]].concat();
        let mut command = emulate(home.path(), &words);
        let (code, text) = said(command.current_dir(home.path()));
        assert_eq!(code, 3, "{text}");
        text
    };
    let lost = told(&["env", "-u", "LD_PRELOAD"]);
    assert!(lost.contains("it is of libcublas.so.13"), "{lost}");
    assert!(lost.contains("has lost the variable LD_PRELOAD"), "{lost}");
    // Such a process may have left machine code in a cache. It is not taken twice.
    let cache = home.path().join(".cache/emulate");
    let cache = cache.join(env!("CARGO_PKG_VERSION")).join("cupy");
    std::fs::write(cache.join("kernel.cubin"), "").unwrap();
    let kept = told(&[]);
    assert!(kept.contains("CUPY_COMPILE_WITH_PTX=1"), "{kept}");
    assert_eq!(std::fs::read_dir(cache).unwrap().count(), 0);
}
