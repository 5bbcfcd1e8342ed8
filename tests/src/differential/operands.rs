//! Edge values and seeded random ones.

use fastrand::Rng;

use super::{Class, Form, Row};

/// The number of cases to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Rows of random operands, in addition to those made of edge values.
    pub random: usize,
    /// Whether one source of 16 bits takes every value.
    pub exhaustive: bool,
}

impl Amount {
    /// For the emulated device only: it takes seconds without optimisation.
    pub const QUICK: Amount = Amount {
        random: 512,
        exhaustive: false,
    };
    /// For a machine with a GPU to compare with.
    pub const THOROUGH: Amount = Amount {
        random: 16384,
        exhaustive: true,
    };
}

/// The set that a source's values come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// True and false.
    Pred,
    /// Integers of 16, 32 or 64 bits.
    Int(u32),
    /// Amounts of a shift, 32 bits: below, at and beyond every width.
    Amount,
    /// Positions and lengths of a bit field, 32 bits.
    Position,
    /// Half precision.
    F16,
    /// `bf16`.
    Bf16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Only these values.
    Of(Class, Vec<u64>),
}

impl Operand {
    /// Integers of 16 bits.
    pub const I16: Operand = Operand::Int(16);
    /// Integers of 32 bits.
    pub const I32: Operand = Operand::Int(32);
    /// Integers of 64 bits.
    pub const I64: Operand = Operand::Int(64);

    /// The file of the operand's register.
    pub fn class(&self) -> Class {
        match self {
            Operand::Pred => Class::Pred,
            Operand::Int(16) | Operand::F16 | Operand::Bf16 => Class::B16,
            Operand::Int(64) | Operand::F64 => Class::B64,
            Operand::Int(_) | Operand::Amount | Operand::Position | Operand::F32 => Class::B32,
            Operand::Of(class, _) => *class,
        }
    }

    /// A value as messages show it.
    pub fn show(&self, value: u64) -> String {
        match self {
            Operand::Pred => value.to_string(),
            Operand::F32 => format!("{value:#010x} ({:e})", f32::from_bits(value as u32)),
            Operand::F64 => format!("{value:#018x} ({:e})", f64::from_bits(value)),
            _ => format!("{value:#x}"),
        }
    }

    fn edges(&self) -> Vec<u64> {
        match self {
            Operand::Pred => vec![0, 1],
            Operand::Int(bits) => integers(*bits),
            Operand::Amount => AMOUNTS.to_vec(),
            Operand::Position => POSITIONS.to_vec(),
            Operand::F16 => small_floats(5, 10),
            Operand::Bf16 => small_floats(8, 7),
            Operand::F32 => F32_EDGES.iter().map(|&x| u64::from(x)).collect(),
            Operand::F64 => F64_EDGES.to_vec(),
            Operand::Of(_, values) => values.clone(),
        }
    }

    /// At most about a dozen of the edge values, for products of three and four.
    fn few(&self) -> Vec<u64> {
        match self {
            Operand::Int(bits) => {
                let (top, half) = (1u64 << (bits - 1), 1u64 << (bits / 2));
                let mask = u64::MAX >> (64 - bits);
                let mut all = vec![0, 1, 2, half - 1, half];
                all.extend([top - 1, top, top + 1, mask - 1, mask, 0x5aa5 & mask]);
                all
            }
            Operand::F32 => F32_FEW.iter().map(|&x| u64::from(x)).collect(),
            Operand::F64 => F64_FEW.to_vec(),
            Operand::Amount => vec![0, 1, 15, 31, 32, 33, 63, 64, 255, 256, u32::MAX.into()],
            Operand::Position => vec![0, 1, 8, 31, 32, 33, 63, 64, 65, 255, 256],
            _ => self.edges().into_iter().take(12).collect(),
        }
    }

