//! The driver API's functions that `cust` refers to, each passed on to the real driver.
//!
//! The linker finds these where it would have looked into libcuda. Their signatures are those of
//! `cust_raw`, which is generated from NVIDIA's header; the header's plain names mean the
//! names with `_v2`.

// They are called through `cust_raw`'s declarations, whose documentation is NVIDIA's.
#![allow(non_snake_case)]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::sync::OnceLock;

use cust::sys::*;

use super::{Missing, function, known};

macro_rules! forward {
    ($(fn $name:ident($($arg:ident: $type:ty),* $(,)?);)*) => {
        $(
            /// # Safety
            ///
            /// As the driver's function of this name.
            // SAFETY: no other function of this name is linked, since nothing links libcuda.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $type),*) -> CUresult {
                static REAL: OnceLock<Result<usize, Missing>> = OnceLock::new();
                match REAL.get_or_init(|| function(concat!(stringify!($name), "\0"))) {
                    Ok(address) => {
                        // SAFETY: the driver's function of this name has this signature, except
                        // that its result is any `int`; the address stays valid because the library
                        // is never closed.
                        let real = unsafe {
                            std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> c_int>(*address)
                        };
                        // SAFETY: the caller keeps the driver's obligations.
                        known(unsafe { real($($arg),*) })
                    }
                    Err(reason) => reason.result(),
                }
            }
        )*
    };
}

/// Describes a result. Unlike the rest, it succeeds without a driver and for results that the
/// driver does not know, because `cust` panics if it fails.
///
/// # Safety
///
/// `text` points to a pointer that may be written.
// SAFETY: no other function of this name is linked, since nothing links libcuda.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: CUresult, text: *mut *const c_char) -> CUresult {
    type Real = unsafe extern "C" fn(CUresult, *mut *const c_char) -> c_int;
    let words: *const c_char = match function("cuGetErrorString\0") {
        Ok(address) => {
            // SAFETY: this is the signature of the driver's function of this name.
            let real: Real = unsafe { std::mem::transmute(address) };
            let mut words = std::ptr::null();
            // SAFETY: `words` may be written.
            unsafe { real(error, &mut words) };
            words
        }
        Err(_) => c"no CUDA driver".as_ptr(),
    };
    let unknown: &CStr = c"an error that this driver does not describe";
    let words = if words.is_null() {
        unknown.as_ptr()
    } else {
        words
    };
    // SAFETY: the caller promises that it may be written.
    unsafe { text.write(words) };
    CUresult::CUDA_SUCCESS
}

