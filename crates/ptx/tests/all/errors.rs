//! Wrong declarations and directives: the exact message, with line, column and a caret. (Wrong
//! instructions are for who reads them.)

use ptx::{Error, Program};

fn parse(text: &str) -> Result<Program, Error> {
    Program::read(text, |_| Ok(()))
}

/// A kernel with this body.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n.global .u32 g;\n\
         .func (.param .b32 r) f(.param .b32 x);\n.func h(.param .align 8 .b8 s[16]);\n\
         .visible .entry k(.param .u64 a)\n{{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<4>;\n.reg .b64 %d<4>;\n\
         .reg .b128 %q<2>;\n.reg .v2 .b32 %v;\n{body}\n}}\n"
    )
}

/// Texts and the errors they give, one after the other.
fn report(texts: &[&str], wrap: impl Fn(&str) -> String) -> String {
    let mut report = String::new();
    for text in texts {
        let error = match parse(&wrap(text)) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => error,
        };
        report.push_str(&format!("{text}\n=> {error}\n\n"));
    }
    report
}

#[test]
fn modules() {
    let texts = [
        "",
        "hello",
        ".version seven",
        ".version 99.9",
        ".version 8.9",
        ".version 5.2 .target sm_50",
        ".version 8.3 .target sm_99",
        ".version 8.3 .target sm_90, fast",
        ".version 8.3 .target sm_80a",
        ".version 8.3 .target compute_90",
        ".version 8.3 .target",
        ".version 8.3 .address_size 16",
        ".version 8.3 .global .u32 x",
        ".version 8.3 .global x;",
        ".version 8.3 .global .align 3 .u32 x;",
        ".version 8.3 .global .u32 x; .global .u32 x;",
        ".version 8.3 .func x; .global .u32 x;",
        ".version 8.3 .func x { ret; } .func x { ret; }",
        ".version 8.3 .global .u64 x[4294967296];",
        ".version 8.3 .global .u32 x[2] = {1, 2, 3};",
        ".version 8.3 .global .u32 x[2][2] = {1, 2};",
        ".version 8.3 .global .u32 x = {1, 2};",
        ".version 8.3 .global .f32 x = 1;",
        ".version 8.3 .global .u64 x = y;",
        ".version 8.3 .global .u16 x = x;",
        ".version 8.3 .global .u32 x = 0f12;",
        ".version 8.3 .global .b8 x[4] = {0xFF(x), 0xFF00(x)};",
        ".version 8.3 .global .b8 x[4] = {0xFF(x), 0xFF0000(x)};",
        ".version 8.3 .reg .b32 %r;",
        ".version 8.3 .texref t;",
        ".version 8.3 .alias a, b;",
        ".version 8.3 .file one",
        ".version 8.3 .section .debug { .b8 1",
        ".version 8.3 .entry",
        ".version 8.3 .entry k(.param u64 a) { ret; }",
        ".version 8.3 .entry k(.param .u64 a .param .u64 b) { ret; }",
        ".version 8.3 .entry k(.param .u64 a, .param .u64 a) { ret; }",
        ".version 8.3 .entry k .maxntid x { ret; }",
        ".version 8.3 .entry k .frobnicate { ret; }",
        ".version 8.3 .entry k { ret;",
        ".version 8.3 .func f(.reg .b128 q) { ret; }",
        ".version 8.3 .entry k(.reg .u64 a) { ret; }",
        ".version 8.3 .entry (.param .b32 r) k() { ret; }",
        ".version 8.3 /* no end",
        ".version 8.3 .file 1 \"no end",
        ".version 8.3 #define",
        ".version 8.3 .func é { ret; }",
    ];
    insta::assert_snapshot!("modules", report(&texts, str::to_string));
}

#[test]
fn long_lines_are_cut() {
    let text = format!(
        ".version 8.3 .func {}bad( ; {}",
        "f() ; .func ".repeat(20),
        "// tail ".repeat(40)
    );
    insta::assert_snapshot!("long_line", parse(&text).unwrap_err().to_string());
}

#[test]
fn nesting_is_limited() {
    let text = kernel(&format!(
        "{}ret;{}",
        "{".repeat(100_000),
        "}".repeat(100_000)
    ));
    let error = parse(&text).unwrap_err();
    assert_eq!(error.kind.to_string(), "blocks nest deeper than 64");
    let initialiser = format!(
        ".version 8.3 .global .u32 x[1] = {}1{};",
        "{".repeat(100_000),
        "}".repeat(100_000)
    );
    assert_eq!(
        parse(&initialiser).unwrap_err().kind.to_string(),
        "initialiser nests deeper than 16"
    );
}
