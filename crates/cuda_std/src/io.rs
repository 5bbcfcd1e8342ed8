//! Printing from kernels: [`print!`](crate::print), [`println!`](crate::println), and
//! [`dbg!`](crate::dbg), which prints a value with its line and gives it.
//!
//! ```
//! # use cuda_std::prelude::*;
//! # use cuda_std::println;
//! # #[kernel]
//! # pub unsafe fn show(x: f32, n: u32) {
//! println!("thread {}: x is {}, {:.3} of {n}", thread::thread_idx_x(), x, x / 3.0);
//! # }
//! ```
//!
//! The text goes through the driver's `vprintf`, as that of `printf` in CUDA C++. The format
//! becomes one of C's when the kernel is compiled, and no code in the kernel makes text.
//!
//! - A GPU shows the text when the host next waits for it, in any order of threads, and keeps only
//!   the last megabyte (`cuCtxSetLimit`).
//! - The emulated device shows the threads in order, and the first 64 KiB. Threads of one warp
//!   print together: first all of them the text of one call, then all that of the next.
//!
//! A call costs registers and time: take it out of kernels that are timed.
//!
//! Values are integers of up to 64 bits, floats (with the feature `half` those of 16 bits too),
//! `bool` and pointers. Formats are those of Rust, as
//! far as C has them; two differ in what they show. `{}` of a float has six significant digits, and
//! `{:?}` has nine (17 for `f64`), which distinguish any two values. `{:e}` has an exponent of two
//! digits.
//!
//! On the host the macros print as those of `std` do. The prelude leaves them out there, since
//! `std` has its own; a crate without `std` writes `cuda_std::println!`.

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    /// Prints, and gives the number of values (CUDA Programming Guide, "Formatted Output").
    fn vprintf(format: *const u8, values: *const core::ffi::c_void) -> i32;
}

/// A format, as the macros make it.
#[doc(hidden)]
pub trait Format {
    const PIECES: &'static [Piece];
}

/// A piece of a format.
#[doc(hidden)]
pub enum Piece {
    Text(&'static str),
    /// The next value, with the flags, the width and the precision of C.
    Value {
        flags: &'static str,
        style: Style,
    },
}

/// The form in which a value is printed.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Display,
    Debug,
    /// So many digits after the point.
    Decimals,
    Hex,
    UpperHex,
    Octal,
    Exponent,
    UpperExponent,
}

/// The kind of a value: how C converts it.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Conversion {
    Signed,
    Unsigned,
    /// With the precision that distinguishes any two values: `.9`.
    Float(&'static str),
    Text,
    Pointer,
}

/// A type whose values kernels print.
#[diagnostic::on_unimplemented(
    message = "kernels cannot print a value of type `{Self}`",
    note = "they print integers of up to 64 bits, floats, `bool` and pointers; print the parts of other values one by one"
)]
pub trait Print {
    /// How C converts it.
    #[doc(hidden)]
    const CONVERSION: Conversion;

    /// The eight bytes that `vprintf` gets; `is_signed` if they are printed as a signed number.
    #[doc(hidden)]
    fn bits(&self, is_signed: bool) -> u64;
}

macro_rules! print_integers {
    ($($conversion:ident: $($ty:ident as $unsigned:ident)*;)*) => {
        $($(
            impl Print for $ty {
                const CONVERSION: Conversion = Conversion::$conversion;

                #[inline(always)]
                fn bits(&self, is_signed: bool) -> u64 {
                    if is_signed { *self as i64 as u64 } else { *self as $unsigned as u64 }
                }
            }
        )*)*
    };
}

print_integers! {
    Signed: i8 as u8 i16 as u16 i32 as u32 i64 as u64 isize as usize;
    Unsigned: u8 as u8 u16 as u16 u32 as u32 u64 as u64 usize as usize;
}

macro_rules! print_floats {
    ($($ty:ident $digits:literal)*) => {
        $(
            impl Print for $ty {
                const CONVERSION: Conversion = Conversion::Float($digits);

                #[inline(always)]
                fn bits(&self, _: bool) -> u64 {
                    f64::from(*self).to_bits()
                }
            }
        )*
    };
}

