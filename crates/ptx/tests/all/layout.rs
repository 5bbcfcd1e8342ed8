//! Names to slots, offsets and positions.

use crate::common::Listing;
use ptx::*;

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

fn list(body: &str) -> Listing {
    crate::common::read(&format!("{HEAD}{body}"))
}

fn parse(body: &str) -> Program {
    list(body).program
}

fn shared<'p>(program: &'p Program, name: &str) -> &'p SharedVariable {
    program.shared.iter().find(|s| s.name == name).unwrap()
}

#[test]
fn shared_variables_overlap_only_where_no_kernel_reaches_both() {
    let program = parse(
        ".shared .align 8 .b8 a[100]; .shared .align 16 .b8 b[1000]; .shared .b32 c; .shared .b8 unused[4096];
         .extern .shared .align 32 .b8 d[];
         .func helper() { .reg .b32 r; mov.u32 r, c; ret; }
         .entry one() { .reg .b32 r; mov.u32 r, a; call helper; ret; }
         .entry two() { .reg .b32 r; mov.u32 r, b; mov.u32 r, d; ret; }
         .entry three() { .reg .b32 r; mov.u32 r, a; mov.u32 r, b; call helper; ret; }
         .entry none() { ret; }",
    );
    assert_eq!(
        (shared(&program, "a").offset, shared(&program, "b").offset),
        (0, 112)
    );
    // `helper` serves kernels `one` and `three`: `c` is behind both, at one offset.
    assert_eq!(
        (
            shared(&program, "c").offset,
            shared(&program, "unused").kernels.len()
        ),
        (100, 0)
    );
    let bytes = |name: &str| {
        let kernel = program.kernel(name).unwrap();
        (
            kernel.shared_bytes,
            kernel.dynamic_shared_offset,
            kernel.uses_dynamic_shared,
        )
    };
    assert_eq!(bytes("one"), (104, 104, false));
    assert_eq!(bytes("two"), (1112, 1120, true));
    assert_eq!(bytes("three"), (1112, 1112, false));
    assert_eq!(bytes("none"), (0, 0, false));
}

#[test]
fn variables_of_kernels_that_never_meet_share_their_space() {
    let program = parse(
        ".entry one() { .shared .b8 tile[40000]; .reg .b32 r; mov.u32 r, tile; ret; }
         .entry two() { .shared .b8 tile[40000]; .reg .b32 r; mov.u32 r, tile+4; ret; }",
    );
    assert_eq!(
        program.shared.iter().map(|s| s.offset).collect::<Vec<_>>(),
        [0, 0]
    );
    assert!(program.kernels().all(|k| k.shared_bytes == 40000));
}

#[test]
fn functions_reached_through_tables_count() {
    let program = parse(
        ".shared .b32 s; .func f() { .reg .b32 r; mov.u32 r, s; ret; }
         .global .u64 table[1] = {f};
         .entry k() { .reg .b64 d; mov.u64 d, table; ret; }",
    );
    assert_eq!(program.kernel("k").unwrap().shared_bytes, 4);
}

#[test]
fn registers_get_slots_on_first_use() {
    let program = parse(
        ".entry k() {
            .reg .b32 %r<1000000000>; .reg .b32 %r1x<4>; .reg .f32 alone;
            mov.b32 %r999999999, %r7; mov.b32 %r1x3, alone; mov.b32 %r7, %r13;
         }",
    );
    let kernel = program.kernel("k").unwrap();
    assert_eq!(
        kernel.registers,
        RegCounts {
            b32: 5,
            ..RegCounts::default()
        }
    );
    let names: Vec<&str> = (0..5)
        .map(|slot| {
            kernel.register_name(Reg {
                class: RegClass::B32,
                slot,
            })
        })
        .collect();
    assert_eq!(names, ["%r999999999", "%r7", "%r1x3", "alone", "%r13"]);
}

#[test]
fn inner_registers_hide_outer_ones() {
    let listing = list(
        ".entry k() { .reg .b32 x; mov.b32 x, 1; { .reg .b64 x; mov.b64 x, 2; } { mov.b32 x, 3; { .reg .b32 x; mov.b32 x, 4; } } }",
    );
    let written: Vec<_> = listing.body("k").iter().map(|line| line.named[0]).collect();
    let (b32, b64) = (RegClass::B32, RegClass::B64);
    let slot = |class, slot| Some(Named::Reg(Reg { class, slot }));
    assert_eq!(
        written,
        [slot(b32, 0), slot(b64, 0), slot(b32, 0), slot(b32, 1)]
    );
}

#[test]
fn call_parameters_reuse_the_frame_behind_a_block() {
    let listing = list(
        ".func f(.param .b32 a);
         .func g(.param .b64 own) {
            { .param .b32 x; .param .align 16 .b8 y[32]; st.param.b32 [x], 1; call f, (x); }
            { .param .b32 x; st.param.b32 [x], 1; call f, (x); }
            ret;
         }",
    );
    let (_, g) = listing.program.function_named("g").unwrap();
    // 8 bytes of its own, then x at 8, y at 16; the second x at 8 again.
    assert_eq!(g.param_frame_bytes, 48);
    let stores: Vec<_> = listing
        .body("g")
        .iter()
        .filter(|line| line.opcode == "st")
        .map(|line| line.named[0])
        .collect();
    assert_eq!(stores, [Some(Named::Param(Symbol::FrameParam(8), 4)); 2]);
}

