//! Matrices that the lanes of a warp hold together. Floating elements are small integers, so that
//! every sum is exact, in whatever order it is made.

use fastrand::Rng;

use crate::differential::exact::Mode;
use crate::differential::half::{BF16, F16, Half};
use crate::differential::{Class, Form, Operand, Row};

const LANES: usize = 32;

pub(super) fn forms() -> Vec<Form> {
    let mut all: Vec<Form> = PRODUCTS.iter().map(product).collect();
    all.extend([rows(false), rows(true), doubles(), wmma()]);
    all
}

/// A type of factors: its name, bits of an element, a random element, and its value.
struct Factors {
    /// The text behind `mma.sync.aligned.`.
    name: &'static str,
    bits: u32,
    random: fn(&mut Rng) -> u64,
    value: fn(u64) -> i64,
    /// The sum is an f32.
    is_real: bool,
}

fn small_half(rng: &mut Rng, half: &Half) -> u64 {
    half.round(f64::from(rng.i32(-8..=8)), Mode::Nearest)
}

/// Those of products with four registers of `a` and two of `b`.
const PRODUCTS: [Factors; 7] = [
    Factors {
        name: "m16n8k16.row.col.f32.f16.f16.f32",
        bits: 16,
        random: |rng| small_half(rng, &F16),
        value: |bits| F16.widen(bits) as i64,
        is_real: true,
    },
    Factors {
        name: "m16n8k16.row.col.f32.bf16.bf16.f32",
        bits: 16,
        random: |rng| small_half(rng, &BF16),
        value: |bits| BF16.widen(bits) as i64,
        is_real: true,
    },
    Factors {
        name: "m16n8k8.row.col.f32.tf32.tf32.f32",
        bits: 32,
        random: |rng| (rng.i32(-64..=64) as f32).to_bits().into(),
        value: |bits| f32::from_bits(bits as u32) as i64,
        is_real: true,
    },
    Factors {
        name: "m16n8k32.row.col.s32.s8.s8.s32",
        bits: 8,
        random: |rng| rng.u8(..).into(),
        value: |bits| bits as u8 as i8 as i64,
        is_real: false,
    },
    Factors {
        name: "m16n8k32.row.col.satfinite.s32.u8.u8.s32",
        bits: 8,
        random: |rng| rng.u8(..).into(),
        value: |bits| bits as i64,
        is_real: false,
    },
    Factors {
        name: "m16n8k64.row.col.s32.s4.s4.s32",
        bits: 4,
        random: |rng| rng.u64(..16),
        value: |bits| (bits << 60) as i64 >> 60,
        is_real: false,
    },
    Factors {
        name: "m16n8k64.row.col.s32.u4.u4.s32",
        bits: 4,
        random: |rng| rng.u64(..16),
        value: |bits| bits as i64,
        is_real: false,
    },
];

/// Rows of whole warps, the words of each lane from `f`.
fn warps(seed: u64, mut f: impl FnMut(&mut Rng) -> Row) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    (0..8 * Form::BLOCK).map(|_| f(&mut rng)).collect()
}

