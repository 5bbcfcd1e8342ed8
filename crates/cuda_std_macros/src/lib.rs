//! The attributes and the macros of `cuda_std`.
//!
//! Use them through `cuda_std`, which re-exports them.

use proc_macro::TokenStream;

mod address_space;
mod dbg;
mod gpu_only;
mod kernel;
mod print;
mod requires;
mod shared_array;

/// Marks a function as a kernel: an entry point that the host launches.
///
/// The function's name is its PTX entry name, so it must be unique in the crate. It has at most 200
/// letters.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel(max_threads = 256, min_blocks = 2)]
/// pub unsafe fn scale(a: f32, x: &[f32], y: *mut f32) {
///     let i = thread::index_1d() as usize;
///     if i < x.len() {
///         unsafe { *y.add(i) = a * x[i] }
///     }
/// }
/// ```
///
/// # Parameters
///
/// | in Rust | in PTX |
/// |---|---|
/// | `*const T`, `*mut T` | one 64-bit pointer |
/// | `&T` | one 64-bit pointer, read-only for the whole launch (`ld.global.nc`) |
/// | `&[T]` | two 64-bit parameters: pointer, then length in elements; read-only likewise |
/// | `u8`, `i8`, `u32`, `i32`, `u64`, `i64`, `usize`, `f32`, `f64` | the value |
/// | `Copy` structs with `repr(C)`, aligned to 16 bytes at most | their bytes |
///
/// `&mut` is refused: every thread of the grid would hold the same exclusive reference.
///
/// # Launch bounds
///
/// `max_threads = N` promises that no launch has more than N threads per block (`.maxntid`). A
/// launch that breaks the promise fails. `min_blocks = M` limits registers so that M blocks fit on
/// a multiprocessor (`.minnctapersm`; needs `max_threads`).
///
/// `max_registers = N` limits the registers of a thread (`.maxnreg`); values that do not fit go to
/// local memory. It excludes `min_blocks`.
///
/// # Conditions
///
/// `requires(n as usize <= x.len(), n % 4 == 0)`: conditions on integer parameters and lengths of
/// slices, in unsigned 64 bits. The kernel is compiled to rely on them, so that checks of indices
/// that follow from them cost nothing. The crate `device` refuses a launch that breaks one. For
/// other programs that launch the kernel, they are part of its safety.
///
/// # No panics
///
/// `no_panic`: the build fails if the kernel can panic, and names the line. A check of an index
/// that is left in a loop costs time; this finds it.
///
/// # Newer devices
///
/// `capability = "9.0"`: only devices of that compute capability and newer ones have the kernel.
/// Kernels that use thread block clusters (`cuda_std::cluster`) need it; those that use
/// `cuda_std::async_copy` or cache hints need `"8.0"`. `cuda_builder` says how a module is built
/// for several capabilities.
///
/// `cluster = (X, Y, Z)` fixes the shape of the kernel's clusters (`.reqnctapercluster`): a launch
/// that names none has them, and one that names others fails. Without it, each launch chooses the
/// shape.
///
/// # Off the GPU
///
/// Compiled for the host, the function is an ordinary Rust function: it type-checks, and panics
/// in the first function of `cuda_std` that only a GPU has.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    // After an error the item stays as it is: what it uses counts as used and causes no further
    // message.
    kernel::expand(attribute.into(), item.clone().into()).map_or_else(
        |error| TokenStream::from_iter([error.into_compile_error().into(), item]),
        TokenStream::from,
    )
}

/// Puts a `static` into a state space of PTX, as Rust-CUDA does.
///
/// ```
/// # use core::mem::MaybeUninit;
/// # use cuda_std::{address_space, prelude::*};
/// #[address_space(shared)]
/// static mut TILE: [MaybeUninit<f32>; 256] = [MaybeUninit::uninit(); 256];
/// # #[kernel]
/// # pub unsafe fn reversed(x: &[f32], y: *mut f32) {
/// #     let (tile, i) = ((&raw mut TILE).cast::<f32>(), thread::thread_idx_x() as usize);
/// #     unsafe { *tile.add(i) = x[i] };
/// #     thread::sync_threads();
/// #     unsafe { *y.add(i) = *tile.add(255 - i) };
/// # }
/// ```
///
/// | space | the static is |
/// |---|---|
/// | `shared` | the block's: [`shared_array!`] with a name; a `static mut` of `MaybeUninit` |
/// | `constant` | in constant memory, 64 KiB in all: fast if a warp reads one element at a time |
/// | `global` | where it would be anyway |
#[proc_macro_attribute]
pub fn address_space(attribute: TokenStream, item: TokenStream) -> TokenStream {
    // As with `#[kernel]`, the item stays after an error.
    address_space::expand(attribute.into(), item.clone().into()).map_or_else(
        |error| TokenStream::from_iter([error.into_compile_error().into(), item]),
        TokenStream::from,
    )
}

/// Compiles the body of a function for the device alone. On the host the function panics.
#[proc_macro_attribute]
pub fn gpu_only(_attribute: TokenStream, item: TokenStream) -> TokenStream {
    gpu_only::expand(item.into())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// `shared_array![T; N]`: N values of type T in the block's shared memory, as a `*mut T`.
///
/// The memory is aligned to 16 bytes at least, and not initialised. Every thread of the block gets
/// the same pointer; each place in the source that uses the macro is one array, however often it
/// runs.
#[proc_macro]
pub fn shared_array(input: TokenStream) -> TokenStream {
    // Messages name the array by this line, because a function may have several.
    let line = proc_macro::Span::call_site().line();
    shared_array::expand(input.into(), line)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Prints, as `std::print!`, from each thread that gets there: see `cuda_std::io`.
#[proc_macro]
pub fn print(input: TokenStream) -> TokenStream {
    print::expand(input.into(), "")
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Prints a line, as `std::println!`, from each thread that gets there: see `cuda_std::io`.
#[proc_macro]
pub fn println(input: TokenStream) -> TokenStream {
    print::expand(input.into(), "\n")
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}

/// Prints a value with its file, line and text, as `std::dbg!`, and gives it: see `cuda_std::io`.
#[proc_macro]
pub fn dbg(input: TokenStream) -> TokenStream {
    let place = proc_macro::Span::call_site();
    dbg::expand(input.into(), &place.file(), place.line())
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
