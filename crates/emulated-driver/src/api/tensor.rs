//! Tensor maps, which kernels copy tiles of tensors by.

use std::ffi::{c_uint, c_void};

use ptx_emu::{MAX_RANK, TensorMap};

use crate::call::{get, put};
use crate::code::{Code, Outcome};
use crate::driver::with_context;
use crate::objects::tensor_map::{Refusal, Tiled};
use crate::report;
use crate::settings::Settings;

/// The alignment of a `CUtensorMap`, in bytes.
const ALIGN: usize = 64;

/// The 128 bytes of a `CUtensorMap`.
type Words = [u64; 16];

fn refused(function: &str, why: &str) -> Code {
    report::refused(&format!("{function}: {why}"))
}

/// "Tensor map objects are only supported on devices of compute capability 9.0 or higher"
/// (`cuTensorMapEncodeTiled`). Which result that gives is not said there.
fn check_device(function: &str) -> Outcome {
    let (major, minor) = Settings::get().capability();
    if major >= 9 {
        return Ok(());
    }
    refused(
        function,
        &format!(
            "tensor maps need a device of compute capability 9.0 or higher, and this one has {major}.{minor}"
        ),
    );
    Err(Code::NOT_SUPPORTED)
}

fn check_aligned(function: &str, to: *mut Words) -> Outcome {
    if to.is_null() || !to.addr().is_multiple_of(ALIGN) {
        let why = format!(
            "`tensorMap` is {to:p}, which is not the address of an object of a multiple of {ALIGN}"
        );
        return Err(refused(function, &why));
    }
    Ok(())
}

/// The first values of an array.
///
/// # Safety
///
/// As [`get`], for `count` of them.
unsafe fn values<T: Copy + Default, const N: usize>(
    from: *const T,
    count: usize,
) -> Outcome<[T; N]> {
    let mut all = [T::default(); N];
    for (index, to) in all.iter_mut().enumerate().take(count) {
        if from.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises it.
        *to = unsafe { get(from.add(index)) }?;
    }
    Ok(all)
}

driver_api! {
    fn cuTensorMapEncodeTiled(
        to: *mut Words, element: c_uint, rank: c_uint, address: *mut c_void, extents: *const u64, strides: *const u64,
        tile: *const c_uint, steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint,
    ) {
        const NAME: &str = "cuTensorMapEncodeTiled";
        with_context(|_, _| Ok(()))?;
        check_device(NAME)?;
        check_aligned(NAME, to)?;
        let count = (rank as usize).min(MAX_RANK);
        let tiled = Tiled {
            element,
            rank,
            address: address.addr() as u64,
            extents: values(extents, count)?,
            strides: values(strides, count.saturating_sub(1))?,
            tile: values(tile, count)?,
            steps: values(steps, count)?,
            interleave,
            swizzle,
            promotion,
            fill,
        };
        match tiled.map() {
            Ok(map) => put(to, map.encode()),
            Err(Refusal::Wrong(why)) => Err(refused(NAME, &why)),
            Err(Refusal::Unsupported(what)) => {
                report::unsupported(report::Need::Function, &format!("{NAME}: {what} is not supported"));
                Err(Code::NOT_SUPPORTED)
            }
        }
    }
    fn cuTensorMapReplaceAddress(to: *mut Words, address: *mut c_void) {
        const NAME: &str = "cuTensorMapReplaceAddress";
        check_aligned(NAME, to)?;
        let Some(map) = TensorMap::decode(&get(to)?) else {
            return Err(refused(NAME, "`tensorMap` does not hold a tensor map: `cuTensorMapEncodeTiled` makes one"));
        };
        let address = address.addr() as u64;
        if !address.is_multiple_of(16) {
            return Err(refused(NAME, &format!("`globalAddress` is {address:#x}, which is not a multiple of 16")));
        }
        put(to, TensorMap { address, ..map }.encode())
    }
}
