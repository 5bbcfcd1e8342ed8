# The first program of a newcomer, from a package of Python too (.ci/wheel): doubles the elements of a buffer of 1000 by blocks of 256.
# `wrong` lacks the test that keeps the last 24 threads out (CUDA guide, "Kernels": a grid of whole blocks covers more than the data).
#
# run: emulate -- PROGRAM right
# prints: all doubled
# run: emulate -- PROGRAM wrong
# tells: out of bounds: load of 4 bytes at offset 4000 of buffer `allocation 1` \(4000 bytes\)
# tells: in kernel `twice` at PTX line 18, block \(3, 0, 0\), thread \(232, 0, 0\)
# exit: 1
import ctypes
import sys

import driver

GUARD = "setp.ge.u32 %p, %i, %n;\n  @%p ret;"
TEXT = """.version 7.4
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u32 n) {
  .reg .pred %p;
  .reg .b32 %i, %n, %block, %threads;
  .reg .b64 %x, %offset;
  .reg .f32 %value;
  ld.param.u64 %x, [x];
  ld.param.u32 %n, [n];
  mov.u32 %i, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mad.lo.u32 %i, %block, %threads, %i;
  GUARD
  mul.wide.u32 %offset, %i, 4;
  add.s64 %x, %x, %offset;
  ld.global.f32 %value, [%x];
  add.f32 %value, %value, %value;
  st.global.f32 [%x], %value;
  ret;
}
"""
COUNT, THREADS = 1000, 256
is_right = sys.argv[1] == "right"

driver.start()
twice = driver.kernel(TEXT.replace("GUARD", GUARD if is_right else ""), "twice")
numbers = (ctypes.c_float * COUNT)(*range(COUNT))
x = driver.allocate(4 * COUNT)
driver.must("cuMemcpyHtoD_v2", x, numbers, ctypes.sizeof(numbers))
blocks = -(-COUNT // THREADS)
result = driver.launch(twice, THREADS, x, ctypes.c_uint32(COUNT), blocks=blocks)
if result != "CUDA_SUCCESS" or driver.call("cuCtxSynchronize") != "CUDA_SUCCESS":
    sys.exit(1)
driver.must("cuMemcpyDtoH_v2", numbers, x, ctypes.sizeof(numbers))
assert list(numbers) == [2 * i for i in range(COUNT)]
print("all doubled")
