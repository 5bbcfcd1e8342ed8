//! Instructions on edge operands, against the host's arithmetic or the definition in the PTX ISA.

#![allow(
    clippy::disallowed_methods,
    reason = "what is expected is within an error, or exact"
)]

mod compare;
mod convert;
mod digests;
mod float;
mod half;
mod integer;

use ptx_emu::{DeviceLimits, Executable, LaunchConfig, Machine, Options};

/// Edge patterns of 32 bits: as floats zeros, subnormals, ordinary numbers, the largest,
/// infinities, NaNs; as integers small, large, negative, extreme.
const WORDS: [u32; 24] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0001,
    0x4049_0fdb,
    0xc2f6_e979,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffc1_2345,
    31,
    32,
    0xffff_ffff,
    0x7fff_fffe,
    0x0001_2345,
    0x4b80_0001,
];

const LONGS: [u64; 16] = [
    0,
    1 << 63,
    1,
    0x000f_ffff_ffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff8_0000_0000_0001,
    0x4009_21fb_5444_2d18,
    0x7fef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_1234,
    0xfff0_0000_0000_0001,
    u64::MAX,
    63,
    0x0123_4567_89ab_cdef,
    0x3ca0_0000_0000_0000,
];

/// Every triple (a, b, c) with c of a few.
fn triples<T: Copy>(values: &[T]) -> Vec<[T; 3]> {
    let mut all = Vec::new();
    for (i, &a) in values.iter().enumerate() {
        for (j, &b) in values.iter().enumerate() {
            for step in 0..3 {
                all.push([a, b, values[(i * 7 + j * 3 + step * 5) % values.len()]]);
            }
        }
    }
    while all.len() % 32 != 0 {
        all.push(all[0]);
    }
    all
}

/// Runs an instruction from `a`, `b`, `c` to `d` for each triple, of values of `bits` bits.
fn run(bits: u32, instruction: &str, triples: &[[u64; 3]]) -> Vec<u64> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b64 %rd<8>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>, %q<4>;\n\
         .reg .b16 %h<4>;\n.reg .b{bits} a, b, c, d;\n.reg .b32 a32, b32, c32, d32;\n.reg .b64 a64, b64, c64, d64;\n\
         ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n\
         mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n\
         mad.lo.u32 %r1, %r1, %r2, %r3;\nmad.wide.u32 %rd3, %r1, 24, %rd1;\nmad.wide.u32 %rd4, %r1, 8, %rd2;\n\
         ld.global.b64 a64, [%rd3];\nld.global.b64 b64, [%rd3+8];\nld.global.b64 c64, [%rd3+16];\n\
         cvt.u32.u64 a32, a64;\ncvt.u32.u64 b32, b64;\ncvt.u32.u64 c32, c64;\n\
         mov.b{bits} a, a{bits};\nmov.b{bits} b, b{bits};\nmov.b{bits} c, c{bits};\n\
         mov.b64 d64, 0;\nmov.b32 d32, 0;\nmov.b{bits} d, 0;\n\
         {instruction}\n\
         st.global.b{bits} [%rd4], d;\nret;\n}}"
    );
    let program = Executable::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut machine = Machine::new(
        DeviceLimits::default(),
        Options {
            threads: 1,
            ..Options::default()
        },
    );
    let module = machine.load(program).expect("it fits");
    let input: Vec<u8> = triples
        .iter()
        .flatten()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    let in_at = machine.allocate(input.len() as u64, "in").expect("it fits");
    let out_at = machine
        .allocate(8 * triples.len() as u64, "out")
        .expect("it fits");
    machine.write(in_at, &input).expect("in bounds");
    let config = LaunchConfig {
        grid: [triples.len() as u32 / 32, 1, 1],
        block: [32, 1, 1],
        shared_mem_bytes: 0,
        cluster: [1; 3],
    };
    let params = [in_at.to_le_bytes(), out_at.to_le_bytes()].concat();
    machine
        .launch(&module, "k", &config, params)
        .unwrap_or_else(|fault| panic!("{instruction}: {fault}"));
    let mut out = vec![0; 8 * triples.len()];
    machine.read(out_at, &mut out).expect("in bounds");
    out.chunks_exact(8)
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// Compares an instruction on 32-bit values with a function.
fn check32(instruction: &str, expected: impl Fn(u32, u32, u32) -> u32) {
    let triples = triples(&WORDS);
    let wide: Vec<_> = triples.iter().map(|t| t.map(u64::from)).collect();
    for (&[a, b, c], got) in triples.iter().zip(run(32, instruction, &wide)) {
        let want = expected(a, b, c);
        assert_eq!(
            got as u32, want,
            "{instruction} of {a:#x}, {b:#x}, {c:#x}: got {got:#x}, not {want:#x}"
        );
    }
}

/// Compares an instruction on 64-bit values with a function.
fn check64(instruction: &str, expected: impl Fn(u64, u64, u64) -> u64) {
    let triples = triples(&LONGS);
    for (&[a, b, c], got) in triples.iter().zip(run(64, instruction, &triples)) {
        let want = expected(a, b, c);
        assert_eq!(
            got, want,
            "{instruction} of {a:#x}, {b:#x}, {c:#x}: got {got:#x}, not {want:#x}"
        );
    }
}

/// The bits of an f32 result, every NaN being the one that PTX gives.
fn bits32(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0f32.copysign(x)
    } else {
        x
    }
}

fn saturate(x: f32) -> f32 {
    if x.is_nan() {
        0.0
    } else {
        x.clamp(0.0, 1.0) + 0.0
    }
}