print_floats! { f32 ".9" f64 ".17" }

#[cfg(feature = "half")]
use crate::{bf16, f16};
#[cfg(feature = "half")]
print_floats! { f16 ".9" bf16 ".9" }

impl Print for bool {
    const CONVERSION: Conversion = Conversion::Text;

    #[inline(always)]
    fn bits(&self, _: bool) -> u64 {
        let text = if *self { c"true" } else { c"false" };
        text.as_ptr() as u64
    }
}

impl<T> Print for *const T {
    const CONVERSION: Conversion = Conversion::Pointer;

    #[inline(always)]
    fn bits(&self, _: bool) -> u64 {
        *self as u64
    }
}

impl<T> Print for *mut T {
    const CONVERSION: Conversion = Conversion::Pointer;

    #[inline(always)]
    fn bits(&self, _: bool) -> u64 {
        *self as u64
    }
}

impl<T: Print + ?Sized> Print for &T {
    const CONVERSION: Conversion = T::CONVERSION;

    #[inline(always)]
    fn bits(&self, is_signed: bool) -> u64 {
        T::bits(self, is_signed)
    }
}

/// The values of a call: a tuple.
#[doc(hidden)]
pub trait Values {
    /// Eight bytes of each.
    type Bits;
    const CONVERSIONS: &'static [Conversion];

    fn bits<F: Format>(&self) -> Self::Bits;
}

macro_rules! tuples {
    ($($count:literal: $($ty:ident $number:tt)*;)*) => {
        $(
            impl<$($ty: Print),*> Values for ($($ty,)*) {
                type Bits = [u64; $count];
                const CONVERSIONS: &'static [Conversion] = &[$($ty::CONVERSION),*];

                #[inline(always)]
                fn bits<F: Format>(&self) -> [u64; $count] {
                    [$(self.$number.bits(const { is_signed::<F>($number) })),*]
                }
            }
        )*
    };
}

tuples! {
    0: ;
    1: A 0;
    2: A 0 B 1;
    3: A 0 B 1 C 2;
    4: A 0 B 1 C 2 D 3;
    5: A 0 B 1 C 2 D 3 E 4;
    6: A 0 B 1 C 2 D 3 E 4 G 5;
    7: A 0 B 1 C 2 D 3 E 4 G 5 H 6;
    8: A 0 B 1 C 2 D 3 E 4 G 5 H 6 I 7;
    9: A 0 B 1 C 2 D 3 E 4 G 5 H 6 I 7 J 8;
    10: A 0 B 1 C 2 D 3 E 4 G 5 H 6 I 7 J 8 K 9;
    11: A 0 B 1 C 2 D 3 E 4 G 5 H 6 I 7 J 8 K 9 L 10;
    12: A 0 B 1 C 2 D 3 E 4 G 5 H 6 I 7 J 8 K 9 L 10 M 11;
}

/// Whether the value of this number is printed as a signed number.
const fn is_signed<F: Format>(number: usize) -> bool {
    let (mut piece, mut value) = (0, 0);
    while piece < F::PIECES.len() {
        if let Piece::Value { style, .. } = &F::PIECES[piece] {
            if value == number {
                return !matches!(style, Style::Hex | Style::UpperHex | Style::Octal);
            }
            value += 1;
        }
        piece += 1;
    }
    true
}

/// Formats of C, made when a kernel is compiled.
#[cfg(any(target_arch = "nvptx64", test))]
mod of_c {
    use super::{Conversion, Format, Piece, Style, Values};

    /// The longest format, in bytes, with the zero at its end.
    pub const MAX_BYTES: usize = 512;

    /// A format of C's under construction.
    struct Text {
        bytes: [u8; MAX_BYTES],
        len: usize,
    }

    impl Text {
        const fn push(&mut self, text: &str, doubled: u8) {
            let text = text.as_bytes();
            let mut i = 0;
            while i < text.len() {
                assert!(
                    self.len + 2 < MAX_BYTES,
                    "the format is too long: at most 500 bytes"
                );
                self.bytes[self.len] = text[i];
                self.len += 1;
                if text[i] == doubled {
                    self.bytes[self.len] = doubled;
                    self.len += 1;
                }
                i += 1;
            }
        }
    }