/// `mma`: lanes give `a` in two words, `b` in one, two elements of `c` in one, and get four of `d`.
fn product(factors: &'static Factors) -> Form {
    let in_register = 32 / factors.bits as usize;
    let depth = 8 * in_register;
    let rows = warps(u64::from(factors.bits), |rng| {
        let mut word = |bits: u32| {
            let elements = (0..64 / bits).map(|i| (factors.random)(rng) << (bits * i));
            elements.fold(0, |all, element| all | element)
        };
        let [a, b, c] = [(); 3].map(|()| word(factors.bits));
        let sums = [(); 2].map(|()| rng.i32(-1000..=1000));
        let sums = sums.map(|x| {
            if factors.is_real {
                (x as f32).to_bits()
            } else {
                x as u32
            }
        });
        [a, b, c, u64::from(sums[1]) << 32 | u64::from(sums[0])]
    });
    let body = format!(
        "mov.b64 {{%r0, %r1}}, %a; mov.b64 {{%r2, %r3}}, %b; mov.b64 {{%r4, %r5}}, %c; mov.b64 {{%r6, %r7}}, %e; \
         mma.sync.aligned.{} {{%x, %y, %z, %w}}, {{%r0, %r1, %r2, %r3}}, {{%r4, %r5}}, {{%r6, %r7, %r6, %r7}}",
        factors.name
    );
    let element = move |row: &Row, word: usize, register: usize, inner: usize| {
        let word = row[word + register / 2] >> (32 * (register % 2));
        let bits = word >> (factors.bits as usize * inner);
        (factors.value)(bits & (u64::MAX >> (64 - factors.bits)))
    };
    let f = move |rows: &[Row]| -> Vec<[u64; 4]> {
        let sum = |lane: usize, index: usize| {
            // Row and column of the result (PTX ISA, "Matrix Fragments for mma").
            let (row, column) = (lane / 4 + index / 2 * 8, 2 * (lane % 4) + index % 2);
            let c = (rows[lane][3] >> (32 * (index % 2))) as u32;
            let c = match factors.is_real {
                true => f32::from_bits(c) as i64,
                false => i64::from(c as i32),
            };
            let products = (0..depth).map(|k| {
                let (tile, along) = (k / (4 * in_register), k % (4 * in_register));
                let (member, inner) = (along / in_register, along % in_register);
                let of_a = &rows[row % 8 * 4 + member];
                let of_b = &rows[column * 4 + member];
                element(of_a, 0, row / 8 + 2 * tile, inner) * element(of_b, 2, tile, inner)
            });
            let sum = c + products.sum::<i64>();
            match factors.is_real {
                true => (sum as f32).to_bits().into(),
                false => sum as u64 & 0xffff_ffff,
            }
        };
        let lane = |lane: usize| std::array::from_fn(|index| sum(lane, index));
        (0..LANES).map(lane).collect()
    };
    let name = format!("mma.sync.aligned.{}", factors.name);
    let sources = [Operand::I64, Operand::I64, Operand::I64, Operand::I64];
    Form::together(name, sources, [Class::B32; 4], LANES, body, f).with_rows(rows)
}

const TILES: &str = ".shared .align 16 .b8 tiles[8192];";
/// The start of a warp's 2048 bytes, in `%r15`.
const TILE: &str =
    "mov.u32 %r15, tiles; shr.u32 %r14, %thread, 5; mad.lo.u32 %r15, %r14, 2048, %r15";

/// `ldmatrix`, and `stmatrix` of what it gives: lanes store a row each, and get one element pair of
/// each of four matrices.
fn rows(is_transposed: bool) -> Form {
    let trans = if is_transposed { ".trans" } else { "" };
    let body = format!(
        "{TILE}; mad.lo.u32 %r13, %lane, 16, %r15; st.shared.v2.b64 [%r13], {{%a, %b}}; bar.warp.sync -1; \
         ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r0, %r1, %r2, %r3}}, [%r13]; \
         stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r13+512], {{%r0, %r1, %r2, %r3}}; bar.warp.sync -1; \
         ld.shared.v2.b64 {{%z, %w}}, [%r13+512]; mov.b64 %x, {{%r0, %r1}}; mov.b64 %y, {{%r2, %r3}}"
    );
    let f = move |rows: &[Row]| -> Vec<[u64; 4]> {
        let half = |matrix: usize, row: usize, column: usize| {
            let (row, column) = if is_transposed {
                (column, row)
            } else {
                (row, column)
            };
            rows[8 * matrix + row][column / 4] >> (16 * (column % 4)) & 0xffff
        };
        let of_lane = |lane: usize| {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            let pair = |matrix| half(matrix, row, column) | half(matrix, row, column + 1) << 16;
            let stored = |part: usize| {
                (0..4).fold(0, |all, i| {
                    all | half(lane / 8, lane % 8, 4 * part + i) << (16 * i)
                })
            };
            [
                pair(0) | pair(1) << 32,
                pair(2) | pair(3) << 32,
                stored(0),
                stored(1),
            ]
        };
        (0..LANES).map(of_lane).collect()
    };
    let name = format!("ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16, stmatrix");
    let rows = warps(3, |rng| [rng.u64(..), rng.u64(..), 0, 0]);
    let sources = [Operand::I64, Operand::I64];
    let form = Form::together(name, sources, [Class::B64; 4], LANES, body, f);
    form.with_module(TILES).with_rows(rows)
}

