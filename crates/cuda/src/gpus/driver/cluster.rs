//! Launches in clusters: functions and structures of the driver that are newer than `cust_raw`'s
//! declarations.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use cuda_driver::{Missing, function, known};
use cust::sys::{CUfunction, CUresult, CUstream};

use plan::LaunchConfig;

/// `CUlaunchConfig` of NVIDIA's `cuda.h`.
#[repr(C)]
struct RawConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_mem_bytes: c_uint,
    stream: CUstream,
    attributes: *mut Attribute,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`: a number, and a union of 64 bytes at offset 8. Of the union, this is the
/// member `clusterDim`.
#[repr(C, align(8))]
struct Attribute {
    id: c_int,
    _pad: [u8; 4],
    cluster: [c_uint; 3],
    _rest: [u8; 64 - 12],
}

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER_DIMENSION: c_int = 4;

/// `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;

const _: () = assert!(size_of::<Attribute>() == 72 && size_of::<RawConfig>() == 56);

type Launch =
    unsafe extern "C" fn(*const RawConfig, CUfunction, *mut *mut c_void, *mut *mut c_void) -> c_int;

type SetAttribute = unsafe extern "C" fn(CUfunction, c_int, c_int) -> c_int;

/// `cuLaunchKernelEx` with the cluster of `config`.
///
/// # Safety
///
/// As [`super::call::launch`]; the stream lives.
pub(super) unsafe fn launch(
    kernel: CUfunction,
    config: &LaunchConfig,
    stream: CUstream,
    params: *mut *mut c_void,
) -> CUresult {
    static REAL: OnceLock<Result<usize, Missing>> = OnceLock::new();
    let address = match REAL.get_or_init(|| function("cuLaunchKernelEx\0")) {
        Ok(address) => *address,
        Err(reason) => return reason.result(),
    };
    // SAFETY: this is the signature of the driver's function of this name.
    let real = unsafe { std::mem::transmute::<usize, Launch>(address) };
    let mut attribute = Attribute {
        id: CLUSTER_DIMENSION,
        _pad: [0; 4],
        cluster: config.cluster,
        _rest: [0; 64 - 12],
    };
    let raw = RawConfig {
        grid: config.grid,
        block: config.block,
        shared_mem_bytes: config.shared_mem_bytes,
        stream,
        attributes: &mut attribute,
        attribute_count: 1,
    };
    // SAFETY: the structures live until the call returns; the caller keeps kernel, stream and
    // values.
    known(unsafe { real(&raw, kernel, params, ptr::null_mut()) })
}

/// Lets a kernel be launched in clusters of more blocks than is portable.
///
/// # Safety
///
/// The kernel's module is loaded.
pub(super) unsafe fn allow_non_portable(kernel: CUfunction) -> CUresult {
    let address = match function("cuFuncSetAttribute\0") {
        Ok(address) => address,
        Err(reason) => return reason.result(),
    };
    // SAFETY: this is the signature of the driver's function of this name; the attribute is an
    // `int`.
    let real = unsafe { std::mem::transmute::<usize, SetAttribute>(address) };
    // SAFETY: the attribute has an `int`; the caller keeps the kernel.
    known(unsafe { real(kernel, NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1) })
}
