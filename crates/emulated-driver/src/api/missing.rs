//! The functions of the driver that are not supported. They exist, so that every program is loaded,
//! and say their name when they are called.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use crate::call::{Exported, answer};
use crate::code::{Code, Outcome};
use crate::report;

/// Tells of a function, once.
fn tell(name: &'static str) -> Outcome {
    static TOLD: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(name) {
        report::unsupported(report::Need::Function, &format!("{name} is not supported"));
    }
    Err(Code::NOT_SUPPORTED)
}

macro_rules! missing {
    ($($name:ident)*) => {
        $(
            /// Not supported. Its arguments are not looked at.
            // SAFETY: the library is loaded where libcuda would be, so that no other function of
            // this name is.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            extern "C" fn $name() -> c_int {
                answer(stringify!($name), || tell(stringify!($name)))
            }
        )*

        /// The functions of this file.
        pub(crate) const FUNCTIONS: &[Exported] = &[
            $(Exported {
                name: stringify!($name),
                address: $name as *const std::ffi::c_void,
            },)*
        ];
    };
}

missing! {
    cuArrayGetMemoryRequirements
    cuArrayGetPlane
    cuArrayGetSparseProperties
    cuCheckpointOperationComplete
    cuCheckpointProcessCheckpoint
    cuCheckpointProcessGetRestoreThreadId
    cuCheckpointProcessGetState
    cuCheckpointProcessLock
    cuCheckpointProcessRestore
    cuCheckpointProcessUnlock
    cuCoredumpDeregisterCompleteCallback
    cuCoredumpDeregisterStartCallback
    cuCoredumpGetAttribute
    cuCoredumpGetAttributeGlobal
    cuCoredumpRegisterCompleteCallback
    cuCoredumpRegisterStartCallback
    cuCoredumpSetAttribute
    cuCoredumpSetAttributeGlobal
    cuCtxFromGreenCtx
    cuCtxGetDevResource
    cuCtxGetExecAffinity
    cuCtxRecordEvent
    cuCtxWaitEvent
    cuDestroyExternalMemory
    cuDestroyExternalSemaphore
    cuDevResourceGenerateDesc
    cuDevSmResourceSplit
    cuDevSmResourceSplitByCount
    cuDeviceGetCliqueCount
    cuDeviceGetCliqueInfo
    cuDeviceGetDevResource
    cuDeviceGetFabricClusterUuid
    cuDeviceGetHostAtomicCapabilities
    cuDeviceGetLuid
    cuDeviceGetNvSciSyncAttributes
    cuDeviceGetP2PAtomicCapabilities
    cuDeviceRegisterAsyncNotification
    cuDeviceUnregisterAsyncNotification
    cuEGLStreamConsumerAcquireFrame
    cuEGLStreamConsumerConnect
    cuEGLStreamConsumerConnectWithFlags
    cuEGLStreamConsumerDisconnect
    cuEGLStreamConsumerReleaseFrame
    cuEGLStreamProducerConnect
    cuEGLStreamProducerDisconnect
    cuEGLStreamProducerPresentFrame
    cuEGLStreamProducerReturnFrame
    cuEventCreateFromEGLSync
    cuExternalMemoryGetMappedBuffer
    cuExternalMemoryGetMappedMipmappedArray
    cuFabricCpyBatchAsync
    cuFuncGetParamCount
    cuFuncSetBlockShape
    cuFuncSetSharedSize
    cuGLCtxCreate
    cuGLCtxCreate_v2
    cuGLGetDevices
    cuGLGetDevices_v2
    cuGLInit
    cuGLMapBufferObject
    cuGLMapBufferObjectAsync
    cuGLMapBufferObjectAsync_v2
    cuGLMapBufferObject_v2
    cuGLRegisterBufferObject
    cuGLSetBufferObjectMapFlags
    cuGLUnmapBufferObject
    cuGLUnmapBufferObjectAsync
    cuGLUnregisterBufferObject
    cuGraphAddBatchMemOpNode
    cuGraphAddExternalSemaphoresSignalNode
    cuGraphAddExternalSemaphoresWaitNode
    cuGraphBatchMemOpNodeGetParams
    cuGraphBatchMemOpNodeSetParams
    cuGraphExecBatchMemOpNodeSetParams
    cuGraphExecExternalSemaphoresSignalNodeSetParams
    cuGraphExecExternalSemaphoresWaitNodeSetParams
    cuGraphExecGetId
    cuGraphExternalSemaphoresSignalNodeGetParams
    cuGraphExternalSemaphoresSignalNodeSetParams
    cuGraphExternalSemaphoresWaitNodeGetParams
    cuGraphExternalSemaphoresWaitNodeSetParams
    cuGraphGetId
    cuGraphHostNodeGetParams
    cuGraphKernelNodeCopyAttributes
    cuGraphKernelNodeGetAttribute
    cuGraphKernelNodeGetParams
    cuGraphKernelNodeGetParams_v2
    cuGraphKernelNodeSetAttribute
    cuGraphMemcpyNodeGetParams
    cuGraphMemsetNodeGetParams
    cuGraphNodeGetEnabled
    cuGraphNodeGetLocalId
    cuGraphNodeGetParams
    cuGraphNodeGetToolsId
    cuGraphNodeSetEnabled
    cuGraphicsEGLRegisterImage
    cuGraphicsGLRegisterBuffer
    cuGraphicsGLRegisterImage
    cuGraphicsMapResources
    cuGraphicsResourceGetMappedEglFrame
    cuGraphicsResourceGetMappedMipmappedArray
    cuGraphicsResourceGetMappedPointer
    cuGraphicsResourceGetMappedPointer_v2
    cuGraphicsResourceSetMapFlags
    cuGraphicsResourceSetMapFlags_v2
    cuGraphicsSubResourceGetMappedArray
    cuGraphicsUnmapResources
    cuGraphicsUnregisterResource
    cuGraphicsVDPAURegisterOutputSurface
    cuGraphicsVDPAURegisterVideoSurface
    cuGreenCtxCreate
    cuGreenCtxDestroy
    cuGreenCtxGetDevResource
    cuGreenCtxGetId
    cuGreenCtxRecordEvent
    cuGreenCtxStreamCreate
    cuGreenCtxWaitEvent
    cuImportExternalMemory
    cuImportExternalSemaphore
    cuIpcCloseMemHandle
    cuIpcGetEventHandle
    cuIpcGetMemHandle
    cuIpcOpenEventHandle
    cuIpcOpenMemHandle
    cuIpcOpenMemHandle_v2
    cuKernelGetParamCount
    cuLaunch
    cuLaunchCooperativeKernelMultiDevice
    cuLaunchGrid
    cuLaunchGridAsync
    cuLibraryGetUnifiedFunction
    cuLogicalEndpointAddDevice
    cuLogicalEndpointBindAddr
    cuLogicalEndpointBindMem
    cuLogicalEndpointCreate
    cuLogicalEndpointDestroy
    cuLogicalEndpointExport
    cuLogicalEndpointGetLimits
    cuLogicalEndpointIdRelease
    cuLogicalEndpointIdReserve
    cuLogicalEndpointImport
    cuLogicalEndpointQuery
    cuLogicalEndpointUnbind
    cuLogsCurrent
    cuLogsDumpToFile
    cuLogsDumpToMemory
    cuLogsRegisterCallback
    cuLogsUnregisterCallback
    cuMemAddressFree
    cuMemAddressReserve
    cuMemBatchDecompressAsync
    cuMemCreate
    cuMemDiscardAndPrefetchBatchAsync
    cuMemDiscardBatchAsync
    cuMemExportToShareableHandle
    cuMemGetAccess
    cuMemGetAllocationGranularity
    cuMemGetAllocationPropertiesFromHandle
    cuMemGetHandleForAddressRange
    cuMemGetLocationInfo
    cuMemImportFromShareableHandle
    cuMemMap
    cuMemMapArrayAsync
    cuMemPoolExportPointer
    cuMemPoolExportToShareableHandle
    cuMemPoolImportFromShareableHandle
    cuMemPoolImportPointer
    cuMemPrefetchBatchAsync
    cuMemRangeGetAttributes
    cuMemRelease
    cuMemRetainAllocationHandle
    cuMemSetAccess
    cuMemUnmap
    cuMemcpy3DBatchAsync
    cuMemcpy3DBatchAsync_v2
    cuMemcpy3DWithAttributesAsync
    cuMemcpyAtoA
    cuMemcpyAtoA_v2
    cuMemcpyAtoHAsync
    cuMemcpyAtoHAsync_v2
    cuMemcpyBatchAsync
    cuMemcpyHtoAAsync
    cuMemcpyHtoAAsync_v2
    cuMemcpyWithAttributesAsync
    cuMipmappedArrayGetMemoryRequirements
    cuMipmappedArrayGetSparseProperties
    cuModuleEnumerateFunctions
    cuMulticastAddDevice
    cuMulticastBindAddr
    cuMulticastBindAddr_v2
    cuMulticastBindMem
    cuMulticastBindMem_v2
    cuMulticastCreate
    cuMulticastGetGranularity
    cuMulticastUnbind
    cuParamSetSize
    cuParamSetTexRef
    cuParamSetf
    cuParamSeti
    cuParamSetv
    cuSignalExternalSemaphoresAsync
    cuStreamBatchMemOp
    cuStreamBatchMemOp_v2
    cuStreamBeginCaptureToCig
    cuStreamBeginRecaptureToGraph
    cuStreamEndCaptureToCig
    cuStreamGetDevResource
    cuStreamGetGreenCtx
    cuTensorMapEncodeIm2col
    cuTensorMapEncodeIm2colWide
    cuTensorMapSetAllocationClass
    cuTexRefCreate
    cuTexRefDestroy
    cuVDPAUCtxCreate
    cuVDPAUCtxCreate_v2
    cuVDPAUGetDevice
    cuWaitExternalSemaphoresAsync
}
