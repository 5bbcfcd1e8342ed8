//! The driver's functions that this crate calls, each wrapped once: typed arguments, a checked
//! result.
//!
//! A function is safe where its arguments' types keep what the driver needs: a handle is borrowed
//! from its owner, and a missing or wrong context is an error that the driver reports. A function
//! is unsafe where the driver trusts an address, a kernel's arguments, or a bare handle.

use std::ffi::{CStr, c_void};
use std::ptr;

use cust::context::{Context, ContextHandle};
use cust::device::Device;
use cust::sys::{
    self, CUdevice_P2PAttribute, CUdevice_attribute, CUdeviceptr, CUfunction, CUfunction_attribute,
    CUjit_option, CUmodule, CUresult, CUstream,
};
use plan::LaunchConfig;

use super::stream::StreamRef;
use super::{check, cluster};
use device::DriverError;

unsafe extern "C" {
    // `cust_raw` declares the first version only, which drivers refuse unless they were told
    // otherwise when loaded.
    fn cuStreamWaitValue32_v2(
        stream: CUstream,
        address: CUdeviceptr,
        value: u32,
        flags: u32,
    ) -> CUresult;
}

/// Starts the driver. Later calls do nothing.
pub(crate) fn init() -> Result<(), DriverError> {
    // SAFETY: the function has no pointers, and may be called at any time.
    check("cuInit", unsafe { sys::cuInit(0) })
}

/// The version of CUDA that the driver supports, as 1000 * major + 10 * minor.
pub(crate) fn driver_version() -> Result<u32, DriverError> {
    let mut version = 0;
    // SAFETY: `version` lives until the call returns.
    let result = unsafe { sys::cuDriverGetVersion(&mut version) };
    check("cuDriverGetVersion", result)?;
    Ok(version as u32)
}

/// An attribute of a GPU. `cust` has no names for some of them.
pub(crate) fn device_attribute(
    device: Device,
    which: CUdevice_attribute,
) -> Result<u32, DriverError> {
    let mut value = 0;
    // SAFETY: `value` lives until the call returns.
    let result = unsafe { sys::cuDeviceGetAttribute(&mut value, which, device.as_raw()) };
    check("cuDeviceGetAttribute", result)?;
    // The driver's integers are signed; none of these is negative.
    Ok(value.max(0) as u32)
}

/// The GPU's address on the PCI bus.
pub(crate) fn device_pci_bus_id(device: Device) -> Result<String, DriverError> {
    // The driver documents 13 bytes; domains of 32 bits need 17.
    let mut text = [0u8; 32];
    let (start, len) = (text.as_mut_ptr().cast(), text.len() as i32);
    // SAFETY: `text` has `len` bytes and lives until the call returns.
    let result = unsafe { sys::cuDeviceGetPCIBusId(start, len, device.as_raw()) };
    check("cuDeviceGetPCIBusId", result)?;
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}

/// An attribute of the connection between two GPUs.
pub(crate) fn p2p_attribute(
    which: CUdevice_P2PAttribute,
    from: Device,
    to: Device,
) -> Result<i32, DriverError> {
    let mut value = 0;
    let (from, to) = (from.as_raw(), to.as_raw());
    // SAFETY: `value` lives until the call returns.
    let result = unsafe { sys::cuDeviceGetP2PAttribute(&mut value, which, from, to) };
    check("cuDeviceGetP2PAttribute", result)?;
    Ok(value)
}

/// Lets kernels of the current context reach the memory of another context.
pub(crate) fn enable_peer_access(to: &Context) -> Result<(), DriverError> {
    // SAFETY: the context lives: it is borrowed.
    let result = unsafe { sys::cuCtxEnablePeerAccess(to.get_inner(), 0) };
    check("cuCtxEnablePeerAccess", result)
}

/// Lets go of the lines that persist in L2.
pub(crate) fn reset_persisting_l2() -> Result<(), DriverError> {
    // SAFETY: the function has no arguments.
    let result = unsafe { sys::cuCtxResetPersistingL2Cache() };
    check("cuCtxResetPersistingL2Cache", result)
}

/// Bytes of the current device's memory: free, and in all.
pub(crate) fn memory_info() -> Result<(usize, usize), DriverError> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both numbers live until the call returns.
    let result = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
    check("cuMemGetInfo", result)?;
    Ok((free, total))
}

/// Enqueues a fill: every byte at `to` becomes `byte`.
///
/// # Safety
///
/// `to` is the address of `bytes` bytes of device memory. They stay allocated until the stream has
/// finished.
pub(crate) unsafe fn fill(
    to: CUdeviceptr,
    byte: u8,
    bytes: usize,
    stream: StreamRef<'_>,
) -> Result<(), DriverError> {
    // SAFETY: the stream is borrowed; the caller keeps the memory.
    let result = unsafe { sys::cuMemsetD8Async(to, byte, bytes, stream.raw()) };
    check("cuMemsetD8Async", result)
}