    fn random(&self, rng: &mut Rng) -> u64 {
        match self {
            Operand::Pred => u64::from(rng.bool()),
            Operand::Int(bits) => random_integer(rng, *bits),
            Operand::Amount => match rng.u8(..8) {
                0 => rng.u32(..).into(),
                _ => rng.u64(..70),
            },
            Operand::Position => match rng.u8(..8) {
                0 => rng.u32(..).into(),
                1 => rng.u64(..256),
                _ => rng.u64(..66),
            },
            Operand::F16 => random_float(rng, 5, 10),
            Operand::Bf16 => random_float(rng, 8, 7),
            Operand::F32 => random_float(rng, 8, 23),
            Operand::F64 => random_float(rng, 11, 52),
            Operand::Of(_, values) => *rng.choice(values).expect("values"),
        }
    }
}

/// The rows of sources for a form: combinations of edge values, then random ones. Their number is a
/// multiple of [`Form::BLOCK`].
pub(super) fn rows(form: &Form, amount: Amount) -> Vec<Row> {
    if let Some(rows) = &form.rows {
        return rows.clone();
    }
    let sources = &form.sources;
    let mut rng = Rng::with_seed(seed(&form.name));
    let mut rows: Vec<Row> = vec![[0; 4]];
    let narrow = sources.len() == 1 && sources[0].class() == Class::B16;
    if narrow && amount.exhaustive && !matches!(sources[0], Operand::Of(..)) {
        return (0..=0xffff).map(|x| [x, 0, 0, 0]).collect();
    }
    for (i, source) in sources.iter().enumerate() {
        let values = match sources.len() {
            1 | 2 => source.edges(),
            _ => source.few(),
        };
        let with = |&row: &Row| {
            let set = move |&value: &u64| {
                let mut changed = row;
                changed[i] = value;
                changed
            };
            values.iter().map(set).collect::<Vec<_>>()
        };
        rows = rows.iter().flat_map(with).collect();
    }
    // Products of four are thinned out.
    if rows.len() > 6000 {
        rng.shuffle(&mut rows);
        rows.truncate(6000);
    }
    let edges: Vec<Vec<u64>> = sources.iter().map(Operand::edges).collect();
    for _ in 0..amount.random {
        rows.push(std::array::from_fn(|i| match sources.get(i) {
            None => 0,
            // Some random values are replaced by an edge value.
            Some(_) if rng.u8(..8) == 0 => *rng.choice(&edges[i]).expect("edges"),
            Some(source) => source.random(&mut rng),
        }));
    }
    let wanted = rows.len().next_multiple_of(Form::BLOCK);
    rows.resize(wanted, rows[0]);
    rows
}

/// A seed from the instruction's name, so that its operands are the same in every run.
pub(super) fn seed(name: &str) -> u64 {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv)
}

fn integers(bits: u32) -> Vec<u64> {
    let mask = u64::MAX >> (64 - bits);
    let (top, half) = (1u64 << (bits - 1), 1u64 << (bits / 2));
    let mut all = INTEGER_EDGES.to_vec();
    all.extend([half - 1, half, half + 1, top - 1, top, top + 1]);
    all.extend([top | half, mask - 1, mask, mask - 0x7f, mask - 0x80]);
    all.iter_mut().for_each(|x| *x &= mask);
    all.sort_unstable();
    all.dedup();
    all
}

fn random_integer(rng: &mut Rng, bits: u32) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let x = rng.u64(..) & mask;
    let x = match rng.u8(..4) {
        0 => x,
        // A magnitude of any length, of either sign.
        1 => x >> rng.u32(..bits),
        2 => (x >> rng.u32(..bits)).wrapping_neg(),
        // Few bits set.
        _ => x & rng.u64(..) & rng.u64(..),
    };
    x & mask
}

