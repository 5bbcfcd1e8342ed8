//! Sorts, and pointers that move by bools and by narrow numbers, by number: the same code for
//! device and host.

use cuda_std::{kernel, thread};

/// The length of the table that [`value`] reads.
pub const TABLE: usize = 1 << 15;

/// The functions' names, by number.
pub const NAMES: [&str; 14] = [
    "sort_unstable of u64",
    "sort_unstable of i32",
    "sort_unstable_by of f32",
    "sort_unstable_by_key",
    "select_nth_unstable",
    "a bool and its opposite, with offsets",
    "a bool and its opposite, without offsets",
    "the opposite of a bool first, bytes",
    "i8 that wraps",
    "i16 that wraps",
    "i8 by products",
    "i8 with the sign flipped",
    "i8 with the difference of two",
    "one i8 in elements of 4 and of 3 bytes",
];

/// A hash of numbers (Fowler, Noll, Vo; 1a).
fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    let add = |hash: u64, number: u64| (hash ^ number).wrapping_mul(0x0000_0100_0000_01b3);
    numbers.into_iter().fold(14_695_981_039_346_656_037, add)
}

/// 24 numbers below 50 (the linear congruential generator of Knuth's MMIX).
fn numbers(seed: u64) -> [u64; 24] {
    let mut state = seed;
    core::array::from_fn(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 50
    })
}

/// The function of this number at `a` and `b`, or at the two numbers of `narrow`.
///
/// # Safety
/// `table` has [`TABLE`] elements.
pub unsafe fn value(number: u32, (a, b): (u64, u64), narrow: [i8; 2], table: *const u32) -> u64 {
    let middle = table.add(TABLE / 2);
    let bytes = middle.cast::<u8>();
    let two = |first: u32, second: u32| u64::from(first) << 32 | u64::from(second);
    let is_less = a < b;
    let [n, m] = narrow;
    match number {
        0 => {
            let mut all = numbers(a);
            all.sort_unstable();
            hash(all)
        }
        1 => {
            let mut all = numbers(a).map(|value| value as i32 - 25);
            all.sort_unstable();
            hash(all.map(|value| value as u64))
        }
        2 => {
            let mut all = numbers(a).map(|value| value as f32 - 24.5);
            all.sort_unstable_by(f32::total_cmp);
            hash(all.map(|value| u64::from(value.to_bits())))
        }
        3 => {
            let mut all = numbers(a);
            all.sort_unstable_by_key(|value| value % 7 * 64 + value);
            hash(all)
        }
        4 => {
            let mut all = numbers(a);
            *all.select_nth_unstable(b as usize % 24).1
        }
        5 => two(
            *middle.add(12).sub(!is_less as usize),
            *middle.add(5).sub(is_less as usize),
        ),
        6 => two(
            *middle.sub(!is_less as usize),
            *middle.sub(is_less as usize),
        ),
        7 => {
            let less = *bytes.sub(is_less as usize);
            let not_less = *bytes.sub(!is_less as usize);
            two(less.into(), not_less.into())
        }
        8 => {
            let [first, second] = [1, 3].map(|add| n.wrapping_add(add) as isize);
            two(*middle.offset(first), *middle.offset(second))
        }
        9 => {
            let [first, second] =
                [32_600, 32_607].map(|add| i16::from(n).wrapping_add(add) as isize);
            two(
                (*bytes.offset(first)).into(),
                (*bytes.offset(second)).into(),
            )
        }
        10 => {
            let [first, second] = [3, 4].map(|by| n.wrapping_mul(by) as isize);
            two(*middle.offset(first + 256), *middle.offset(second + 256))
        }
        11 => {
            let [first, second] = [0, i8::MIN].map(|flip| (n ^ flip) as isize);
            two(*middle.offset(first), *middle.offset(second))
        }
        12 => {
            let sum = (number as i8)
                .wrapping_add(m.wrapping_sub(n))
                .wrapping_mul(3);
            let (first, second) = (*middle.offset(n.into()), *middle.offset(m.into()));
            two(first, second).wrapping_add(sum as u64)
        }
        _ => {
            let index = n as isize;
            let words: [u8; 4] = *bytes.cast::<[u8; 4]>().offset(index);
            let triples: [u8; 3] = *bytes.cast::<[u8; 3]>().offset(index);
            two(words[0].into(), triples[0].into())
        }
    }
}

#[kernel]
pub unsafe fn indices(
    number: u32,
    a: &[u64],
    b: &[u64],
    narrow: &[u8],
    table: *const u32,
    out: *mut u64,
) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        let pair = [narrow[2 * i] as i8, narrow[2 * i + 1] as i8];
        *out.add(i) = value(number, (a[i], b[i]), pair, table);
    }
}
