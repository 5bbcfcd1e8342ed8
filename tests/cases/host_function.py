# A function of the host in a stream may not call CUDA: what needs a context or a device answers "not permitted" and is
# named, and the program ends. No call waits for the function that it is in. CUDA driver API, cuLaunchHostFunc: "the host
# function must not make any CUDA API calls". An H200's driver gives these answers; calls by the handle of an event are
# answered there as elsewhere.
#
# run: emulate -- PROGRAM launch
# prints: cuMemAlloc_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemFree_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemcpyHtoD_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemsetD8_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemAllocHost_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemFreeHost: CUDA_ERROR_NOT_PERMITTED
# prints: cuStreamCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuEventCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuCtxSynchronize: CUDA_ERROR_NOT_PERMITTED
# prints: cuCtxSetCurrent: CUDA_ERROR_NOT_PERMITTED
# prints: cuDeviceGetCount: CUDA_ERROR_NOT_PERMITTED
# prints: cuGraphCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuDriverGetVersion: CUDA_SUCCESS
# prints: cuEventQuery: CUDA_SUCCESS
# prints: cuEventSynchronize: CUDA_SUCCESS
# prints: afterwards: CUDA_SUCCESS, and cuMemFreeHost: CUDA_SUCCESS
# tells: (?s)emulated driver: .*cuMemAlloc
# run: emulate -- PROGRAM callback
# prints: cuMemAlloc_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemFree_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemcpyHtoD_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemsetD8_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemAllocHost_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemFreeHost: CUDA_ERROR_NOT_PERMITTED
# prints: cuStreamCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuEventCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuCtxSynchronize: CUDA_ERROR_NOT_PERMITTED
# prints: cuCtxSetCurrent: CUDA_ERROR_NOT_PERMITTED
# prints: cuDeviceGetCount: CUDA_ERROR_NOT_PERMITTED
# prints: cuGraphCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuDriverGetVersion: CUDA_SUCCESS
# prints: cuEventQuery: CUDA_SUCCESS
# prints: cuEventSynchronize: CUDA_SUCCESS
# prints: afterwards: CUDA_SUCCESS, and cuMemFreeHost: CUDA_SUCCESS
# run: emulate -- PROGRAM graph
# prints: cuMemAlloc_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemFree_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemcpyHtoD_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemsetD8_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemAllocHost_v2: CUDA_ERROR_NOT_PERMITTED
# prints: cuMemFreeHost: CUDA_ERROR_NOT_PERMITTED
# prints: cuStreamCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuEventCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuCtxSynchronize: CUDA_ERROR_NOT_PERMITTED
# prints: cuCtxSetCurrent: CUDA_ERROR_NOT_PERMITTED
# prints: cuDeviceGetCount: CUDA_ERROR_NOT_PERMITTED
# prints: cuGraphCreate: CUDA_ERROR_NOT_PERMITTED
# prints: cuDriverGetVersion: CUDA_SUCCESS
# prints: cuEventQuery: CUDA_SUCCESS
# prints: cuEventSynchronize: CUDA_SUCCESS
# prints: afterwards: CUDA_SUCCESS, and cuMemFreeHost: CUDA_SUCCESS
#
# Another thread of the program calls as it likes meanwhile, also one that the function waits for.
#
# run: emulate -- PROGRAM thread
# prints: cuMemAlloc_v2: CUDA_SUCCESS
# prints: afterwards: CUDA_SUCCESS, and cuMemFreeHost: CUDA_SUCCESS
import ctypes
import sys
import threading

from driver import call, made, must, pointer, start, u64

context = start()
stream, other = made("cuStreamCreate", 0), made("cuStreamCreate", 0)
event = made("cuEventCreate", 0)
host = made("cuMemAllocHost_v2", 64)
device = made("cuMemAlloc_v2", 64, kind=u64)
fresh, count = u64(), ctypes.c_int()
CALLS = [
    ("cuMemAlloc_v2", ctypes.byref(fresh), 16),
    ("cuMemFree_v2", device),
    ("cuMemcpyHtoD_v2", device, host, 16),
    ("cuMemsetD8_v2", device, ctypes.c_uint8(1), 16),
    ("cuMemAllocHost_v2", ctypes.byref(fresh), 16),
    ("cuMemFreeHost", host),
    ("cuStreamCreate", ctypes.byref(fresh), 0),
    ("cuEventCreate", ctypes.byref(fresh), 0),
    ("cuCtxSynchronize",),
    ("cuCtxSetCurrent", context),
    ("cuDeviceGetCount", ctypes.byref(count)),
    ("cuGraphCreate", ctypes.byref(fresh), 0),
    ("cuDriverGetVersion", ctypes.byref(count)),
    ("cuEventQuery", event),
    ("cuEventSynchronize", event),
]
results = []


def attempt():
    results.extend((name, call(name, *arguments)) for name, *arguments in CALLS)


def by_a_thread():
    def calls():
        must("cuCtxSetCurrent", context)
        results.append(("cuMemAlloc_v2", call("cuMemAlloc_v2", ctypes.byref(fresh), 16)))

    thread = threading.Thread(target=calls)
    thread.start()
    thread.join()


FUNCTION = ctypes.CFUNCTYPE(None, pointer)
CALLBACK = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int, pointer)


class Node(ctypes.Structure):
    """CUDA_HOST_NODE_PARAMS"""

    _fields_ = [("function", FUNCTION), ("data", pointer)]


must("cuEventRecord", event, other)
must("cuStreamSynchronize", other)
way = sys.argv[1]
function = FUNCTION(lambda _: by_a_thread() if way == "thread" else attempt())
if way == "callback":
    function = CALLBACK(lambda *_: attempt())
    must("cuStreamAddCallback", stream, function, None, 0)
elif way == "graph":
    graph, node = made("cuGraphCreate", 0), pointer()
    must("cuGraphAddHostNode", ctypes.byref(node), graph, None, 0, ctypes.byref(Node(function, None)))
    runnable = made("cuGraphInstantiateWithFlags", graph, 0)
    must("cuGraphLaunch", runnable, stream)
else:
    must("cuLaunchHostFunc", stream, function, None)
after = call("cuStreamSynchronize", stream)
for name, result in results:
    print(f"{name}: {result}")
print(f"afterwards: {after}, and cuMemFreeHost: {call('cuMemFreeHost', host)}")
