//! `cuGetProcAddress`: functions by name and version.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::api::{Exported, Outcome, put, put_if_wanted, text};
use crate::code::Code;

/// Names of several functions: each with the version of CUDA since when the name means it
/// (`cudaTypedefs.h`).
const VERSIONS: &[(&str, &[(c_int, &str)])] = &[
    (
        "cuArray3DCreate",
        &[(2000, "cuArray3DCreate"), (3020, "cuArray3DCreate_v2")],
    ),
    (
        "cuArray3DGetDescriptor",
        &[
            (2000, "cuArray3DGetDescriptor"),
            (3020, "cuArray3DGetDescriptor_v2"),
        ],
    ),
    (
        "cuArrayCreate",
        &[(2000, "cuArrayCreate"), (3020, "cuArrayCreate_v2")],
    ),
    (
        "cuArrayGetDescriptor",
        &[
            (2000, "cuArrayGetDescriptor"),
            (3020, "cuArrayGetDescriptor_v2"),
        ],
    ),
    (
        "cuCtxCreate",
        &[
            (2000, "cuCtxCreate"),
            (3020, "cuCtxCreate_v2"),
            (11040, "cuCtxCreate_v3"),
            (12050, "cuCtxCreate_v4"),
        ],
    ),
    (
        "cuCtxDestroy",
        &[(2000, "cuCtxDestroy"), (4000, "cuCtxDestroy_v2")],
    ),
    (
        "cuCtxGetDevice",
        &[(2000, "cuCtxGetDevice"), (13000, "cuCtxGetDevice_v2")],
    ),
    (
        "cuCtxPopCurrent",
        &[(2000, "cuCtxPopCurrent"), (4000, "cuCtxPopCurrent_v2")],
    ),
    (
        "cuCtxPushCurrent",
        &[(2000, "cuCtxPushCurrent"), (4000, "cuCtxPushCurrent_v2")],
    ),
    (
        "cuCtxSynchronize",
        &[(2000, "cuCtxSynchronize"), (13000, "cuCtxSynchronize_v2")],
    ),
    (
        "cuDeviceGetUuid",
        &[(9020, "cuDeviceGetUuid"), (11040, "cuDeviceGetUuid_v2")],
    ),
    (
        "cuDevicePrimaryCtxRelease",
        &[
            (7000, "cuDevicePrimaryCtxRelease"),
            (11000, "cuDevicePrimaryCtxRelease_v2"),
        ],
    ),
    (
        "cuDevicePrimaryCtxReset",
        &[
            (7000, "cuDevicePrimaryCtxReset"),
            (11000, "cuDevicePrimaryCtxReset_v2"),
        ],
    ),
    (
        "cuDevicePrimaryCtxSetFlags",
        &[
            (7000, "cuDevicePrimaryCtxSetFlags"),
            (11000, "cuDevicePrimaryCtxSetFlags_v2"),
        ],
    ),
    (
        "cuDeviceTotalMem",
        &[(2000, "cuDeviceTotalMem"), (3020, "cuDeviceTotalMem_v2")],
    ),
    (
        "cuEventDestroy",
        &[(2000, "cuEventDestroy"), (4000, "cuEventDestroy_v2")],
    ),
    (
        "cuEventElapsedTime",
        &[
            (2000, "cuEventElapsedTime"),
            (12080, "cuEventElapsedTime_v2"),
        ],
    ),
    (
        "cuGetProcAddress",
        &[(11030, "cuGetProcAddress"), (12000, "cuGetProcAddress_v2")],
    ),
    (
        "cuGraphAddDependencies",
        &[
            (10000, "cuGraphAddDependencies"),
            (12030, "cuGraphAddDependencies_v2"),
        ],
    ),
    (
        "cuGraphAddKernelNode",
        &[
            (10000, "cuGraphAddKernelNode"),
            (12000, "cuGraphAddKernelNode_v2"),
        ],
    ),
    (
        "cuGraphAddNode",
        &[
            (12020, "cuGraphAddNode"),
            (12030, "cuGraphAddNode_v2"),
            (13040, "cuGraphAddNode_v3"),
        ],
    ),
    (
        "cuGraphExecKernelNodeSetParams",
        &[
            (10010, "cuGraphExecKernelNodeSetParams"),
            (12000, "cuGraphExecKernelNodeSetParams_v2"),
        ],
    ),
    (
        "cuGraphExecUpdate",
        &[
            (10020, "cuGraphExecUpdate"),
            (12000, "cuGraphExecUpdate_v2"),
        ],
    ),
    (
        "cuGraphGetEdges",
        &[(10000, "cuGraphGetEdges"), (12030, "cuGraphGetEdges_v2")],
    ),
    (
        "cuGraphInstantiate",
        &[
            (10000, "cuGraphInstantiate"),
            (11000, "cuGraphInstantiate_v2"),
            (12000, "cuGraphInstantiateWithFlags"),
        ],
    ),
    (
        "cuGraphKernelNodeGetParams",
        &[
            (10000, "cuGraphKernelNodeGetParams"),
            (12000, "cuGraphKernelNodeGetParams_v2"),
        ],
    ),
    (
        "cuGraphKernelNodeSetParams",
        &[
            (10000, "cuGraphKernelNodeSetParams"),
            (12000, "cuGraphKernelNodeSetParams_v2"),
        ],
    ),
    (
        "cuGraphNodeGetDependencies",
        &[
            (10000, "cuGraphNodeGetDependencies"),
            (12030, "cuGraphNodeGetDependencies_v2"),
        ],
    ),
    (
        "cuGraphNodeGetDependentNodes",
        &[
            (10000, "cuGraphNodeGetDependentNodes"),
            (12030, "cuGraphNodeGetDependentNodes_v2"),
        ],
    ),
    (
        "cuGraphNodeSetParams",
        &[
            (12020, "cuGraphNodeSetParams"),
            (13040, "cuGraphNodeSetParams_v2"),
        ],
    ),
    (
        "cuGraphRemoveDependencies",
        &[
            (10000, "cuGraphRemoveDependencies"),
            (12030, "cuGraphRemoveDependencies_v2"),
        ],
    ),
    (
        "cuGraphicsResourceGetMappedPointer",
        &[
            (3000, "cuGraphicsResourceGetMappedPointer"),
            (3020, "cuGraphicsResourceGetMappedPointer_v2"),
        ],
    ),
    (
        "cuGraphicsResourceSetMapFlags",
        &[
            (3000, "cuGraphicsResourceSetMapFlags"),
            (6050, "cuGraphicsResourceSetMapFlags_v2"),
        ],
    ),
    (
        "cuIpcOpenMemHandle",
        &[
            (4010, "cuIpcOpenMemHandle"),
            (11000, "cuIpcOpenMemHandle_v2"),
        ],
    ),
    (
        "cuLaunchHostFunc",
        &[(10000, "cuLaunchHostFunc"), (13010, "cuLaunchHostFunc_v2")],
    ),
    (
        "cuLinkAddData",
        &[(5050, "cuLinkAddData"), (6050, "cuLinkAddData_v2")],
    ),
    (
        "cuLinkAddFile",
        &[(5050, "cuLinkAddFile"), (6050, "cuLinkAddFile_v2")],
    ),
    (
        "cuLinkCreate",
        &[(5050, "cuLinkCreate"), (6050, "cuLinkCreate_v2")],
    ),
    (
        "cuMemAdvise",
        &[(8000, "cuMemAdvise"), (12020, "cuMemAdvise_v2")],
    ),
    (
        "cuMemAlloc",
        &[(2000, "cuMemAlloc"), (3020, "cuMemAlloc_v2")],
    ),
    (
        "cuMemAllocHost",
        &[(2000, "cuMemAllocHost"), (3020, "cuMemAllocHost_v2")],
    ),
    (
        "cuMemAllocPitch",
        &[(2000, "cuMemAllocPitch"), (3020, "cuMemAllocPitch_v2")],
    ),
    ("cuMemFree", &[(2000, "cuMemFree"), (3020, "cuMemFree_v2")]),
    (
        "cuMemGetAddressRange",
        &[
            (2000, "cuMemGetAddressRange"),
            (3020, "cuMemGetAddressRange_v2"),
        ],
    ),
    (
        "cuMemGetInfo",
        &[(2000, "cuMemGetInfo"), (3020, "cuMemGetInfo_v2")],
    ),
    (
        "cuMemHostGetDevicePointer",
        &[
            (2020, "cuMemHostGetDevicePointer"),
            (3020, "cuMemHostGetDevicePointer_v2"),
        ],
    ),
    (
        "cuMemHostRegister",
        &[(4000, "cuMemHostRegister"), (6050, "cuMemHostRegister_v2")],
    ),
    (
        "cuMemPrefetchAsync",
        &[
            (8000, "cuMemPrefetchAsync"),
            (12020, "cuMemPrefetchAsync_v2"),
        ],
    ),
    (
        "cuMemcpy2D",
        &[(2000, "cuMemcpy2D"), (3020, "cuMemcpy2D_v2")],
    ),
    (
        "cuMemcpy2DAsync",
        &[(2000, "cuMemcpy2DAsync"), (3020, "cuMemcpy2DAsync_v2")],
    ),
    (
        "cuMemcpy2DUnaligned",
        &[
            (2000, "cuMemcpy2DUnaligned"),
            (3020, "cuMemcpy2DUnaligned_v2"),
        ],
    ),
    (
        "cuMemcpy3D",
        &[(2000, "cuMemcpy3D"), (3020, "cuMemcpy3D_v2")],
    ),
    (
        "cuMemcpy3DAsync",
        &[(2000, "cuMemcpy3DAsync"), (3020, "cuMemcpy3DAsync_v2")],
    ),
    (
        "cuMemcpy3DBatchAsync",
        &[
            (12080, "cuMemcpy3DBatchAsync"),
            (13000, "cuMemcpy3DBatchAsync_v2"),
        ],
    ),
    (
        "cuMemcpyAtoA",
        &[(2000, "cuMemcpyAtoA"), (3020, "cuMemcpyAtoA_v2")],
    ),
    (
        "cuMemcpyAtoD",
        &[(2000, "cuMemcpyAtoD"), (3020, "cuMemcpyAtoD_v2")],
    ),
    (
        "cuMemcpyAtoH",
        &[(2000, "cuMemcpyAtoH"), (3020, "cuMemcpyAtoH_v2")],
    ),
    (
        "cuMemcpyAtoHAsync",
        &[(2000, "cuMemcpyAtoHAsync"), (3020, "cuMemcpyAtoHAsync_v2")],
    ),
    (
        "cuMemcpyBatchAsync",
        &[
            (12080, "cuMemcpyBatchAsync"),
            (13000, "cuMemcpyBatchAsync_v2"),
        ],
    ),
    (
        "cuMemcpyDtoA",
        &[(2000, "cuMemcpyDtoA"), (3020, "cuMemcpyDtoA_v2")],
    ),
    (
        "cuMemcpyDtoD",
        &[(2000, "cuMemcpyDtoD"), (3020, "cuMemcpyDtoD_v2")],
    ),
    (
        "cuMemcpyDtoDAsync",
        &[(3000, "cuMemcpyDtoDAsync"), (3020, "cuMemcpyDtoDAsync_v2")],
    ),
    (
        "cuMemcpyDtoH",
        &[(2000, "cuMemcpyDtoH"), (3020, "cuMemcpyDtoH_v2")],
    ),
    (
        "cuMemcpyDtoHAsync",
        &[(2000, "cuMemcpyDtoHAsync"), (3020, "cuMemcpyDtoHAsync_v2")],
    ),
    (
        "cuMemcpyHtoA",
        &[(2000, "cuMemcpyHtoA"), (3020, "cuMemcpyHtoA_v2")],
    ),
    (
        "cuMemcpyHtoAAsync",
        &[(2000, "cuMemcpyHtoAAsync"), (3020, "cuMemcpyHtoAAsync_v2")],
    ),
    (
        "cuMemcpyHtoD",
        &[(2000, "cuMemcpyHtoD"), (3020, "cuMemcpyHtoD_v2")],
    ),
    (
        "cuMemcpyHtoDAsync",
        &[(2000, "cuMemcpyHtoDAsync"), (3020, "cuMemcpyHtoDAsync_v2")],
    ),
    (
        "cuMemsetD16",
        &[(2000, "cuMemsetD16"), (3020, "cuMemsetD16_v2")],
    ),
    (
        "cuMemsetD2D16",
        &[(2000, "cuMemsetD2D16"), (3020, "cuMemsetD2D16_v2")],
    ),
    (
        "cuMemsetD2D32",
        &[(2000, "cuMemsetD2D32"), (3020, "cuMemsetD2D32_v2")],
    ),
    (
        "cuMemsetD2D8",
        &[(2000, "cuMemsetD2D8"), (3020, "cuMemsetD2D8_v2")],
    ),
    (
        "cuMemsetD32",
        &[(2000, "cuMemsetD32"), (3020, "cuMemsetD32_v2")],
    ),
    (
        "cuMemsetD8",
        &[(2000, "cuMemsetD8"), (3020, "cuMemsetD8_v2")],
    ),
    (
        "cuModuleGetGlobal",
        &[(2000, "cuModuleGetGlobal"), (3020, "cuModuleGetGlobal_v2")],
    ),
    (
        "cuMulticastBindAddr",
        &[
            (12010, "cuMulticastBindAddr"),
            (13010, "cuMulticastBindAddr_v2"),
        ],
    ),
    (
        "cuMulticastBindMem",
        &[
            (12010, "cuMulticastBindMem"),
            (13010, "cuMulticastBindMem_v2"),
        ],
    ),
    (
        "cuStreamBatchMemOp",
        &[
            (8000, "cuStreamBatchMemOp"),
            (11070, "cuStreamBatchMemOp_v2"),
        ],
    ),
    (
        "cuStreamBeginCapture",
        &[
            (10000, "cuStreamBeginCapture"),
            (10010, "cuStreamBeginCapture_v2"),
        ],
    ),
    (
        "cuStreamDestroy",
        &[(2000, "cuStreamDestroy"), (4000, "cuStreamDestroy_v2")],
    ),
    (
        "cuStreamGetCaptureInfo",
        &[
            (10010, "cuStreamGetCaptureInfo"),
            (11030, "cuStreamGetCaptureInfo_v2"),
            (12030, "cuStreamGetCaptureInfo_v3"),
        ],
    ),
    (
        "cuStreamGetCtx",
        &[(9020, "cuStreamGetCtx"), (12050, "cuStreamGetCtx_v2")],
    ),
    (
        "cuStreamUpdateCaptureDependencies",
        &[
            (11030, "cuStreamUpdateCaptureDependencies"),
            (12030, "cuStreamUpdateCaptureDependencies_v2"),
        ],
    ),
    (
        "cuStreamWaitValue32",
        &[
            (8000, "cuStreamWaitValue32"),
            (11070, "cuStreamWaitValue32_v2"),
        ],
    ),
    (
        "cuStreamWaitValue64",
        &[
            (9000, "cuStreamWaitValue64"),
            (11070, "cuStreamWaitValue64_v2"),
        ],
    ),
    (
        "cuStreamWriteValue32",
        &[
            (8000, "cuStreamWriteValue32"),
            (11070, "cuStreamWriteValue32_v2"),
        ],
    ),
    (
        "cuStreamWriteValue64",
        &[
            (9000, "cuStreamWriteValue64"),
            (11070, "cuStreamWriteValue64_v2"),
        ],
    ),
    (
        "cuTexRefGetAddress",
        &[
            (2000, "cuTexRefGetAddress"),
            (3020, "cuTexRefGetAddress_v2"),
        ],
    ),
    (
        "cuTexRefSetAddress",
        &[
            (2000, "cuTexRefSetAddress"),
            (3020, "cuTexRefSetAddress_v2"),
        ],
    ),
    (
        "cuTexRefSetAddress2D",
        &[
            (2020, "cuTexRefSetAddress2D"),
            (3020, "cuTexRefSetAddress2D_v2"),
            (4010, "cuTexRefSetAddress2D_v3"),
        ],
    ),
];

