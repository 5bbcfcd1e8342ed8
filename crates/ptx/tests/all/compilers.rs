//! Every construct that the compilers emit is read.
//!
//! `llc_*.ptx` come from the kernels in `llc.rs` by LLVM 22; `nvcc.ptx` is written by hand in the
//! style of the CUDA compiler, and assembles with ptxas 13.5.

use crate::common::{Line, Listing};
use ptx::*;

fn llc_listing() -> Listing {
    crate::common::read(include_str!("../data/llc_sm_80.ptx"))
}

fn nvcc_listing() -> Listing {
    crate::common::read(include_str!("../data/nvcc.ptx"))
}

fn llc() -> Program {
    llc_listing().program
}

fn nvcc() -> Program {
    nvcc_listing().program
}

fn calls(body: &[Line]) -> Vec<&Line> {
    body.iter().filter(|line| line.opcode == "call").collect()
}

/// The function whose address an operand is.
fn function(named: Option<Named>) -> Option<FunctionId> {
    match named {
        Some(Named::Symbol(Symbol::Function(id))) => Some(id),
        _ => None,
    }
}

#[test]
fn header_and_kernels() {
    let program = llc();
    assert_eq!(program.version, (7, 0));
    assert_eq!(program.target, ["sm_80"]);
    let names: Vec<&str> = program.kernels().map(|k| k.name.as_str()).collect();
    let expected = [
        "atomics",
        "by_value",
        "calls",
        "dynamic",
        "inline_asm",
        "lut",
        "math",
        "shared_shift",
        "statics",
        "table",
        "vectors",
        "wide",
    ];
    assert_eq!(names, expected);
    assert!(program.kernel("helper").is_none());
}

#[test]
fn parameters_describe_the_launch() {
    let program = llc();
    let kernel = program.kernel("by_value").unwrap();
    let seen: Vec<(u32, ParamType, u32)> = kernel
        .params
        .iter()
        .map(|p| (p.offset, p.ty, p.align))
        .collect();
    use ParamType::*;
    // A struct of { f32, [f64; 3], u32, bool }, a pointer, a u8, a bool, an i16 and a slice.
    assert_eq!(
        seen,
        [
            (0, Bytes(40), 8),
            (40, Scalar(ScalarType::U64), 8),
            (48, Scalar(ScalarType::U8), 1),
            (49, Scalar(ScalarType::U8), 1),
            (50, Scalar(ScalarType::U16), 2),
            (56, Bytes(16), 8),
        ]
    );
    assert_eq!(kernel.kernel_param_bytes, 72);
    assert_eq!(
        kernel.param("by_value_param_1").unwrap().pointer,
        Some(PointerInfo {
            space: Space::Generic,
            align: 1
        })
    );
}

#[test]
fn shared_memory_is_laid_out_for_each_kernel() {
    let program = llc();
    let kernel = program.kernel("shared_shift").unwrap();
    assert_eq!(
        (
            kernel.shared_bytes,
            kernel.dynamic_shared_offset,
            kernel.uses_dynamic_shared
        ),
        (1024, 1024, true)
    );
    assert_eq!(
        program.dynamic_shared,
        [DynamicShared {
            name: "dynamic_bytes".into(),
            align: 16
        }]
    );
    let other = program.kernel("lut").unwrap();
    assert_eq!((other.shared_bytes, other.uses_dynamic_shared), (0, false));
}

#[test]
fn match_tables_branch_to_instructions() {
    let listing = llc_listing();
    let branches = listing
        .body("table")
        .iter()
        .filter(|line| line.opcode == "brx");
    let tables: Vec<usize> = branches.map(|line| line.targets.len()).collect();
    assert!(
        !tables.is_empty() && tables.iter().all(|n| *n >= 4),
        "{tables:?}"
    );
}

