//! Functions of kernels that no text defines: the driver's, and those of CUDA's device runtime,
//! the library `libcudadevrt`.
//!
//! Of the device runtime, cooperative groups are here, as PTX: a meeting of the blocks of a grid is
//! then executed and checked as any other code. The rest, which launches kernels from kernels, is
//! refused by name where a thread calls it.

use std::borrow::Cow;

use ptx::LinkPart;

/// Where a function comes from that a kernel calls and its text does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The driver has it.
    Driver,
    /// A program links `libcudadevrt` for it.
    DeviceRuntime,
}

/// The provider of a function.
///
/// ```
/// use ptx_emu::{Provider, provider};
///
/// assert_eq!(provider("vprintf"), Some(Provider::Driver));
/// assert_eq!(provider("cudaLaunchDeviceV2"), Some(Provider::DeviceRuntime));
/// assert_eq!(provider("step"), None);
/// ```
pub fn provider(name: &str) -> Option<Provider> {
    if DRIVER.contains(&name) {
        return Some(Provider::Driver);
    }
    device_runtime(name).map(|_| Provider::DeviceRuntime)
}

/// PTX ISA, "System calls". `cudaGraphSetConditional` is none of these, but ptxas 13.5 leaves it
/// to the driver as well: a program links nothing for it.
const DRIVER: [&str; 5] = [
    "vprintf",
    "__assertfail",
    "malloc",
    "free",
    "cudaGraphSetConditional",
];

/// The functions of CUDA 13.5's `libcudadevrt`, without their prefix (`cuda`, or `__cudaCDP2` of
/// the same function in a newer form) and the suffix of those for streams of a thread: those of a
/// launch, and the others.
const LAUNCHES: [&str; 4] = [
    "GetParameterBuffer",
    "GetParameterBufferV2",
    "LaunchDevice",
    "LaunchDeviceV2",
];
const OTHERS: [&str; 36] = [
    "CGGetIntrinsicHandle",
    "CGGetRank",
    "CGGetSize",
    "CGSynchronize",
    "CGSynchronizeGrid",
    "DeviceGetAttribute",
    "DeviceGetCacheConfig",
    "DeviceGetLimit",
    "DeviceGetSharedMemConfig",
    "DeviceSynchronize",
    "DeviceSynchronizeDeprecationAvoidance",
    "EventCreateWithFlags",
    "EventDestroy",
    "EventRecord",
    "EventRecordWithFlags",
    "Free",
    "FuncGetAttributes",
    "GetDevice",
    "GetDeviceCount",
    "GetErrorName",
    "GetErrorString",
    "GetLastError",
    "Malloc",
    "Memcpy2DAsync",
    "Memcpy3DAsync",
    "MemcpyAsync",
    "Memset2DAsync",
    "Memset3DAsync",
    "MemsetAsync",
    "OccupancyMaxActiveBlocksPerMultiprocessor",
    "OccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "PeekAtLastError",
    "RuntimeGetVersion",
    "StreamCreateWithFlags",
    "StreamDestroy",
    "StreamWaitEvent",
];

/// Whether the function is one of the device runtime, and if so one of a launch.
fn device_runtime(name: &str) -> Option<bool> {
    let prefixes = ["__cudaCDP2", "__cuda", "cuda"];
    let bare = prefixes
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))?;
    let bare = bare.strip_suffix("_ptsz").unwrap_or(bare);
    let is_launch = LAUNCHES.contains(&bare);
    (is_launch || OTHERS.contains(&bare)).then_some(is_launch)
}

/// Why a call of this function of the device runtime is not executed; `None` if it is not one.
pub(crate) fn refusal(name: &str) -> Option<&'static str> {
    Some(if device_runtime(name)? {
        "dynamic parallelism, a launch from a kernel, is not emulated: launch that kernel from the host, or call its code as a `__device__` function"
    } else {
        "this function of CUDA's device runtime is not emulated: call it on the host"
    })
}

