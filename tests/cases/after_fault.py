# A suite of tests in one process: a fault that a GPU notices ends its context there, and with it all later tests. With
# `--after-fault=continue` the launch is skipped, and the others are right.
#
# run: emulate -- PROGRAM
# prints: wrong: CUDA_ERROR_ILLEGAL_ADDRESS
# tells: out of bounds: store
# tells: cuModuleLoadData: CUDA_ERROR_ILLEGAL_ADDRESS
# exit: 1
# run: emulate --after-fault=continue -- PROGRAM
# prints: wrong: CUDA_SUCCESS [0, 0]
# prints: right: CUDA_SUCCESS [5, 5]
# tells: out of bounds: store
# tells: emulate: 1 fault\n
# exit: 1
import ctypes

import driver

TEXT = """.version 7.4
.target sm_80
.address_size 64
.visible .entry NAME(.param .u64 x) {
  .reg .b32 %i;
  .reg .b64 %x, %offset;
  ld.param.u64 %x, [x];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %offset, %i, STRIDE;
  add.s64 %x, %x, %offset;
  st.global.u32 [%x], 5;
  ret;
}
"""

driver.start()
for name, stride in (("wrong", "512"), ("right", "4")):
    kernel = driver.kernel(TEXT.replace("NAME", name).replace("STRIDE", stride), name)
    x = ctypes.c_uint64()
    told = driver.call("cuMemAlloc_v2", ctypes.byref(x), 8)
    zeros = (ctypes.c_uint32 * 2)()
    driver.call("cuMemcpyHtoD_v2", x, zeros, 8)
    told = driver.launch(kernel, 2, x)
    told = driver.call("cuCtxSynchronize") if told == "CUDA_SUCCESS" else told
    print(f"{name}:", told, *([driver.download(x, 2)] if told == "CUDA_SUCCESS" else []))
