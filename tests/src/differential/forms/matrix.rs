//! Matrices that the lanes of a warp hold together. Floating elements are small integers, so that
//! every sum is exact, in whatever order it is made.

use fastrand::Rng;

use crate::differential::exact::Mode;
use crate::differential::half::{BF16, F16, Half};
use crate::differential::{Class, Form, Operand, Row};

const LANES: usize = 32;

pub(super) fn forms() -> Vec<Form> {
    let mut all: Vec<Form> = PRODUCTS.iter().map(product).collect();
    all.extend([rows(false), rows(true), stored(), moved(), doubles()]);
    all.extend(FRAGMENTS.map(wmma));
    all
}

/// A type of factors: its name, bits of an element, a random element, and its value.
struct Factors {
    /// The text behind `mma.sync.aligned.`.
    name: &'static str,
    bits: u32,
    random: fn(&mut Rng) -> u64,
    value: fn(u64) -> i64,
    sum: Sum,
    /// Two registers of `a` are of each of these tiles, and one of `b`.
    tiles: usize,
}

/// The type of sums.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sum {
    F32,
    S32,
    /// Two in a register.
    F16,
}

impl Sum {
    /// A pair of sums in the registers of four results.
    fn registers(self, pair: [i64; 2]) -> [u64; 2] {
        match self {
            Sum::F32 => pair.map(|x| (x as f32).to_bits().into()),
            Sum::S32 => pair.map(|x| x as u64 & 0xffff_ffff),
            Sum::F16 => {
                let [low, high] = pair.map(|x| F16.round(x as f64, Mode::Nearest));
                [high << 16 | low, 0]
            }
        }
    }
}

/// A small number as e4m3: 4 bits of exponent, 3 of fraction.
fn small_e4m3(rng: &mut Rng) -> u64 {
    const POSITIVE: [u64; 5] = [0, 0x38, 0x40, 0x44, 0x48];
    u64::from(rng.bool()) << 7 | POSITIVE[rng.usize(..POSITIVE.len())]
}

