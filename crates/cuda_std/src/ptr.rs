//! Address spaces of pointers.
//!
//! A pointer in Rust is *generic*: its address says which memory it points to. PTX also has
//! addresses within one memory, its *space*; each function here is one instruction of PTX.

/// A state space of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Memory of the device, which the host allocates.
    Global,
    /// Memory of the block.
    Shared,
    /// Constant memory.
    Constant,
    /// Memory of the thread: its stack.
    Local,
}

/// One instruction for each space.
macro_rules! by_space {
    ($space:expr, $instruction:ident!($before:literal, $after:literal), $($operand:ident),*) => {
        match $space {
            AddressSpace::Global => $instruction!(concat!($before, "global", $after), $($operand),*),
            AddressSpace::Shared => $instruction!(concat!($before, "shared", $after), $($operand),*),
            AddressSpace::Constant => $instruction!(concat!($before, "const", $after), $($operand),*),
            AddressSpace::Local => $instruction!(concat!($before, "local", $after), $($operand),*),
        }
    };
}

/// An instruction from `from` to the 64 bits of `to`.
macro_rules! convert {
    ($text:expr, $from:ident, $to:ident) => {{
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the instruction computes an address.
        unsafe {
            core::arch::asm!(
                $text,
                to = out(reg64) $to,
                from = in(reg64) $from,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            let _ = $from;
            $to = crate::gpu_only($text);
        }
    }};
}

/// Whether a generic pointer is in the space (`isspacep`).
///
/// # Safety
/// The function has no obligation. It is `unsafe` as Rust-CUDA's is.
#[inline(always)]
pub unsafe fn is_in_address_space<T>(pointer: *const T, address_space: AddressSpace) -> bool {
    let is_in: u64;
    by_space!(
        address_space,
        convert!(
            "{{ .reg .pred is_in; isspacep.",
            " is_in, {from}; selp.u64 {to}, 1, 0, is_in; }}"
        ),
        pointer,
        is_in
    );
    is_in != 0
}

/// The address within its space of a generic pointer (`cvta.to`). No load or store takes it.
///
/// # Safety
/// The pointer is in the space: [`is_in_address_space`].
#[inline(always)]
pub unsafe fn convert_generic_to_specific_address_space<T>(
    pointer: *const T,
    address_space: AddressSpace,
) -> *const T {
    let specific: *const T;
    by_space!(
        address_space,
        convert!("cvta.to.", ".u64 {to}, {from};"),
        pointer,
        specific
    );
    specific
}

/// The generic pointer of an address within a space (`cvta`).
///
/// # Safety
/// The address is one that [`convert_generic_to_specific_address_space`] gave for the space.
#[inline(always)]
pub unsafe fn convert_specific_address_space_to_generic<T>(
    pointer: *const T,
    address_space: AddressSpace,
) -> *const T {
    let generic: *const T;
    by_space!(
        address_space,
        convert!("cvta.", ".u64 {to}, {from};"),
        pointer,
        generic
    );
    generic
}