/// `cudaCGGetIntrinsicHandle(scope)` and `cudaCGSynchronize(handle, flags)`, as CUDA's
/// `cuda_device_runtime_api.h` declares them.
///
/// A handle is the address of the memory in which the blocks of a launch meet; there is one for
/// scope 1 alone (`cudaCGScopeGrid`), and without one the result is 999 (`cudaErrorUnknown`). The
/// last word of that memory counts the arrivals of blocks. In round n all have arrived once it is
/// n times their number. The header raises neither version nor architecture of a text that has use
/// for it.
const COOPERATIVE_GROUPS: &str = "\
.version 6.0
.target sm_60
.address_size 64
.weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
    .reg .pred %is_grid;
    .reg .b32 %high, %low, %scope;
    .reg .b64 %memory, %handle;
    mov.u32 %high, %envreg1;
    mov.u32 %low, %envreg2;
    mov.b64 %memory, {%low, %high};
    ld.param.u32 %scope, [scope];
    setp.eq.u32 %is_grid, %scope, 1;
    selp.b64 %handle, %memory, 0, %is_grid;
    st.param.b64 [handle], %handle;
    ret;
}
.weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
    .reg .pred %p;
    .reg .b32 %t, %x, %y, %z, %blocks, %arrived, %all;
    .reg .b64 %handle;
    ld.param.b64 %handle, [handle];
    setp.eq.u64 %p, %handle, 0;
    @%p bra NO_HANDLE;
    barrier.sync 0;
    mov.u32 %x, %tid.x;
    mov.u32 %y, %tid.y;
    mov.u32 %z, %tid.z;
    or.b32 %t, %x, %y;
    or.b32 %t, %t, %z;
    setp.ne.u32 %p, %t, 0;
    @%p bra MET;
    mov.u32 %x, %nctaid.x;
    mov.u32 %y, %nctaid.y;
    mov.u32 %z, %nctaid.z;
    mul.lo.u32 %blocks, %x, %y;
    mul.lo.u32 %blocks, %blocks, %z;
    atom.add.acq_rel.gpu.u32 %arrived, [%handle+60], 1;
    div.u32 %all, %arrived, %blocks;
    mad.lo.u32 %all, %all, %blocks, %blocks;
WAIT:
    ld.acquire.gpu.u32 %arrived, [%handle+60];
    setp.lt.u32 %p, %arrived, %all;
    @%p bra WAIT;
MET:
    barrier.sync 0;
    st.param.b32 [error], 0;
    ret;
NO_HANDLE:
    st.param.b32 [error], 999;
    ret;
}
.weak .func (.param .b32 error) cudaCGSynchronizeGrid(.param .b64 handle, .param .b32 flags)
{
    .reg .b32 %error;
    .reg .b64 %handle;
    .param .b64 h;
    .param .b32 f;
    .param .b32 e;
    ld.param.b64 %handle, [handle];
    st.param.b64 [h], %handle;
    st.param.b32 [f], 0;
    call.uni (e), cudaCGSynchronize, (h, f);
    ld.param.b32 %error, [e];
    st.param.b32 [error], %error;
    ret;
}
";

/// The text, and the functions of cooperative groups behind it if it lacks them.
pub(crate) fn with_cooperative_groups(source: &str) -> Cow<'_, str> {
    if !source.contains("cudaCG") {
        return Cow::Borrowed(source);
    }
    let part = |text, on_demand| LinkPart {
        name: "",
        text,
        on_demand,
    };
    let parts = [part(source, false), part(COOPERATIVE_GROUPS, true)];
    // A text with something wrong in it is told as it is.
    let is_provided = |name: &str| !COOPERATIVE_GROUPS.contains(&format!(" {name}("));
    ptx::link(&parts, is_provided).map_or(Cow::Borrowed(source), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_a_provider() {
        for (name, expected) in [
            ("malloc", Some(Provider::Driver)),
            ("cudaGraphSetConditional", Some(Provider::Driver)),
            (
                "__cudaCDP2GetParameterBufferV2",
                Some(Provider::DeviceRuntime),
            ),
            ("cudaLaunchDeviceV2_ptsz", Some(Provider::DeviceRuntime)),
            (
                "__cudaDeviceSynchronizeDeprecationAvoidance",
                Some(Provider::DeviceRuntime),
            ),
            ("cudaCGSynchronize", Some(Provider::DeviceRuntime)),
            ("cudaFrobnicate", None),
            ("GetDevice", None),
        ] {
            assert_eq!(provider(name), expected, "{name}");
        }
        assert!(refusal("cudaLaunchDevice").is_some_and(|why| why.starts_with("dynamic")));
        assert_eq!(refusal("step"), None);
    }
}
