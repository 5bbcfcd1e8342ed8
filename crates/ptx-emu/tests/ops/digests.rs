//! Every floating-point instruction on many values, as digests: results are the same on every
//! machine, to the bit. Where the architectures differ - which NaN an operation gives, what minima
//! do with a signalling one, how the C library rounds a sine - nothing of the host may show.
//!
//! The forms are all that a family's modifiers allow and the emulator accepts, so that a new one is
//! among them. A digest that differs on one machine alone names the family; `--nocapture` prints
//! the digest of each form, to be compared with another machine's.

use std::fmt::Write as _;

use ptx_emu::{DeviceLimits, Executable, LaunchConfig, Machine, Options};

/// Forms of an instruction: the opcode, then one of each slot.
struct Family {
    /// Opcode and slots: words apart by blanks, alternatives in a word by `|`, one of them perhaps
    /// empty.
    forms: &'static str,
    /// The body around an instruction, `OP`, on `a`, `b`, `c`: registers of 32 bits, `a64` and so
    /// on of 64. The result is `d` or `d64`.
    text: &'static str,
}

const fn family(forms: &'static str, text: &'static str) -> Family {
    Family { forms, text }
}

const UNARY: &str = "OP d, a;";
const BINARY: &str = "OP d, a, b;";
const TERNARY: &str = "OP d, a, b, c;";
const UNARY_64: &str = "OP d64, a64;";
const BINARY_64: &str = "OP d64, a64, b64;";
const TERNARY_64: &str = "OP d64, a64, b64, c64;";
const UNARY_16: &str = "mov.b32 {h1, h2}, a; OP h0, h1; mov.b32 d, {h0, h2};";
const BINARY_16: &str =
    "mov.b32 {h1, h2}, a; mov.b32 {h3, h4}, b; OP h0, h1, h3; mov.b32 d, {h0, h2};";
const TERNARY_16: &str = "mov.b32 {h1, h2}, a; mov.b32 {h3, h4}, b; mov.b32 {h5, h6}, c; OP h0, h1, h3, h5; mov.b32 d, {h0, h2};";