/// A float of any kind, by the widths of exponent and fraction: bits at random, magnitudes near 1
/// and near the limits, fractions of few bits (ties of a rounding).
fn random_float(rng: &mut Rng, exponent_bits: u32, fraction_bits: u32) -> u64 {
    let sign = u64::from(rng.bool()) << (exponent_bits + fraction_bits);
    let fraction_mask = (1u64 << fraction_bits) - 1;
    let top = (1u64 << exponent_bits) - 1;
    let mut fraction = rng.u64(..) & fraction_mask;
    match rng.u8(..4) {
        0 => fraction &= rng.u64(..) & rng.u64(..),
        1 => fraction &= !(fraction_mask >> (fraction_bits / 2)),
        _ => {}
    }
    let exponent = match rng.u8(..8) {
        0 => rng.u64(..=top),
        1 => rng.u64(..=top.min(30)),
        2 => top - 1 - rng.u64(..top.min(30)),
        _ => {
            let reach = u64::from(fraction_bits) + 3;
            let low = (top / 2).saturating_sub(reach);
            rng.u64(low..=(top / 2 + reach).min(top - 1))
        }
    };
    sign | exponent << fraction_bits | fraction
}

/// Edge values of a 16-bit float.
fn small_floats(exponent_bits: u32, fraction_bits: u32) -> Vec<u64> {
    let infinity = ((1u64 << exponent_bits) - 1) << fraction_bits;
    let one = ((1u64 << (exponent_bits - 1)) - 1) << fraction_bits;
    let normal = 1u64 << fraction_bits;
    let mut all = vec![0, 1, 2, normal - 1, normal, normal + 1];
    all.extend([one - 1, one, one + 1, infinity - 1, infinity, infinity + 1]);
    all.extend([infinity | normal >> 1, 0x7fff, one + normal / 2]);
    all.extend([one - normal, one + normal, one + normal * 3 / 2]);
    all.extend(all.clone().iter().map(|x| x | 0x8000));
    all
}

/// Small numbers, patterns, and numbers around the widths of registers and conversions: the 24 bits
/// of `mul24`, the 53 of an f64, the range of an f16.
#[rustfmt::skip]
const INTEGER_EDGES: [u64; 30] = [
    0, 1, 2, 3, 7, 10, 0x7f, 0x80, 0xff, 0x100,
    0x5555_5555_5555_5555, 0xaaaa_aaaa_aaaa_aaaa, 0x0123_4567_89ab_cdef,
    0x7f_ffff, 0x80_0000, 0xff_ffff, 0x100_0000, 0x100_0001,
    0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x1_0000_0000, (1 << 53) + 1,
    0x7fff, 0x8000, 0xffff, 0xffff_8000, 0xffff_ff80, 65519, 65520,
];

#[rustfmt::skip]
const AMOUNTS: [u64; 24] = [
    0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 255, 256,
    0x8000_0000, 0xffff_ffff,
];

#[rustfmt::skip]
const POSITIONS: [u64; 22] = [
    0, 1, 4, 7, 8, 15, 16, 24, 30, 31, 32, 33, 48, 62, 63, 64, 65, 128, 254, 255, 256, 0xffff_ff04,
];

#[rustfmt::skip]
const F32_FEW: [u32; 18] = [
    0x0000_0000, 0x8000_0000, 0x0000_0001, 0x807f_ffff, 0x0080_0000, 0x3f80_0000, 0xbf80_0000,
    0x3f80_0001, 0x7f7f_ffff, 0xff7f_ffff, 0x3380_0000, 0x7f80_0000, 0xff80_0000, 0x7fc1_2345,
    0xff81_2345, 0x8080_0000, 0x3280_0001, 0x0d7f_fffe,
];

#[rustfmt::skip]
const F64_FEW: [u64; 16] = [
    0, 1 << 63, 1, 0x800f_ffff_ffff_ffff, 0x0010_0000_0000_0000, 0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000, 0x3ff0_0000_0000_0001, 0x7fef_ffff_ffff_ffff, 0xffef_ffff_ffff_ffff,
    0x3ca0_0000_0000_0000, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000, 0x7ff8_1234_5678_9abc,
    0xfff0_1234_5678_9abc, 0x7fff_ffff_ffff_ffff,
];

