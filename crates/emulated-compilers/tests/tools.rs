//! `ptxas` of Triton, of `nvcc --cubin`, and of others.
#![cfg(target_os = "linux")]

mod common;

use common::Folder;

/// It writes machine code, or fails for `-bad`.
const PTXAS: &str = r#"
    #include <stdio.h>
    #include <string.h>
    int main(int count, char** words) {
        char* output = "out.cubin";
        for (int i = 1; i < count; i++) {
            if (!strcmp(words[i], "-o")) output = words[i + 1];
            if (!strcmp(words[i], "--version")) { puts("ptxas: release 13.1, V13.1.80"); return 0; }
        }
        FILE* file = fopen(output, "w");
        fputs("\x7f""ELF", file);
        return !strcmp(words[1], "-bad");
    }"#;

/// Starts `ptxas` with its own arguments, except `--cubin`.
const STARTS: &str = r#"
    #include <dlfcn.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/wait.h>
    #include <unistd.h>
    int main(int count, char** words) {
        if (HAS_TRITON && !dlopen("./libtriton.so", RTLD_NOW)) return 9;
        char* rest[20] = {"./ptxas"}; int n = 1;
        for (int i = 1; i < count; i++) if (!strstr(words[i], "-cubin")) rest[n++] = words[i];
        if (!fork()) execv(rest[0], rest);
        int status; wait(&status); return WEXITSTATUS(status);
    }"#;

const PTX: &str = ".version 8.0\n.target sm_90\n";

/// The content of out.cubin after a program has been run with these words.
fn written(program: &str, has_triton: bool, words: &[&str]) -> String {
    let folder = Folder::new();
    folder.compile("ptxas", PTXAS, &[]);
    folder.library("libtriton.so", "int triton;");
    let source = STARTS.replace("HAS_TRITON", &u8::from(has_triton).to_string());
    let program = folder.compile(program, &source, &[]);
    std::fs::write(folder.path("a.ptx"), PTX).unwrap();
    std::fs::write(folder.path("text"), "no PTX").unwrap();
    let said = folder.run(&program, words);
    match std::fs::read_to_string(folder.path("out.cubin")) {
        Ok(written) => written,
        Err(_) => said,
    }
}

const MACHINE_CODE: &str = "\x7fELF";

#[test]
fn the_ptxas_of_triton_writes_ptx() {
    let of_triton = |words: &[&str]| written("python", true, words);
    let ptx = format!("{PTX}\0");
    assert_eq!(of_triton(&["-v", "a.ptx", "-o", "out.cubin"]), ptx);
    // The value of an option that this crate does not know.
    let options = ["-maxrregcount", "32", "-o", "out.cubin", "a.ptx"];
    assert_eq!(of_triton(&options), ptx);
    assert_eq!(of_triton(&["text", "-o", "out.cubin"]), MACHINE_CODE);
    assert_eq!(of_triton(&["--version"]), "ptxas: release 13.1, V13.1.80\n");
}

#[test]
fn nvcc_writes_ptx_where_it_is_asked_for_a_cubin() {
    let files = ["a.ptx", "-o", "out.cubin"];
    for flag in ["--cubin", "-cubin"] {
        let words = [&[flag][..], &files].concat();
        assert_eq!(written("nvcc", false, &words), format!("{PTX}\0"));
    }
    // Programs are built with machine code, by nvcc and by others.
    assert_eq!(written("nvcc", false, &files), MACHINE_CODE);
    assert_eq!(written("make", false, &files), MACHINE_CODE);
}
