//! No text makes the parser panic, and what it accepts is well-formed.

mod common;

use proptest::prelude::*;
use ptx::Program;

const SEEDS: [&str; 3] = [
    include_str!("data/forms.ptx"),
    include_str!("data/nvcc.ptx"),
    include_str!("data/llc_sm_80.ptx"),
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
    match Program::parse(text) {
        Ok(program) => common::assert_well_formed(&program),
        Err(error) => assert!(error.to_string().contains('^'), "{error}"),
    }
}

const HEAD: &str = ".version 8.3\n.target sm_80\n.address_size 64\n";

/// Texts whose shared memory would take hours to lay out.
#[test]
fn layouts_without_end_are_refused() {
    let began = std::time::Instant::now();
    let refused = |text: String| Program::parse(&text).unwrap_err().to_string();
    let shared: String = (0..100_000)
        .map(|i| format!(".shared .b8 s{i}[1];\n"))
        .collect();
    let message = refused(format!("{HEAD}.visible .entry k()\n{{\n{shared}ret;\n}}\n"));
    assert!(
        message.contains("the number of shared variables is 1025, but at most 1024 is supported"),
        "{message}"
    );
    // Every kernel reaches every function.
    let count = 20_000;
    let functions: String = (0..count)
        .map(|i| {
            format!(
                ".func f{};\n.func f{i}\n{{\ncall f{};\nret;\n}}\n",
                i + 1,
                i + 1
            )
        })
        .collect();
    let kernels: String = (0..count)
        .map(|i| format!(".visible .entry k{i}()\n{{\ncall f0;\nret;\n}}\n"))
        .collect();
    let text = format!("{HEAD}.shared .b8 s[4];\n.func f{count};\n{functions}{kernels}");
    let message = refused(text);
    assert!(
        message.contains("counted for each of them, is") && message.contains("at most 8388608"),
        "{message}"
    );
    assert!(began.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn kernels_with_shared_memory_of_their_own_overlap_and_no_others() {
    let text = format!(
        "{HEAD}.shared .align 4 .b8 all[8];\n\
         .visible .entry a()\n{{\n.shared .align 4 .b8 own[16];\n.reg .b64 %rd<3>;\n\
         mov.u64 %rd1, own;\nmov.u64 %rd2, all;\nret;\n}}\n\
         .visible .entry b()\n{{\n.shared .align 4 .b8 own[32];\n.reg .b64 %rd<3>;\n\
         mov.u64 %rd1, own;\nmov.u64 %rd2, all;\nret;\n}}\n"
    );
    let program = Program::parse(&text).unwrap();
    let offsets: Vec<_> = program.shared.iter().map(|v| (v.size, v.offset)).collect();
    assert_eq!(offsets, [(8, 0), (16, 8), (32, 8)]);
}
