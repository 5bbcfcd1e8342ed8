//! Names to slots, offsets and positions.

mod common;

use ptx::*;

fn parse(body: &str) -> Program {
    let program = Program::parse(&format!(
        ".version 8.3\n.target sm_90\n.address_size 64\n{body}"
    ));
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    common::assert_well_formed(&program);
    program
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
    let program = parse(
        ".entry k() { .reg .b32 x; mov.b32 x, 1; { .reg .b64 x; mov.b64 x, 2; } { mov.b32 x, 3; { .reg .b32 x; mov.b32 x, 4; } } }",
    );
    let written: Vec<Reg> = program.kernel("k").unwrap().instructions[..4]
        .iter()
        .map(|i| match i.op {
            Op::Mov { dst, .. } => dst,
            _ => panic!("{i:?}"),
        })
        .collect();
    let (b32, b64) = (RegClass::B32, RegClass::B64);
    let slot = |class, slot| Reg { class, slot };
    assert_eq!(
        written,
        [slot(b32, 0), slot(b64, 0), slot(b32, 0), slot(b32, 1)]
    );
}

#[test]
fn call_parameters_reuse_the_frame_behind_a_block() {
    let program = parse(
        ".func f(.param .b32 a);
         .func g(.param .b64 own) {
            { .param .b32 x; .param .align 16 .b8 y[32]; st.param.b32 [x], 1; call f, (x); }
            { .param .b32 x; st.param.b32 [x], 1; call f, (x); }
            ret;
         }",
    );
    let (_, g) = program.function_named("g").unwrap();
    // 8 bytes of its own, then x at 8, y at 16; the second x at 8 again.
    assert_eq!(g.param_frame_bytes, 48);
    let stores: Vec<Base> = g
        .instructions
        .iter()
        .filter_map(|i| match &i.op {
            Op::St { addr, .. } => Some(addr.base),
            _ => None,
        })
        .collect();
    assert_eq!(stores, [Base::Symbol(Symbol::FrameParam(8)); 2]);
}

#[test]
fn locals_are_laid_out_in_order() {
    let program = parse(
        ".entry k() { .local .b8 a[3]; .local .align 16 .b8 b[5]; .local .f64 c; .reg .b64 d; mov.u64 d, c; }",
    );
    let kernel = program.kernel("k").unwrap();
    assert_eq!(
        kernel.locals.iter().map(|l| l.offset).collect::<Vec<_>>(),
        [0, 16, 24]
    );
    assert_eq!((kernel.local_bytes, kernel.local_align), (32, 16));
    assert!(matches!(
        kernel.instructions[0].op,
        Op::Mov {
            src: Operand::Symbol(Symbol::Local(24), 0),
            ..
        }
    ));
}

#[test]
fn bodies_close_with_a_return() {
    let count = |body: &str| {
        parse(&format!(".entry k() {{ {body} }}"))
            .kernel("k")
            .unwrap()
            .instructions
            .len()
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
fn a_declaration_and_its_definition_are_one() {
    let program = parse(
        ".func (.param .b32 r) f(.param .b32 x); .extern .global .u32 g; .global .u32 g = 5;
         .entry k() { .reg .b32 r; call (r), f, (r); }
         .func (.param .b32 r) f(.param .b32 x) { ret; }
         .func (.param .b32 r) f(.param .b32 x);",
    );
    assert_eq!(program.functions.len(), 2);
    let (id, f) = program.function_named("f").unwrap();
    assert!(f.is_defined);
    let Op::Call(call) = &program.kernel("k").unwrap().instructions[0].op else {
        panic!("a call")
    };
    assert_eq!(call.target, CallTarget::Function(id));
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
    let program = parse(
        ".entry k() { .reg .b16 h; .reg .b32 r; .reg .b64 d; .reg .pred p;
            mov.b16 h, -1; mov.f32 r, 1.0; mov.f64 d, 0f3F800000; mov.f32 r, 0d3FF0000000000000; mov.pred p, 2; mov.u64 d, -1;
            mov.f32 r, -0f3F800000; mov.b32 r, 0x1FFFFFFFF; mov.u32 r, WARP_SZ; mov.b32 r, ~5; }",
    );
    let bits: Vec<u64> = program.kernel("k").unwrap().instructions[..10]
        .iter()
        .map(|i| match i.op {
            Op::Mov {
                src: Operand::Imm(bits),
                ..
            } => bits,
            _ => panic!("{i:?}"),
        })
        .collect();
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
        32,
        0xFFFF_FFFA,
    ];
    assert_eq!(bits, expected);
}

#[test]
fn lines_of_the_text() {
    let program = parse(".entry k()\n{\n\tret;\n}");
    let ret = &program.kernel("k").unwrap().instructions[0];
    assert_eq!(
        (ret.pos, program.line(ret.pos.line)),
        (Pos { line: 6, column: 2 }, Some("\tret;"))
    );
    assert_eq!((program.line(0), program.line(99)), (None, None));
}
