//! Functions of `cuda_std::intrinsics`: those that only a GPU has, and those of integers.

pub use cuda_std::intrinsics as library;
use cuda_std::intrinsics as raw;
use cuda_std::{kernel, thread};

/// Writes each function's results one after the other.
macro_rules! write_all {
    ($out:ident, $i:ident, $count:ident, $as:expr; $($name:ident($($argument:expr),*)),* $(,)?) => {
        let results = [$($as(raw::$name($($argument),*))),*];
        const { assert!([$(stringify!($name)),*].len() == $count) };
        for (k, result) in results.into_iter().enumerate() {
            *$out.add($count * $i + k) = result;
        }
    };
}

/// Results of [`rounded_f32`] per thread: 7 operations, rounded down, to nearest, up and to zero.
pub const ROUNDED_F32: usize = 28;

#[kernel]
pub unsafe fn rounded_f32(x: &[f32], y: &[f32], z: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (x, y, z) = (x[i], y[i], z[i]);
        write_all! { out, i, ROUNDED_F32, f32::from;
            fadd_rd(x, y), fadd_rn(x, y), fadd_ru(x, y), fadd_rz(x, y),
            fsub_rd(x, y), fsub_rn(x, y), fsub_ru(x, y), fsub_rz(x, y),
            fmul_rd(x, y), fmul_rn(x, y), fmul_ru(x, y), fmul_rz(x, y),
            fdiv_rd(x, y), fdiv_rn(x, y), fdiv_ru(x, y), fdiv_rz(x, y),
            frcp_rd(x), frcp_rn(x), frcp_ru(x), frcp_rz(x),
            fsqrt_rd(x.abs()), fsqrt_rn(x.abs()), fsqrt_ru(x.abs()), fsqrt_rz(x.abs()),
            fmaf_rd(x, y, z), fmaf_rn(x, y, z), fmaf_ru(x, y, z), fmaf_rz(x, y, z),
        }
    }
}

/// As [`ROUNDED_F32`], without the subtraction.
pub const ROUNDED_F64: usize = 24;

#[kernel]
pub unsafe fn rounded_f64(x: &[f64], y: &[f64], z: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (x, y, z) = (x[i], y[i], z[i]);
        write_all! { out, i, ROUNDED_F64, f64::from;
            dadd_rd(x, y), dadd_rn(x, y), dadd_ru(x, y), dadd_rz(x, y),
            dmul_rd(x, y), dmul_rn(x, y), dmul_ru(x, y), dmul_rz(x, y),
            ddiv_rd(x, y), ddiv_rn(x, y), ddiv_ru(x, y), ddiv_rz(x, y),
            drcp_rd(x), drcp_rn(x), drcp_ru(x), drcp_rz(x),
            dsqrt_rd(x.abs()), dsqrt_rn(x.abs()), dsqrt_ru(x.abs()), dsqrt_rz(x.abs()),
            fma_rd(x, y, z), fma_rn(x, y, z), fma_ru(x, y, z), fma_rz(x, y, z),
        }
    }
}

/// Results of [`to_integers`] per thread: of `f64`, then of `f32`, to four types each, rounded
/// down, to nearest, up and to zero.
pub const TO_INTEGERS: usize = 32;

#[kernel]
pub unsafe fn to_integers(x: &[f64], out: *mut i64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (x, f) = (x[i], x[i] as f32);
        write_all! { out, i, TO_INTEGERS, i64::from;
            double2int_rd(x), double2int_rn(x), double2int_ru(x), double2int_rz(x),
            double2uint_rd(x), double2uint_rn(x), double2uint_ru(x), double2uint_rz(x),
            double2ll_rd(x), double2ll_rn(x), double2ll_ru(x), double2ll_rz(x),
            double2ull_rd(x), double2ull_rn(x), double2ull_ru(x), double2ull_rz(x),
            float2int_rd(f), float2int_rn(f), float2int_ru(f), float2int_rz(f),
            float2uint_rd(f), float2uint_rn(f), float2uint_ru(f), float2uint_rz(f),
            float2ll_rd(f), float2ll_rn(f), float2ll_ru(f), float2ll_rz(f),
            float2ull_rd(f), float2ull_rn(f), float2ull_ru(f), float2ull_rz(f),
        }
    }
}

