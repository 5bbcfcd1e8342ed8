//! What the wave2d kernels' PTX must and must not hold.

use std::collections::BTreeMap;

use host::Lab;
use host::wave2d::LAB;

/// How often each of `prefixes` starts an instruction.
fn opcodes(ptx: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in ptx.lines().map(str::trim) {
        let line = match line.strip_prefix('@') {
            Some(guarded) => guarded
                .split_once(char::is_whitespace)
                .map_or("", |(_, rest)| rest.trim()),
            None => line,
        };
        let opcode = line.split([' ', '\t', ';']).next().unwrap_or("");
        if !opcode.is_empty() {
            *counts.entry(opcode).or_insert(0) += 1;
        }
    }
    counts
}

#[test]
fn memory_accesses_have_their_state_space() {
    let counts = opcodes(LAB.module().ptx());
    let any = |prefix: &str| counts.keys().any(|opcode| opcode.starts_with(prefix));
    assert!(
        any("ld.shared.v4") && any("st.shared.v4"),
        "edges move as vectors"
    );
    assert!(
        any("ld.global.nc"),
        "read-only fields go through the read-only path"
    );
    for (opcode, count) in &counts {
        let access = opcode.starts_with("ld.") || opcode.starts_with("st.");
        let spaces = [".global", ".shared", ".param"];
        let known = spaces.iter().any(|space| opcode.contains(space));
        assert!(
            !access || known,
            "{count} of {opcode}: generic or local memory"
        );
    }
}

#[test]
fn the_parser_knows_every_instruction_and_the_kernels_are_listed() {
    let executable = LAB.module().executable().unwrap();
    assert_eq!(executable.unsupported(), []);
    let program = executable.program();
    let mut names: Vec<_> = program
        .kernels()
        .map(|kernel| kernel.name.as_str())
        .filter(|name| name.starts_with("wave2d"))
        .collect();
    names.sort();
    assert_eq!(names, ["wave2d_naive", "wave2d_shmem"]);
    let shmem = program.kernel("wave2d_shmem").unwrap();
    let most: u32 = shmem.max_threads.expect("launch bounds").iter().product();
    let [x, y] = kernels_gpu::wave2d::shmem::BLOCK;
    assert_eq!(most, x * y, "launch bounds are the block that is launched");
}
