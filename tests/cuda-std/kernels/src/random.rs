//! Random functions, which `build.rs` writes.

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

#[kernel]
pub unsafe fn random_functions(number: u32, a: &[u64], b: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        *out.add(i) = random(number, a[i], b[i]);
    }
}