/// `mma` of doubles.
fn doubles() -> Form {
    let name = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
    let body = format!("{name} {{%x, %y}}, {{%a}}, {{%b}}, {{%c, %e}}");
    let f = |rows: &[Row]| -> Vec<[u64; 2]> {
        let value = |lane: usize, word: usize| f64::from_bits(rows[lane][word]);
        let of_lane = |lane: usize| {
            std::array::from_fn(|index| {
                let (row, column) = (lane / 4, 2 * (lane % 4) + index);
                let products = (0..4).map(|k| value(4 * row + k, 0) * value(4 * column + k, 1));
                (value(lane, 2 + index) + products.sum::<f64>()).to_bits()
            })
        };
        (0..LANES).map(of_lane).collect()
    };
    let rows = warps(4, |rng| {
        [(); 4].map(|()| f64::from(rng.i32(-99..=99)).to_bits())
    });
    let sources = [Operand::F64, Operand::F64, Operand::F64, Operand::F64];
    Form::together(name, sources, [Class::B64; 2], LANES, body, f).with_rows(rows)
}

/// `wmma`: lanes store 8 elements of `a` and of `b`, and get 8 of the product.
fn wmma() -> Form {
    let list = |first: usize| {
        let all: Vec<_> = (first..first + 8).map(|i| format!("w{i}")).collect();
        format!("{{{}}}", all.join(", "))
    };
    let [a, b, d] = [0, 8, 16].map(list);
    let body = format!(
        "{TILE}; mad.lo.u32 %r13, %lane, 16, %r15; st.shared.v2.b64 [%r13], {{%a, %b}}; st.shared.v2.b64 [%r13+512], {{%c, %e}}; \
         bar.warp.sync -1; .reg .b32 w<24>; \
         wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {a}, [%r15]; \
         wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {b}, [%r15+512], 16; \
         {zeros} wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {d}, {a}, {b}, {d}; \
         wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r15+1024], {d}; bar.warp.sync -1; \
         mad.lo.u32 %r13, %lane, 32, %r15; ld.shared.v2.b64 {{%x, %y}}, [%r13+1024]; ld.shared.v2.b64 {{%z, %w}}, [%r13+1040]",
        zeros = (16..24)
            .map(|i| format!("mov.b32 w{i}, 0; "))
            .collect::<String>(),
    );
    let f = |rows: &[Row]| -> Vec<[u64; 4]> {
        // Element `number` of a matrix: each lane stored 8.
        let half = |word: usize, number: usize| {
            let word = rows[number / 8][word + number % 8 / 4];
            F16.widen(word >> (16 * (number % 4)) & 0xffff)
        };
        let sum = |number: usize| {
            let (row, column) = (number / 16, number % 16);
            let products = (0..16).map(|k| half(0, 16 * row + k) * half(2, 16 * column + k));
            u64::from((products.sum::<f64>() as f32).to_bits())
        };
        let of_lane = |lane: usize| {
            std::array::from_fn(|word| {
                let first = 8 * lane + 2 * word;
                sum(first) | sum(first + 1) << 32
            })
        };
        (0..LANES).map(of_lane).collect()
    };
    let rows = warps(5, |rng| {
        [(); 4].map(|()| (0..4).fold(0, |all, i| all | small_half(rng, &F16) << (16 * i)))
    });
    let sources = [Operand::I64, Operand::I64, Operand::I64, Operand::I64];
    let name = "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32, loads and stores";
    let form = Form::together(name, sources, [Class::B64; 4], LANES, body, f);
    form.with_module(TILES).with_rows(rows)
}