/// The value of such a number.
fn of_e4m3(bits: u64) -> i64 {
    let magnitude = match bits & 0x7f {
        0 => 0,
        bits => (8 + (bits as i64 & 7)) << (bits >> 3) >> 10,
    };
    if bits & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

fn small_half(rng: &mut Rng, half: &Half) -> u64 {
    half.round(f64::from(rng.i32(-8..=8)), Mode::Nearest)
}

const PRODUCTS: [Factors; 15] = [
    Factors {
        name: "m16n8k16.row.col.f32.f16.f16.f32",
        bits: 16,
        random: |rng| small_half(rng, &F16),
        value: |bits| F16.widen(bits) as i64,
        sum: Sum::F32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k16.row.col.f32.bf16.bf16.f32",
        bits: 16,
        random: |rng| small_half(rng, &BF16),
        value: |bits| BF16.widen(bits) as i64,
        sum: Sum::F32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k8.row.col.f32.tf32.tf32.f32",
        bits: 32,
        random: |rng| (rng.i32(-64..=64) as f32).to_bits().into(),
        value: |bits| f32::from_bits(bits as u32) as i64,
        sum: Sum::F32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k32.row.col.s32.s8.s8.s32",
        bits: 8,
        random: |rng| rng.u8(..).into(),
        value: |bits| bits as u8 as i8 as i64,
        sum: Sum::S32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k32.row.col.satfinite.s32.u8.u8.s32",
        bits: 8,
        random: |rng| rng.u8(..).into(),
        value: |bits| bits as i64,
        sum: Sum::S32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k64.row.col.s32.s4.s4.s32",
        bits: 4,
        random: |rng| rng.u64(..16),
        value: |bits| (bits << 60) as i64 >> 60,
        sum: Sum::S32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k64.row.col.s32.u4.u4.s32",
        bits: 4,
        random: |rng| rng.u64(..16),
        value: |bits| bits as i64,
        sum: Sum::S32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k16.row.col.f16.f16.f16.f16",
        bits: 16,
        random: |rng| small_half(rng, &F16),
        value: |bits| F16.widen(bits) as i64,
        sum: Sum::F16,
        tiles: 2,
    },
    Factors {
        name: "m16n8k8.row.col.f16.f16.f16.f16",
        bits: 16,
        random: |rng| small_half(rng, &F16),
        value: |bits| F16.widen(bits) as i64,
        sum: Sum::F16,
        tiles: 1,
    },
    Factors {
        name: "m16n8k8.row.col.f32.bf16.bf16.f32",
        bits: 16,
        random: |rng| small_half(rng, &BF16),
        value: |bits| BF16.widen(bits) as i64,
        sum: Sum::F32,
        tiles: 1,
    },
    Factors {
        name: "m16n8k4.row.col.f32.tf32.tf32.f32",
        bits: 32,
        random: |rng| (rng.i32(-64..=64) as f32).to_bits().into(),
        value: |bits| f32::from_bits(bits as u32) as i64,
        sum: Sum::F32,
        tiles: 1,
    },
    Factors {
        name: "m16n8k16.row.col.s32.s8.s8.s32",
        bits: 8,
        random: |rng| rng.u8(..).into(),
        value: |bits| bits as u8 as i8 as i64,
        sum: Sum::S32,
        tiles: 1,
    },
    Factors {
        name: "m16n8k32.row.col.satfinite.s32.s4.s4.s32",
        bits: 4,
        random: |rng| rng.u64(..16),
        value: |bits| (bits << 60) as i64 >> 60,
        sum: Sum::S32,
        tiles: 1,
    },
    Factors {
        name: "m16n8k256.row.col.s32.b1.b1.s32.and.popc",
        bits: 1,
        random: |rng| rng.u64(..2),
        value: |bits| bits as i64,
        sum: Sum::S32,
        tiles: 2,
    },
    Factors {
        name: "m16n8k32.row.col.f32.e4m3.e4m3.f32",
        bits: 8,
        random: small_e4m3,
        value: of_e4m3,
        sum: Sum::F32,
        tiles: 2,
    },
];

/// Rows of whole warps, the words of each lane from `f`.
fn warps(seed: u64, mut f: impl FnMut(&mut Rng) -> Row) -> Vec<Row> {
    let mut rng = Rng::with_seed(seed);
    (0..8 * Form::BLOCK).map(|_| f(&mut rng)).collect()
}

/// `mma`: lanes give `a` in two words, `b` in one, two elements of `c` in one, and get four of `d`.
fn product(factors: &'static Factors) -> Form {
    let Factors {
        bits, sum, tiles, ..
    } = *factors;
    let in_register = 32 / bits as usize;
    let rows = warps(u64::from(bits), |rng| {
        let mut word = |size: u32| {
            let elements = (0..64 / size).map(|i| (factors.random)(rng) << (size * i));
            elements.fold(0, |all, element| all | element)
        };
        let [a, b, c] = [(); 3].map(|()| word(bits));
        let [low, high] = sum.registers([(); 2].map(|()| rng.i64(-1000..=1000)));
        [a, b, c, high << 32 | low]
    });
    let a = ["{%r0, %r1}", "{%r0, %r1, %r2, %r3}"][tiles - 1];
    let b = ["{%r4}", "{%r4, %r5}"][tiles - 1];
    let (c, d) = match sum {
        Sum::F16 => ("{%r6, %r6}", "{%x, %y}"),
        _ => ("{%r6, %r7, %r6, %r7}", "{%x, %y, %z, %w}"),
    };
    let body = format!(
        "mov.b64 {{%r0, %r1}}, %a; mov.b64 {{%r2, %r3}}, %b; mov.b64 {{%r4, %r5}}, %c; mov.b64 {{%r6, %r7}}, %e; \
         mov.b32 %z, 0; mov.b32 %w, 0; mma.sync.aligned.{} {d}, {a}, {b}, {c}",
        factors.name
    );
    let element = move |row: &Row, word: usize, register: usize, inner: usize| {
        let word = row[word + register / 2] >> (32 * (register % 2));
        let value = word >> (bits as usize * inner);
        (factors.value)(value & (u64::MAX >> (64 - bits)))
    };
    let f = move |own: &[Row]| -> Vec<[u64; 4]> {
        let total = |lane: usize, index: usize| {
            // Row and column of the result (PTX ISA, "Matrix Fragments for mma").
            let (row, column) = (lane / 4 + index / 2 * 8, 2 * (lane % 4) + index % 2);
            let addend = own[lane][3];
            let addend = match sum {
                Sum::F32 => f32::from_bits((addend >> (32 * (index % 2))) as u32) as i64,
                Sum::S32 => i64::from((addend >> (32 * (index % 2))) as i32),
                Sum::F16 => F16.widen(addend >> (16 * (index % 2)) & 0xffff) as i64,
            };
            let products = (0..4 * tiles * in_register).map(|k| {
                let (tile, along) = (k / (4 * in_register), k % (4 * in_register));
                let (member, inner) = (along / in_register, along % in_register);
                let of_a = &own[row % 8 * 4 + member];
                let of_b = &own[column * 4 + member];
                element(of_a, 0, row / 8 + 2 * tile, inner) * element(of_b, 2, tile, inner)
            });
            addend + products.sum::<i64>()
        };
        let lane = |lane: usize| {
            let pair = |first| sum.registers([total(lane, first), total(lane, first + 1)]);
            let ([x, y], [z, w]) = (pair(0), pair(2));
            match sum {
                Sum::F16 => [x, z, 0, 0],
                _ => [x, y, z, w],
            }
        };
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

/// The half of a matrix of 8 by 8 that lanes hold in a register, from word 0 of each.
fn held(rows: &[Row], matrix: usize, row: usize, column: usize) -> u64 {
    rows[4 * row + column / 2][0] >> (32 * matrix + 16 * (column % 2)) & 0xffff
}

/// `stmatrix.trans` of two matrices: the lower lanes load a row each.
fn stored() -> Form {
    let name = "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16";
    let body = format!(
        "{TILE}; mad.lo.u32 %r13, %lane, 16, %r15; mov.b64 %x, 0; st.shared.v2.b64 [%r13], {{%x, %x}}; bar.warp.sync -1; \
         mov.b64 {{%r0, %r1}}, %a; {name} [%r13], {{%r0, %r1}}; bar.warp.sync -1; ld.shared.v2.b64 {{%x, %y}}, [%r13]"
    );
    let f = |rows: &[Row]| -> Vec<[u64; 2]> {
        let part = |lane: usize, first: usize| {
            let half = |i: usize| held(rows, lane / 8, first + i, lane % 8) << (16 * i);
            if lane < 16 { (0..4).map(half).sum() } else { 0 }
        };
        (0..LANES)
            .map(|lane| [part(lane, 0), part(lane, 4)])
            .collect()
    };
    let rows = warps(6, |rng| [rng.u64(..), 0, 0, 0]);
    let form = Form::together(name, [Operand::I64], [Class::B64; 2], LANES, body, f);
    form.with_module(TILES).with_rows(rows)
}

/// `movmatrix`: a matrix turned over.
fn moved() -> Form {
    let name = "movmatrix.sync.aligned.m8n8.trans.b16";
    let f = |rows: &[Row]| -> Vec<[u64; 1]> {
        let of_lane = |lane: usize| {
            let (row, column) = (lane / 4, 2 * (lane % 4));
            [held(rows, 0, column, row) | held(rows, 0, column + 1, row) << 16]
        };
        (0..LANES).map(of_lane).collect()
    };
    let rows = warps(7, |rng| [rng.u32(..).into(), 0, 0, 0]);
    let body = format!("{name} %x, %a");
    Form::together(name, [Operand::I32], [Class::B32], LANES, body, f).with_rows(rows)
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

/// A product of `wmma`. `a` is m x k, in rows, and `b` k x m, in columns.
#[derive(Clone, Copy)]
struct Fragments {
    /// The type of a factor.
    ty: &'static str,
    /// The types as the product names them.
    types: &'static str,
    shape: &'static str,
    m: usize,
    k: usize,
    /// Bits of an element of a factor.
    bits: usize,
    /// Registers of a factor, and of the product.
    registers: [usize; 2],
    /// The type of the product.
    sum: &'static str,
    /// An element of a factor.
    random: fn(&mut Rng) -> u64,
    /// Its value.
    value: fn(u64) -> f64,
}

const HALVES: Fragments = Fragments {
    ty: "f16",
    types: "f32.f32",
    shape: "m16n16k16",
    m: 16,
    k: 16,
    bits: 16,
    registers: [8, 8],
    sum: "f32",
    random: |rng| small_half(rng, &F16),
    value: |bits| F16.widen(bits),
};

const FRAGMENTS: [Fragments; 5] = [
    HALVES,
    Fragments {
        ty: "bf16",
        types: "f32.bf16.bf16.f32",
        registers: [4, 8],
        random: |rng| small_half(rng, &BF16),
        value: |bits| BF16.widen(bits),
        ..HALVES
    },
    Fragments {
        ty: "tf32",
        types: "f32.tf32.tf32.f32",
        shape: "m16n16k8",
        m: 16,
        k: 8,
        bits: 32,
        registers: [4, 8],
        sum: "f32",
        random: |rng| (rng.i32(-8..=8) as f32).to_bits().into(),
        value: |bits| f32::from_bits(bits as u32).into(),
    },
    Fragments {
        ty: "s8",
        types: "s32.s8.s8.s32",
        shape: "m16n16k16",
        m: 16,
        k: 16,
        bits: 8,
        registers: [2, 8],
        sum: "s32",
        random: |rng| rng.u8(..).into(),
        value: |bits| f64::from(bits as i8),
    },
    Fragments {
        ty: "f64",
        types: "f64.f64.f64.f64",
        shape: "m8n8k4",
        m: 8,
        k: 4,
        bits: 64,
        registers: [1, 2],
        sum: "f64",
        random: |rng| f64::from(rng.i32(-8..=8)).to_bits(),
        value: f64::from_bits,
    },
];

/// `wmma`: lanes store a part of `a` and of `b`, and get one of the product.
fn wmma(of: Fragments) -> Form {
    let Fragments {
        ty,
        shape,
        m,
        k,
        sum,
        ..
    } = of;
    let [factor, product] = of.registers;
    let list = |first: usize, registers: usize| {
        let all: Vec<_> = (first..first + registers)
            .map(|i| format!("w{i}"))
            .collect();
        format!("{{{}}}", all.join(", "))
    };
    let [a, b] = [0, 8].map(|first| list(first, factor));
    let d = list(16, product);
    // Words of 64 bits that a lane has of a factor, and of the product.
    let words = m * k * of.bits / 64 / LANES;
    let width = if of.sum == "f64" { 64 } else { 32 };
    let results = m * m * width / 64 / LANES;
    let [store_a, store_b] = match words {
        1 => ["st.shared.b64 [%r13], %a", "st.shared.b64 [%r13+512], %c"],
        _ => [
            "st.shared.v2.b64 [%r13], {%a, %b}",
            "st.shared.v2.b64 [%r13+512], {%c, %e}",
        ],
    };
    let load = match results {
        2 => "ld.shared.v2.b64 {%x, %y}, [%r13+1024]; mov.b64 %z, 0; mov.b64 %w, 0",
        _ => "ld.shared.v2.b64 {%x, %y}, [%r13+1024]; ld.shared.v2.b64 {%z, %w}, [%r13+1040]",
    };
    let zeros: String = (16..16 + product)
        .map(|i| format!("mov.b{width} w{i}, 0; "))
        .collect();
    let types = of.types;
    let mma = format!("wmma.mma.sync.aligned.row.col.{shape}.{types}");
    let body = format!(
        "{TILE}; mad.lo.u32 %r13, %lane, {bytes}, %r15; {store_a}; {store_b}; bar.warp.sync -1; .reg .b{width} w<24>; \
         wmma.load.a.sync.aligned.row.{shape}.shared.{ty} {a}, [%r15]; \
         wmma.load.b.sync.aligned.col.{shape}.shared.{ty} {b}, [%r15+512], {k}; \
         {zeros} {mma} {d}, {a}, {b}, {d}; \
         wmma.store.d.sync.aligned.row.{shape}.shared.{sum} [%r15+1024], {d}; bar.warp.sync -1; \
         mad.lo.u32 %r13, %lane, {to}, %r15; {load}",
        bytes = 8 * words,
        to = 8 * results,
    );
    let f = move |rows: &[Row]| -> Vec<[u64; 4]> {
        let of_word = 64 / of.bits;
        let element = |first: usize, number: usize| {
            let word = rows[number / (words * of_word)][first + number / of_word % words];
            (of.value)(word >> (of.bits * (number % of_word)) & (u64::MAX >> (64 - of.bits)))
        };
        let sum_of = |number: usize| {
            let (row, column) = (number / m, number % m);
            let products = (0..k).map(|i| element(0, k * row + i) * element(2, k * column + i));
            let total = products.sum::<f64>();
            match of.sum {
                "f64" => total.to_bits(),
                "s32" => u64::from(total as i32 as u32),
                _ => u64::from((total as f32).to_bits()),
            }
        };
        let of_lane = |lane: usize| {
            std::array::from_fn(|word| {
                let at = lane * results + word;
                match (word < results, width) {
                    (false, _) => 0,
                    (true, 64) => sum_of(at),
                    _ => sum_of(2 * at) | sum_of(2 * at + 1) << 32,
                }
            })
        };
        (0..LANES).map(of_lane).collect()
    };
    let rows = warps(5, |rng| {
        [(); 4].map(|()| {
            let elements = (0..64).step_by(of.bits);
            elements.fold(0, |all, at| all | (of.random)(rng) << at)
        })
    });
    let sources = [Operand::I64, Operand::I64, Operand::I64, Operand::I64];
    let name = format!("{mma}, loads and stores");
    let form = Form::together(name, sources, [Class::B64; 4], LANES, body, f);
    form.with_module(TILES).with_rows(rows)
}
