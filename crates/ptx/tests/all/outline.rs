//! Bodies that are read when they are wanted.

use crate::common::{lines, read, read_outline};
use ptx::{FunctionId, Outline};

const TEXTS: [&str; 5] = [
    include_str!("../data/nvcc.ptx"),
    include_str!("../data/llc_sm_90_lines.ptx"),
    SHARED,
    LOCS,
    LATER,
];

/// Shared memory by every way: a module's, by a call, by a table, declared in a body.
const SHARED: &str = "
.version 8.0
.target sm_90
.address_size 64
.shared .align 4 .b8 bar[16];
.shared .align 4 .b8 called[32];
.extern .shared .align 16 .b8 dynamic[];
.global .u64 table[1] = {f};
.func f() { .reg .b32 %r<2>; ld.shared.b32 %r1, [called+4]; ret; }
.entry barrier_alone() { bar.sync 0; ret; }
.entry by_call() { .shared .align 8 .b8 own[24]; .reg .b64 %rd<2>; L: mov.u64 %rd1, own; call f; ret; }
.entry by_table() { .reg .b64 %rd<2>; mov.u64 %rd1, table; { .global .b32 inner = 7; mov.u64 %rd1, inner; } ret; }
.entry directly() { .reg .b32 %r<2>; .reg .pred %p<2>; @!%p1 ld.shared.b32 %r1, [bar]; ld.shared.v2.b32 {%r0, %r1}, [dynamic]; ret; }
";

/// A `.loc` ends without a semicolon.
const LOCS: &str = "
.version 8.0
.target sm_90
.address_size 64
.file 1 \"a.cu\"
.shared .align 4 .b8 s[16];
.shared .align 4 .b8 t[32];
.entry k() {
    .reg .b64 %rd<2>;
    .reg .pred %p;
    .loc 1 2 3
    mov.u64 %rd1, s;
    .loc 1 4 5, function_name $L_name, inlined_at 1 2 3
    mov.u64 %rd1, t;
    .loc 1 4 5, function_name $L_name+7, inlined_at 1 2 3
    mov.u64 %rd1, t;
    .loc 1 2 3
$L_end:
    .loc 1 2 3
    @%p bra $L_end;
    ret;
}
";

/// Heads of functions as compilers of old wrote them, and with pragmas.
const LATER: &str = "
.version 8.0
.target sm_90
.address_size 64
.func (.param .b32 r) f (.param .b64 .ptr .global .align 4 p)
.global .align 4 .b8 text[4] = {123, 125, 59, 0};
.func (.param .b32 r) f (.param .b64 .ptr .global .align 4 p) .noreturn { ret; }
.entry k() .pragma \"abi\"; .maxntid 32 { .pragma \"nounroll\"; .param .b32 r; .param .b64 p; call (r), f, (p); { .reg .b32 p; } ret; }
.entry declared();
";

#[test]
fn bodies_that_are_read_later_are_those_that_are_read_at_once() {
    for text in TEXTS {
        let whole = read(text);
        let outline = Outline::of(text).unwrap();
        let later = read_outline(&outline, outline.all());
        assert_eq!(later.program, whole.program);
        let is_kernel = |id: &FunctionId| whole.program.function(*id).is_kernel;
        for kernel in outline.all().filter(is_kernel) {
            let reached = outline.reach(kernel);
            let part = read_outline(&outline, reached.iter().copied());
            for id in outline.all() {
                let (of_part, of_whole) = (part.program.function(id), whole.program.function(id));
                let is_reached = reached.contains(&id);
                assert!(!is_reached || of_part == of_whole, "{}", of_part.name);
                assert_eq!(of_part.shared_bytes, of_whole.shared_bytes);
            }
        }
    }
}

#[test]
fn a_kernel_reaches_what_it_names() {
    let outline = Outline::of(SHARED).unwrap();
    let name = |id: &FunctionId| outline.program().function(*id).name.clone();
    let reached = |kernel| {
        let (id, _) = outline.program().function_named(kernel).unwrap();
        outline.reach(id).iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(reached("barrier_alone"), ["barrier_alone"]);
    assert_eq!(reached("by_call"), ["f", "by_call"]);
    assert_eq!(reached("by_table"), ["f", "by_table"]);
    assert_eq!(reached("directly"), ["directly"]);
}

#[test]
fn a_wrong_body_is_told_where_it_is_read() {
    let text = "
.version 8.0
.target sm_90
.address_size 64
.entry right() { ret; }
.entry wrong() {
    .shared .b32 s;
    .reg .b32 %r<2>;
    mov.u32 %r1, 1
}
.entry unknown() { bra nowhere; }
";
    let whole = ptx::Program::read(text, |body| lines(body).map(drop)).unwrap();
    let outline = Outline::of(text).unwrap();
    assert_eq!(outline.program().refused().count(), 0);
    let later = read_outline(&outline, outline.all()).program;
    let told = |program: &ptx::Program| {
        let refused = program.refused();
        refused
            .map(|(f, error)| format!("{}: {error}", f.name))
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&later), told(&whole));
    assert_eq!(later.refused().count(), 2);
}

#[test]
fn a_text_without_an_outline_is_read_at_once() {
    for text in [
        ".version 8.0 .target sm_90 .entry k() { ret;",
        ".version 8.0 .target sm_90 .entry k() { \"ret; }",
        ".version 8.0 .target sm_90 .entry k() { add {; } .entry l() ret; }",
        ".version 8.0 .target sm_90 .global .b32 %g; .entry k() { ret; }",
    ] {
        assert!(Outline::of(text).is_none(), "{text}");
    }
}
