use super::*;

/// The message about this text as `kernels.rs`, or nothing.
fn kernels(text: &str) -> String {
    message(text, "")
}

fn launch(text: &str) -> String {
    message("", text)
}

fn message(kernels: &str, launch: &str) -> String {
    let sources = Sources {
        kernels: kernels.to_owned(),
        launch: launch.to_owned(),
    };
    match screen(&sources) {
        Ok(()) => String::new(),
        Err(PackError::Failure(failure)) => failure.message,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn refusals_name_place_construct_and_reason() {
    insta::assert_snapshot!(kernels("fn f() {\n    let s = include_str!(\"/etc/passwd\");\n}"), @"kernels.rs:2:13: `include_str`: a submission is its two files, and reads no others");
    insta::assert_snapshot!(kernels("const K: &str = env!(\"HOME\");"), @"kernels.rs:1:17: `env`: a submission does not depend on the machine that compiles it");
    insta::assert_snapshot!(kernels("#[path = \"/tmp/x.rs\"]\nmod x {}"), @"kernels.rs:1:1: `#[path]`: a submission is its two files, and reads no others");
    insta::assert_snapshot!(kernels("mod x;"), @"kernels.rs:1:1: `mod x;`: a submission is its two files, and reads no others");
    insta::assert_snapshot!(kernels("extern crate alloc;"), @"kernels.rs:1:1: `extern crate alloc`: a submission uses core, cuda_std, kernels_gpu and plan alone");
    insta::assert_snapshot!(kernels("unsafe extern \"C\" { fn socket(); }"), @"kernels.rs:1:8: `extern`: a submission calls nothing but Rust; cuda_std has the device's functions");
    insta::assert_snapshot!(kernels("#[unsafe(no_mangle)]\npub fn k() {}"), @"kernels.rs:1:1: `#[unsafe]`: only #[kernel] gives functions their names and places in the PTX");
    insta::assert_snapshot!(kernels("core::arch::global_asm!(\".global k\");"), @"kernels.rs:1:13: `global_asm`: kernels are Rust; cuda_std has the instructions that Rust cannot spell");
    insta::assert_snapshot!(kernels("#![feature(asm_experimental_arch)]"), @"kernels.rs:1:1: `#[feature]`: a submission is written in stable Rust");
    insta::assert_snapshot!(kernels("#[derive(Clone, Serialize)]\nstruct S;"), @"kernels.rs:1:1: `#[derive(Serialize)]`: a submission derives the traits of core alone");
    insta::assert_snapshot!(kernels("#[used]\nstatic S: u32 = 1;"), @"kernels.rs:1:1: `#[used]`: it is not among the attributes that a submission may use");
    insta::assert_snapshot!(kernels("macro_rules! m { ($a:ident) => { $a!(\"/etc/passwd\") } }"), @"kernels.rs:1:34: `$a!`: which macro or attribute is meant is hidden; write the macro's or attribute's name out");
    insta::assert_snapshot!(launch("fn f() { std::fs::read(\"/etc/passwd\"); }"), @"launch.rs:1:10: `std::fs`: host code records a plan: of std it uses what computes, nothing that reaches outside");
    insta::assert_snapshot!(launch("fn f() { unsafe { g() } }"), @"launch.rs:1:10: `unsafe`: host code records a plan, which takes no unsafe code");
    insta::assert_snapshot!(kernels(&"(".repeat(200).chars().chain(")".repeat(200).chars()).collect::<String>()), @"kernels.rs:1:129: brackets more than 128 deep: the compiler could overflow its stack");
    insta::assert_snapshot!(kernels("use std::time::Instant;"), @"kernels.rs:1:5: `std::time`: kernels.rs runs on a GPU, which has no std; use `core` or `cuda_std`");
    insta::assert_snapshot!(kernels("use std::thread;"), @"kernels.rs:1:5: `std::thread`: kernels.rs runs on a GPU, which has no std; use `cuda_std::thread`");
    insta::assert_snapshot!(kernels("use std as s;"), @"kernels.rs:1:5: `std as`: kernels.rs runs on a GPU, which has no std; use `core` or `cuda_std`");
}

#[test]
fn what_is_not_rust_is_named() {
    insta::assert_snapshot!(kernels("fn f() { (] }"), @"kernels.rs:1:11: this `]` closes no `[`, or another bracket is still open");
    insta::assert_snapshot!(kernels("fn f() {}\n}"), @"kernels.rs:2:1: this `}` closes no `{`, or another bracket is still open");
    insta::assert_snapshot!(kernels("fn f() {\n    if true {\n}\n"), @"kernels.rs:1:8: this `{` is never closed");
    insta::assert_snapshot!(launch("fn f() { g(\u{201c}kernel\u{201d}) }"), @r#"launch.rs:1:12: the character U+201C (a typographic quote) is not Rust; write ""#);
    insta::assert_snapshot!(launch("fn f() { g(\u{2018}k\u{2019}) }"), @"launch.rs:1:12: the character U+2018 (a typographic quote) is not Rust; write '");
    insta::assert_snapshot!(launch("fn f() -> u32 { 2 \u{2212} 1 }"), @"launch.rs:1:19: the character U+2212 (a dash or minus sign) is not Rust; write -");
    insta::assert_snapshot!(launch("fn f() {\u{200b}}"), @"launch.rs:1:9: the character U+200B (an invisible one) is not Rust; delete it");
    insta::assert_snapshot!(launch("fn f() {}\n\u{feff}fn g() {}"), @"launch.rs:2:1: the character U+FEFF (an invisible one) is not Rust; delete it");
    insta::assert_snapshot!(launch("fn f() {\0}"), @"launch.rs:1:9: the character U+0000 (an invisible one) is not Rust; delete it");
    insta::assert_snapshot!(launch("fn f() { 2 \u{20ac} }"), @"launch.rs:1:12: the character U+20AC (`€`) is not Rust");
    insta::assert_snapshot!(launch("fn f() { g(\"kernel) }"), @"launch.rs:1:12: this quote is never closed, or holds an escape or character that Rust does not take");
    insta::assert_snapshot!(launch("fn f() { g(r\"kernel) }"), @"launch.rs:1:12: this quote is never closed, or holds an escape or character that Rust does not take");
    insta::assert_snapshot!(launch("fn f() { g(\"\\q\") }"), @"launch.rs:1:12: this quote is never closed, or holds an escape or character that Rust does not take");
    insta::assert_snapshot!(launch("fn f() { g('kernel') }"), @"launch.rs:1:12: this quote is never closed, or holds an escape or character that Rust does not take");
    insta::assert_snapshot!(launch("fn f() {} /* never"), @"launch.rs:1:11: this comment is never closed");
    insta::assert_snapshot!(launch("/// one\rtwo\nfn f() {}"), @"launch.rs:1:1: this comment has a carriage return (U+000D) in it; delete it");
    insta::assert_snapshot!(launch("fn f() {\r  \"one\rtwo\"}"), @"launch.rs:1:12: this quote is never closed, or holds an escape or character that Rust does not take");
    insta::assert_snapshot!(launch("fn f() { 0xz }"), @"launch.rs:1:10: this is none of Rust's numbers");
}

#[test]
fn what_is_refused_is_refused_in_every_guise() {
    for text in [
        "include!(\"x\");",
        "core::include!{\"x\"}",
        "r#include!(\"x\");",
        "use core::include_str as x;",
        "use core::{mem, include_bytes as y};",
        "#[doc = include_str!(\"/etc/passwd\")] struct S;",
        "macro_rules! m { () => { include_str!(\"/etc/passwd\") } }",
        "macro_rules! m { ($($m:ident)*) => { $($m!(\"x\"))* } }",
        "macro_rules! m { ($a:meta, $i:item) => { #[$a] $i } }",
        "macro_rules! m { ($($a:tt)*) => { #[$($a)*] mod x {} } }",
        "macro_rules! m { ($a:ident) => { #[$a = \"x.rs\"] mod x {} } }",
        "vec![env!(\"HOME\")]",
        "use core::env as e;",
        "use core::{mem, env};",
        "use ::core::env;",
        "option_env!(\"HOME\");",
        "#[cfg_attr(all(), path = \"x.rs\")] mod x {}",
        "#[cfg_attr(all(), allow(dead_code), cfg_attr(all(), path = \"x.rs\"))] mod x {}",
        "#[cfg_attr(all(), derive(Serialize))] struct S;",
        "pub mod r#x;",
        "pub(crate) mod x;",
        "mod a { mod b; }",
        "#!/* [\nstd::fs */ fn f() {}",
        "#! /usr/bin/env run\nfn f() {}",
        "#!\u{a0}[allow(dead_code)] /*\nfn f() {} // */",
        "#!\n/* */ fn f() {}",
        "---\n/*\n---\nfn f() {}",
        "use std::{fmt, include_str as text};",
        "use ::core::{self, arch::{asm}};",
        "#[allow(dead_code)] extern crate std;",
        "extern crate core as c; extern crate proc_macro;",
        "#[macro_use] extern crate std;",
        "extern \"C\" fn f() {}",
        "extern \"system\" {}",
        "#[link(name = \"c\")] struct S;",
        "#[no_mangle] fn f() {}",
        "#[cfg_attr(all(), no_mangle)] fn f() {}",
        "#[cfg_attr(all(), unsafe(no_mangle))] fn f() {}",
        "macro_rules! m { ($i:item) => { #[export_name = \"x\"] $i } }",
        "#[derive(serde::Clone)] struct S;",
        "#[derive(core::clone::Serialize)] struct S;",
        "#[derive(Clone, $x)] struct S;",
        "#[unsafe(export_name = \"k\")] fn f() {}",
        "#[unsafe(link_section = \".init_array\")] static S: fn() = f;",
        "fn f() { unsafe { core::arch::asm!(\"\") } }",
        "use core::arch::asm as a;",
        "#![cfg_attr(all(), feature(test))]",
        "#[global_allocator] static A: X = X;",
        "#[target_feature(enable = \"x\")] fn f() {}",
        "use std::fs as quiet;",
        "use std as s;",
        "use std::{self as s};",
        "use std::{cmp, net::TcpStream};",
        "use ::std::{collections::HashMap, process::Command};",
        "use std::*;",
        "fn f() { std::env::var(\"X\"); }",
        "fn f() { r#std::thread::spawn(f); }",
        "fn f() { std::process::Command::new(\"sh\"); }",
        "use std::process::{exit, Command};",
        "fn f() { std::os::fd::g(); }",
        "fn f() { std::io::stdin(); }",
    ] {
        assert_ne!(kernels(text), "", "{text}");
        assert_ne!(launch(text), "", "{text}");
    }
}

#[test]
fn honest_text_is_not_refused() {
    for text in [
        "//! include_str!(\"x\") in a comment; extern \"C\"\n/* asm! */ const S: &str = \"include!\";",
        "/// mod x; #[path]\nmod x { pub mod y {} }",
        "let env = 1.0; let path = env * 2.0; f(env != 3.0, path); self.env = env;",
        "let x = Envelope { env, path };",
        "let include = 2; let x = include + S { a: core::u32::MAX, include }.a; if include != 3 { f(include, asm) }",
        "const TAU: f32 = core::f32::consts::PI * env; let option_env = [include_str, global_asm];",
        "#![allow(dead_code)] fn f() {}",
        "#! [allow(dead_code)] fn f() {}",
        "use cuda_std::prelude::*; use core::sync::atomic::{AtomicU32, Ordering};",
        "use std::collections::HashMap; use std::{cmp, iter::repeat};",
        "fn f() { std::process::exit(0); std::hint::spin_loop(); }",
        "#![allow(dead_code)] #[kernel(max_threads = 256)] pub fn k() {}",
        "#[derive(Clone, Copy, Debug, PartialEq)] #[repr(C)] pub struct S;",
        "#[cfg_attr(target_arch = \"nvptx64\", inline(always))] fn f() {}",
        "#[clippy::cognitive_complexity = \"1\"] #[rustfmt::skip] fn f() {}",
        "macro_rules! max { ($a:expr, $b:expr) => { if $a != $b { $a } else { $b } } }",
        "const A: u32 = 1; fn feature(link: u32) { macro_rules! m { () => {} } m!(); assert!(true); }",
        "macro_rules! m { ($(#[$a:meta])* $i:item) => { $(#[$a])* $i } }",
        "extern crate cuda_std;",
        "#![no_std] #[test] #[should_panic] #[ignore] fn f() {}",
        "#[macro_use] mod helpers { macro_rules! m { () => {} } }",
        "#[macro_use] extern crate cuda_std;",
        "use super::kernels;",
        "fn f(no_mangle: u32, export_name: u32) -> u32 { let link_name = no_mangle; link_name + export_name }",
        "struct S { link_section: u32, panic_handler: u32 } fn global_allocator(proc_macro: &S) {}",
        "#[derive(core::clone::Clone, ::core::marker::Copy, std::fmt::Debug, Default)] struct S;",
        "#![recursion_limit = \"256\"] fn f() {}",
        "#[diagnostic::on_unimplemented(message = \"no cell\")] trait Cell {}",
        "#[automatically_derived] impl Clone for S {}",
    ] {
        assert_eq!(kernels(text), "", "{text}");
        assert_eq!(launch(text), "", "{text}");
    }
    assert_eq!(kernels("unsafe { *x = 1 }"), "");
}

/// The screen lets pass exactly the names that a submission's std has.
#[test]
fn std_has_what_is_allowed_and_no_more() {
    let text = include_str!("../host_std.rs");
    let tokens = tokens::flatten(text, tokens::MAX_DEPTH).unwrap();
    let start = |i| rules::View { tokens: &tokens, i };
    // `pub use real::{...}` at the top, and `pub use real::process::{...}` in a module.
    let exported = |depth: usize, before: &[&str]| {
        let mut names = Vec::new();
        for i in 0..tokens.len() {
            let list = (0..before.len()).fold(start(i), |view, part| {
                let matches = view.is_name(before[part]) && view.depth() == depth;
                view.after(if matches { 3 } else { tokens.len() })
            });
            if list.is_mark('{') {
                names.extend(list.inside_all().filter_map(rules::View::name));
            }
        }
        names.sort_unstable();
        names
    };
    let mut all = exported(0, &["real"]);
    all.push("prelude");
    all.sort_unstable();
    assert_eq!(rules::ALLOWED_STD.split(' ').collect::<Vec<_>>(), all);
    let process = exported(1, &["real", "process"]);
    assert_eq!(
        rules::ALLOWED_PROCESS.split(' ').collect::<Vec<_>>(),
        process
    );
}

/// The constructs of the built-in solutions are allowed.
#[test]
fn built_in_solutions_pass() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("kernels-gpu/solutions")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = || std::fs::read_to_string(&path).unwrap();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("launch.rs") {
                assert_eq!(launch(&text()), "", "{}", path.display());
                seen += 1;
            } else if path.ends_with("kernels.rs") {
                assert_eq!(kernels(&text()), "", "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 20, "{seen}");
}

#[test]
fn deep_and_long_text_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(kernels(&deep).contains("deep"));
    assert_eq!(
        kernels(&format!("const X: bool = {}true;", "!".repeat(100_000))),
        ""
    );
    assert_eq!(kernels(&"a::".repeat(50_000)), "");
    // Far from quadratic.
    assert_eq!(kernels(&"use core::{a, env_, b}; env,".repeat(5_000)), "");
}

mod files {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in [KERNELS, LAUNCH] {
            std::fs::write(folder.path().join(name), "// é").unwrap();
        }
        folder
    }

    fn message(folder: &std::path::Path) -> String {
        let PackError::Failure(failure) = read(folder).unwrap_err() else {
            panic!("it is the submission's fault")
        };
        assert_eq!(failure.kind, Kind::MissingFile);
        failure
            .message
            .replace(&folder.display().to_string(), "DIR")
    }

    #[test]
    fn both_are_read() {
        let folder = folder();
        std::fs::write(folder.path().join("other.rs"), [0xff]).unwrap();
        assert_eq!(read(folder.path()).unwrap().launch, "// é");
    }

    /// As some editors write it. Behind it, a first line is a first line.
    #[test]
    fn a_byte_order_mark_is_left_out() {
        let folder = folder();
        let kernels = folder.path().join(KERNELS);
        std::fs::write(&kernels, "\u{feff}\u{feff}// é").unwrap();
        assert_eq!(read(folder.path()).unwrap().kernels, "// é");
        std::fs::write(&kernels, "\u{feff}#!/*\nfn f() {} // */").unwrap();
        let refused = Sources::read(folder.path()).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "kernels.rs:1:1: `#!`: a submission is Rust from its first line on"
        );
    }

    #[test]
    fn a_missing_one_is_told() {
        let folder = folder();
        std::fs::remove_file(folder.path().join("launch.rs")).unwrap();
        insta::assert_snapshot!(message(folder.path()), @"DIR/launch.rs: is missing; a submission is a folder with kernels.rs (device code) and launch.rs (host code)");
        insta::assert_snapshot!(message(&folder.path().join("none")), @"DIR: is not there; a submission is a folder with kernels.rs (device code) and launch.rs (host code)");
    }

    #[test]
    fn only_plain_text_of_some_size_is_read() {
        let folder = folder();
        let kernels = folder.path().join("kernels.rs");
        std::fs::write(&kernels, [b'x'; 257 << 10]).unwrap();
        insta::assert_snapshot!(message(folder.path()), @"DIR/kernels.rs: is larger than 256 KiB, which is more than any solution needs");
        std::fs::write(&kernels, b"// \xff").unwrap();
        insta::assert_snapshot!(message(folder.path()), @"DIR/kernels.rs: is not text: byte 3 is not UTF-8; save it as UTF-8");
        std::fs::remove_file(&kernels).unwrap();
        std::fs::create_dir(&kernels).unwrap();
        insta::assert_snapshot!(message(folder.path()), @"DIR/kernels.rs: is not a plain file; submit the file itself");
        std::fs::remove_dir(&kernels).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/passwd", &kernels).unwrap();
            insta::assert_snapshot!(message(folder.path()), @"DIR/kernels.rs: is a symbolic link; submit the file itself");
        }
    }
}
