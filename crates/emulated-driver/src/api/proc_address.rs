//! `cuGetProcAddress`: functions by name and version.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::api;
use crate::call::{Exported, put, put_if_wanted, text};
use crate::code::{Code, Outcome};

/// Names of several functions, with the versions of CUDA that have brought each
/// (`cudaTypedefs.h`). The first has the name itself, the others `_v2`, `_v3` and so on behind it.
const VERSIONS: &[(&str, &[c_int])] = &[
    ("cuArray3DCreate", &[2000, 3020]),
    ("cuArray3DGetDescriptor", &[2000, 3020]),
    ("cuArrayCreate", &[2000, 3020]),
    ("cuArrayGetDescriptor", &[2000, 3020]),
    ("cuCtxCreate", &[2000, 3020, 11040, 12050]),
    ("cuCtxDestroy", &[2000, 4000]),
    ("cuCtxGetDevice", &[2000, 13000]),
    ("cuCtxPopCurrent", &[2000, 4000]),
    ("cuCtxPushCurrent", &[2000, 4000]),
    ("cuCtxSynchronize", &[2000, 13000]),
    ("cuDeviceGetUuid", &[9020, 11040]),
    ("cuDevicePrimaryCtxRelease", &[7000, 11000]),
    ("cuDevicePrimaryCtxReset", &[7000, 11000]),
    ("cuDevicePrimaryCtxSetFlags", &[7000, 11000]),
    ("cuDeviceTotalMem", &[2000, 3020]),
    ("cuEventDestroy", &[2000, 4000]),
    ("cuEventElapsedTime", &[2000, 12080]),
    ("cuGLCtxCreate", &[2000, 3020]),
    ("cuGLGetDevices", &[4010, 6050]),
    ("cuGLMapBufferObject", &[2000, 3020]),
    ("cuGLMapBufferObjectAsync", &[2030, 3020]),
    ("cuGetProcAddress", &[11030, 12000]),
    ("cuGraphAddDependencies", &[10000, 12030]),
    ("cuGraphAddKernelNode", &[10000, 12000]),
    ("cuGraphAddNode", &[12020, 12030, 13040]),
    ("cuGraphExecKernelNodeSetParams", &[10010, 12000]),
    ("cuGraphExecUpdate", &[10020, 12000]),
    ("cuGraphGetEdges", &[10000, 12030]),
    ("cuGraphInstantiate", &[10000, 11000, 12000]),
    ("cuGraphKernelNodeGetParams", &[10000, 12000]),
    ("cuGraphKernelNodeSetParams", &[10000, 12000]),
    ("cuGraphNodeGetDependencies", &[10000, 12030]),
    ("cuGraphNodeGetDependentNodes", &[10000, 12030]),
    ("cuGraphNodeSetParams", &[12020, 13040]),
    ("cuGraphRemoveDependencies", &[10000, 12030]),
    ("cuGraphicsResourceGetMappedPointer", &[3000, 3020]),
    ("cuGraphicsResourceSetMapFlags", &[3000, 6050]),
    ("cuIpcOpenMemHandle", &[4010, 11000]),
    ("cuLaunchHostFunc", &[10000, 13010]),
    ("cuLinkAddData", &[5050, 6050]),
    ("cuLinkAddFile", &[5050, 6050]),
    ("cuLinkCreate", &[5050, 6050]),
    ("cuMemAdvise", &[8000, 12020]),
    ("cuMemAlloc", &[2000, 3020]),
    ("cuMemAllocHost", &[2000, 3020]),
    ("cuMemAllocPitch", &[2000, 3020]),
    ("cuMemFree", &[2000, 3020]),
    ("cuMemGetAddressRange", &[2000, 3020]),
    ("cuMemGetInfo", &[2000, 3020]),
    ("cuMemHostGetDevicePointer", &[2020, 3020]),
    ("cuMemHostRegister", &[4000, 6050]),
    ("cuMemPrefetchAsync", &[8000, 12020]),
    ("cuMemcpy2D", &[2000, 3020]),
    ("cuMemcpy2DAsync", &[2000, 3020]),
    ("cuMemcpy2DUnaligned", &[2000, 3020]),
    ("cuMemcpy3D", &[2000, 3020]),
    ("cuMemcpy3DAsync", &[2000, 3020]),
    ("cuMemcpy3DBatchAsync", &[12080, 13000]),
    ("cuMemcpyAtoA", &[2000, 3020]),
    ("cuMemcpyAtoD", &[2000, 3020]),
    ("cuMemcpyAtoH", &[2000, 3020]),
    ("cuMemcpyAtoHAsync", &[2000, 3020]),
    ("cuMemcpyBatchAsync", &[12080, 13000]),
    ("cuMemcpyDtoA", &[2000, 3020]),
    ("cuMemcpyDtoD", &[2000, 3020]),
    ("cuMemcpyDtoDAsync", &[3000, 3020]),
    ("cuMemcpyDtoH", &[2000, 3020]),
    ("cuMemcpyDtoHAsync", &[2000, 3020]),
    ("cuMemcpyHtoA", &[2000, 3020]),
    ("cuMemcpyHtoAAsync", &[2000, 3020]),
    ("cuMemcpyHtoD", &[2000, 3020]),
    ("cuMemcpyHtoDAsync", &[2000, 3020]),
    ("cuMemsetD16", &[2000, 3020]),
    ("cuMemsetD2D16", &[2000, 3020]),
    ("cuMemsetD2D32", &[2000, 3020]),
    ("cuMemsetD2D8", &[2000, 3020]),
    ("cuMemsetD32", &[2000, 3020]),
    ("cuMemsetD8", &[2000, 3020]),
    ("cuModuleGetGlobal", &[2000, 3020]),
    ("cuMulticastBindAddr", &[12010, 13010]),
    ("cuMulticastBindMem", &[12010, 13010]),
    ("cuStreamBatchMemOp", &[8000, 11070]),
    ("cuStreamBeginCapture", &[10000, 10010]),
    ("cuStreamDestroy", &[2000, 4000]),
    ("cuStreamGetCaptureInfo", &[10010, 11030, 12030]),
    ("cuStreamGetCtx", &[9020, 12050]),
    ("cuStreamUpdateCaptureDependencies", &[11030, 12030]),
    ("cuStreamWaitValue32", &[8000, 11070]),
    ("cuStreamWaitValue64", &[9000, 11070]),
    ("cuStreamWriteValue32", &[8000, 11070]),
    ("cuStreamWriteValue64", &[9000, 11070]),
    ("cuTexRefGetAddress", &[2000, 3020]),
    ("cuTexRefSetAddress", &[2000, 3020]),
    ("cuTexRefSetAddress2D", &[2020, 3020, 4010]),
    ("cuVDPAUCtxCreate", &[3010, 3020]),
];

