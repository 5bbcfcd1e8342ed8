# Registered memory is reached by its own address, wherever it begins, in all of its bytes, until it is unregistered.
# CUDA driver API, cuMemHostRegister: with unified addressing the memory is mapped; cuMemHostGetDevicePointer gives the
# host's address where CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM is 1, as it is for an H200.
#
# run: emulate --orders 0..1 -- PROGRAM
# prints: can use the host's pointer: 1
# prints: aligned: registered, its own address, sum 2000
# prints: in the middle of a page: registered, its own address, sum 2000
# prints: mapped by a flag: registered, its own address, sum 2000
# prints: unregistered: CUDA_SUCCESS, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
# prints: registered twice: CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
# run: emulate -- PROGRAM past
# tells: out of bounds
# exit: 1
# run: emulate -- PROGRAM after
# tells: out of bounds
# exit: 1
import ctypes
import sys

from driver import allocate, call, download, kernel, launch, made, must, pointer, start, u64

SUM = """
.version 8.0
.target sm_90
.address_size 64
// out += the sum of x[t], x[t + 64], ... below n.
.visible .entry total(.param .u64 x, .param .u32 n, .param .u64 out)
{
	.reg .b32 %i, %n, %v, %sum;
	.reg .b64 %x, %out, %at;
	.reg .pred %p;
	ld.param.u64 %x, [x];
	ld.param.u32 %n, [n];
	ld.param.u64 %out, [out];
	mov.u32 %i, %tid.x;
	mov.u32 %sum, 0;
LOOP:
	setp.ge.u32 %p, %i, %n;
	@%p bra DONE;
	mul.wide.u32 %at, %i, 4;
	add.u64 %at, %x, %at;
	ld.u32 %v, [%at];
	add.u32 %sum, %sum, %v;
	add.u32 %i, %i, 64;
	bra LOOP;
DONE:
	red.global.add.u32 [%out], %sum;
	ret;
}
"""
COUNT = 1000
MAPPED = 2

start()
total = kernel(SUM, "total")
memory = (ctypes.c_uint32 * 8192)()
aligned = (ctypes.addressof(memory) + 4095) & ~4095


def sum_at(address, count=COUNT):
    out = allocate(4)
    must("cuMemsetD32_v2", out, 0, 1)
    result = launch(total, 64, u64(address), ctypes.c_uint32(count), out)
    if result == "CUDA_SUCCESS":
        result = call("cuCtxSynchronize")
    return f"sum {download(out, 1)[0]}" if result == "CUDA_SUCCESS" else result


def registered(address, flags=0):
    ctypes.memmove(address, bytes(ctypes.c_uint32(2)) * COUNT, 4 * COUNT)
    must("cuMemHostRegister_v2", pointer(address), 4 * COUNT, flags)
    return "its own address" if made("cuMemHostGetDevicePointer_v2", pointer(address), 0, kind=u64).value == address else "another address"


way = sys.argv[1] if len(sys.argv) > 1 else ""
if way:
    registered(aligned)
    if way == "after":
        must("cuMemHostUnregister", pointer(aligned))
    sys.exit("CUDA_SUCCESS" not in sum_at(aligned, COUNT + (way == "past")))
can = ctypes.c_int(-1)
must("cuDeviceGetAttribute", ctypes.byref(can), 91, 0)
print("can use the host's pointer:", can.value)
for name, address, flags in [("aligned", aligned, 0), ("in the middle of a page", aligned + 12, 0), ("mapped by a flag", aligned, MAPPED)]:
    print(f"{name}: registered, {registered(address, flags)}, {sum_at(address)}")
    first = call("cuMemHostUnregister", pointer(address))
print(f"unregistered: {first}, {call('cuMemHostUnregister', pointer(aligned))}")
registered(aligned)
print("registered twice:", call("cuMemHostRegister_v2", pointer(aligned), 4 * COUNT, 0))