forward! {
    fn cuArray3DCreate_v2(pHandle: *mut CUarray, pAllocateArray: *const CUDA_ARRAY3D_DESCRIPTOR);
    fn cuArray3DGetDescriptor_v2(pArrayDescriptor: *mut CUDA_ARRAY3D_DESCRIPTOR, hArray: CUarray);
    fn cuArrayDestroy(hArray: CUarray);
    fn cuCtxCreate_v2(pctx: *mut CUcontext, flags: c_uint, dev: CUdevice);
    fn cuCtxDestroy_v2(ctx: CUcontext);
    fn cuCtxEnablePeerAccess(peerContext: CUcontext, Flags: c_uint);
    fn cuCtxGetApiVersion(ctx: CUcontext, version: *mut c_uint);
    fn cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache);
    fn cuCtxGetCurrent(pctx: *mut CUcontext);
    fn cuCtxGetDevice(device: *mut CUdevice);
    fn cuCtxGetFlags(flags: *mut c_uint);
    fn cuCtxGetLimit(pvalue: *mut usize, limit: CUlimit);
    fn cuCtxGetSharedMemConfig(pConfig: *mut CUsharedconfig);
    fn cuCtxGetStreamPriorityRange(leastPriority: *mut c_int, greatestPriority: *mut c_int);
    fn cuCtxPopCurrent_v2(pctx: *mut CUcontext);
    fn cuCtxPushCurrent_v2(ctx: CUcontext);
    fn cuCtxResetPersistingL2Cache();
    fn cuCtxSetCacheConfig(config: CUfunc_cache);
    fn cuCtxSetCurrent(ctx: CUcontext);
    fn cuCtxSetLimit(limit: CUlimit, value: usize);
    fn cuCtxSetSharedMemConfig(config: CUsharedconfig);
    fn cuCtxSynchronize();
    fn cuDestroyExternalMemory(extMem: CUexternalMemory);
    fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    fn cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: CUdevice);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetName(name: *mut c_char, len: c_int, dev: CUdevice);
    fn cuDeviceGetP2PAttribute(value: *mut c_int, attrib: CUdevice_P2PAttribute, srcDevice: CUdevice, dstDevice:
        CUdevice);
    fn cuDeviceGetPCIBusId(pciBusId: *mut c_char, len: c_int, dev: CUdevice);
    fn cuDeviceGetUuid(uuid: *mut CUuuid, dev: CUdevice);
    fn cuDevicePrimaryCtxRelease_v2(dev: CUdevice);
    fn cuDevicePrimaryCtxReset_v2(dev: CUdevice);
    fn cuDevicePrimaryCtxRetain(pctx: *mut CUcontext, dev: CUdevice);
    fn cuDevicePrimaryCtxSetFlags_v2(dev: CUdevice, flags: c_uint);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, dev: CUdevice);
    fn cuDriverGetVersion(driverVersion: *mut c_int);
    fn cuEventCreate(phEvent: *mut CUevent, Flags: c_uint);
    fn cuEventDestroy_v2(hEvent: CUevent);
    fn cuEventElapsedTime(pMilliseconds: *mut f32, hStart: CUevent, hEnd: CUevent);
    fn cuEventQuery(hEvent: CUevent);
    fn cuEventRecord(hEvent: CUevent, hStream: CUstream);
    fn cuEventSynchronize(hEvent: CUevent);
    fn cuExternalMemoryGetMappedBuffer(devPtr: *mut CUdeviceptr, extMem: CUexternalMemory, bufferDesc: *const
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
    fn cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction);
    fn cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int);
    fn cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache);
    fn cuFuncSetSharedMemConfig(hfunc: CUfunction, config: CUsharedconfig);
    fn cuGetErrorName(error: CUresult, pStr: *mut *const c_char);
    fn cuGraphAddKernelNode(phGraphNode: *mut CUgraphNode, hGraph: CUgraph, dependencies: *const CUgraphNode,
        numDependencies: usize, nodeParams: *const CUDA_KERNEL_NODE_PARAMS);
    fn cuGraphCreate(phGraph: *mut CUgraph, flags: c_uint);
    fn cuGraphDebugDotPrint(hGraph: CUgraph, path: *const c_char, flags: c_uint);
    fn cuGraphDestroy(hGraph: CUgraph);
    fn cuGraphExecDestroy(hGraphExec: CUgraphExec);
    fn cuGraphGetEdges(hGraph: CUgraph, from: *mut CUgraphNode, to: *mut CUgraphNode, numEdges: *mut usize);
    fn cuGraphGetNodes(hGraph: CUgraph, nodes: *mut CUgraphNode, numNodes: *mut usize);
    fn cuGraphInstantiateWithFlags(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, flags: c_ulonglong);
    fn cuGraphInstantiate_v2(phGraphExec: *mut CUgraphExec, hGraph: CUgraph, phErrorNode: *mut CUgraphNode,
        logBuffer: *mut c_char, bufferSize: usize);
    fn cuGraphKernelNodeGetParams(hNode: CUgraphNode, nodeParams: *mut CUDA_KERNEL_NODE_PARAMS);
    fn cuGraphLaunch(hGraphExec: CUgraphExec, hStream: CUstream);
    fn cuGraphNodeGetType(hNode: CUgraphNode, type_: *mut CUgraphNodeType);
    fn cuImportExternalMemory(extMem_out: *mut CUexternalMemory, memHandleDesc: *const
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
    fn cuInit(Flags: c_uint);
    fn cuLaunchHostFunc(hStream: CUstream, fn_: CUhostFn, userData: *mut c_void);
    fn cuLaunchKernel(f: CUfunction, gridDimX: c_uint, gridDimY: c_uint, gridDimZ: c_uint, blockDimX: c_uint,
        blockDimY: c_uint, blockDimZ: c_uint, sharedMemBytes: c_uint, hStream: CUstream, kernelParams: *mut *mut
        c_void, extra: *mut *mut c_void);
    fn cuLinkAddData_v2(state: CUlinkState, type_: CUjitInputType, data: *mut c_void, size: usize, name: *const
        c_char, numOptions: c_uint, options: *mut CUjit_option, optionValues: *mut *mut c_void);
    fn cuLinkComplete(state: CUlinkState, cubinOut: *mut *mut c_void, sizeOut: *mut usize);
    fn cuLinkCreate_v2(numOptions: c_uint, options: *mut CUjit_option, optionValues: *mut *mut c_void, stateOut:
        *mut CUlinkState);
    fn cuLinkDestroy(state: CUlinkState);
    fn cuMemAdvise(devPtr: CUdeviceptr, count: usize, advice: CUmem_advise, device: CUdevice);
    fn cuMemAllocAsync(dptr: *mut CUdeviceptr, bytesize: usize, hStream: CUstream);
    fn cuMemAllocHost_v2(pp: *mut *mut c_void, bytesize: usize);
    fn cuMemAllocManaged(dptr: *mut CUdeviceptr, bytesize: usize, flags: c_uint);
    fn cuMemAlloc_v2(dptr: *mut CUdeviceptr, bytesize: usize);
    fn cuMemFreeAsync(dptr: CUdeviceptr, hStream: CUstream);
    fn cuMemFreeHost(p: *mut c_void);
    fn cuMemFree_v2(dptr: CUdeviceptr);
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    fn cuMemPrefetchAsync(devPtr: CUdeviceptr, count: usize, dstDevice: CUdevice, hStream: CUstream);
    fn cuMemcpy2D_v2(pCopy: *const CUDA_MEMCPY2D);
    fn cuMemcpyAsync(dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize, hStream: CUstream);
    fn cuMemcpyAtoH_v2(dstHost: *mut c_void, srcArray: CUarray, srcOffset: usize, ByteCount: usize);
    fn cuMemcpyDtoDAsync_v2(dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize, hStream: CUstream);
    fn cuMemcpyDtoD_v2(dstDevice: CUdeviceptr, srcDevice: CUdeviceptr, ByteCount: usize);
    fn cuMemcpyDtoHAsync_v2(dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize, hStream: CUstream);
    fn cuMemcpyDtoH_v2(dstHost: *mut c_void, srcDevice: CUdeviceptr, ByteCount: usize);
    fn cuMemcpyHtoA_v2(dstArray: CUarray, dstOffset: usize, srcHost: *const c_void, ByteCount: usize);
    fn cuMemcpyHtoDAsync_v2(dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize, hStream: CUstream);
    fn cuMemcpyHtoD_v2(dstDevice: CUdeviceptr, srcHost: *const c_void, ByteCount: usize);
    fn cuMemsetD16Async(dstDevice: CUdeviceptr, us: c_ushort, N: usize, hStream: CUstream);
    fn cuMemsetD16_v2(dstDevice: CUdeviceptr, us: c_ushort, N: usize);
    fn cuMemsetD32Async(dstDevice: CUdeviceptr, ui: c_uint, N: usize, hStream: CUstream);
    fn cuMemsetD32_v2(dstDevice: CUdeviceptr, ui: c_uint, N: usize);
    fn cuMemsetD8Async(dstDevice: CUdeviceptr, uc: c_uchar, N: usize, hStream: CUstream);
    fn cuMemsetD8_v2(dstDevice: CUdeviceptr, uc: c_uchar, N: usize);
    fn cuModuleGetFunction(hfunc: *mut CUfunction, hmod: CUmodule, name: *const c_char);
    fn cuModuleGetGlobal_v2(dptr: *mut CUdeviceptr, bytes: *mut usize, hmod: CUmodule, name: *const c_char);
    fn cuModuleLoad(module: *mut CUmodule, fname: *const c_char);
    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void);
    fn cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, numOptions: c_uint, options: *mut
        CUjit_option, optionValues: *mut *mut c_void);
    fn cuModuleUnload(hmod: CUmodule);
    fn cuOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize: *mut usize, func: CUfunction, numBlocks: c_int,
        blockSize: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks: *mut c_int, func: CUfunction, blockSize: c_int,
        dynamicSMemSize: usize);
    fn cuOccupancyMaxPotentialBlockSize(minGridSize: *mut c_int, blockSize: *mut c_int, func: CUfunction,
        blockSizeToDynamicSMemSize: CUoccupancyB2DSize, dynamicSMemSize: usize, blockSizeLimit: c_int);
    fn cuStreamBeginCapture_v2(hStream: CUstream, mode: CUstreamCaptureMode);
    fn cuStreamCreateWithPriority(phStream: *mut CUstream, flags: c_uint, priority: c_int);
    fn cuStreamDestroy_v2(hStream: CUstream);
    fn cuStreamEndCapture(hStream: CUstream, phGraph: *mut CUgraph);
    fn cuStreamGetFlags(hStream: CUstream, flags: *mut c_uint);
    fn cuStreamGetPriority(hStream: CUstream, priority: *mut c_int);
    fn cuStreamSynchronize(hStream: CUstream);
    fn cuStreamWaitEvent(hStream: CUstream, hEvent: CUevent, Flags: c_uint);
    fn cuStreamWaitValue32_v2(stream: CUstream, addr: CUdeviceptr, value: c_uint, flags: c_uint);
    fn cuSurfObjectCreate(pSurfObject: *mut CUsurfObject, pResDesc: *const CUDA_RESOURCE_DESC);
    fn cuSurfObjectDestroy(surfObject: CUsurfObject);
    fn cuSurfObjectGetResourceDesc(pResDesc: *mut CUDA_RESOURCE_DESC, surfObject: CUsurfObject);
    fn cuTexObjectCreate(pTexObject: *mut CUtexObject, pResDesc: *const CUDA_RESOURCE_DESC, pTexDesc: *const
        CUDA_TEXTURE_DESC, pResViewDesc: *const CUDA_RESOURCE_VIEW_DESC);
    fn cuTexObjectDestroy(texObject: CUtexObject);
    fn cuTexObjectGetResourceDesc(pResDesc: *mut CUDA_RESOURCE_DESC, texObject: CUtexObject);
    fn cuTexObjectGetResourceViewDesc(pResViewDesc: *mut CUDA_RESOURCE_VIEW_DESC, texObject: CUtexObject);
}
