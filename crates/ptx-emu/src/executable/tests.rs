//! No text makes reading panic, and what it accepts is well-formed. What is recorded of each form's
//! code.

use proptest::prelude::*;

use super::*;
use crate::runner::Op;

const SEEDS: [&str; 3] = [
    include_str!("../../../ptx/tests/data/forms.ptx"),
    include_str!("../../../ptx/tests/data/nvcc.ptx"),
    include_str!("../../../ptx/tests/data/llc_sm_80.ptx"),
];

/// Pieces that the mutations put together.
const PIECES: [&str; 60] = [
    ".version 8.3\n",
    ".target sm_90\n",
    ".visible .entry k(.param .u64 a)",
    ".func (.param .b32 r) f(.param .b32 x)",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "<",
    ">",
    "|",
    "!",
    "@",
    "=",
    "+",
    "-",
    "_",
    "%r1",
    "%d1",
    "%p1",
    "%h1",
    "%f1",
    "a",
    "L",
    "L:",
    ".reg .b32 %r<4>;",
    ".reg .b64 %d<4294967295>;",
    ".reg .pred %p<99999999999>;",
    ".local .align 8 .b8 l[16];",
    ".shared .align 1024 .b8 s[4294967295];",
    ".param .b32 q;",
    ".global .u64 g[2] = {g, generic(f)+1};",
    "add.s32",
    "ld.global.v4.u32",
    "mov.b64",
    "{%r1, %r2}",
    "[%d1+-8]",
    "call (r), f, (x);",
    "bra L;",
    "brx.idx %r1, T;",
    "T: .branchtargets L, L;",
    "P: .callprototype _ (.param .b32 _);",
    ".loc 1 2 3",
    "0x7fffffffffffffff",
    "0f3F800000",
    "1.5e3",
    "-1",
    "WARP_SZ",
    "%tid.x",
    ".align 3",
    ".extern .shared .b8 d[];",
    "wgmma.fence.sync.aligned;",
    "/*",
    "// é",
    "\"",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_pieces(indices in prop::collection::vec(0..PIECES.len(), 0..80)) {
        let body: Vec<&str> = indices.iter().map(|i| PIECES[*i]).collect();
        check(&body.join(" "));
        check(&format!(".version 8.3 .target sm_90 .entry k(.param .u64 a) {{ {} }}", body.join(" ")));
    }

    #[test]
    fn a_changed_program(
        seed in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, 0..PIECES.len(), 0..3), 1..6),
    ) {
        let mut text = SEEDS[seed].to_string();
        for (at, length, piece, kind) in edits {
            let start = boundary(&text, at.index(text.len() + 1));
            let end = boundary(&text, (start + length).min(text.len()));
            match kind {
                0 => text.replace_range(start..end, ""),
                1 => text.replace_range(start..end, PIECES[piece]),
                _ => {
                    let copy = text[start..end].to_string();
                    text.insert_str(start, &copy);
                }
            }
        }
        check(&text);
    }

    #[test]
    fn a_program_cut_short(seed in 0..SEEDS.len(), at in any::<prop::sample::Index>()) {
        let text = SEEDS[seed];
        check(&text[..boundary(text, at.index(text.len()))]);
    }

    #[test]
    fn lines_in_another_order(seed in 0..SEEDS.len(), swaps in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 1..8)) {
        let mut lines: Vec<&str> = SEEDS[seed].lines().collect();
        for [a, b] in swaps {
            let count = lines.len();
            lines.swap(a.index(count), b.index(count));
        }
        check(&lines.join("\n"));
    }
}

fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn check(text: &str) {
    match Executable::parse(text) {
        Ok(executable) => assert_well_formed(&executable),
        Err(error) => assert!(error.to_string().contains('^'), "{error}"),
    }
}