/// Enqueues a copy within one device.
///
/// # Safety
///
/// Both addresses are of `bytes` bytes of device memory, which do not overlap. They stay allocated
/// until the stream has finished.
pub(crate) unsafe fn copy_on_device(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: StreamRef<'_>,
) -> Result<(), DriverError> {
    // SAFETY: the stream is borrowed; the caller keeps the memory.
    let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, stream.raw()) };
    check("cuMemcpyDtoDAsync", result)
}

/// Enqueues a copy between two devices, which the addresses name. Unlike `cuMemcpyPeerAsync`, it
/// can be captured.
///
/// # Safety
///
/// Both addresses are of `bytes` bytes of device memory. They stay allocated until the stream has
/// finished.
pub(crate) unsafe fn copy_between_devices(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: StreamRef<'_>,
) -> Result<(), DriverError> {
    // SAFETY: the stream is borrowed; the caller keeps the memory.
    let result = unsafe { sys::cuMemcpyAsync(to, from, bytes, stream.raw()) };
    check("cuMemcpyAsync", result)
}

/// Enqueues a copy from the device to the host.
///
/// # Safety
///
/// `from` is the address of `to.len()` bytes of device memory. Both stay allocated until the stream
/// has finished, and nothing else accesses `to` before.
pub(crate) unsafe fn copy_to_host(
    to: &mut [u8],
    from: CUdeviceptr,
    stream: StreamRef<'_>,
) -> Result<(), DriverError> {
    let (start, bytes) = (to.as_mut_ptr().cast::<c_void>(), to.len());
    // SAFETY: the stream is borrowed; the caller keeps the memory.
    let result = unsafe { sys::cuMemcpyDtoHAsync_v2(start, from, bytes, stream.raw()) };
    check("cuMemcpyDtoHAsync", result)
}

/// Enqueues a copy from the host to the device.
///
/// # Safety
///
/// `to` is the address of `from.len()` bytes of device memory. Both stay allocated until the stream
/// has finished, and nothing writes `from` before.
pub(crate) unsafe fn copy_from_host(
    to: CUdeviceptr,
    from: &[u8],
    stream: StreamRef<'_>,
) -> Result<(), DriverError> {
    let (start, bytes) = (from.as_ptr().cast::<c_void>(), from.len());
    // SAFETY: the stream is borrowed; the caller keeps the memory.
    let result = unsafe { sys::cuMemcpyHtoDAsync_v2(to, start, bytes, stream.raw()) };
    check("cuMemcpyHtoDAsync", result)
}

/// Makes the stream wait until the word at `address` is at least `value`.
///
/// # Safety
///
/// The device can read four bytes at `address`, which stay allocated until the stream goes on.
pub(crate) unsafe fn wait_for_value(
    stream: StreamRef<'_>,
    address: CUdeviceptr,
    value: u32,
) -> Result<(), DriverError> {
    const AT_LEAST: u32 = 0;
    // SAFETY: the stream is borrowed; the caller keeps the word.
    let result = unsafe { cuStreamWaitValue32_v2(stream.raw(), address, value, AT_LEAST) };
    check("cuStreamWaitValue32", result)
}

/// The address and the size in bytes of a module's variable; `None` if it has none of this name.
///
/// # Safety
///
/// The module is loaded.
pub(crate) unsafe fn module_variable(
    module: CUmodule,
    name: &CStr,
) -> Result<Option<(CUdeviceptr, usize)>, DriverError> {
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: both numbers and the name live until the call returns; the caller keeps the module.
    let result =
        unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, module, name.as_ptr()) };
    if result == CUresult::CUDA_ERROR_NOT_FOUND {
        return Ok(None);
    }
    check("cuModuleGetGlobal", result)?;
    Ok(Some((address, bytes)))
}

/// Writes to device memory, and waits until the bytes have arrived: from pageable memory they may
/// be under way when `cuMemcpyHtoD` returns (CUDA Driver API, "API synchronization behavior"), in
/// the default stream, for which ours do not wait.
///
/// # Safety
///
/// `to` is the address of as many bytes of device memory, which nothing else uses.
pub(crate) unsafe fn write(to: CUdeviceptr, bytes: &[u8]) -> Result<(), DriverError> {
    // SAFETY: `bytes` lives until the call returns; the caller keeps the memory.
    let result = unsafe { sys::cuMemcpyHtoD_v2(to, bytes.as_ptr().cast(), bytes.len()) };
    check("cuMemcpyHtoD", result)?;
    // SAFETY: null is the default stream.
    let waited = unsafe { sys::cuStreamSynchronize(ptr::null_mut()) };
    check("cuStreamSynchronize", waited)
}