#[test]
fn calls_pass_parameters_of_the_frame() {
    let listing = llc_listing();
    let (program, calls) = (&listing.program, calls(listing.body("calls")));
    assert_eq!(calls.len(), 3);
    // `helper(&mut x, i, y) -> (f64, u32)`.
    let [result, callee, args @ ..] = &calls[0].named[..] else {
        panic!("{:?}", calls[0]);
    };
    let sizes = args.iter().map(|arg| match arg {
        Some(Named::Param(Symbol::FrameParam(_), size)) => *size,
        _ => 0,
    });
    assert_eq!(sizes.collect::<Vec<_>>(), [8, 8, 4]);
    let helper = program.function(function(*callee).expect("a direct call"));
    assert!(helper.name.contains("helper") && helper.is_defined && !helper.is_kernel);
    assert_eq!(helper.returns[0].ty, ParamType::Bytes(16));
    assert!(matches!(
        result,
        Some(Named::Param(Symbol::FrameParam(_), 16))
    ));
    let kernel = program.kernel("calls").unwrap();
    assert_eq!((kernel.local_bytes, kernel.local_align), (96, 8));
}

#[test]
fn trait_objects_call_through_a_prototype() {
    let listing = llc_listing();
    let program = &listing.program;
    let mut functions = program.functions.iter();
    let total = functions.find(|f| f.name.ends_with("total")).unwrap();
    let calls = calls(listing.body(&total.name));
    let indirect = calls.iter().filter(|line| {
        let callees = line.named.iter();
        line.prototype.is_some() && callees.flatten().any(|n| matches!(n, Named::Reg(_)))
    });
    assert_eq!(indirect.count(), 2);
    let moves = listing
        .body("dynamic")
        .iter()
        .filter(|line| line.opcode == "mov");
    let addresses = moves.filter_map(|line| function(line.named[1]));
    let names = addresses.map(|id| &program.function(id).name);
    assert_eq!(
        names
            .filter(|name| name.ends_with("area") || name.ends_with("name"))
            .count(),
        4
    );
}

#[test]
fn statics_have_their_bytes() {
    let program = llc();
    let counter = program
        .globals
        .iter()
        .find(|g| g.name.ends_with("COUNTER"))
        .unwrap();
    assert_eq!(
        (counter.size, counter.align, counter.init.as_slice()),
        (4, 4, &[7][..])
    );
    let names = program
        .globals
        .iter()
        .find(|g| g.name.ends_with("NAMES"))
        .unwrap();
    assert_eq!(names.size, 48);
    assert_eq!(
        names
            .relocations
            .iter()
            .map(|r| (r.offset, r.size, r.generic))
            .collect::<Vec<_>>(),
        [(0, 8, true), (16, 8, true), (32, 8, true)]
    );
    // The lengths between the pointers.
    assert_eq!([names.init[8], names.init[24], names.init[40]], [3, 5, 6]);
}

#[test]
fn source_positions_lead_to_the_students_line() {
    let listing = crate::common::read(include_str!("../data/llc_sm_90_lines.ptx"));
    let (program, body) = (&listing.program, listing.body("shared_shift"));
    let mut barriers = body.iter().filter(|line| line.text.starts_with("bar"));
    let barrier = barriers.next().unwrap();
    let inner = program.loc(barrier.loc.unwrap());
    assert!(
        program
            .file(inner.file)
            .unwrap()
            .ends_with("core_arch/src/nvptx/mod.rs")
    );
    let outer = program.loc(inner.inlined_at.unwrap());
    assert_eq!(program.file(outer.file), Some("./src/lib.rs"));
    assert_eq!((outer.line, outer.column, outer.inlined_at), (45, 9, None));
    // Two deep: the index in `gid`, inlined into the kernel.
    let index = body
        .iter()
        .find(|line| line.text.ends_with("%ctaid.x"))
        .unwrap();
    let gid = program.loc(program.loc(index.loc.unwrap()).inlined_at.unwrap());
    let at = program.loc(gid.inlined_at.unwrap());
    assert_eq!((gid.line, at.line), (31, 37));
    assert!(
        program.files.iter().all(|f| f.number <= 13),
        "comments name files of the table: {:?}",
        program.files
    );
}

