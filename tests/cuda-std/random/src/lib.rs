//! Random functions, which `build` writes, and kernels that call them, each of a module of its own.

#![no_std]
#![allow(warnings, clippy::all, reason = "the functions are generated")]

use core::fmt::{self, Write as _};

use cuda_std::{GpuFloat, kernel, thread};

include!(concat!(env!("OUT_DIR"), "/random.rs"));

/// A hash of numbers (Fowler, Noll, Vo; 1a).
struct Hash(u64);

impl Hash {
    fn add(&mut self, value: u128) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = (self.0 ^ (value >> 64) as u64).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// Text of at most 96 bytes.
struct Text {
    bytes: [u8; 96],
    length: usize,
}

impl Text {
    fn new() -> Self {
        Self {
            bytes: [0; 96],
            length: 0,
        }
    }

    fn clear(&mut self) {
        self.length = 0;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(self.bytes()).unwrap_or("?")
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        let place = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        place.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// Tables with room on both sides of element 256 for what 8 bits can add.
macro_rules! table {
    ($($name:ident: $ty:ty = |$i:ident| $value:expr;)*) => {
        $(static $name: [$ty; 640] = {
            let mut table = [const { let $i = 0u64; $value }; 640];
            let mut $i = 0u64;
            while $i < 640 {
                table[$i as usize] = $value;
                $i += 1;
            }
            table
        };)*
    };
}

table! {
    U8: u8 = |i| (i * 167) as u8;
    U16: u16 = |i| (i * 40_503) as u16;
    U32: u32 = |i| (i * 2_654_435_761) as u32;
    U64: u64 = |i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    THREE: [u8; 3] = |i| [i as u8, (i * 31) as u8, (i * 167) as u8];
}

/// The bits, the same for every NaN.
fn bits_f32(x: f32) -> u32 {
    if x.is_nan() { 1 } else { x.to_bits() }
}

fn bits_f64(x: f64) -> u64 {
    if x.is_nan() { 1 } else { x.to_bits() }
}

/// The variables of a function that calls the library.
type Arrays = ([u64; 24], [u32; 12], [i8; 24], [f32; 24]);

/// These variables' first values: one copy for all functions, whose code is what they do with them.
#[inline(never)]
fn arrays(a: u64, b: u64) -> Arrays {
    (
        core::array::from_fn(|i| (a.rotate_left(7 * i as u32) ^ b) >> (b as u32 % 40)),
        core::array::from_fn(|i| (b.rotate_right(5 * i as u32) ^ a) as u32),
        core::array::from_fn(|i| (a.rotate_right(3 * i as u32)) as i8),
        core::array::from_fn(|i| (b.rotate_left(11 * i as u32)) as i16 as f32),
    )
}

/// The hash and these variables.
#[inline(never)]
fn hash_arrays(hash: u64, (longs, words, bytes, floats): &Arrays, text: &Text) -> u64 {
    let mut hash = Hash(hash);
    longs.iter().for_each(|&long| hash.add(u128::from(long)));
    words.iter().for_each(|&word| hash.add(u128::from(word)));
    bytes.iter().for_each(|&byte| hash.add(byte as u128));
    floats
        .iter()
        .for_each(|&float| hash.add(u128::from(bits_f32(float))));
    text.bytes()
        .iter()
        .for_each(|&byte| hash.add(u128::from(byte)));
    hash.0
}

// Sorts: one copy for all functions, since a sort's code is longer than such a function.

#[inline(never)]
fn sort<T: Ord>(part: &mut [T]) {
    part.sort_unstable();
}

#[inline(never)]
fn sort_down<T: Ord>(part: &mut [T]) {
    part.sort_unstable_by(|x, y| y.cmp(x));
}

#[inline(never)]
fn sort_floats(part: &mut [f32]) {
    part.sort_unstable_by(f32::total_cmp);
}

#[inline(never)]
fn sort_by_key(part: &mut [u64], key: impl Fn(&u64) -> u64) {
    part.sort_unstable_by_key(key);
}

#[inline(never)]
fn select(all: &mut [u64], index: usize) -> u64 {
    *all.select_nth_unstable(index).1
}

fn rotated(n: &u64) -> u64 {
    n.rotate_left(29)
}

fn multiplied(n: &u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9)
}

fn flipped(n: &u64) -> u64 {
    n ^ 0x5555_5555
}