/// Compiles PTX for the current context. The compiler writes what is wrong to `errors`, and what it
/// tells of each kernel to `told`; both end in NUL.
pub(crate) fn load_module(
    text: &CStr,
    errors: &mut [u8],
    told: &mut [u8],
) -> Result<CUmodule, DriverError> {
    // The driver does not learn of the last byte, which stays NUL.
    errors.fill(0);
    told.fill(0);
    let room = |log: &[u8]| ptr::without_provenance_mut(log.len().saturating_sub(1));
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER,
        CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
        CUjit_option::CU_JIT_LOG_VERBOSE,
    ];
    // Numbers are passed in the pointers themselves.
    let (errors_room, told_room) = (room(errors), room(told));
    let mut values = [
        errors.as_mut_ptr().cast::<c_void>(),
        errors_room,
        told.as_mut_ptr().cast(),
        told_room,
        ptr::without_provenance_mut(1),
    ];
    let mut module = ptr::null_mut();
    // SAFETY: the text ends in NUL; there are as many values as options; module, text and both logs
    // live until the call returns, and the logs have the stated room.
    let result = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    check("cuModuleLoadDataEx", result)?;
    Ok(module)
}

/// Unloads a module.
///
/// # Safety
///
/// The module came from [`load_module`] and is unloaded once. Nothing uses it or its kernels
/// afterwards.
pub(crate) unsafe fn unload_module(module: CUmodule) -> Result<(), DriverError> {
    // SAFETY: the caller gives up the module.
    check("cuModuleUnload", unsafe { sys::cuModuleUnload(module) })
}

/// A kernel of a module.
///
/// # Safety
///
/// The module is loaded.
pub(crate) unsafe fn module_function(
    module: CUmodule,
    name: &CStr,
) -> Result<CUfunction, DriverError> {
    let mut function = ptr::null_mut();
    // SAFETY: the name ends in NUL, and `function` lives until the call returns; the caller keeps
    // the module.
    let result = unsafe { sys::cuModuleGetFunction(&mut function, module, name.as_ptr()) };
    check("cuModuleGetFunction", result)?;
    Ok(function)
}

/// An attribute of a kernel.
///
/// # Safety
///
/// The kernel's module is loaded.
pub(crate) unsafe fn function_attribute(
    function: CUfunction,
    which: CUfunction_attribute,
) -> Result<u32, DriverError> {
    let mut value = 0;
    // SAFETY: `value` lives until the call returns; the caller keeps the kernel.
    let result = unsafe { sys::cuFuncGetAttribute(&mut value, which, function) };
    check("cuFuncGetAttribute", result)?;
    Ok(value.max(0) as u32)
}

/// Sets an attribute of a kernel.
///
/// # Safety
///
/// The kernel's module is loaded.
pub(crate) unsafe fn set_function_attribute(
    function: CUfunction,
    which: CUfunction_attribute,
    value: u32,
) -> Result<(), DriverError> {
    // SAFETY: the caller keeps the kernel.
    let result = unsafe { sys::cuFuncSetAttribute(function, which, value as i32) };
    check("cuFuncSetAttribute", result)
}

/// Lets a kernel be launched in clusters of more blocks than is portable.
///
/// # Safety
///
/// The kernel's module is loaded.
pub(crate) unsafe fn allow_non_portable_cluster(function: CUfunction) -> Result<(), DriverError> {
    // SAFETY: the caller keeps the kernel.
    let result = unsafe { cluster::allow_non_portable(function) };
    check("cuFuncSetAttribute", result)
}

/// How many blocks of a kernel run on one multiprocessor at a time.
///
/// # Safety
///
/// The kernel's module is loaded.
pub(crate) unsafe fn max_active_blocks(
    function: CUfunction,
    threads_per_block: u32,
    shared_mem_bytes: u32,
) -> Result<u32, DriverError> {
    let mut blocks = 0;
    let (threads, shared) = (threads_per_block as i32, shared_mem_bytes as usize);
    // SAFETY: `blocks` lives until the call returns; the caller keeps the kernel.
    let result = unsafe {
        sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shared)
    };
    check("cuOccupancyMaxActiveBlocksPerMultiprocessor", result)?;
    Ok(blocks.max(0) as u32)
}

/// Enqueues a launch. The driver reads the arguments before it returns.
///
/// # Safety
///
/// The kernel's module stays loaded until the stream has finished. `params` begins with the address
/// of a value for each of the kernel's parameters, of its size. The memory that the kernel accesses
/// stays allocated until the stream has finished.
pub(crate) unsafe fn launch(
    function: CUfunction,
    config: &LaunchConfig,
    stream: StreamRef<'_>,
    params: &[*mut c_void],
) -> Result<(), DriverError> {
    let params = params.as_ptr().cast_mut();
    if config.cluster != [1; 3] {
        // SAFETY: the stream is borrowed; the caller keeps kernel, values and memory.
        let result = unsafe { cluster::launch(function, config, stream.raw(), params) };
        return check("cuLaunchKernelEx", result);
    }
    let [grid_x, grid_y, grid_z] = config.grid;
    let [block_x, block_y, block_z] = config.block;
    // SAFETY: the stream is borrowed; the caller keeps kernel, values and memory. The driver only
    // reads the addresses.
    let result = unsafe {
        sys::cuLaunchKernel(
            function,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            config.shared_mem_bytes,
            stream.raw(),
            params,
            ptr::null_mut(),
        )
    };
    check("cuLaunchKernel", result)
}