#[test]
fn nvcc_declarations() {
    let program = nvcc();
    let saxpy = program.kernel("_Z5saxpyifPKfPf").unwrap();
    assert_eq!(
        (saxpy.max_threads, saxpy.min_blocks, saxpy.required_threads),
        (Some([256, 1, 1]), Some(4), None)
    );
    assert_eq!(
        saxpy.params[3].pointer,
        Some(PointerInfo {
            space: Space::Global,
            align: 16
        })
    );
    let tile = program.kernel("_Z4tilePf").unwrap();
    assert_eq!(
        (
            tile.required_threads,
            tile.shared_bytes,
            tile.dynamic_shared_offset
        ),
        (Some([32, 4, 1]), 512, 512)
    );
    let init = |name: &str| program.globals.iter().find(|g| g.name == name).unwrap();
    assert_eq!(init("scale").init, 1.5f32.to_le_bytes());
    assert_eq!(init("coefficients").space, Space::Const);
    assert_eq!(init("coefficients").size, 12);
    assert_eq!(
        init("matrix").init,
        [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]
    );
    assert_eq!(init("matrix").size, 24);
    assert_eq!(init("pointers").relocations[1].addend, 6);
}

#[test]
fn nvcc_inlining_attribute() {
    let listing = nvcc_listing();
    let (program, saxpy) = (&listing.program, listing.body("_Z5saxpyifPKfPf"));
    let grid = saxpy.iter().find(|line| line.pos.line == 59).unwrap();
    let at = program.loc(grid.loc.unwrap());
    let outer = program.loc(at.inlined_at.unwrap());
    assert_eq!(
        ((at.line, at.column), (outer.line, outer.column)),
        ((7, 5), (6, 11))
    );
}

#[test]
fn labels_of_inline_assembly_are_scoped() {
    let listing = nvcc_listing();
    let tile = listing.program.kernel("_Z4tilePf").unwrap();
    let again: Vec<&Label> = tile.labels.iter().filter(|l| l.name == "AGAIN").collect();
    assert_eq!(again.len(), 2);
    let branches: Vec<u32> = listing
        .body("_Z4tilePf")
        .iter()
        .filter(|line| line.opcode == "bra")
        .flat_map(|line| line.targets.clone())
        .collect();
    // `@p bra DONE`, `bra AGAIN` in the first block; `@p bra AGAIN` in the second, where DONE is
    // its first instruction.
    assert_eq!(
        branches,
        [again[1].target, again[0].target, again[1].target]
    );
    // Both blocks declare `p`: two slots.
    assert_eq!(tile.registers.pred, 2);
}

#[test]
fn undefined_functions_can_be_called() {
    let listing = nvcc_listing();
    let (id, vprintf) = listing.program.function_named("vprintf").unwrap();
    assert!(!vprintf.is_defined);
    let calls = calls(listing.body("_Z4tilePf"));
    let calls = calls
        .iter()
        .filter(|line| line.named.iter().any(|n| function(*n) == Some(id)));
    assert_eq!(calls.count(), 1);
}

/// The two ways to read a text agree where both can.
#[test]
fn the_outline_has_the_kernels_and_instructions_of_the_program() {
    for text in [
        include_str!("../data/llc_sm_80.ptx"),
        include_str!("../data/llc_sm_90_lines.ptx"),
        include_str!("../data/nvcc.ptx"),
        include_str!("../data/forms.ptx"),
    ] {
        let listing = crate::common::read(text);
        let read: Vec<(String, u64)> = listing
            .program
            .kernels()
            .map(|kernel| {
                let instructions = listing.body(&kernel.name).len() as u64;
                (kernel.name.clone(), instructions)
            })
            .collect();
        let kernels = ptx::kernels(text).unwrap();
        let outlined: Vec<(String, u64)> = kernels
            .iter()
            .map(|kernel| (kernel.name.to_owned(), kernel.instructions))
            .collect();
        assert_eq!(outlined, read);
        assert_eq!(
            ptx::directive(text, "target"),
            listing.program.target.first().map(String::as_str)
        );
    }
}