/// Results of [`to_floats`] per thread: seven conversions, rounded down, to nearest, up and to
/// zero, and two that are exact.
pub const TO_FLOATS: usize = 30;

#[kernel]
pub unsafe fn to_floats(x: &[f64], n: &[i64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (x, n, k) = (x[i], n[i], n[i] as i32);
        write_all! { out, i, TO_FLOATS, f64::from;
            double2float_rd(x), double2float_rn(x), double2float_ru(x), double2float_rz(x),
            int2float_rd(k), int2float_rn(k), int2float_ru(k), int2float_rz(k),
            uint2float_rd(k), uint2float_rn(k), uint2float_ru(k), uint2float_rz(k),
            ll2float_rd(n), ll2float_rn(n), ll2float_ru(n), ll2float_rz(n),
            ull2float_rd(n), ull2float_rn(n), ull2float_ru(n), ull2float_rz(n),
            ll2double_rd(n), ll2double_rn(n), ll2double_ru(n), ll2double_rz(n),
            int2double_rn(k), uint2double_rn(k),
            ull2double_rd(n), ull2double_rn(n), ull2double_ru(n), ull2double_rz(n),
        }
    }
}

/// Results of [`fast`] per thread.
pub const FAST: usize = 12;

/// Approximations by instructions: `y` is positive.
#[kernel]
pub unsafe fn fast(x: &[f32], y: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (x, y) = (x[i], y[i]);
        let (mut sine, mut cosine) = (0.0, 0.0);
        raw::fast_sincosf(x, &mut sine, &mut cosine);
        write_all! { out, i, FAST, f32::from;
            fast_sinf(x), fast_cosf(x), fast_tanf(x), fast_expf(x), fast_exp10f(x),
            fast_log2f(y), fast_logf(y), fast_log10f(y), fast_powf(y, x), fast_fdividef(x, y),
            saturatef(sine), saturatef(cosine),
        }
    }
}

/// Results of [`integers`].
pub const INTEGERS: usize = 34;

/// Functions of integers, the same code for device and host.
pub fn integers(x: i64, y: i64) -> [i64; INTEGERS] {
    let (a, b, c) = (x as i32, y as i32, (x ^ y) as i32);
    // SAFETY: no function has an obligation.
    unsafe {
        [
            raw::llabs(x),
            raw::llmax(x, y),
            raw::llmin(x, y),
            raw::ullmax(x, y),
            raw::ullmin(x, y),
            raw::brevll(x),
            raw::mul64hi(x, y),
            raw::umul64hi(x, y),
            raw::double_as_longlong(raw::longlong_as_double(x)),
            raw::clzll(x >> 40).into(),
            raw::popcll(x).into(),
            raw::ffsll(x << 33).into(),
            raw::abs(a).into(),
            raw::max(a, b).into(),
            raw::min(a, b).into(),
            raw::umax(a, b).into(),
            raw::umin(a, b).into(),
            raw::brev(a).into(),
            raw::clz(a >> 9).into(),
            raw::popc(a).into(),
            raw::ffs(a << 9).into(),
            raw::mulhi(a, b).into(),
            raw::umulhi(a, b).into(),
            raw::mul24(a, b).into(),
            raw::umul24(a, b).into(),
            raw::hadd(a, b).into(),
            raw::rhadd(a, b).into(),
            raw::uhadd(a, b).into(),
            raw::urhadd(a, b).into(),
            raw::sad(a, b, c).into(),
            raw::usad(a, b, c).into(),
            raw::float_as_int(raw::int_as_float(a)).into(),
            raw::double2hiint(raw::hiloint2double(a, b)).into(),
            raw::double2loint(raw::hiloint2double(a, b)).into(),
        ]
    }
}

/// [`integers`], and then a permutation of bytes.
#[kernel]
pub unsafe fn integer_functions(x: &[i64], y: &[i64], out: *mut i64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (x, y) = (x[i], y[i]);
        for (k, result) in integers(x, y).into_iter().enumerate() {
            *out.add((INTEGERS + 1) * i + k) = result;
        }
        let bytes = raw::byte_perm(x as i32, y as i32, (x >> 32) as i32);
        *out.add((INTEGERS + 1) * i + INTEGERS) = bytes.into();
    }
}
