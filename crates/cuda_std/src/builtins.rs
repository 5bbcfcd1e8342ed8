//! Functions that the language itself calls: comparing two slices calls `memcmp`, and `%` of floats
//! the functions of its name here.
//!
//! `core` leaves them to the platform, and a GPU has none. (Copies and fills need no function: the
//! back end writes loops.)

/// C's `memcmp`: the result is below, at or above 0 as `a`'s first different byte is below, at or
/// above `b`'s.
///
/// # Safety
/// `a` and `b` point to `n` initialised bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: the caller's.
        let (a, b) = unsafe { (*a.add(i), *b.add(i)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// BSD's `bcmp`: 0 if the bytes are equal.
///
/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the caller's.
    unsafe { memcmp(a, b, n) }
}

/// The remainder of a division of floats, exact as everywhere else. (LLVM's NVPTX back end makes
/// `x - y * trunc(x / y)` of it, which is another number where the quotient is rounded;
/// `cuda_builder` calls these functions instead.)
macro_rules! remainder {
    ($name:ident, $ty:ident, $bits:ident, $digits:literal) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name(x: $ty, y: $ty) -> $ty {
            const FRACTION: u64 = (1 << $digits) - 1;
            // The bits that a step takes of the quotient.
            const STEP: i32 = 63 - $digits;
            let sign = x.to_bits() & (1 << ($bits::BITS - 1));
            let (x, y) = (x.abs(), y.abs());
            if y == 0.0 || x.is_infinite() || x.is_nan() || y.is_nan() {
                return $ty::NAN;
            }
            if x < y {
                return $ty::from_bits(x.to_bits() | sign);
            }
            // A number is `digits * 2^exponent` of the least subnormal.
            let parts = |number: $ty| {
                let bits = number.to_bits() as u64;
                match (bits >> $digits) as i32 {
                    0 => (bits, 0),
                    exponent => ((bits & FRACTION) | (1 << $digits), exponent - 1),
                }
            };
            let ((mut digits, from), (divisor, to)) = (parts(x), parts(y));
            digits %= divisor;
            let mut left = from - to;
            while left > 0 && digits > 0 {
                let step = if left < STEP { left } else { STEP };
                digits = (digits << step) % divisor;
                left -= step;
            }
            if digits == 0 {
                return $ty::from_bits(sign);
            }
            // Back to a leading 1, as far as the exponent allows.
            let places = digits.leading_zeros() as i32 - (63 - $digits);
            let shift = if places < to { places } else { to };
            digits <<= shift;
            let exponent = match digits >> $digits {
                0 => 0,
                _ => (to - shift + 1) as u64,
            };
            $ty::from_bits(((digits & FRACTION) | (exponent << $digits)) as $bits | sign)
        }
    };
}

remainder!(__cuda_std_fmodf, f32, u32, 23);
remainder!(__cuda_std_fmod, f64, u64, 52);