    /// The format of C's for values of these types.
    pub const fn format_of<F: Format, V: Values>() -> [u8; MAX_BYTES] {
        let mut text = Text {
            bytes: [0; MAX_BYTES],
            len: 0,
        };
        let (mut piece, mut value) = (0, 0);
        while piece < F::PIECES.len() {
            match &F::PIECES[piece] {
                Piece::Text(plain) => text.push(plain, b'%'),
                Piece::Value { flags, style } => {
                    text.push("%", 0);
                    text.push(flags, 0);
                    text.push(conversion(V::CONVERSIONS[value], *style), 0);
                    value += 1;
                }
            }
            piece += 1;
        }
        text.bytes
    }

    /// The end of a conversion, from the precision on.
    const fn conversion(of: Conversion, style: Style) -> &'static str {
        match (of, style) {
            (Conversion::Signed, Style::Display | Style::Debug) => "lld",
            (Conversion::Unsigned, Style::Display | Style::Debug) => "llu",
            (Conversion::Signed | Conversion::Unsigned, Style::Hex) => "llx",
            (Conversion::Signed | Conversion::Unsigned, Style::UpperHex) => "llX",
            (Conversion::Signed | Conversion::Unsigned, Style::Octal) => "llo",
            (Conversion::Signed | Conversion::Unsigned, _) => {
                panic!("an integer has no digits after the point and no exponent")
            }
            (Conversion::Float(_), Style::Display) => "g",
            (Conversion::Float(digits), Style::Debug) => match digits.len() {
                2 => ".9g",
                _ => ".17g",
            },
            (Conversion::Float(_), Style::Decimals) => "f",
            (Conversion::Float(_), Style::Exponent) => "e",
            (Conversion::Float(_), Style::UpperExponent) => "E",
            (Conversion::Float(_), _) => panic!("a float has no hexadecimal or octal form"),
            (Conversion::Text, _) => "s",
            (Conversion::Pointer, _) => "p",
        }
    }
}

/// A format of C's, in the memory of the device.
#[cfg(target_arch = "nvptx64")]
struct OfC<F, V>(core::marker::PhantomData<(F, V)>);

#[cfg(target_arch = "nvptx64")]
impl<F: Format, V: Values> OfC<F, V> {
    const TEXT: &'static [u8; of_c::MAX_BYTES] = &of_c::format_of::<F, V>();
}

/// Prints, on the device.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[inline(always)]
pub fn print<F: Format, V: Values>(values: V) {
    let bits = values.bits::<F>();
    // SAFETY: the format ends with a zero byte, and asks for the eight bytes of each value.
    unsafe { vprintf(OfC::<F, V>::TEXT.as_ptr(), (&raw const bits).cast()) };
}

/// Prints, on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub fn print_on_host(text: core::fmt::Arguments<'_>) {
    std::print!("{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Example;

    impl Format for Example {
        const PIECES: &'static [Piece] = &[
            Piece::Text("5 % of "),
            Piece::Value {
                flags: "8",
                style: Style::Display,
            },
            Piece::Text(", "),
            Piece::Value {
                flags: ".3",
                style: Style::Decimals,
            },
            Piece::Value {
                flags: "#",
                style: Style::Hex,
            },
            Piece::Value {
                flags: "",
                style: Style::Debug,
            },
        ];
    }

    #[test]
    fn formats_are_those_of_c() {
        const TEXT: [u8; of_c::MAX_BYTES] = of_c::format_of::<Example, (i32, f32, i32, f32)>();
        let end = TEXT.iter().position(|&byte| byte == 0).unwrap();
        assert_eq!(&TEXT[..end], b"5 %% of %8lld, %.3f%#llx%.9g");
    }

    #[test]
    fn values_are_eight_bytes() {
        let bits = (-1i32, 0.5f32, -1i32, &2.0f64).bits::<Example>();
        let half = 0.5f64.to_bits();
        assert_eq!(bits, [u64::MAX, half, 0xffff_ffff, 2.0f64.to_bits()]);
    }
}
