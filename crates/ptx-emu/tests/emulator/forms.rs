//! The result of every form of every arithmetic instruction, beside its text.
//!
//! `forms.ptx` assembles with ptxas 13.5 for sm_90, so the left side is PTX. The right side was
//! recorded; that it is right is for the semantic tests (`ops`, and the differential test against a
//! GPU). Here nothing may change unseen.

use crate::common::load;
use ptx_emu::{LaunchConfig, Machine};

const FORMS: &str = include_str!("../../../ptx/tests/data/forms.ptx");

/// Registers that each form may read and write: declaration, number, bytes in memory (in all, a
/// multiple of 8 before those of 8), type of loads and stores.
const FILES: [(&str, usize, usize, &str); 6] = [
    ("p", 4, 4, "u32"),
    ("h", 4, 4, "u16"),
    ("r", 6, 4, "u32"),
    ("f", 4, 4, "f32"),
    ("d", 4, 8, "u64"),
    ("g", 4, 8, "f64"),
];

/// Bytes that a lane's registers take in memory.
const STRIDE: usize = 256;

/// A value that meets the edges of integers and floats often enough.
fn value(seed: u64, bytes: usize) -> u64 {
    const EDGES: [u64; 12] = [
        0,
        1,
        u64::MAX,
        1 << 63 | 1 << 31 | 1 << 15,
        0x7fff_ffff_7fff_7fff,
        0x3ff8_0000_3fc0_0000,
        0xc004_0000_c020_0000,
        0x7ff0_0000_7f80_0000,
        0x7ff4_0000_7fa0_0001,
        0x000f_0000_0070_0000,
        0x4330_0000_4b00_0003,
        5,
    ];
    let mut random = fastrand::Rng::with_seed(seed);
    let bits = match random.u32(0..3) {
        0 => EDGES[random.usize(0..EDGES.len())],
        1 if bytes == 8 => (random.f64() * 200.0 - 100.0).to_bits(),
        1 => u64::from((random.f32() * 200.0 - 100.0).to_bits()),
        _ => random.u64(..),
    };
    bits & (u64::MAX >> (64 - 8 * bytes))
}

/// The kernel `forms` with `line` between loads and stores of every register. With `guard` before
/// the loads, which is always true, every register may be unset by the look of the text.
fn kernel(line: &str, guard: &str) -> String {
    let (head, _) = FORMS.split_once("integer:").unwrap();
    let (_, tail) = FORMS.split_once("end:\n").unwrap();
    let (mut loads, mut stores, mut offset) = (String::new(), String::new(), 0);
    for (file, count, bytes, ty) in FILES {
        for i in 0..count {
            if file == "p" {
                loads += &format!(
                    "{guard}ld.global.u32 %w1, [%a1+{offset}];\nsetp.lt.s32 %p{}, %w1, 0;\n",
                    i + 1
                );
                stores += &format!(
                    "selp.u32 %w1, 1, 0, %p{};\nst.global.u32 [%a2+{offset}], %w1;\n",
                    i + 1
                );
            } else {
                loads += &format!("{guard}ld.global.{ty} %{file}{}, [%a1+{offset}];\n", i + 1);
                stores += &format!("st.global.{ty} [%a2+{offset}], %{file}{};\n", i + 1);
            }
            offset += bytes;
        }
    }
    format!(
        "{head}.reg .b64 %a<4>;\n.reg .b32 %w<2>;\n.reg .pred %always;\nld.param.u64 %a1, [p2];\nld.param.u64 %a2, [p2+8];\n\
         mov.u32 %w1, %tid.x;\nmul.wide.u32 %a3, %w1, {STRIDE};setp.eq.u32 %always, 0, 0;add.cc.u32 %w1, %w1, 0;\nadd.u64 %a1, %a1, %a3;\nadd.u64 %a2, %a2, %a3;\n\
         {loads}{line}\n{stores}ret;\n}}\n{}",
        tail.trim_start().trim_start_matches('}')
    )
}

/// The changes that a form makes: each register that differs in some lane, its first lanes, and a
/// digest of all.
fn run(line: &str, guard: &str) -> String {
    let mut machine = Machine::default();
    let module = load(&mut machine, &kernel(line, guard));
    let mut input = vec![0; 32 * STRIDE];
    for lane in 0..32 {
        let mut offset = 0;
        for (_, count, bytes, _) in FILES {
            for i in 0..count {
                let bits = value((lane * 64 + offset + i) as u64, bytes).to_le_bytes();
                input[lane * STRIDE + offset..][..bytes].copy_from_slice(&bits[..bytes]);
                offset += bytes;
            }
        }
    }
    let [from, to] = ["in", "out"].map(|name| machine.allocate(input.len() as u64, name).unwrap());
    machine.write(from, &input).unwrap();
    machine.write(to, &vec![0; input.len()]).unwrap();
    let params = [
        &from.to_le_bytes()[..],
        &[0; 8],
        &from.to_le_bytes(),
        &to.to_le_bytes(),
    ]
    .concat();
    let config = LaunchConfig {
        grid: [1; 3],
        block: [32, 1, 1],
        shared_mem_bytes: 64,
        cluster: [1; 3],
    };
    if let Err(fault) = machine.launch(&module, "forms", &config, params) {
        return format!("    {fault}\n")
            .replace('\n', "\n    ")
            .trim_end()
            .to_owned()
            + "\n";
    }
    let mut output = vec![0; input.len()];
    machine.read(to, &mut output).unwrap();
    let (mut report, mut offset) = (String::new(), 0);
    for (file, count, bytes, _) in FILES {
        for i in 0..count {
            let lanes = |memory: &[u8]| -> Vec<u64> {
                (0..32)
                    .map(|lane| {
                        let mut bits = [0; 8];
                        bits[..bytes].copy_from_slice(&memory[lane * STRIDE + offset..][..bytes]);
                        u64::from_le_bytes(bits)
                    })
                    .map(|bits| if file == "h" { bits & 0xffff } else { bits })
                    .collect()
            };
            let before = match file {
                "p" => lanes(&input)
                    .iter()
                    .map(|&word| u64::from((word as i32) < 0))
                    .collect(),
                _ => lanes(&input),
            };
            let after = lanes(&output);
            if before != after {
                let digest = after.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, lane| {
                    (hash ^ lane).wrapping_mul(0x100_0000_01b3).rotate_left(29)
                });
                let shown: Vec<_> = after[..6].iter().map(|lane| format!("{lane:x}")).collect();
                report += &format!(
                    "    %{file}{}: {} .. #{digest:016x}\n",
                    i + 1,
                    shown.join(" ")
                );
            }
            offset += bytes;
        }
    }
    report
}

#[test]
fn each_form_computes_as_recorded() {
    let (_, forms) = FORMS.split_once("integer:").unwrap();
    let (forms, _) = forms.split_once("memory:").unwrap();
    let mut table = String::new();
    for line in forms.lines().map(str::trim) {
        if !line.is_empty() && !line.ends_with(':') {
            let result = run(line, "");
            // Looking for unset values changes nothing where all are set.
            assert_eq!(run(line, "@%always "), result, "{line}");
            table += &format!("{line}\n{result}");
        }
    }
    insta::assert_snapshot!("forms", table);
}