/// Zeros, subnormals, the smallest and largest normals, 1 and its neighbours, halves, powers of two
/// around the widths of the integers and of an f16, infinities, quiet and signalling NaNs with
/// payloads, and numbers with products near the smallest normal number: that of the last two is
/// `2^-126 (1 - 2^-46)`.
#[rustfmt::skip]
const F32_EDGES: [u32; 65] = [
    0x0000_0000, 0x8000_0000, 0x0000_0001, 0x8000_0001, 0x0000_0002, 0x007f_ffff, 0x807f_ffff,
    0x0040_0000, 0x0080_0000, 0x8080_0000, 0x0080_0001, 0x7f7f_ffff, 0xff7f_ffff, 0x3f80_0000,
    0xbf80_0000, 0x3f80_0001, 0x3f7f_ffff, 0x3f00_0000, 0xbf00_0000, 0x3eff_ffff, 0x3f00_0001,
    0x3fc0_0000, 0xbfc0_0000, 0x4020_0000, 0xc020_0000, 0x4060_0000, 0x3dcc_cccd, 0x4040_0000,
    0x4b00_0000, 0x4b00_0001, 0x4aff_ffff, 0x4b80_0000, 0x4b80_0001, 0x42fe_0000, 0x4300_0000,
    0x437f_8000, 0x46ff_ff00, 0x477f_e000, 0x477f_efff, 0x477f_f000, 0x4780_0000, 0x3380_0000,
    0x3300_0000, 0x3300_0001, 0x3880_0000, 0x387f_ffff, 0x4eff_ffff, 0x4f00_0000, 0xcf00_0000,
    0x4f7f_ffff, 0x4f80_0000, 0x5eff_ffff, 0x5f00_0000, 0xdf00_0000, 0x5f80_0000, 0x7e80_0000,
    0x7f00_0000, 0x7f80_0000, 0xff80_0000, 0x7fc1_2345, 0xff81_2345, 0x7fff_ffff, 0x7e80_0001,
    0x3280_0001, 0x0d7f_fffe,
];

/// Such values of double precision, and the limits of single precision.
#[rustfmt::skip]
const F64_EDGES: [u64; 62] = [
    0, 1 << 63, 1, 0x8000_0000_0000_0001, 0x000f_ffff_ffff_ffff, 0x800f_ffff_ffff_ffff,
    0x0010_0000_0000_0000, 0x8010_0000_0000_0000, 0x0010_0000_0000_0001, 0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff, 0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000, 0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff, 0x3fe0_0000_0000_0000, 0xbfe0_0000_0000_0000, 0x3fdf_ffff_ffff_ffff,
    0x3fe0_0000_0000_0001, 0x3ff8_0000_0000_0000, 0xbff8_0000_0000_0000, 0x4004_0000_0000_0000,
    0xc004_0000_0000_0000, 0x3fb9_9999_9999_999a, 0x4008_0000_0000_0000, 0x4330_0000_0000_0000,
    0x4330_0000_0000_0001, 0x4340_0000_0000_0001, 0x405f_c000_0000_0000, 0x4060_0000_0000_0000,
    0x406f_f000_0000_0000, 0x40ef_fc00_0000_0000, 0x40ef_fe00_0000_0000, 0x41df_ffff_ffc0_0000,
    0x41df_ffff_ffe0_0000, 0x41e0_0000_0000_0000, 0xc1e0_0000_0000_0000, 0xc1e0_0000_0020_0000,
    0x41ef_ffff_ffe0_0000, 0x41f0_0000_0000_0000, 0x43df_ffff_ffff_ffff, 0x43e0_0000_0000_0000,
    0xc3e0_0000_0000_0000, 0x43f0_0000_0000_0000, 0x47ef_ffff_e000_0000, 0x47ef_ffff_efff_ffff,
    0x47ef_ffff_f000_0000, 0x47f0_0000_0000_0000, 0x3810_0000_0000_0000, 0x380f_ffff_ffff_ffff,
    0x36a0_0000_0000_0000, 0x3690_0000_0000_0000, 0x3690_0000_0000_0001, 0x3ff0_0000_1000_0000,
    0x3ff0_0000_3000_0000, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000, 0x7ff8_1234_5678_9abc,
    0xfff0_1234_5678_9abc, 0x7fff_ffff_ffff_ffff, 0x380f_ffff_e000_0000, 0x380f_ffff_f000_0000,
];
