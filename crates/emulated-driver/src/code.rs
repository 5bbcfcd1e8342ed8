//! Results of the driver's functions: the numbers, names and descriptions of `cuda.h`.

use std::ffi::{CStr, c_int};

/// The result of a function that failed, as `CUresult` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) c_int);

/// Whether a function of the driver succeeds.
pub(crate) type Outcome<T = ()> = Result<T, Code>;

macro_rules! codes {
    ($($number:literal $name:ident $text:literal)*) => {
        #[allow(dead_code)] // Named for what the table tells a reader.
        impl Code {
            $(pub(crate) const $name: Code = Code($number);)*
        }

        /// Number, name and description of each result.
        const ALL: &[(c_int, &CStr, &CStr)] = &[
            (0, c"CUDA_SUCCESS", c"no error"),
            $(($number, match CStr::from_bytes_with_nul(concat!("CUDA_ERROR_", stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name without NUL"),
            }, $text),)*
        ];
    };
}

codes! {
    1 INVALID_VALUE c"invalid argument"
    2 OUT_OF_MEMORY c"out of memory"
    3 NOT_INITIALIZED c"initialization error"
    4 DEINITIALIZED c"driver shutting down"
    5 PROFILER_DISABLED c"profiler disabled"
    6 PROFILER_NOT_INITIALIZED c"profiler not initialized"
    7 PROFILER_ALREADY_STARTED c"profiler already started"
    8 PROFILER_ALREADY_STOPPED c"profiler already stopped"
    34 STUB_LIBRARY c"the library is a stub"
    36 CALL_REQUIRES_NEWER_DRIVER c"call requires newer driver"
    46 DEVICE_UNAVAILABLE c"device unavailable"
    47 MULTICAST_RESOURCE_FULL c"multicast resource full"
    100 NO_DEVICE c"no CUDA-capable device is detected"
    101 INVALID_DEVICE c"invalid device ordinal"
    102 DEVICE_NOT_LICENSED c"device not licensed"
    200 INVALID_IMAGE c"device kernel image is invalid"
    201 INVALID_CONTEXT c"invalid device context"
    202 CONTEXT_ALREADY_CURRENT c"context already current"
    205 MAP_FAILED c"map failed"
    206 UNMAP_FAILED c"unmap failed"
    207 ARRAY_IS_MAPPED c"array is mapped"
    208 ALREADY_MAPPED c"already mapped"
    209 NO_BINARY_FOR_GPU c"no kernel image is available for execution on the device"
    210 ALREADY_ACQUIRED c"already acquired"
    211 NOT_MAPPED c"not mapped"
    212 NOT_MAPPED_AS_ARRAY c"not mapped as array"
    213 NOT_MAPPED_AS_POINTER c"not mapped as pointer"
    214 ECC_UNCORRECTABLE c"ecc uncorrectable"
    215 UNSUPPORTED_LIMIT c"limit is not supported on this architecture"
    216 CONTEXT_ALREADY_IN_USE c"context already in use"
    217 PEER_ACCESS_UNSUPPORTED c"peer access is not supported between these two devices"
    218 INVALID_PTX c"a PTX JIT compilation failed"
    219 INVALID_GRAPHICS_CONTEXT c"invalid graphics context"
    220 NVLINK_UNCORRECTABLE c"nvlink uncorrectable"
    221 JIT_COMPILER_NOT_FOUND c"jit compiler not found"
    222 UNSUPPORTED_PTX_VERSION c"the provided PTX was compiled with an unsupported toolchain."
    223 JIT_COMPILATION_DISABLED c"jit compilation disabled"
    224 UNSUPPORTED_EXEC_AFFINITY c"unsupported exec affinity"
    225 UNSUPPORTED_DEVSIDE_SYNC c"unsupported devside sync"
    226 CONTAINED c"contained"
    227 INSUFFICIENT_LOADER_VERSION c"insufficient loader version"
    300 INVALID_SOURCE c"device kernel image is invalid"
    301 FILE_NOT_FOUND c"file not found"
    302 SHARED_OBJECT_SYMBOL_NOT_FOUND c"shared object symbol not found"
    303 SHARED_OBJECT_INIT_FAILED c"shared object initialization failed"
    304 OPERATING_SYSTEM c"OS call failed or operation not supported on this OS"
    400 INVALID_HANDLE c"invalid resource handle"
    401 ILLEGAL_STATE c"the operation cannot be performed in the present state"
    402 LOSSY_QUERY c"lossy query"
    500 NOT_FOUND c"named symbol not found"
    600 NOT_READY c"device not ready"
    700 ILLEGAL_ADDRESS c"an illegal memory access was encountered"
    701 LAUNCH_OUT_OF_RESOURCES c"too many resources requested for launch"
    702 LAUNCH_TIMEOUT c"the launch timed out and was terminated"
    703 LAUNCH_INCOMPATIBLE_TEXTURING c"launch incompatible texturing"
    704 PEER_ACCESS_ALREADY_ENABLED c"peer access is already enabled"
    705 PEER_ACCESS_NOT_ENABLED c"peer access has not been enabled"
    708 PRIMARY_CONTEXT_ACTIVE c"cannot set while device is active in this process"
    709 CONTEXT_IS_DESTROYED c"context is destroyed"
    710 ASSERT c"device-side assert triggered"
    711 TOO_MANY_PEERS c"too many peers"
    712 HOST_MEMORY_ALREADY_REGISTERED c"part or all of the requested memory range is already mapped"
    713 HOST_MEMORY_NOT_REGISTERED c"pointer does not correspond to a registered memory region"
    714 HARDWARE_STACK_ERROR c"hardware stack error"
    715 ILLEGAL_INSTRUCTION c"an illegal instruction was encountered"
    716 MISALIGNED_ADDRESS c"misaligned address"
    717 INVALID_ADDRESS_SPACE c"operation not supported on global/shared address space"
    718 INVALID_PC c"invalid program counter"
    719 LAUNCH_FAILED c"unspecified launch failure"
    720 COOPERATIVE_LAUNCH_TOO_LARGE c"too many blocks in cooperative launch"
    721 TENSOR_MEMORY_LEAK c"tensor memory leak"
    800 NOT_PERMITTED c"operation not permitted"
    801 NOT_SUPPORTED c"operation not supported"
    802 SYSTEM_NOT_READY c"system not ready"
    803 SYSTEM_DRIVER_MISMATCH c"system driver mismatch"
    804 COMPAT_NOT_SUPPORTED_ON_DEVICE c"compat not supported on device"
    805 MPS_CONNECTION_FAILED c"mps connection failed"
    806 MPS_RPC_FAILURE c"mps rpc failure"
    807 MPS_SERVER_NOT_READY c"mps server not ready"
    808 MPS_MAX_CLIENTS_REACHED c"mps max clients reached"
    809 MPS_MAX_CONNECTIONS_REACHED c"mps max connections reached"
    810 MPS_CLIENT_TERMINATED c"mps client terminated"
    811 CDP_NOT_SUPPORTED c"cdp not supported"
    812 CDP_VERSION_MISMATCH c"cdp version mismatch"
    900 STREAM_CAPTURE_UNSUPPORTED c"operation not permitted when stream is capturing"
    901 STREAM_CAPTURE_INVALIDATED c"operation failed due to a previous error during capture"
    902 STREAM_CAPTURE_MERGE c"stream capture merge"
    903 STREAM_CAPTURE_UNMATCHED c"attempt to terminate a thread-local capture sequence from another thread"
    904 STREAM_CAPTURE_UNJOINED c"capturing stream has unjoined work"
    905 STREAM_CAPTURE_ISOLATION c"dependency created on uncaptured work in another stream"
    906 STREAM_CAPTURE_IMPLICIT c"operation would make the legacy stream depend on a capturing blocking stream"
    907 CAPTURED_EVENT c"operation not permitted on an event last recorded in a capturing stream"
    908 STREAM_CAPTURE_WRONG_THREAD c"stream capture wrong thread"
    909 TIMEOUT c"timeout"
    910 GRAPH_EXEC_UPDATE_FAILURE c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"
    911 EXTERNAL_DEVICE c"external device"
    912 INVALID_CLUSTER_SIZE c"misconfigured cluster size"
    913 FUNCTION_NOT_LOADED c"function not loaded"
    914 INVALID_RESOURCE_TYPE c"invalid resource type"
    915 INVALID_RESOURCE_CONFIGURATION c"invalid resource configuration"
    916 KEY_ROTATION c"key rotation"
    917 STREAM_DETACHED c"stream detached"
    918 GRAPH_RECAPTURE_FAILURE c"graph recapture failure"
    919 FABRIC_NOT_READY c"fabric not ready"
    999 UNKNOWN c"unknown error"
}

/// The name of a result.
pub(crate) fn name(number: c_int) -> Option<&'static CStr> {
    find(number).map(|(_, name, _)| *name)
}

/// Its description.
pub(crate) fn description(number: c_int) -> Option<&'static CStr> {
    find(number).map(|(_, _, text)| *text)
}

fn find(number: c_int) -> Option<&'static (c_int, &'static CStr, &'static CStr)> {
    ALL.iter().find(|(known, ..)| *known == number)
}