const FAMILIES: &[Family] = &[
    family("add|sub|mul |rn|rz|rm|rp |ftz |sat f32", BINARY),
    family("fma|mad rn|rz|rm|rp |ftz |sat f32", TERNARY),
    family("div |rn|rz|rm|rp|full|approx |ftz f32", BINARY),
    family("sqrt|rcp |rn|rz|rm|rp|approx |ftz f32", UNARY),
    family("rsqrt|ex2|lg2|sin|cos|tanh approx |ftz f32", UNARY),
    family("abs|neg |ftz f32", UNARY),
    family("min|max |ftz |NaN |xorsign.abs f32", BINARY),
    family("copysign f32", BINARY),
    family("add|sub|mul |rn|rz|rm|rp f64", BINARY_64),
    family("fma|mad rn|rz|rm|rp f64", TERNARY_64),
    family("div rn|rz|rm|rp f64", BINARY_64),
    family("sqrt|rcp |rn|rz|rm|rp|approx |ftz f64", UNARY_64),
    family("rsqrt approx |ftz f64", UNARY_64),
    family("abs|neg f64", UNARY_64),
    family("min|max|copysign f64", BINARY_64),
    family("add|sub|mul |rn |ftz |sat f16|bf16", BINARY_16),
    family("add|sub|mul |rn |ftz |sat f16x2|bf16x2", BINARY),
    family("fma rn |ftz |sat|relu f16|bf16", TERNARY_16),
    family("fma rn |ftz |sat|relu f16x2|bf16x2", TERNARY),
    family("min|max |ftz |NaN |xorsign.abs f16|bf16", BINARY_16),
    family("min|max |ftz |NaN |xorsign.abs f16x2|bf16x2", BINARY),
    family("abs|neg |ftz f16|bf16", UNARY_16),
    family("abs|neg |ftz f16x2|bf16x2", UNARY),
    family("ex2|tanh approx |ftz f16|bf16", UNARY_16),
    family("ex2|tanh approx |ftz f16x2|bf16x2", UNARY),
    family(
        "testp finite|infinite|number|notanumber|normal|subnormal f32",
        "OP p, a; selp.b32 d, 1, 0, p;",
    ),
    family(
        "testp finite|infinite|number|notanumber|normal|subnormal f64",
        "OP p, a64; selp.b32 d, 1, 0, p;",
    ),
    family(
        "set eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan |ftz u32|s32|f32 f32",
        BINARY,
    ),
    family(
        "set eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan u32|s32|f32 f64",
        "OP d, a64, b64;",
    ),
    family(
        "setp eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan |ftz f16|bf16",
        "mov.b32 {h1, h2}, a; mov.b32 {h3, h4}, b; OP p, h1, h3; selp.b32 d, 1, 0, p;",
    ),
    family(
        "setp eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan |ftz f16x2|bf16x2",
        "OP p|q, a, b; selp.b32 d, 1, 0, p; @q add.u32 d, d, 2;",
    ),
    family("slct |ftz b32 f32", TERNARY),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat|relu f32|u32|s32 f32|u32|s32",
        UNARY,
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f64|u64|s64 f64|u64|s64",
        UNARY_64,
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f32|u32|s32 f64|u64|s64",
        "OP d, a64;",
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f64|u64|s64 f32|u32|s32",
        "OP d64, a;",
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat|relu f16|bf16|u16|s16|u8|s8 f32|u32|s32",
        "OP h0, a; mov.b32 d, {h0, h0};",
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f16|bf16|u16|s16|u8|s8 f64|u64|s64",
        "OP h0, a64; mov.b32 d, {h0, h0};",
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f32|u32|s32 f16|bf16|u16|s16|u8|s8",
        "mov.b32 {h1, h2}, a; OP d, h1;",
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f64|u64|s64 f16|bf16|u16|s16|u8|s8",
        "mov.b32 {h1, h2}, a; OP d64, h1;",
    ),
    family(
        "cvt |rn|rz|rm|rp|rni|rzi|rmi|rpi |ftz |sat f16|bf16 f16|bf16",
        "mov.b32 {h1, h2}, a; OP h0, h1; mov.b32 d, {h0, h0};",
    ),
    family("cvt rn|rz |relu |satfinite f16x2|bf16x2 f32", BINARY),
    family("cvt rn|rz|rna |relu |satfinite tf32 f32", UNARY),
    family(
        "cvt rn satfinite |relu e4m3x2|e5m2x2 f32",
        "OP h0, a, b; mov.b32 d, {h0, h0};",
    ),
    family(
        "cvt rn satfinite |relu e4m3x2|e5m2x2 f16x2",
        "OP h0, a; mov.b32 d, {h0, h0};",
    ),
    family(
        "cvt rn |relu f16x2 e4m3x2|e5m2x2",
        "mov.b32 {h1, h2}, a; OP d, h1;",
    ),
    // At a place of its own for each thread, which holds `b`.
    family(
        "atom global add f32",
        "st.global.b32 [at], b; OP d, [at], a; ld.global.b32 d, [at];",
    ),
    family(
        "atom global add f64",
        "st.global.b64 [at], b64; OP d64, [at], a64; ld.global.b64 d64, [at];",
    ),
    family(
        "atom global add noftz f16x2|bf16x2",
        "st.global.b32 [at], b; OP d, [at], a; ld.global.b32 d, [at];",
    ),
    family(
        "mma sync.aligned m16n8k8.row.col f32 f16|bf16 f16|bf16 f32",
        "OP {d, e, f, g}, {a, b}, {c}, {b, c, a, b}; xor.b32 d, d, e; xor.b32 f, f, g; xor.b32 d, d, f;",
    ),
    family(
        "mma sync.aligned m16n8k8.row.col f16.f16.f16.f16",
        "OP {d, e}, {a, b}, {c}, {b, a}; xor.b32 d, d, e;",
    ),
    family(
        "mma sync.aligned m16n8k4.row.col f32.tf32.tf32.f32",
        "OP {d, e, f, g}, {a, b}, {c}, {b, c, a, b}; xor.b32 d, d, e; xor.b32 f, f, g; xor.b32 d, d, f;",
    ),
    family(
        "mma sync.aligned m16n8k32.row.col f32 e4m3|e5m2 e4m3|e5m2 f32",
        "OP {d, e, f, g}, {a, b, c, a}, {b, c}, {b, c, a, b}; xor.b32 d, d, e; xor.b32 f, f, g; xor.b32 d, d, f;",
    ),
    family(
        "mma sync.aligned m8n8k4.row.col f64.f64.f64.f64",
        "OP {d64, e64}, {a64}, {b64}, {c64, a64}; xor.b64 d64, d64, e64;",
    ),
];

/// Every form of a family.
fn forms(family: &Family) -> Vec<String> {
    family
        .forms
        .split(' ')
        .fold(vec![String::new()], |forms, slot| {
            let extend = |form: &String| {
                slot.split('|')
                    .map(|word| match (form.as_str(), word) {
                        ("", word) => word.to_owned(),
                        (form, "") => form.to_owned(),
                        (form, word) => format!("{form}.{word}"),
                    })
                    .collect::<Vec<_>>()
            };
            forms.iter().flat_map(extend).collect()
        })
}

/// Threads, each with operands of its own.
const THREADS: usize = 1024;