#[test]
fn an_assembler_may_contract_a_product_and_a_sum_without_rounding() {
    let contracts = |body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {{\n.reg .f32 %f;\n.reg .f64 %d;\n{body}\nret;\n}}"
        );
        let read = Executable::parse(&text).unwrap();
        read.contracts().map(str::to_owned)
    };
    for sum in ["add", "sub"] {
        let body = format!("mul.f32 %f, %f, %f;\n{sum}.ftz.f32 %f, %f, %f;");
        assert_eq!(contracts(&body).as_deref(), Some("k"));
    }
    for body in [
        "mul.rn.f32 %f, %f, %f;\nadd.rn.f32 %f, %f, %f;",
        "mul.f32 %f, %f, %f;\nadd.rn.f32 %f, %f, %f;",
        "mul.rn.f32 %f, %f, %f;\nadd.f32 %f, %f, %f;",
        "mul.f32 %f, %f, %f;\nadd.f64 %d, %d, %d;",
        "fma.rn.f32 %f, %f, %f, %f;\nadd.f32 %f, %f, %f;",
    ] {
        assert_eq!(contracts(body), None);
    }
}

#[test]
fn a_function_that_may_call_itself_is_recursive() {
    let module = |functions: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func a();\n.func b();\n{functions}"
        );
        Executable::parse(&text).unwrap().is_recursive()
    };
    let (returns, kernel) = (
        ".func b() { ret; }\n",
        ".visible .entry k() { call a, (); call b, (); ret; }\n",
    );
    let a = |body: &str| format!(".func a() {{ .reg .b64 %r; {body} ret; }}\n{returns}{kernel}");
    assert!(!module(&a("")));
    assert!(!module(&a("call b, (); call b, ();")));
    assert!(module(&a("call a, ();")));
    let by_way = ".func b() { call a, (); ret; }\n";
    assert!(module(&a("call b, ();").replace(returns, by_way)));
    assert!(module(&a(
        "mov.b64 %r, b; p: .callprototype ()_(); call %r, (), p;"
    )));
}

/// Panics unless every index in the code is in range.
fn assert_well_formed(executable: &Executable) {
    let code = executable.code();
    assert_eq!(code.functions.len(), executable.program().functions.len());
    assert_eq!(code.insts.len(), code.infos.len());
    let mut ends = code.functions.iter().skip(1).map(|function| function.entry);
    for function in &code.functions {
        let end = ends.next().unwrap_or(code.insts.len() as u32);
        let insts = &code.insts[function.entry as usize..end as usize];
        assert_eq!(insts.is_empty(), !function.is_defined);
        assert!(function.local_align.is_power_of_two());
        assert!(
            function
                .callees
                .iter()
                .all(|callee| (*callee as usize) < code.functions.len())
        );
        if let Some(last) = insts.last() {
            let leaves = matches!(last.op, Op::Branch { .. })
                || ["Return", "Exit", "Trap", "BranchTable", "Unsupported"]
                    .iter()
                    .any(|name| format!("{:?}", last.op).starts_with(name));
            assert!(leaves && last.guard == ALWAYS, "{last:?}");
        }
        for inst in insts {
            assert!(inst.guard < function.rows.pred);
            if let Op::Branch { target } = inst.op {
                assert!((function.entry..end).contains(&target));
            }
            assert_rows(function, &inst.op);
        }
    }
}

/// Every row that an operation names exists. Read off its debug form, so that no operand is
/// forgotten. Rows of a call's registers may be the callee's, and rows of arithmetic do not tell
/// their file.
fn assert_rows(function: &FunctionCode, op: &Op) {
    let text = format!("{op:?}");
    let rows = function.rows;
    let number = |part: &str| -> u32 {
        let digits = part.split(|c: char| !c.is_ascii_digit()).next();
        digits
            .and_then(|digits| digits.parse().ok())
            .expect("a number")
    };
    if let Op::Apply { .. } | Op::Compare { .. } = op {
        for name in ["d: ", "a: ", "b: ", "c: ", "e: "] {
            let (_, row) = text.split_once(name).expect("a row");
            assert!(
                number(row) < rows.r32.max(rows.r64).max(rows.pred),
                "{text}"
            );
        }
    }
    if text.starts_with("Call") {
        return;
    }
    for part in text.split("Slot { class: ").skip(1) {
        let (class, row) = part.split_once(", row: ").expect("the fields of a slot");
        let count = match class {
            "Pred" => rows.pred,
            "B64" => rows.r64,
            _ => rows.r32,
        };
        assert!(number(row) < count, "{text}");
    }
}

