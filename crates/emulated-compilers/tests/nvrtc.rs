//! Programs that compile with NVRTC, on a small one of version 12, 13, or none.
#![cfg(target_os = "linux")]

mod common;

use common::Folder;

/// NVRTC of a version. A program's handle says what it was compiled to: 1 for PTX and machine code,
/// 2 for PTX alone, 3 for machine code alone.
fn nvrtc(version: u32) -> String {
    format!(
        r#"
        #include <string.h>
        #define PTX ".version 8.0\n.target sm_90\n// {version}\n"
        typedef unsigned long P;
        int nvrtcVersion(int* major, int* minor) {{ *major = {version}; *minor = 0; return 0; }}
        int nvrtcGetPTXSize(P p, size_t* n) {{ *n = p == 3 ? 0 : sizeof PTX; return 0; }}
        int nvrtcGetPTX(P p, char* to) {{ memcpy(to, PTX, sizeof PTX); return 0; }}
        int nvrtcGetCUBINSize(P p, size_t* n) {{ if (p == 9) return 3; *n = p == 2 ? 0 : 7; return 0; }}
        int nvrtcGetCUBIN(P p, char* to) {{ memcpy(to, "\x7f""ELF{version}", 7); return 0; }}
        "#
    )
}

const ASKS: &str = r#"
    #include <dlfcn.h>
    #include <stdio.h>
    #include <stdlib.h>
    typedef int (*Size)(unsigned long, size_t*);
    typedef int (*Get)(unsigned long, char*);
    int main(int count, char** paths) {
        void* libraries[4];
        for (int i = 1; i < count; i++) {
            libraries[i] = dlopen(paths[i], RTLD_NOW);
            if (!libraries[i]) { printf("%s\n", dlerror()); return 0; }
        }
        for (unsigned long p = 1; p <= 3; p++)
            for (int i = 1; i < count; i++) {
                size_t n = 99;
                Size size = (Size)dlsym(libraries[i], "nvrtcGetCUBINSize");
                Get get = (Get)dlsym(libraries[i], "nvrtcGetCUBIN");
                int code = size(p, &n);
                char* text = calloc(n + 1, 1);
                if (n) code |= get(p, text);
                printf("%d: %d, %zu bytes: %s\n", i, code, n, text);
            }
    }"#;

#[test]
fn where_there_is_ptx_it_comes_for_the_machine_code_of_each_version() {
    let folder = Folder::new();
    let program = folder.compile("program", ASKS, &[]);
    folder.library("12/libnvrtc.so.12", &nvrtc(12));
    folder.library("13/libnvrtc.so.13", &nvrtc(13));
    let said = folder.run(&program, &["12/libnvrtc.so.12", "13/libnvrtc.so.13"]);
    let ptx = |version| format!(".version 8.0\n.target sm_90\n// {version}\n\n");
    let size = ptx(12).len();
    let expected = format!(
        "1: 0, {size} bytes: {}2: 0, {size} bytes: {}1: 0, 0 bytes: \n2: 0, 0 bytes: \n\
         1: 0, 7 bytes: \x7fELF12\n2: 0, 7 bytes: \x7fELF13\n",
        ptx(12),
        ptx(13)
    );
    assert_eq!(said, expected);
}

/// As numba-cuda and cuda.pathfinder look.
#[test]
fn a_library_that_is_not_installed_is_not_there() {
    let folder = Folder::new();
    let program = folder.compile(
        "program",
        r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        #include <string.h>
        int main() {
            char* files[] = {"libnvrtc.so.12", "libnvrtc.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13"};
            for (int i = 0; i < 4; i++)
                printf("%d%d", !!dlopen(files[i], RTLD_NOW), !!dlopen(files[i], RTLD_NOW | RTLD_NOLOAD));
            char* names[] = {"nvrtcGetCUBIN", "nvrtcGetCUBINSize", "nvJitLinkCreate", "__nvJitLinkCreate_13_5"};
            for (int i = 0; i < 4; i++)
                printf(" %d%d%d", !!dlsym(RTLD_DEFAULT, names[i]), !!dlsym(RTLD_NEXT, names[i]), !!dlsym(dlopen(0, RTLD_NOW), names[i]));
            printf("\n%d\n", strstr(dlerror(), "undefined symbol: __nvJitLinkCreate_13_5") != 0);
        }"#,
        &[],
    );
    let said = folder.run(&program, &[]);
    assert_eq!(said, "00000000 000 000 000 000\n1\n");
}

#[test]
fn a_program_that_is_linked_with_nvrtc_has_ptx_too() {
    let folder = Folder::new();
    let library = folder.library("libnvrtc.so.13", &nvrtc(13));
    let asks = r#"
        #include <stdio.h>
        int nvrtcGetCUBINSize(unsigned long, size_t*), nvrtcGetCUBIN(unsigned long, char*), nvrtcVersion(int*, int*);
        int ask(void) {
            size_t n; char text[99] = ""; int major, minor;
            nvrtcVersion(&major, &minor);
            int refused = nvrtcGetCUBINSize(9, &n);
            int codes[] = {nvrtcGetCUBINSize(1, &n), nvrtcGetCUBIN(1, text)};
            printf("%d: %d %d %d %s", major, refused, codes[0], codes[1], text);
            return 0;
        }"#;
    let library = library.to_str().unwrap();
    let main = format!("{asks} int main() {{ return ask(); }}");
    let program = folder.compile("program", &main, &[library]);
    let expected = "13: 3 0 0 .version 8.0\n.target sm_90\n// 13\n";
    assert_eq!(folder.run(&program, &[]), expected);
    // An extension that is opened for itself alone, and the library of its own that it is linked
    // with, as wheels name them.
    folder.library("libnvrtc-builtins-1.so", "int builtins;");
    let own = folder.library("libnvrtc-6c4f8d2b.so.13", &nvrtc(13));
    let own = own.to_str().unwrap();
    folder.compile("extension.so", asks, &["-shared", "-fPIC", own]);
    let opens = r#"
        #include <dlfcn.h>
        int main() {
            void* extension = dlopen("./extension.so", RTLD_NOW | RTLD_LOCAL);
            return ((int (*)(void))dlsym(extension, "ask"))();
        }"#;
    let opener = folder.compile("opener", opens, &[]);
    assert_eq!(folder.run(&opener, &[]), expected);
}

/// The next function of a name is one behind the caller's library, whose address `dlsym` looks at.
#[test]
fn dlsym_knows_its_caller() {
    let folder = Folder::new();
    let wrapper = folder.library(
        "libwrapper.so",
        r#"
        #define _GNU_SOURCE
        #include <dlfcn.h>
        int number(void) { return 10 + ((int (*)(void))dlsym(RTLD_NEXT, "number"))(); }"#,
    );
    let base = folder.library("libbase.so", "int number(void) { return 1; }");
    let program = folder.compile(
        "program",
        r#"
        #include <stdio.h>
        int number(void);
        int main() { printf("%d\n", number()); }"#,
        &[
            "-Wl,--no-as-needed",
            wrapper.to_str().unwrap(),
            base.to_str().unwrap(),
        ],
    );
    assert_eq!(folder.run(&program, &[]), "11\n");
}
