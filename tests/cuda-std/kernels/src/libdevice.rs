//! Functions of `cuda_std::intrinsics` that no trait has, under one name for both precisions.

use cuda_std::intrinsics;

/// They are libdevice's by name: its manual says what each computes.
pub trait Libdevice: Sized {
    fn erfinv(self) -> Self;
    fn exp10(self) -> Self;
    fn fdim(self, other: Self) -> Self;
    fn ilogb(self) -> i32;
    fn llrint(self) -> i64;
    fn llround(self) -> i64;
    fn logb(self) -> Self;
    fn modf(self) -> (Self, Self);
    fn nearbyint(self) -> Self;
    fn nextafter(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
    fn remquo(self, other: Self) -> (Self, i32);
    fn rint(self) -> Self;
    fn rsqrt(self) -> Self;
}

macro_rules! of_one_result {
    ($ty:ident: $($name:ident($($other:ident)?) -> $result:ty = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $other: $ty)?) -> $result {
            // SAFETY: without pointers, the function has no obligation.
            unsafe { intrinsics::$intrinsic(self $(, $other)?) }
        }
    )*};
}

macro_rules! of_two_results {
    ($ty:ident: $($name:ident($($other:ident)?) -> $second:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $other: $ty)?) -> ($ty, $second) {
            let mut second = $second::default();
            // SAFETY: the pointer is a variable's.
            let first = unsafe { intrinsics::$intrinsic(self $(, $other)?, &mut second) };
            (first, second)
        }
    )*};
}

impl Libdevice for f32 {
    of_one_result! { f32:
        erfinv() -> f32 = erfinvf;
        exp10() -> f32 = exp10f;
        fdim(other) -> f32 = fdimf;
        ilogb() -> i32 = ilogbf;
        llrint() -> i64 = llrintf;
        llround() -> i64 = llroundf;
        logb() -> f32 = logbf;
        nearbyint() -> f32 = nearbyintf;
        nextafter(other) -> f32 = nextafterf;
        remainder(other) -> f32 = remainderf;
        rint() -> f32 = rintf;
        rsqrt() -> f32 = rsqrtf;
    }
    of_two_results! { f32:
        modf() -> f32 = modff;
        remquo(other) -> i32 = remquof;
    }
}

impl Libdevice for f64 {
    of_one_result! { f64:
        erfinv() -> f64 = erfinv;
        exp10() -> f64 = exp10;
        fdim(other) -> f64 = fdim;
        ilogb() -> i32 = ilogb;
        llrint() -> i64 = llrint;
        llround() -> i64 = llround;
        logb() -> f64 = logb;
        nearbyint() -> f64 = nearbyint;
        nextafter(other) -> f64 = nextafter;
        remainder(other) -> f64 = remainder;
        rint() -> f64 = rint;
        rsqrt() -> f64 = rsqrt;
    }
    of_two_results! { f64:
        modf() -> f64 = modf;
        remquo(other) -> i32 = remquo;
    }
}