#[test]
fn locals_are_laid_out_in_order() {
    let listing = list(
        ".entry k() { .local .b8 a[3]; .local .align 16 .b8 b[5]; .local .f64 c; .reg .b64 d; mov.u64 d, c; }",
    );
    let kernel = listing.program.kernel("k").unwrap();
    assert_eq!(
        kernel.locals.iter().map(|l| l.offset).collect::<Vec<_>>(),
        [0, 16, 24]
    );
    assert_eq!((kernel.local_bytes, kernel.local_align), (32, 16));
    let moved = listing.body("k")[0].named[1];
    assert_eq!(moved, Some(Named::Symbol(Symbol::Local(24))));
}

#[test]
fn a_declaration_and_its_definition_are_one() {
    let listing = list(
        ".func (.param .b32 r) f(.param .b32 x); .extern .global .u32 g; .global .u32 g = 5;
         .entry k() { .reg .b32 r; call (r), f, (r); }
         .func (.param .b32 r) f(.param .b32 x) { ret; }
         .func (.param .b32 r) f(.param .b32 x);",
    );
    let program = &listing.program;
    assert_eq!(program.functions.len(), 2);
    let (id, f) = program.function_named("f").unwrap();
    assert!(f.is_defined);
    let callee = listing.body("k")[0].named[1];
    assert_eq!(callee, Some(Named::Symbol(Symbol::Function(id))));
    assert_eq!(program.globals.len(), 1);
    assert_eq!(
        (
            program.globals[0].is_extern,
            program.globals[0].init.as_slice()
        ),
        (false, &[5, 0, 0, 0][..])
    );
}

#[test]
fn initialisers_of_every_kind() {
    let program = parse(
        ".global .s16 a[4] = {-1, 0x7FFF}; .global .f64 b[2] = {1.5, 0f40000000}; .global .v2 .f32 c[2] = {{0f3F800000}, {2.0, 3.0}};
         .global .u32 d[] = {1, 2, 3}; .const .b8 e[8] = {0, ~0}; .global .align 8 .u64 f[2] = {e+4, generic(e)+-4};
         .global .b8 g[9] = {7, 0xFF(generic(a)), 0xFF00(generic(a)), 0xFF0000(generic(a)), 0xFF000000(generic(a)),
            0xFF00000000(generic(a)), 0xFF0000000000(generic(a)), 0xFF000000000000(generic(a)), 0xFF00000000000000(generic(a))};",
    );
    let init = |i: usize| program.globals[i].init.as_slice();
    assert_eq!(init(0), [0xFF, 0xFF, 0xFF, 0x7F]);
    assert_eq!(program.globals[0].size, 8);
    assert_eq!(
        init(1),
        [1.5f64.to_le_bytes(), 2.0f64.to_le_bytes()].concat()
    );
    assert_eq!(
        init(2),
        [1f32, 0.0, 2.0, 3.0].map(f32::to_le_bytes).concat()
    );
    assert_eq!(program.globals[2].align, 8);
    assert_eq!(program.globals[3].size, 12);
    assert_eq!(init(4), [0, 0xFF]);
    let (e, a) = (Symbol::Global(GlobalId(4)), Symbol::Global(GlobalId(0)));
    let relocation = |offset, symbol, addend, generic| Relocation {
        offset,
        size: 8,
        symbol,
        addend,
        generic,
    };
    assert_eq!(
        program.globals[5].relocations,
        [relocation(0, e, 4, false), relocation(8, e, -4, true)]
    );
    assert_eq!(program.globals[6].relocations, [relocation(1, a, 0, true)]);
    assert_eq!(init(6), [7, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn numbers_take_the_bits_of_the_type() {
    use ScalarType::*;
    let types = [B16, F32, F64, F32, Pred, U64, F32, B32, B32];
    let mut bits = Vec::new();
    let numbers = "-1, 1.0, 0f3F800000, 0d3FF0000000000000, 2, -1, -0f3F800000, 0x1FFFFFFFF, ~5";
    let text = format!("{HEAD}.entry k() {{ numbers {numbers}; }}");
    Program::read(&text, |body| {
        let inst = body.next_instruction()?.expect("one instruction").syntax;
        let Operands::List(operands) = &inst.operands else {
            panic!("{inst:?}");
        };
        for (operand, ty) in operands.iter().zip(types) {
            let OperandKind::Literal(literal) = operand.kind else {
                panic!("{operand:?}");
            };
            bits.push(literal.bits(ty, operand.pos)?);
        }
        Ok(())
    })
    .unwrap();
    let one = u64::from(1f32.to_bits());
    let expected = [
        0xFFFF,
        one,
        1f64.to_bits(),
        one,
        1,
        u64::MAX,
        u64::from((-1f32).to_bits()),
        0xFFFF_FFFF,
        0xFFFF_FFFA,
    ];
    assert_eq!(bits, expected);
}

#[test]
fn lines_of_the_text() {
    let listing = list(".entry k()\n{\n\tret;\n}");
    let (program, ret) = (&listing.program, &listing.body("k")[0]);
    assert_eq!(
        (ret.pos, program.line(ret.pos.line)),
        (Pos { line: 6, column: 2 }, Some("\tret;"))
    );
    assert_eq!((program.line(0), program.line(99)), (None, None));
}

/// Texts whose shared memory would take hours to lay out.
#[test]
fn layouts_without_end_are_refused() {
    let began = std::time::Instant::now();
    let refused = |text: String| Program::read(&text, |_| Ok(())).unwrap_err().to_string();
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
    let of_kernels = refused(text);
    assert!(
        of_kernels.contains("counted for each of them, is")
            && of_kernels.contains("at most 8388608"),
        "{of_kernels}"
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
    let program = Program::read(&text, |_| Ok(())).unwrap();
    let offsets: Vec<_> = program.shared.iter().map(|v| (v.size, v.offset)).collect();
    assert_eq!(offsets, [(8, 0), (16, 8), (32, 8)]);
}