/// The one function whose name does not follow from that: the third of its name.
const RENAMED: (&str, &str) = ("cuGraphInstantiate_v3", "cuGraphInstantiateWithFlags");

/// The function that a name means in a version of CUDA; `None` if it came later.
fn symbol(name: &str, version: c_int) -> Option<String> {
    let Some((_, versions)) = VERSIONS.iter().find(|(known, _)| *known == name) else {
        return Some(name.to_owned());
    };
    let symbol = match versions.iter().filter(|since| **since <= version).count() {
        0 => return None,
        1 => name.to_owned(),
        number => format!("{name}_v{number}"),
    };
    Some(if symbol == RENAMED.0 {
        RENAMED.1.to_owned()
    } else {
        symbol
    })
}

/// Every function.
fn all() -> &'static HashMap<&'static str, Exported> {
    static ALL: OnceLock<HashMap<&'static str, Exported>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = [
            api::graph_node::FUNCTIONS,
            api::array::FUNCTIONS,
            api::tensor::FUNCTIONS,
            api::reference::FUNCTIONS,
            api::texture::FUNCTIONS,
            api::user_object::FUNCTIONS,
            api::capture::FUNCTIONS,
            api::context::FUNCTIONS,
            api::copy::FUNCTIONS,
            api::device::FUNCTIONS,
            api::event::FUNCTIONS,
            api::graph::FUNCTIONS,
            api::graph_memory::FUNCTIONS,
            api::launch::FUNCTIONS,
            api::link::FUNCTIONS,
            api::memory::FUNCTIONS,
            api::missing::FUNCTIONS,
            api::module::FUNCTIONS,
            api::occupancy::FUNCTIONS,
            api::pool::FUNCTIONS,
            api::stream::FUNCTIONS,
            api::tables::FUNCTIONS,
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
    let Some(symbol) = symbol(name, version) else {
        return Found::TooNew;
    };
    match all().get(symbol.as_str()) {
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
    // SAFETY: the caller promises that both may be written.
    unsafe {
        put(to, address)?;
        put_if_wanted(status, number);
    }
    if address.is_null() && status.is_null() {
        Err(Code::NOT_FOUND)
    } else {
        Ok(())
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
        // Of `cudaGL.h`, for which some programs ask at their start.
        let name = "cuGraphicsGLRegisterBuffer";
        assert_eq!(find(name, 12000), Found::Function(name));
        assert_eq!(
            find("cuGLGetDevices", 12000),
            Found::Function("cuGLGetDevices_v2")
        );
    }

    #[test]
    fn every_name_with_versions_has_its_functions() {
        for (name, versions) in VERSIONS {
            for version in *versions {
                assert!(
                    matches!(find(name, *version), Found::Function(_)),
                    "{name} {version}"
                );
            }
        }
        let instantiate = find("cuGraphInstantiate", 12000);
        assert_eq!(instantiate, Found::Function("cuGraphInstantiateWithFlags"));
    }
}