#[test]
fn compilers_emit_nothing_that_is_not_modelled() {
    let lines = include_str!("../../../ptx/tests/data/llc_sm_90_lines.ptx");
    for text in SEEDS.into_iter().chain([lines]) {
        let executable = Executable::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(executable.unsupported(), []);
        assert_well_formed(&executable);
    }
}

/// `forms.ptx` assembles with ptxas 13.5 for sm_90, so the left side is PTX; the right side was
/// checked against the PTX ISA by reading. What arithmetic on rows computes is recorded elsewhere
/// (`tests/forms.rs`).
#[test]
fn each_form_has_the_code_that_is_recorded() {
    let text = SEEDS[0];
    let executable = Executable::parse(text).unwrap();
    let (id, _) = executable.program().function_named("forms").unwrap();
    let code = executable.code();
    let entries: Vec<u32> = code
        .functions
        .iter()
        .map(|function| function.entry)
        .collect();
    let function = &code.functions[id.0 as usize];
    let mut after = entries.into_iter().filter(|entry| *entry > function.entry);
    let end = after.next().unwrap_or(code.insts.len() as u32);
    let mut table = String::new();
    for pc in function.entry as usize..end as usize {
        let (inst, info) = (&code.insts[pc], &code.infos[pc]);
        let written = executable
            .program()
            .line(info.position.ptx_line)
            .unwrap()
            .trim();
        let guard = match inst.guard {
            ALWAYS => String::new(),
            slot => format!("@{}{slot} ", if inst.flip == 0 { "" } else { "!" }),
        };
        let op = compact(&format!("{:?}", inst.op));
        table += &format!("{written}\n    {}: {guard}{op}\n", info.class.name());
    }
    table += &format!("{:?}\n", function.rows);
    for constant in &function.constants {
        table += &compact(&format!("{constant:?}\n"));
    }
    insta::assert_snapshot!("forms", table);
}

/// Shortens the debug forms of slots, and leaves out the address of a comparison's code.
fn compact(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    if let Some((before, address)) = text.split_once("test: 0x") {
        out += before;
        rest = address.split_once(", ").unwrap().1;
    }
    while let Some((before, after)) = rest.split_once("Slot { class: ") {
        let (class, after) = after.split_once(", row: ").unwrap();
        let (row, after) = after.split_once(" }").unwrap();
        out += &format!("{before}{class}:{row}");
        rest = after;
    }
    out + rest
}

#[test]
fn bodies_close_with_a_return() {
    let count = |body: &str| {
        let text = format!(".version 8.3\n.target sm_90\n.entry k() {{ {body} }}");
        Executable::parse(&text).unwrap().code().insts.len()
    };
    assert_eq!(count(""), 1);
    assert_eq!(count("ret;"), 1);
    assert_eq!(count("trap;"), 1);
    assert_eq!(count("L: bra L;"), 1);
    assert_eq!(count(".reg .pred p; @p ret;"), 2);
    assert_eq!(count("bra L; L:"), 2);
    assert_eq!(count("membar.gl;"), 2);
}

#[test]
fn a_launch_counts_the_code_that_its_kernel_reaches() {
    let text = "
        .version 8.0
        .target sm_80
        .address_size 64
        .func called() { ret; }
        .entry before() { ret; }
        .entry alone(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>; ld.param.u64 %rd1, [p]; ld.u32 %r1, [%rd1]; ret; }
        .entry calls() { call called, (); ret; }
    ";
    let executable = Executable::parse(text).unwrap();
    let code = executable.code();
    let counted = |kernel| {
        let (id, _) = executable.program().function_named(kernel).unwrap();
        code.tallies(id.0).counted()
    };
    assert_eq!(counted("before"), (1..2, 0..0));
    assert_eq!(counted("alone"), (2..5, 0..2));
    // From the first function that it reaches to the last.
    assert_eq!(counted("calls"), (0..7, 0..2));
}