/// Three values of 64 bits for each thread, among them all kinds of numbers in every format: the
/// sign, and exponent and fraction of each by themselves extreme or any.
fn values() -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(53);
    // Bits of exponent and fraction. 16 and 32 bits fill a value more than once.
    let formats = [(5, 10), (8, 7), (8, 23), (11, 52)];
    let mut value = |exponent_bits: u32, fraction_bits: u32| {
        let largest = (1u64 << exponent_bits) - 1;
        let bias = largest / 2;
        let exponents = [0, 1, bias - 1, bias, bias + 1, largest - 1, largest];
        let exponent = match random.usize(..3 * exponents.len()) {
            // Near each other, so that sums and integers are not trivial.
            choice if choice >= 2 * exponents.len() => bias + random.u64(..8) - 3,
            choice if choice >= exponents.len() => random.u64(..=largest),
            choice => exponents[choice],
        };
        let whole = (1 << fraction_bits) - 1;
        let fractions = [0, 1, whole, 1 << (fraction_bits - 1)];
        let fraction = match random.usize(..2 * fractions.len()) {
            choice if choice < fractions.len() => fractions[choice],
            _ => random.u64(..=whole),
        };
        let sign = random.u64(..2);
        (sign << exponent_bits | exponent) << fraction_bits | fraction
    };
    (0..THREADS)
        .flat_map(|thread| {
            let (exponent, fraction) = formats[thread % formats.len()];
            let width = 1 + exponent + fraction;
            let mut whole = || {
                (0..64 / width).fold(0, |all, _| all << (width % 64) | value(exponent, fraction))
            };
            [whole(), whole(), whole()]
        })
        .collect()
}

/// The results of an instruction's threads; `None` if the emulator does not have it.
fn results(text: &str, inexact: bool, values: &[u64]) -> Option<Vec<u8>> {
    let kernel = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b64 first, at, a64, b64, c64, d64, e64;\n.reg .b32 i, n, t, a, b, c, d, e, f, g;\n\
         .reg .b16 h<7>;\n.reg .pred p, q;\n\
         ld.param.u64 first, [in];\nld.param.u64 at, [out];\n\
         mov.u32 i, %ctaid.x;\nmov.u32 n, %ntid.x;\nmov.u32 t, %tid.x;\nmad.lo.u32 i, i, n, t;\n\
         mad.wide.u32 first, i, 24, first;\nmad.wide.u32 at, i, 8, at;\n\
         ld.global.b64 a64, [first];\nld.global.b64 b64, [first+8];\nld.global.b64 c64, [first+16];\n\
         cvt.u32.u64 a, a64;\ncvt.u32.u64 b, b64;\ncvt.u32.u64 c, c64;\n\
         mov.b32 d, 0;\nmov.b64 d64, 0;\n{text}\n\
         cvt.u64.u32 e64, d;\nxor.b64 d64, d64, e64;\nst.global.b64 [at], d64;\nret;\n}}"
    );
    let program = Executable::parse(&kernel).ok()?;
    let options = Options {
        threads: 1,
        inexact,
        ..Options::default()
    };
    let mut machine = Machine::new(DeviceLimits::default(), options);
    let module = machine.load(program).expect("it fits");
    let input = machine
        .allocate(24 * THREADS as u64, "in")
        .expect("it fits");
    let output = machine
        .allocate(8 * THREADS as u64, "out")
        .expect("it fits");
    let operands: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    machine.write(input, &operands).expect("in bounds");
    let config = LaunchConfig {
        grid: [THREADS as u32 / 256, 1, 1],
        block: [256, 1, 1],
        shared_mem_bytes: 0,
        cluster: [1; 3],
    };
    let params = [input.to_le_bytes(), output.to_le_bytes()].concat();
    machine.launch(&module, "k", &config, params).ok()?;
    let mut out = vec![0; 8 * THREADS];
    machine.read(output, &mut out).expect("in bounds");
    Some(out)
}

/// FNV-1a of 64 bits, going on from one before.
fn digest(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

#[test]
fn floating_point_is_the_same_on_every_machine() {
    let values = values();
    let (mut table, mut refused) = (String::new(), Vec::new());
    for family in FAMILIES {
        let (mut count, mut all) = (0, NOTHING);
        for form in forms(family) {
            let text = family.text.replace("OP", &form);
            let is_rounded_once = !form.contains("approx") && !form.contains("full");
            let modes = if is_rounded_once {
                &[false][..]
            } else {
                &[false, true]
            };
            let of_form = modes.iter().try_fold(NOTHING, |before, &inexact| {
                Some(digest(before, &results(&text, inexact, &values)?))
            });
            let Some(of_form) = of_form else { continue };
            println!("{of_form:016x} {form}");
            count += 1;
            all = digest(all, &of_form.to_le_bytes());
        }
        if count == 0 {
            refused.push(family.forms);
        }
        writeln!(table, "{all:016x} {count:3} of {}", family.forms).unwrap();
    }
    assert_eq!(refused, [""; 0], "not one form is accepted");
    insta::assert_snapshot!(table);
}