/// Every function.
fn all() -> &'static HashMap<&'static str, Exported> {
    static ALL: OnceLock<HashMap<&'static str, Exported>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = [
            crate::array::FUNCTIONS,
            crate::capture::FUNCTIONS,
            crate::context::FUNCTIONS,
            crate::copy::FUNCTIONS,
            crate::device::FUNCTIONS,
            crate::event::FUNCTIONS,
            crate::graph::FUNCTIONS,
            crate::memory::FUNCTIONS,
            crate::missing::FUNCTIONS,
            crate::module::FUNCTIONS,
            crate::occupancy::FUNCTIONS,
            crate::pool::FUNCTIONS,
            crate::stream::FUNCTIONS,
            crate::tables::FUNCTIONS,
            FUNCTIONS,
        ];
        let functions = files.into_iter().flatten();
        functions
            .map(|function| (function.name, *function))
            .collect()
    })
}

/// The result of a search by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Function(&'static str),
    /// It came with a later version of CUDA.
    TooNew,
    Unknown,
}

fn find(name: &str, version: c_int) -> Found {
    let symbol = match VERSIONS.iter().find(|(known, _)| *known == name) {
        Some((_, versions)) => {
            let older = versions.iter().rev().find(|(since, _)| *since <= version);
            match older {
                Some((_, symbol)) => symbol,
                None => return Found::TooNew,
            }
        }
        None => name,
    };
    match all().get(symbol) {
        Some(function) => Found::Function(function.name),
        None => Found::Unknown,
    }
}

