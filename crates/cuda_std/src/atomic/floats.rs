//! Atomic floats.
//!
//! A scope says among which threads an operation is atomic and ordered: those of the block, of the
//! device, or of the system, which is all devices and the host. A narrower scope costs less. The
//! operations of block scope are `unsafe`: they are not atomic for another block.
//!
//! Every operation takes an [`Ordering`], and is `ld`, `st` or `atom` with the ordering and the
//! scope of its name; `SeqCst` puts a `fence.sc` of the scope before it. Additions of several
//! threads happen in no fixed order, so sums may differ in their last bits between runs.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

/// A float and the unsigned number of its bits.
#[cfg(not(target_arch = "nvptx64"))]
trait Bits: Copy {
    type Bits;
    fn bits(self) -> Self::Bits;
    fn of(bits: Self::Bits) -> Self;
}

#[cfg(not(target_arch = "nvptx64"))]
macro_rules! bits {
    ($($ty:ident $bits:ident)*) => {$(
        impl Bits for $ty {
            type Bits = $bits;
            #[inline(always)]
            fn bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn of(bits: $bits) -> $ty {
                $ty::from_bits(bits)
            }
        }
    )*};
}

#[cfg(not(target_arch = "nvptx64"))]
bits! { f32 u32 f64 u64 }

/// One instruction on the device.
#[cfg(target_arch = "nvptx64")]
macro_rules! instruction {
    (ld $order:literal $scope:literal $width:literal $class:ident $pointer:ident -> $value:ident) => {
        core::arch::asm!(
            concat!("ld.", $order, ".", $scope, ".b", $width, " {value}, [{pointer}];"),
            value = out($class) $value,
            pointer = in(reg64) $pointer,
            options(nostack, preserves_flags)
        )
    };
    (st $order:literal $scope:literal $width:literal $class:ident $pointer:ident $value:ident) => {
        core::arch::asm!(
            concat!("st.", $order, ".", $scope, ".b", $width, " [{pointer}], {value};"),
            pointer = in(reg64) $pointer,
            value = in($class) $value,
            options(nostack, preserves_flags)
        )
    };
    (atom $order:literal $scope:literal $operation:literal $class:ident $pointer:ident $value:ident -> $before:ident) => {
        core::arch::asm!(
            concat!("atom.", $order, ".", $scope, ".", $operation, " {before}, [{pointer}], {value};"),
            before = out($class) $before,
            pointer = in(reg64) $pointer,
            value = in($class) $value,
            options(nostack, preserves_flags)
        )
    };
    (fence $scope:literal) => {
        core::arch::asm!(concat!("fence.sc.", $scope, ";"), options(nostack, preserves_flags))
    };
}

/// A read-modify-write operation.
macro_rules! operation {
    (
        $ty:ident, $atomic:ident, $scope:literal, $operation:literal, $class:ident, $self:ident, $order:ident, $operand:expr,
        |$before:ident| $after:expr
    ) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            let before: $ty;
            let (pointer, operand) = ($self.0.get(), $operand);
            // SAFETY: `self` is valid and aligned, in global or shared memory.
            unsafe {
                match $order {
                    Ordering::Relaxed => instruction!(atom "relaxed" $scope $operation $class pointer operand -> before),
                    Ordering::Acquire => instruction!(atom "acquire" $scope $operation $class pointer operand -> before),
                    Ordering::Release => instruction!(atom "release" $scope $operation $class pointer operand -> before),
                    Ordering::AcqRel => instruction!(atom "acq_rel" $scope $operation $class pointer operand -> before),
                    _ => {
                        instruction!(fence $scope);
                        instruction!(atom "acquire" $scope $operation $class pointer operand -> before)
                    }
                }
            }
            before
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let change = |bits| {
                let $before = <$ty as Bits>::of(bits);
                Some(Bits::bits($after))
            };
            let before = $self.host().fetch_update($order, fail_order($order), change);
            <$ty as Bits>::of(before.unwrap_or_else(|bits| bits))
        }
    }};
}

/// The ordering of a load whose store has this one.
#[cfg(not(target_arch = "nvptx64"))]
fn fail_order(order: Ordering) -> Ordering {
    match order {
        Ordering::Release => Ordering::Relaxed,
        Ordering::AcqRel => Ordering::Acquire,
        _ => order,
    }
}