/// # Safety
///
/// As [`put`] and [`text`].
unsafe fn get(
    name: *const c_char,
    to: *mut *const c_void,
    version: c_int,
    status: *mut c_int,
) -> Outcome {
    // SAFETY: the caller promises it.
    let name = unsafe { text(name) }?;
    let (address, number) = match find(&name, version) {
        Found::Function(symbol) => (all()[symbol].address, 0),
        Found::Unknown => (std::ptr::null(), 1),
        Found::TooNew => (std::ptr::null(), 2),
    };
    // SAFETY: the same.
    unsafe {
        put(to, address)?;
        put_if_wanted(status, number);
    }
    match address.is_null() && status.is_null() {
        true => Err(Code::NOT_FOUND),
        false => Ok(()),
    }
}

driver_api! {
    fn cuGetProcAddress(name: *const c_char, to: *mut *const c_void, version: c_int, _flags: u64) {
        get(name, to, version, std::ptr::null_mut())
    }
    fn cuGetProcAddress_v2(name: *const c_char, to: *mut *const c_void, version: c_int, _flags: u64, status: *mut c_int) {
        get(name, to, version, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_chooses_among_functions_of_one_name() {
        assert_eq!(
            find("cuCtxCreate", 11000),
            Found::Function("cuCtxCreate_v2")
        );
        assert_eq!(
            find("cuCtxCreate", 12080),
            Found::Function("cuCtxCreate_v4")
        );
        assert_eq!(find("cuInit", 2000), Found::Function("cuInit"));
        assert_eq!(
            find("cuMemAlloc_v2", 12000),
            Found::Function("cuMemAlloc_v2")
        );
        assert_eq!(find("cuGraphAddNode", 11000), Found::TooNew);
        assert_eq!(find("cuNoSuchThing", 12000), Found::Unknown);
    }

    #[test]
    fn every_name_with_versions_has_its_functions() {
        for (name, versions) in VERSIONS {
            for (version, symbol) in *versions {
                assert_eq!(find(name, *version), Found::Function(symbol), "{name}");
            }
        }
    }
}