macro_rules! atomic_float {
    (
        $name:ident($ty:ident) among $threads:literal, $scope:literal, $align:literal,
        $class:ident $width:literal $add:literal $and:literal $or:literal $xor:literal $exchange:literal,
        $atomic:ident, $safety:literal $(, $unsafety:ident)?
    ) => {
        #[doc = concat!("An `", stringify!($ty), "` whose operations are atomic among the threads of ", $threads, ".")]
        #[repr(C, align($align))]
        pub struct $name(UnsafeCell<$ty>);

        // SAFETY: every access through `&self` is atomic, or its caller vouches for it.
        unsafe impl Sync for $name {}

        impl $name {
            /// A new atomic that holds `value`.
            pub const fn new(value: $ty) -> Self {
                Self(UnsafeCell::new(value))
            }

            /// The value.
            pub const fn into_inner(self) -> $ty {
                self.0.into_inner()
            }

            /// The atomic at `pointer`.
            ///
            /// # Safety
            /// `pointer` is aligned and valid for `'a`, and all accesses meanwhile are atomic.
            #[inline(always)]
            pub const unsafe fn from_ptr<'a>(pointer: *mut $ty) -> &'a Self {
                // SAFETY: the caller's; the layout is that of the float.
                unsafe { &*pointer.cast() }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn host(&self) -> &core::sync::atomic::$atomic {
                // SAFETY: size and alignment are the same, and all accesses are atomic.
                unsafe { core::sync::atomic::$atomic::from_ptr(self.0.get().cast()) }
            }

            /// Loads the value.
            ///
            /// # Panics
            /// If `order` releases.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn load(&self, order: Ordering) -> $ty {
                #[cfg(target_arch = "nvptx64")]
                {
                    let pointer = self.0.get();
                    let value: $ty;
                    // SAFETY: `self` is valid and aligned, in global or shared memory.
                    unsafe {
                        match order {
                            Ordering::Relaxed => instruction!(ld "relaxed" $scope $width $class pointer -> value),
                            Ordering::Acquire => instruction!(ld "acquire" $scope $width $class pointer -> value),
                            Ordering::SeqCst => {
                                instruction!(fence $scope);
                                instruction!(ld "acquire" $scope $width $class pointer -> value)
                            }
                            _ => panic!("a load does not release"),
                        }
                    }
                    value
                }
                #[cfg(not(target_arch = "nvptx64"))]
                <$ty as Bits>::of(self.host().load(order))
            }

            /// Stores `value`.
            ///
            /// # Panics
            /// If `order` acquires.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn store(&self, value: $ty, order: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                {
                    let pointer = self.0.get();
                    // SAFETY: `self` is valid and aligned, in global or shared memory.
                    unsafe {
                        match order {
                            Ordering::Relaxed => instruction!(st "relaxed" $scope $width $class pointer value),
                            Ordering::Release => instruction!(st "release" $scope $width $class pointer value),
                            Ordering::SeqCst => {
                                instruction!(fence $scope);
                                instruction!(st "release" $scope $width $class pointer value)
                            }
                            _ => panic!("a store does not acquire"),
                        }
                    }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                self.host().store(value.bits(), order)
            }

            #[doc = concat!("Adds `value` and returns what was there before (`atom.", $add, "`).")]
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn fetch_add(&self, value: $ty, order: Ordering) -> $ty {
                operation!($ty, $atomic, $scope, $add, $class, self, order, value, |before| before + value)
            }

            /// Subtracts `value` and returns what was there before.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn fetch_sub(&self, value: $ty, order: Ordering) -> $ty {
                operation!($ty, $atomic, $scope, $add, $class, self, order, -value, |before| before - value)
            }

            /// Stores `value` and returns what was there before.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn swap(&self, value: $ty, order: Ordering) -> $ty {
                operation!($ty, $atomic, $scope, $exchange, $class, self, order, value, |_before| value)
            }

            /// Takes the bitwise AND with `value`'s bits, and returns what was there before.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn fetch_and(&self, value: $ty, order: Ordering) -> $ty {
                operation!($ty, $atomic, $scope, $and, $class, self, order, value, |before| {
                    <$ty as Bits>::of(before.bits() & value.bits())
                })
            }

            /// Takes the bitwise OR with `value`'s bits, and returns what was there before.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn fetch_or(&self, value: $ty, order: Ordering) -> $ty {
                operation!($ty, $atomic, $scope, $or, $class, self, order, value, |before| {
                    <$ty as Bits>::of(before.bits() | value.bits())
                })
            }

            /// Takes the bitwise XOR with `value`'s bits, and returns what was there before.
            #[doc = $safety]
            #[inline(always)]
            pub $($unsafety)? fn fetch_xor(&self, value: $ty, order: Ordering) -> $ty {
                operation!($ty, $atomic, $scope, $xor, $class, self, order, value, |before| {
                    <$ty as Bits>::of(before.bits() ^ value.bits())
                })
            }
        }
    };
}

/// The floats of one scope.
macro_rules! atomic_floats {
    ($single:ident, $double:ident among $threads:literal, $scope:literal, $safety:literal $(, $unsafety:ident)?) => {
        atomic_float!(
            $single(f32) among $threads, $scope, 4,
            reg32 "32" "add.f32" "and.b32" "or.b32" "xor.b32" "exch.b32",
            AtomicU32, $safety $(, $unsafety)?
        );
        atomic_float!(
            $double(f64) among $threads, $scope, 8,
            reg64 "64" "add.f64" "and.b64" "or.b64" "xor.b64" "exch.b64",
            AtomicU64, $safety $(, $unsafety)?
        );
    };
}

atomic_floats!(AtomicF32, AtomicF64 among "the device", "gpu", "");
atomic_floats!(
    BlockAtomicF32, BlockAtomicF64 among "the block", "cta",
    "\n\n# Safety\nOnly threads of one block access the float meanwhile.", unsafe
);
atomic_floats!(SystemAtomicF32, SystemAtomicF64 among "the host and all devices", "sys", "");
